package cgen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"

	"tune/internal/cpu"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// TestGeneratorsAgree: generators know the same instruction sets in the same order, and no flag of one allows the compiler an instruction that a
// processor with the set may lack.
func TestGeneratorsAgree(t *testing.T) {
	names := cpu.FeaturesOf(func(cpuid.FeatureID) bool { return true })
	var known []string
	for _, isa := range cgen.Select(native.Machine{ISAs: names}, names...) {
		known = append(known, isa.Name)
	}
	if !slices.Equal(known, names) {
		t.Errorf("generators know %v, want %v", known, names)
	}
	for _, name := range names {
		flags := cgen.Flags{Arch: "amd64", ISA: name}.List()
		for _, f := range flags {
			if strings.HasPrefix(f, "-m") && len(native.NeedsOf([]string{f})) == 0 {
				t.Errorf("%s: the flag %s is not known to name a feature", name, f)
			}
		}
		for _, need := range native.NeedsOf(flags) {
			feature := cpuid.ParseFeature(strings.Replace(strings.ToUpper(strings.ReplaceAll(need.Feature(), "-", "")), "FMA", "FMA3", 1))
			if slices.Contains(cpu.FeaturesOf(func(f cpuid.FeatureID) bool { return f != feature }), name) {
				t.Errorf("%s: the flag %s allows %s, which the processor may lack", name, need.Flag, feature)
			}
		}
	}
}
