//go:build linux

#include "textflag.h"

// faultHandler is a signal handler: DI the signal, SI its siginfo, DX the ucontext. It runs on any thread, those
// that C started included, so it uses neither a goroutine nor the stack. It never returns.
TEXT ·faultHandler(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·faultRecord(SB), R8
	TESTQ R8, R8
	JZ   leave
	MOVL $1, AX
	XCHGQ AX, 0(R8)
	TESTQ AX, AX
wait:
	JNZ  wait // Another thread is writing the record and ends the process.
	MOVLQSX 8(SI), AX
	MOVQ AX, 16(R8) // code
	MOVQ 16(SI), AX
	MOVQ AX, 24(R8) // address
	MOVLQSX 24(SI), AX
	MOVQ AX, 32(R8) // system call, of SIGSYS
	MOVQ 168(DX), AX
	MOVQ AX, 40(R8) // program counter
	MOVQ 160(DX), AX
	MOVQ AX, 48(R8) // stack pointer
	MOVQ 192(DX), AX
	MOVQ AX, 56(R8) // the page fault's error code: bit 1 is set for a write
	MOVLQSX DI, AX
	MOVQ AX, 8(R8)  // signal; last, because the record counts once it is set
leave:
	ADDL $128, DI
	MOVL $231, AX // exit_group
	SYSCALL
	INT  $3

// restorer is where the kernel returns from a handler; amd64 demands one.
TEXT ·restorer(SB), NOSPLIT|NOFRAME, $0
	MOVL $15, AX // rt_sigreturn
	SYSCALL
	INT  $3

// func handlerAddresses() (handler, restore uintptr)
TEXT ·handlerAddresses(SB), NOSPLIT, $0-16
	LEAQ ·faultHandler(SB), AX
	MOVQ AX, handler+0(FP)
	LEAQ ·restorer(SB), AX
	MOVQ AX, restore+8(FP)
	RET

// soil is called as a function of C: it fills so many bytes of the stack below its own with the pattern, where the locals of what is called
// next will be. DI is the number of bytes, a multiple of 8, and SI the pattern.
TEXT ·soil(SB), NOSPLIT|NOFRAME, $0
	MOVQ SP, AX
	SUBQ DI, AX
next:
	MOVQ SI, 0(AX)
	ADDQ $8, AX
	CMPQ AX, SP
	JLT  next
	XORL AX, AX
	RET

// func soilAddress() uintptr
TEXT ·soilAddress(SB), NOSPLIT, $0-8
	LEAQ ·soil(SB), AX
	MOVQ AX, ret+0(FP)
	RET
