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

// BuiltIn reports whether a kernel that comes with tune has a name. By such a name, commands take the runs of any other kernel for those of
// that one, so that no other kernel may have it.
func BuiltIn(name string) bool { return slices.Contains(builtIn, name) }

// CheckName refuses a kernel of a program's own with the name of a kernel that comes with tune.
func CheckName(k Kernel) error {
	of := reflect.TypeOf(k)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if name := k.Info().Name; BuiltIn(name) && !strings.HasPrefix(of.PkgPath(), reflect.TypeFor[Table]().PkgPath()+"/") {
		return fmt.Errorf("its name is %s, which is that of a kernel that comes with tune: choose another", name)
	}
	return nil
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
