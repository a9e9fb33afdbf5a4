package cpu

import "golang.org/x/sys/unix"

// allowed reads this process's affinity, or nil where it cannot.
func allowed() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cores []int
	for i := range 64 * len(set) {
		if set.IsSet(i) {
			cores = append(cores, i)
		}
	}
	return cores
}
