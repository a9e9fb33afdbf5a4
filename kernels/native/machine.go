package native

import (
	"context"
	"errors"
	"runtime"
	"time"

	"tune/internal/cpu"
)

// Machine is what generated code depends on besides the problem.
type Machine struct {
	// Arch is the architecture, as runtime.GOARCH names it.
	Arch string
	// Compilers are the names of the installed compilers, the preferred one first; at least one.
	Compilers []string
	// ISAs are the instruction sets of the CPU, named as in package cpu.
	ISAs []string
	// Cache is the size of the last-level cache in bytes.
	Cache int64
}

// findTime bounds the search for compilers.
const findTime = time.Minute

// errNoHost says that a kernel has no machine to measure on.
var errNoHost = errors.New("native: there is no host to compile and run on: see native.NewHost")

// Machine describes the machine of the host. It fails where the machine has no C compiler, and for a nil host.
func (h *Host) Machine() (Machine, error) {
	if h == nil {
		return Machine{}, errNoHost
	}
	ctx, cancel := context.WithTimeout(context.Background(), findTime)
	defer cancel()
	tools, err := h.Toolchain(ctx)
	if err != nil {
		return Machine{}, err
	}
	m := Machine{Arch: runtime.GOARCH, ISAs: cpu.Features(), Cache: int64(max(cpu.L3(), cpu.L2()))}
	for _, c := range tools.Compilers() {
		m.Compilers = append(m.Compilers, c.Name)
	}
	return m, nil
}
