package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"tune/internal/files"
)

// reader reads a header from its begin to its end.
type reader struct {
	path string
	r    *bufio.Reader
	at   int64 // of the next byte
	end  int64 // how far the header may be read
	size int64 // of the file
	word [8]byte
}

// newReader reads a header of a file of some size.
func newReader(path string, r io.ReaderAt, size int64) *reader {
	end := min(size, headerLimit)
	return &reader{path: path, r: bufio.NewReaderSize(io.NewSectionReader(r, 0, end), 1<<16), end: end, size: size}
}

// fault is an error about a byte of a file.
func fault(path string, at int64, format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %w", path, at, fmt.Errorf(format, args...))
}

// fail is an error about a byte that was read.
func (r *reader) fail(at int64, format string, args ...any) error {
	return fault(r.path, at, format, args...)
}

// has reports that fewer than n pieces of some size follow.
func (r *reader) has(n, size uint64, what string) error {
	left := uint64(r.end - r.at)
	switch {
	case n <= left/size:
		return nil
	case r.end < r.size:
		return r.fail(r.at, "%s would make the header larger than %s, the most that is read of one", what, files.Size(headerLimit))
	}
	return r.fail(r.at, "want %s bytes for %s, but the file has only %d more", product(n, size), what, left)
}

// product writes a product that may have more digits than an integer.
func product(n, size uint64) string {
	if p := n * size; p/size == n {
		return fmt.Sprint(p)
	}
	return fmt.Sprintf("%d·%d", n, size)
}

// bytes reads n bytes into memory.
func (r *reader) bytes(n uint64, what string) ([]byte, error) {
	if err := r.has(n, 1, what); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.r, b); err != nil {
		return nil, r.fail(r.at, "cannot read %s: %w", what, err)
	}
	r.at += int64(n)
	return b, nil
}

// skip passes n pieces of some size.
func (r *reader) skip(n, size uint64, what string) error {
	if err := r.has(n, size, what); err != nil {
		return err
	}
	for left := n * size; left > 0; {
		step := min(left, 1<<30)
		if _, err := r.r.Discard(int(step)); err != nil {
			return r.fail(r.at, "cannot read %s: %w", what, err)
		}
		left -= step
		r.at += int64(step)
	}
	return nil
}

// number reads a number of at most 8 bytes.
func (r *reader) number(size int, what string) (uint64, error) {
	if err := r.has(uint64(size), 1, what); err != nil {
		return 0, err
	}
	clear(r.word[:])
	if _, err := io.ReadFull(r.r, r.word[:size]); err != nil {
		return 0, r.fail(r.at, "cannot read %s: %w", what, err)
	}
	r.at += int64(size)
	return binary.LittleEndian.Uint64(r.word[:]), nil
}

func (r *reader) u32(what string) (uint32, error) {
	n, err := r.number(4, what)
	return uint32(n), err
}

func (r *reader) u64(what string) (uint64, error) { return r.number(8, what) }

// text reads a string.
func (r *reader) text(what string) (string, error) {
	n, err := r.u64("the length of " + what)
	if err != nil {
		return "", err
	}
	b, err := r.bytes(n, what)
	return string(b), err
}
