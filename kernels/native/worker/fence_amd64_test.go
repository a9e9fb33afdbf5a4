//go:build linux

package worker

import (
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tune/space"
)

// TestArchRules: a candidate may ask for matrix tiles, and does not change the base registers of its thread.
func TestArchRules(t *testing.T) {
	program := assemble(candidateRules(0, false, nil), seccompAllow)
	for code, want := range map[uint64]uint32{
		0x1001: seccompTrap, 0x1002: seccompTrap, 0x1012: seccompTrap,
		0x1003: seccompAllow, 0x1004: seccompAllow, 0x1021: seccompAllow, 0x1022: seccompAllow, 0x1023: seccompAllow,
		0x2001: seccompErrno | uint32(unix.EINVAL), 0x3001: seccompErrno | uint32(unix.EINVAL), 0x4002: seccompErrno | uint32(unix.EINVAL),
	} {
		if got := execute(t, program, auditArchitecture, unix.SYS_ARCH_PRCTL, code); got != want {
			t.Errorf("arch_prctl(%#x): %#x, want %#x", code, got, want)
		}
	}
}

// TestArchRefused: a kernel that sets a base register, or switches cpuid off, is refused by name.
func TestArchRefused(t *testing.T) {
	for code, argument := range map[int]string{archSetGS: "(long)A", archSetFS: "(long)A", archSetCPUID: "0"} {
		w := startTimer(t, Options{Core: -1})
		mapIsolation(t, w)
		err := w.Load(compileText(t, ".c", kernelC(fmt.Sprintf("syscall(SYS_arch_prctl, %#x, %s);", code, argument), "")))
		if err == nil {
			err = w.Call(t.Context(), nil)
		}
		wantRejection(t, err, space.Crashed, "tried to change the base registers of its thread, or what cpuid answers (arch_prctl)")
	}
}

// TestTilesPermitted: a candidate is given matrix tiles where the processor has them.
func TestTilesPermitted(t *testing.T) {
	var states uint64
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archGetSupported, uintptr(unsafe.Pointer(&states)), 0); errno != 0 || states>>18&1 == 0 {
		t.Skip("the processor has no matrix tiles")
	}
	w := startTimer(t, Options{Core: -1})
	mapIsolation(t, w)
	so := compileText(t, ".c", kernelC(`unsigned long state = 0;
	need(syscall(SYS_arch_prctl, 0x1023, 18L) == 0 && syscall(SYS_arch_prctl, 0x1022, &state) == 0 && state >> 18 & 1);`, ""))
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	if err := w.Call(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
