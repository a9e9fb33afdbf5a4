package library

import (
	"testing"

	"tune/internal/cpu"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// TestFeatures: a library finds out each feature that the flags of an instruction set can name, and no other.
func TestFeatures(t *testing.T) {
	named := map[string]bool{}
	for _, isa := range []string{
		cpu.AVX2, cpu.F16C, cpu.AVXVNNI, cpu.AVX512, cpu.AVX512VNNI, cpu.AVX512BF16, cpu.AVX512FP16, cpu.AMXInt8, cpu.AMXBF16,
	} {
		for _, feature := range featuresOf(cgen.Flags{Arch: "amd64", ISA: isa}.List()) {
			if named[feature] = true; cpuid[feature] == (cpuidBit{}) {
				t.Errorf("%s: a library does not find out whether the processor has %s", isa, feature)
			}
		}
	}
	seen := map[cpuidBit]string{}
	for feature, bit := range cpuid {
		if !named[feature] {
			t.Errorf("no instruction set needs %s", feature)
		}
		if len(native.NeedsOf([]string{"-m" + feature})) != 1 {
			t.Errorf("-m%s is not known to name a feature", feature)
		}
		if other := seen[bit]; other != "" {
			t.Errorf("%s and %s have the same bit", feature, other)
		}
		seen[bit] = feature
	}
}
