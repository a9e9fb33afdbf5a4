//go:build linux

#include "textflag.h"

// faultHandler is a signal handler: R0 the signal, R1 its siginfo, R2 the ucontext. It runs on any thread, those
// that C started included, so it uses neither a goroutine nor the stack. It never returns.
TEXT ·faultHandler(SB), NOSPLIT|NOFRAME, $0
	MOVD ·faultRecord(SB), R8
	CBZ  R8, leave
	MOVD $1, R9
claim:
	LDAXR (R8), R10
wait:
	CBNZ R10, wait // Another thread is writing the record and ends the process.
	STLXR R9, (R8), R11
	CBNZ R11, claim
	MOVW 8(R1), R9
	MOVD R9, 16(R8) // code
	MOVD 16(R1), R9
	MOVD R9, 24(R8) // address
	MOVW 24(R1), R9
	MOVD R9, 32(R8) // system call, of SIGSYS
	MOVD 440(R2), R9
	MOVD R9, 40(R8) // program counter
	MOVD 432(R2), R9
	MOVD R9, 48(R8) // stack pointer
	MOVD $0, R9
	MOVD R9, 56(R8) // no error code here
	MOVW R0, R9
	MOVD R9, 8(R8)  // signal; last, because the record counts once it is set
leave:
	ADD  $128, R0
	MOVD $94, R8 // exit_group
	SVC
	BRK

// func handlerAddresses() (handler, restore uintptr)
TEXT ·handlerAddresses(SB), NOSPLIT, $0-16
	MOVD $·faultHandler(SB), R9
	MOVD R9, handler+0(FP)
	MOVD $0, R9
	MOVD R9, restore+8(FP)
	RET

// soil is called as a function of C: it fills so many bytes of the stack below its own with the pattern, where the locals of what is called
// next will be. R0 is the number of bytes, a multiple of 8, and R1 the pattern.
TEXT ·soil(SB), NOSPLIT|NOFRAME, $0
	MOVD RSP, R9
	SUB  R0, R9, R10
next:
	MOVD R1, (R10)
	ADD  $8, R10
	CMP  R9, R10
	BLT  next
	MOVD $0, R0
	RET

// func soilAddress() uintptr
TEXT ·soilAddress(SB), NOSPLIT, $0-8
	MOVD $·soil(SB), R9
	MOVD R9, ret+0(FP)
	RET
