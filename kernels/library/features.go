package library

import (
	"slices"
	"strings"

	"tune/kernels/native"
)

// cpuidBit is where the cpuid instruction says that the processor has a feature [Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2A, CPUID], and which registers the system has to save for it.
type cpuidBit struct {
	Leaf     string // the C variable with the result of a leaf
	Register string
	Bit      int
	OS       string // the C variable that says whether the system saves the registers
}

// cpuid are the features that functions of a library can ask for.
var cpuid = map[string]cpuidBit{
	"fma":        {"leaf1", "c", 12, "ymm"},
	"f16c":       {"leaf1", "c", 29, "ymm"},
	"avx2":       {"leaf7", "b", 5, "ymm"},
	"avxvnni":    {"leaf7_1", "a", 4, "ymm"},
	"avx512f":    {"leaf7", "b", 16, "zmm"},
	"avx512dq":   {"leaf7", "b", 17, "zmm"},
	"avx512bw":   {"leaf7", "b", 30, "zmm"},
	"avx512vl":   {"leaf7", "b", 31, "zmm"},
	"avx512vnni": {"leaf7", "c", 11, "zmm"},
	"avx512bf16": {"leaf7_1", "a", 5, "zmm"},
	"avx512fp16": {"leaf7", "d", 23, "zmm"},
	"amx-bf16":   {"leaf7", "d", 22, "tiles"},
	"amx-tile":   {"leaf7", "d", 24, "tiles"},
	"amx-int8":   {"leaf7", "d", 25, "tiles"},
}

// featureText is a feature as templates write it.
type featureText struct {
	cpuidBit
	Name  string // avx512f
	Macro string // NAME_HAS_AVX512F
	Value int    // the bit that stands for it
}

// featuresOf returns the features that code needs. A compiler that is told to use AVX-512 uses AVX2 too.
func featuresOf(flags []string) []string {
	var names []string
	for _, n := range native.NeedsOf(flags) {
		names = append(names, n.Feature())
		if strings.HasPrefix(n.Feature(), "avx512") {
			names = append(names, "avx2", "avx512f")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// features returns those of all variants, in order.
func (l Library) features() []featureText {
	var names []string
	for _, f := range l.Functions {
		for _, v := range f.Variants {
			names = append(names, featuresOf(v.Source.Flags)...)
		}
	}
	slices.Sort(names)
	var out []featureText
	for i, name := range slices.Compact(names) {
		out = append(out, featureText{cpuid[name], name, l.macro(name), 1 << i})
	}
	return out
}

// macro returns the constant of a feature.
func (l Library) macro(feature string) string {
	return strings.ToUpper(l.Name) + "_HAS_" + strings.ToUpper(strings.ReplaceAll(feature, "-", "_"))
}
