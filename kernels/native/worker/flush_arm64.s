//go:build linux

#include "textflag.h"

// func flush(p unsafe.Pointer, n int)
TEXT ·flush(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1, R1
	BIC  $63, R0, R0
	DSB  $11 // ISH
line:
	CMP  R1, R0
	BHS  done
	WORD $0xd50b7e20 // DC CIVAC, R0
	ADD  $64, R0, R0
	B    line
done:
	DSB  $11
	RET
