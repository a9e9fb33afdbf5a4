// Package counters counts what the threads of a process do: by perf events, which the processor and the kernel of Linux count, and by the
// energy counters of powercap, where the system lets this user read them. See perf_event_open(2) and, in the documentation of Linux,
// power/powercap/powercap.rst.
package counters

// Counters says where counters are found. The zero value is right for every system. Counters have the names of metrics in space; that of
// energy counts whole processors, whatever else they do.
type Counters struct {
	// Powercap is the folder of the energy counters; "" means /sys/class/powercap.
	Powercap string
}
