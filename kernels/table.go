package kernels

import (
	"fmt"
	"reflect"
	"slices"
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

// builtIn are the names of the kernels that come with tune: those of package all, and that of measured spaces.
var builtIn = []string{"treehash", "gemm-f32", "gemm-i8", "gemm-bf16", "gemm-f16", "qgemm", "elementwise-f32", "rowwise", "attention", "recorded"}

// BuiltIn reports whether a kernel that comes with tune has a name.
func BuiltIn(name string) bool { return slices.Contains(builtIn, name) }

// OfProgram reports whether a kernel is a program's own: no package of tune's kernels declares its type. Such a kernel may wrap one that
// comes with tune, and have its name. A run notes it, because the commands do not have the kernel, whatever its name is.
func OfProgram(k Kernel) bool {
	of := reflect.TypeOf(k)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return !strings.HasPrefix(of.PkgPath(), reflect.TypeFor[Table]().PkgPath()+"/")
}

// UnknownError says that no kernel has a name. It lists the names that there are, and says which is nearest.
type UnknownError struct {
	Name  string
	Names []string
}

func (e *UnknownError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("unknown kernel %q: the table of kernels is empty: give it one of that name", e.Name)
	}
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
