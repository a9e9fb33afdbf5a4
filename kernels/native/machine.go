package native

import (
	"context"
	"runtime"
	"time"

	"tune/kernels/native/cpu"
)

// Machine is what generated code depends on beside the problem.
type Machine struct {
	// Arch is the architecture, as runtime.GOARCH names it.
	Arch string
	// Compilers are the names of those that are installed, the preferred one first; at least one.
	Compilers []string
	// ISAs are the instruction sets of the CPU, by the names that package cpu gives them.
	ISAs []string
	// Cache is the size of the last-level cache in bytes.
	Cache int64
}

// findTime bounds the search for compilers.
const findTime = time.Minute

// ThisMachine describes the one that runs. It fails where there is no C compiler.
func ThisMachine() (Machine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), findTime)
	defer cancel()
	tools, err := Shared().Toolchain(ctx)
	if err != nil {
		return Machine{}, err
	}
	m := Machine{Arch: runtime.GOARCH, ISAs: cpu.Features(), Cache: int64(max(cpu.L3(), cpu.L2()))}
	for _, c := range tools.Compilers() {
		m.Compilers = append(m.Compilers, c.Name)
	}
	return m, nil
}
