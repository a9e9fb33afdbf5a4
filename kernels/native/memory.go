package native

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"tune/internal/cpu"
	"tune/kernels"
)

// Sizer is implemented by a Spec that knows the buffers of its asked shape before its cases are made. New refuses a shape for
// which the machine has too little memory: the system kills processes when memory runs out, and not only the one that asked for
// it.
type Sizer interface {
	// Sizes returns the buffers of the asked case, and the bytes of the inputs and references that are kept for each seed.
	Sizes() (buffers []Buffer, kept int64)
}

// FitProduct returns an error, of the shape, where A (m × k), B (k × n) or their product has more than most elements.
func FitProduct(m, n, k int, most int64) error {
	m64, n64, k64 := int64(m), int64(n), int64(k)
	if max(m64*k64, n64*k64, m64*n64) > most {
		return kernels.BadShape("m=%d,n=%d,k=%d: a matrix may have at most %d elements", m, n, k, most)
	}
	return nil
}

// Needs estimates how many bytes exist at once at the end of a run: the cases of two seeds, each with the kept bytes, the variants of
// their inputs for timed calls, and those inputs with another distribution; the shared memory of the workers that check; and that of the workers for the
// baseline, each finalist and the serial point that may join them, with the copies or places that calls are timed on. cold says
// whether the buffers exceed the last-level cache.
func Needs(buffers []Buffer, kept int64, cold bool, finalists int) int64 {
	var shared, read int64
	for _, b := range buffers {
		bytes := int64(b.Len) * int64(b.Elem.Size())
		shared += bytes
		if b.Mode != Out {
			read += bytes
		}
	}
	copies := warmPlaces(int(shared), cpu.L2())
	if cold {
		copies = coldCopies(int(shared), len(buffers))
	}
	each := 2*shared + int64(copies*copyBytes(int(shared), len(buffers)))
	// A worker that times holds the buffers, the evidence of calls, and the copies.
	return 2*kept + fewVariants*(read+kept) + read + int64(cpu.Cores())*shared + int64(finalists+2)*each
}

// manyFinalists is more than any caller compares.
const manyFinalists = 16

// finalistsIn returns how many finalists there is memory for beside the baseline; an error where there is not enough for one.
func finalistsIn(buffers []Buffer, kept int64, cold bool) (int, error) {
	least := Needs(buffers, kept, cold, 1)
	spare, ok := spareMemory()
	if !ok {
		return manyFinalists, nil
	}
	if least > spare {
		return 0, &RoomError{Needs: least, Spare: spare}
	}
	each := Needs(buffers, kept, cold, 2) - least
	return 1 + int(min((spare-least)/max(each, 1), manyFinalists-1)), nil
}

// Room returns an error where the machine has less than this many bytes to spare, and nil where the system does not say.
func Room(needs int64) error {
	spare, ok := spareMemory()
	if !ok || needs <= spare {
		return nil
	}
	return &RoomError{Needs: needs, Spare: spare}
}

// RoomError says that a machine has too little memory for a shape.
type RoomError struct{ Needs, Spare int64 } // bytes

func (e *RoomError) Error() string {
	const giga = 1e9
	return fmt.Sprintf("to check and compare kernels on it needs about %.1f GB of memory, this machine has %.1f GB to spare", float64(e.Needs)/giga, float64(e.Spare)/giga)
}

// spareMemory returns how many bytes can be had without swapping, or ok = false where that is unknown: what Linux calls
// available, or less where a control group is limited to less.
func spareMemory() (spare int64, ok bool) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(data) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(string(line), "MemAvailable: %d kB", &kilobytes); n == 1 {
			spare, ok = kilobytes<<10, true
		}
	}
	number := func(path string) (int64, bool) {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" means no limit
		return n, err == nil
	}
	limit, limited := number("/sys/fs/cgroup/memory.max")
	used, known := number("/sys/fs/cgroup/memory.current")
	if limited && known && (!ok || limit-used < spare) {
		// Cached files count as used, but their memory is available.
		spare, ok = max(limit-used, 0), true
		if stat, err := os.ReadFile("/sys/fs/cgroup/memory.stat"); err == nil {
			for line := range bytes.Lines(stat) {
				var cached int64
				if n, _ := fmt.Sscanf(string(line), "inactive_file %d", &cached); n == 1 {
					spare += cached
				}
			}
		}
	}
	return spare, ok
}
