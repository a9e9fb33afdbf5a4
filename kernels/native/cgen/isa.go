package cgen

import (
	"fmt"
	"slices"

	"tune/internal/cpu"
	"tune/kernels/native"
)

// The names of instruction sets. Native leaves the set to the compiler: all that the CPU has, as the compiler knows it. It is
// for code without vectors of its own, and has no row in the table.
const (
	Native     = "native"
	Generic    = cpu.Generic
	AVX2       = cpu.AVX2
	AVXVNNI    = cpu.AVXVNNI
	AVX512     = cpu.AVX512
	AVX512VNNI = cpu.AVX512VNNI
)

// ISA is an instruction set that code is generated for. Package cpu says which features of a processor it needs.
type ISA struct {
	Name      string // as native.Machine lists it
	Bytes     int    // of its widest vectors
	Registers int    // vectors that its registers hold, on amd64
	DotBytes  bool   // an instruction adds four products of bytes to a sum of 32 bits
	// flags are those of the compiler. They name features, which old compilers know too, rather than levels.
	flags []string
	// on is the set that this one adds to; "" for none.
	on string
}

// Lanes returns the words of 32 bits in its widest vectors.
func (i ISA) Lanes() int { return i.Bytes / 4 }

// table lists the instruction sets, the better after the worse. Those beside Generic are of amd64.
var table = []ISA{
	{Name: Generic, Bytes: 16, Registers: 16},
	{Name: AVX2, Bytes: 32, Registers: 16, flags: []string{"-mavx2", "-mfma"}},
	{Name: AVXVNNI, Bytes: 32, Registers: 16, DotBytes: true, flags: []string{"-mavxvnni"}, on: AVX2},
	{Name: AVX512, Bytes: 64, Registers: 32, flags: []string{"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma"}},
	{Name: AVX512VNNI, Bytes: 64, Registers: 32, DotBytes: true, flags: []string{"-mavx512vnni"}, on: AVX512},
}

// Select returns the named instruction sets that a machine has, the better after the worse. Every machine has Generic.
func Select(m native.Machine, names ...string) []ISA {
	var out []ISA
	for _, isa := range table {
		if slices.Contains(names, isa.Name) && (isa.Name == Generic || slices.Contains(m.ISAs, isa.Name)) {
			out = append(out, isa)
		}
	}
	return out
}

// Lookup returns the instruction set of a name in the table. It panics where there is none.
func Lookup(name string) ISA {
	i := slices.IndexFunc(table, func(isa ISA) bool { return isa.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("cgen: no instruction set %q", name))
	}
	return table[i]
}
