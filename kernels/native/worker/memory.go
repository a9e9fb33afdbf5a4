//go:build linux && (amd64 || arm64)

package worker

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"tune/kernels"
	"tune/space"
)

// guardBytes is the size of the inaccessible area on each side of a buffer. It is larger than a page, so that accesses of a whole
// row past the end are caught, not only of an element.
const guardBytes = 1 << 20

// canary is a NaN as a float of 4 bytes, so that using it as input is likely to be noticed.
var canary = []byte{0xc5, 0xff, 0xc5, 0xff}

// region is the place of a buffer in the shared memory: whole pages, with the buffer near their end.
type region struct {
	Offset int  // of the first page
	Size   int  // of the pages
	Start  int  // of the buffer in them
	Bytes  int  // of the buffer
	Mode   Mode // In is mapped read only
	Elem   int  // bytes of an element of it
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
		regions = append(regions, region{Offset: total, Size: size, Start: size - padded, Bytes: b.Bytes, Mode: b.Mode, Elem: cmp.Or(b.Elem, wordBytes)})
		total += size
	}
	return regions, total, nil
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// memory is the memory shared by tune and a worker: the buffers of a case, and room for evidence of timed calls.
type memory struct {
	buffers  []Buffer
	regions  []region
	evidence evidenceArea
	inputs   [][]byte // of InOut buffers, to restore them
	file     *os.File
	data     []byte
	views    [][]byte // of the buffers in data
}

// evidenceArea is the part of the shared memory that holds the inputs and outputs of some timed calls.
type evidenceArea struct {
	Offset int // of the first page
	Size   int // of all slots
	Slot   int // bytes of one
	Slots  int
	// The same memory has room for the outputs of Blind calls, each of which takes Outputs bytes.
	Outputs, Blind int
}

// The evidence of one request: at least one call of each sample, if there are not too many samples.
const (
	mostEvidence  = 16
	evidenceBytes = 4 << 20 // but one slot is always there
)

// newEvidenceArea lays out the slots after the buffers.
func newEvidenceArea(regions []region, offset int) evidenceArea {
	a := evidenceArea{Offset: offset}
	for _, r := range regions {
		a.Slot += roundUp(r.Bytes, alignment)
		if r.Mode == InOut {
			a.Slot += roundUp(r.Bytes, alignment)
		}
		if r.Mode != In {
			a.Outputs += roundUp(r.Bytes, alignment)
		}
	}
	a.Blind = BlindCalls(a.Outputs, 0)
	if a.Slot == 0 {
		return a
	}
	a.Slots = min(max(evidenceBytes/a.Slot, 1), mostEvidence)
	a.Size = roundUp(max(a.Slot*a.Slots, a.Outputs*a.Blind), os.Getpagesize())
	return a
}

// atBlind returns the position in the area of what a blind call wrote to a buffer.
func (a evidenceArea) atBlind(regions []region, call, buffer int) int {
	at := call * a.Outputs
	for _, r := range regions[:buffer] {
		if r.Mode != In {
			at += roundUp(r.Bytes, alignment)
		}
	}
	return at
}

// at returns the position in the area of a buffer's content before or after the call.
func (a evidenceArea) at(regions []region, slot, buffer int, after bool) int {
	at := slot * a.Slot
	for i, r := range regions {
		if i == buffer {
			if r.Mode == InOut && after {
				at += roundUp(r.Bytes, alignment)
			}
			break
		}
		at += roundUp(r.Bytes, alignment)
		if r.Mode == InOut {
			at += roundUp(r.Bytes, alignment)
		}
	}
	return at
}

// forgetEvidence damages the outputs that an earlier request has left as evidence. If calls of the next request are left out, they are not taken
// for its own.
func (m *memory) forgetEvidence() {
	for slot := range m.evidence.Slots {
		for i, r := range m.regions {
			if r.Mode == In {
				continue
			}
			at := m.evidence.Offset + m.evidence.at(m.regions, slot, i, true)
			copy(m.data[at:at+r.Bytes], otherPoison)
		}
	}
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
	m := &memory{buffers: slices.Clone(buffers), regions: regions, evidence: newEvidenceArea(regions, total)}
	if total += m.evidence.Size; total == 0 {
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

// reset prepares the buffers for a call. Out buffers hold a pattern.
func (m *memory) reset(pattern []byte) {
	m.restore()
	for i, b := range m.buffers {
		if b.Mode == Out {
			fill(m.views[i], pattern)
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

// check returns a rejection where the slack around a buffer was overwritten, and restores it.
func (m *memory) check() error {
	var err error
	for i, r := range m.regions {
		if r.Mode == In {
			continue // it is mapped read only
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

// damage returns the index of the first byte that differs from the canary, or -1. A slack begins at a multiple of the pattern's
// length or is empty: both sides are filled from their own first byte.
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

// sharedMemory creates memory that both processes can map, and maps it here.
func sharedMemory(name string, size int) (*os.File, []byte, error) {
	f, err := sealedFile(name, size, nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	runtime.KeepAlive(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("mapping shared memory of %d bytes: %w", size, err)
	}
	return f, data, nil
}

// sealedFile creates a file in memory that processes can share. Its size is sealed: if a worker could shrink it, tune's own
// access to it would fault. If write is given, it writes the content, which is then sealed too.
func sealedFile(name string, size int, write func(*os.File) error) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("creating shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(int64(size)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if write != nil {
		if err := write(f); err != nil {
			_ = f.Close()
			return nil, err
		}
		seals |= unix.F_SEAL_WRITE
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("sealing shared memory: %w", err)
	}
	return f, nil
}
