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

// UnknownError says that no kernel has a name. It lists the names that there are, and says which is nearest.
type UnknownError struct {
	Name  string
	Names []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown kernel %q: want one of %s%s", e.Name, strings.Join(e.Names, ", "), space.DidYouMean(e.Name, e.Names))
}

// Lookup returns the kernel of the given name. The error of another name is an *UnknownError.
func (t Table) Lookup(name string) (Kernel, error) {
	names := t.Names()
	for i, n := range names {
		if n == name {
			return t[i], nil
		}
	}
	return nil, &UnknownError{name, names}
}
