package cpu

import "github.com/klauspost/cpuid/v2"

// Needs returns the names of the instruction sets, in order, and what each needs.
func Needs() (names []string, needs [][]cpuid.FeatureID) {
	for _, set := range table {
		names, needs = append(names, set.name), append(needs, set.needs)
	}
	return names, needs
}
