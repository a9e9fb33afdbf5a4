package counters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"tune/space"
)

// kinds are the types of the perf events, and their configurations.
var kinds = map[string][2]uint64{
	space.MetricInstructions: {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	space.MetricCycles:       {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	space.MetricCacheMisses:  {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
	space.MetricBranchMisses: {unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
	space.MetricPageFaults:   {unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
}

// Probe returns why a counter cannot be used on this machine; nil where it can.
func (c Counters) Probe(name string) error {
	if name == space.MetricEnergy {
		_, err := c.beginEnergy()
		return err
	}
	if _, known := kinds[name]; !known {
		return errors.New("there is no such counter")
	}
	fd, err := open(name, 0)
	if err != nil {
		return refusal(err)
	}
	return unix.Close(fd)
}

// refusal says what it means that an event cannot be opened.
func refusal(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EOPNOTSUPP):
		return errors.New("the processor has no counter for it, or a virtual machine hides it")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return errors.New("the system does not allow it to this user: root can set kernel.perf_event_paranoid to 2 or less, or a container withholds it")
	case errors.Is(err, unix.ENOSYS):
		return errors.New("the system has no perf events")
	}
	return fmt.Errorf("perf_event_open: %w", err)
}

// open counts an event of a thread, in its own code and not in that of the system, and of the threads that it starts from now on.
func open(name string, thread int) (fd int, err error) {
	kind := kinds[name]
	attr := unix.PerfEventAttr{
		Type: uint32(kind[0]), Config: kind[1], Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	return unix.PerfEventOpen(&attr, thread, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// event is an event that is being counted, of all threads of a process.
type event struct{ fds []int }

func (e *event) close() {
	for _, fd := range e.fds {
		_ = unix.Close(fd)
	}
	e.fds = nil
}

// count returns how often the event happened. Where the processor had to share a counter among several events, that is an estimate from
// the time for which it counted this one.
func (e *event) count() (float64, error) {
	sum := 0.0
	for _, fd := range e.fds {
		var buf [24]byte // count, time enabled, time running
		if n, err := unix.Read(fd, buf[:]); err != nil || n != len(buf) {
			return 0, fmt.Errorf("reading a perf event: %d bytes, %v", n, err)
		}
		count := float64(binary.NativeEndian.Uint64(buf[:]))
		enabled, running := binary.NativeEndian.Uint64(buf[8:]), binary.NativeEndian.Uint64(buf[16:])
		if running > 0 {
			count *= float64(enabled) / float64(running)
		}
		sum += count
	}
	return sum, nil
}

// threads lists the threads of a process.
func threads(pid int) (out []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, id)
		}
	}
	return out, err
}

// Begin starts to count what all threads of a process do, those included that they start. end returns the counts in the order of the
// names. It must be called.
func (c Counters) Begin(pid int, names []string) (end func() ([]float64, error), err error) {
	all, err := threads(pid)
	if err != nil {
		return nil, err
	}
	var opened []*event
	closeAll := func() {
		for _, e := range opened {
			e.close()
		}
	}
	ends := make([]func() (float64, error), len(names))
	for i, name := range names {
		if name == space.MetricEnergy {
			if ends[i], err = c.beginEnergy(); err != nil {
				closeAll()
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		e := new(event)
		opened = append(opened, e)
		for _, thread := range all {
			fd, err := open(name, thread)
			if errors.Is(err, unix.ESRCH) {
				continue // it has ended
			}
			if err != nil {
				closeAll()
				return nil, fmt.Errorf("%s: %w", name, refusal(err))
			}
			e.fds = append(e.fds, fd)
		}
		ends[i] = e.count
	}
	return func() ([]float64, error) {
		defer closeAll()
		out := make([]float64, len(ends))
		for i, end := range ends {
			var err error
			if out[i], err = end(); err != nil {
				return nil, fmt.Errorf("%s: %w", names[i], err)
			}
		}
		return out, nil
	}, nil
}
