//go:build linux

#include "textflag.h"

// func flush(p unsafe.Pointer, n int)
TEXT ·flush(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
	ADDQ AX, CX
	ANDQ $~63, AX
	MFENCE
line:
	CMPQ AX, CX
	JCC  done
	CLFLUSH (AX)
	ADDQ $64, AX
	JMP  line
done:
	MFENCE
	RET
