//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// alignment is what the first element of each buffer is aligned to.
const alignment = 64

// guardBytes is the size of the area on each side of a buffer that cannot be touched. It is larger than a
// page so that rows, not only elements, past the end are caught.
const guardBytes = 1 << 20

// Patterns of bytes, a NaN as a float of 4 or 8 bytes, so that reading them is likely to be seen too.
var (
	canary = []byte{0xc5, 0xff, 0xc5, 0xff}
	poison = []byte{0xa7, 0xff, 0xa7, 0xff}
)

// region is where a buffer lies in the shared memory: whole pages, with the buffer near their end.
type region struct {
	Offset int  // of the first page
	Size   int  // of the pages
	Start  int  // of the buffer in them
	Bytes  int  // of the buffer
	Mode   Mode // In is mapped read only
}

// layout places the buffers and returns the size of the memory. It fails where a buffer is malformed.
func layout(buffers []Buffer) ([]region, int, error) {
	if len(buffers) > maxBuffers {
		return nil, 0, fmt.Errorf("%d buffers are more than the limit of %d", len(buffers), maxBuffers)
	}
	page := os.Getpagesize()
	var regions []region
	total := 0
	for _, b := range buffers {
		if b.Bytes < 0 || b.Mode < In || b.Mode > InOut {
			return nil, 0, fmt.Errorf("buffer %s has %d bytes and mode %d", b.Name, b.Bytes, b.Mode)
		}
		padded := roundUp(b.Bytes, alignment)
		size := max(roundUp(padded, page), page)
		regions = append(regions, region{Offset: total, Size: size, Start: size - padded, Bytes: b.Bytes, Mode: b.Mode})
		total += size
	}
	return regions, total, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// memory is what tune and a worker share: the buffers of a case.
type memory struct {
	buffers []Buffer
	regions []region
	inputs  [][]byte // of InOut buffers, to restore them
	file    *os.File
	data    []byte
	views   [][]byte // of the buffers in data
}

// newMemory creates the memory and writes the inputs and the patterns.
func newMemory(buffers []Buffer, inputs [][]byte) (*memory, error) {
	regions, total, err := layout(buffers)
	if err != nil {
		return nil, err
	}
	if err := checkInputs(buffers, inputs); err != nil {
		return nil, err
	}
	m := &memory{buffers: slices.Clone(buffers), regions: regions}
	if total == 0 {
		total = os.Getpagesize()
	}
	if m.file, m.data, err = sharedMemory("tune-buffers", total); err != nil {
		return nil, err
	}
	for _, r := range regions {
		m.views = append(m.views, m.data[r.Offset+r.Start:][:r.Bytes:r.Bytes])
		before, after := m.slack(r)
		fill(before, canary)
		fill(after, canary)
	}
	m.setInputs(inputs)
	return m, nil
}

func checkInputs(buffers []Buffer, inputs [][]byte) error {
	if len(inputs) != len(buffers) {
		return fmt.Errorf("%d inputs for %d buffers", len(inputs), len(buffers))
	}
	for i, b := range buffers {
		if b.Mode != Out && len(inputs[i]) != b.Bytes {
			return fmt.Errorf("buffer %s has %d bytes, its input %d", b.Name, b.Bytes, len(inputs[i]))
		}
	}
	return nil
}

func (m *memory) setInputs(inputs [][]byte) {
	m.inputs = slices.Clone(inputs)
	for i, b := range m.buffers {
		if b.Mode != Out {
			copy(m.views[i], inputs[i])
		}
	}
}

// reset prepares the buffers for a call.
func (m *memory) reset() {
	m.restore()
	for i, b := range m.buffers {
		if b.Mode == Out {
			fill(m.views[i], poison)
		}
	}
}

// restore gives InOut buffers their inputs again.
func (m *memory) restore() {
	for i, b := range m.buffers {
		if b.Mode == InOut {
			copy(m.views[i], m.inputs[i])
		}
	}
}

// slack returns the parts of a region's pages before and after its buffer.
func (m *memory) slack(r region) (before, after []byte) {
	pages := m.data[r.Offset : r.Offset+r.Size]
	return pages[:r.Start], pages[r.Start+r.Bytes:]
}

// check returns a rejection where the slack round a buffer was written to, and mends it.
func (m *memory) check() error {
	var err error
	for i, r := range m.regions {
		if r.Mode == In {
			continue // It is mapped read only.
		}
		before, after := m.slack(r)
		if at := damage(after); at >= 0 {
			err = kernels.Reject(space.Crashed, "wrote past the end of buffer %s (byte %d of its %d)", m.buffers[i].Name, r.Bytes+at, r.Bytes)
			fill(after, canary)
		}
		if at := damage(before); at >= 0 {
			err = kernels.Reject(space.Crashed, "wrote before the start of buffer %s (byte %d)", m.buffers[i].Name, at-len(before))
			fill(before, canary)
		}
	}
	return err
}

// damage returns the index of the first byte that is not the canary's, or -1. A slack begins at a multiple of
// the pattern's length or not at all: both sides are filled from their own first byte.
func damage(slack []byte) int {
	for i := range slack {
		if slack[i] != canary[i%len(canary)] {
			return i
		}
	}
	return -1
}

func fill(b, pattern []byte) {
	n := copy(b, pattern)
	for n < len(b) {
		n += copy(b[n:], b[:n])
	}
}

func (m *memory) close() {
	_ = unix.Munmap(m.data)
	_ = m.file.Close()
}

// sharedMemory creates memory that both processes can map, and maps it here. Its size is sealed: a worker that
// could shrink it would make tune's own access to it fault.
func sharedMemory(name string, size int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("creating shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(int64(size)); err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("sealing shared memory: %w", err)
	}
	data, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	runtime.KeepAlive(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("mapping shared memory of %d bytes: %w", size, err)
	}
	return f, data, nil
}
