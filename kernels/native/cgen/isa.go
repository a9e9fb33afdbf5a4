package cgen

import (
	"fmt"
	"slices"

	"tune/internal/cpu"
	"tune/kernels/native"
)

// The names of instruction sets. With Native the compiler uses everything that it knows of this CPU. Native is for code without
// explicit vectors, and is not in the table.
const (
	Native     = "native"
	Generic    = cpu.Generic
	AVX2       = cpu.AVX2
	F16C       = cpu.F16C
	AVXVNNI    = cpu.AVXVNNI
	AVX512     = cpu.AVX512
	AVX512VNNI = cpu.AVX512VNNI
	AVX512BF16 = cpu.AVX512BF16
	AVX512FP16 = cpu.AVX512FP16
	AMXInt8    = cpu.AMXInt8
	AMXBF16    = cpu.AMXBF16
)

// ISA is an instruction set that code is generated for. Package cpu lists the processor features that each one needs.
type ISA struct {
	Name      string // as native.Machine lists it
	Bytes     int    // of its widest vectors
	Registers int    // vector registers, on amd64
	DotBytes  bool   // it has an instruction that adds four products of bytes to a 32-bit sum
	// flags are compiler flags. They name features rather than levels, because old compilers accept only features.
	flags []string
	// on is the set that this one extends; "" for none.
	on string
}

// Lanes returns the number of 32-bit lanes of its widest vectors.
func (i ISA) Lanes() int { return i.Bytes / 4 }

// table lists the instruction sets, from the least to the most capable. All except Generic belong to amd64.
var table = []ISA{
	{Name: Generic, Bytes: 16, Registers: 16},
	{Name: AVX2, Bytes: 32, Registers: 16, flags: []string{"-mavx2", "-mfma"}},
	{Name: F16C, Bytes: 32, Registers: 16, flags: []string{"-mf16c"}, on: AVX2},
	{Name: AVXVNNI, Bytes: 32, Registers: 16, DotBytes: true, flags: []string{"-mavxvnni"}, on: AVX2},
	{Name: AVX512, Bytes: 64, Registers: 32, flags: []string{"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma"}},
	{Name: AVX512VNNI, Bytes: 64, Registers: 32, DotBytes: true, flags: []string{"-mavx512vnni"}, on: AVX512},
	{Name: AVX512BF16, Bytes: 64, Registers: 32, DotBytes: true, flags: []string{"-mavx512bf16"}, on: AVX512VNNI},
	{Name: AVX512FP16, Bytes: 64, Registers: 32, flags: []string{"-mavx512fp16"}, on: AVX512},
	{Name: AMXInt8, Bytes: 64, Registers: 32, DotBytes: true, flags: []string{"-mamx-tile", "-mamx-int8"}, on: AVX512VNNI},
	{Name: AMXBF16, Bytes: 64, Registers: 32, DotBytes: true, flags: []string{"-mamx-tile", "-mamx-bf16"}, on: AVX512BF16},
}

// Select returns those of the named instruction sets that a machine has, from the least to the most capable. Every machine has
// Generic.
func Select(m native.Machine, names ...string) []ISA {
	var out []ISA
	for _, isa := range table {
		if slices.Contains(names, isa.Name) && (isa.Name == Generic || slices.Contains(m.ISAs, isa.Name)) {
			out = append(out, isa)
		}
	}
	return out
}

// Lookup returns the instruction set with a name. It panics if the table has none.
func Lookup(name string) ISA {
	i := slices.IndexFunc(table, func(isa ISA) bool { return isa.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("cgen: no instruction set %q", name))
	}
	return table[i]
}
