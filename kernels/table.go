package kernels

import (
	"fmt"
	"strings"

	"tune/space"
)

// Table is an ordered list of kernels with different names.
type Table []Kernel

// Names returns the names of the kernels, in order.
func (t Table) Names() []string {
	names := make([]string, len(t))
	for i, k := range t {
		names[i] = k.Info().Name
	}
	return names
}

// Lookup returns the kernel of the given name. The error of an unknown name lists the right ones and says
// which is nearest.
func (t Table) Lookup(name string) (Kernel, error) {
	names := t.Names()
	for i, n := range names {
		if n == name {
			return t[i], nil
		}
	}
	return nil, fmt.Errorf("unknown kernel %q: want one of %s%s", name, strings.Join(names, ", "), space.DidYouMean(name, names))
}
