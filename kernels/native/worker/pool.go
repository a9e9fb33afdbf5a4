//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Pool holds several contents of the buffers that are read, which timed calls use in turn. Workers may share one.
type Pool struct {
	buffers []Buffer
	request poolRequest
	file    *os.File // closed when nobody holds the pool any more
}

// NewPool makes a pool of variants. Each has the content of every In and InOut buffer; they may be changed afterwards. Whole
// stretches use only the first variants, whole of them.
func NewPool(buffers []Buffer, variants [][][]byte, whole int) (*Pool, error) {
	if whole < 1 || whole > len(variants) {
		return nil, fmt.Errorf("a pool of %d variants cannot have %d for whole stretches", len(variants), whole)
	}
	p := &Pool{buffers: slices.Clone(buffers)}
	p.request.Whole = whole
	for _, inputs := range variants {
		if err := checkInputs(buffers, inputs); err != nil {
			return nil, err
		}
	}
	q := &p.request
	q.Count = len(variants)
	for j, b := range buffers {
		varies := slices.ContainsFunc(variants, func(inputs [][]byte) bool { return !bytes.Equal(inputs[j], variants[0][j]) })
		q.Fixed = append(q.Fixed, b.Mode == In && !varies)
		at := -1
		if b.Mode != Out {
			at = q.Stride
			q.Stride += roundUp(b.Bytes, alignment)
		}
		q.Offsets = append(q.Offsets, at)
	}
	q.Size = roundUp(max(q.Stride*q.Count, 1), os.Getpagesize())
	var err error
	if p.file, err = sealedFile("tune-pool", q.Size, func(f *os.File) error {
		for v, inputs := range variants {
			for i, at := range q.Offsets {
				if at < 0 {
					continue
				}
				if _, err := f.WriteAt(inputs[i], int64(v*q.Stride+at)); err != nil && err != io.EOF {
					return fmt.Errorf("writing the inputs of buffer %s: %w", buffers[i].Name, err)
				}
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return p, nil
}

// Vary makes timed calls use the variants of a pool, until the next Map. Without it they use only the mapped inputs. The buffers
// must be those of Map.
func (w *Worker) Vary(p *Pool) error {
	if w.memory == nil || !slices.Equal(p.buffers, w.memory.buffers) {
		return errors.New("the pool is not one of the buffers that are mapped")
	}
	w.pool = p
	return nil
}

// sharePool passes the pool to the process, unless the process has it already.
func (w *Worker) sharePool(ask func(request, *os.File) error) error {
	n := w.running
	if w.pool == nil || n.pool == w.pool {
		return nil
	}
	if err := ask(request{Pool: &w.pool.request}, w.pool.file); err != nil {
		return err
	}
	n.pool = w.pool
	return nil
}

// read reads a part of an input of a content.
func (p *Pool) read(to []byte, content, buffer, at int) error {
	_, err := p.file.ReadAt(to, int64(content*p.request.Stride+p.request.Offsets[buffer]+at))
	if err != nil {
		return fmt.Errorf("reading the inputs of timed calls: %w", err)
	}
	return nil
}
