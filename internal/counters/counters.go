// Package counters counts what the threads of a process do: by perf events, which the processor and the kernel of Linux count, and by the
// energy counters of powercap, where the system lets this user read them. See perf_event_open(2) and, in the documentation of Linux,
// power/powercap/powercap.rst.
package counters

import (
	"errors"
	"slices"
)

// Counters says where counters are found. The zero value is right for every system.
type Counters struct {
	// Powercap is the folder of the energy counters; "" means /sys/class/powercap.
	Powercap string
}

// errUnknown says that a name is none of Names.
var errUnknown = errors.New("no such counter")

// Energy is the name of the counter of energy, in nJ. It counts whole processors, whatever else they do.
const Energy = "energy_nj"

// Known reports whether there is a counter of a name, on any machine.
func Known(name string) bool { return name == Energy || slices.Contains(events, name) }

// events are the names of perf events.
var events = []string{"instructions", "cpu_cycles", "cache_misses", "branch_misses", "page_faults"}
