package cpu

import (
	"fmt"

	"github.com/klauspost/cpuid/v2"
)

// Has reports whether this CPU and the system support all of some features, named as package cpuid does. It panics for a name that
// the package does not know.
func Has(names ...string) bool {
	all := true
	for _, name := range names {
		f := cpuid.ParseFeature(name)
		if f == cpuid.UNKNOWN {
			panic(fmt.Sprintf("cpu: no feature %q", name))
		}
		all = all && supports(f)
	}
	return all
}
