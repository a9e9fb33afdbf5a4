package library

import (
	"fmt"
	"slices"
	"strings"

	"tune/internal/pattern"
)

// own are the ends of names that each library has for itself: with them a function has the name of a type or a symbol of src/variants.h or
// src/blas.c.
var own = []string{"features", "hidden", "kernel", "threads"}

// symbolEnd matches what stands behind the name of a function in the names of its other symbols.
var symbolEnd = pattern.Lazy(`^(_choice|_plain|_variants|_packed_bytes|_pack|_v[0-9]+(_pack)?)?$`)

// CheckNames returns an error where functions of these names cannot be in one library, because two of its symbols would have one name.
func CheckNames(library string, functions []string) error {
	for i, name := range functions {
		if slices.Contains(own, name) {
			return fmt.Errorf("function %s: every library has a name %s_%[1]s of its own: choose another name", name, library)
		}
		for j, other := range functions {
			if end, ok := strings.CutPrefix(name, other); i != j && ok && symbolEnd().MatchString(end) {
				return fmt.Errorf("function %s: the symbol %s_%[1]s would be there twice: choose another name", name, library)
			}
		}
	}
	return nil
}
