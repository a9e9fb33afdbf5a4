package gguf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// pair is a value to write: data has its type and what follows it.
type pair struct {
	key  string
	data []byte
}

// entry is a tensor to write. offset is where its data goes, and by default the next free place.
type entry struct {
	name   string
	dims   []uint64
	typ    uint32
	data   []byte
	offset uint64
}

// written is a GGUF file to write.
type written struct {
	version   uint32
	alignment int
	values    []pair
	tensors   []entry
	counts    [2]uint64 // added to the numbers of tensors and values
}

// le writes numbers, and strings with their lengths.
func le(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		if s, ok := p.(string); ok {
			b.Write(le(uint64(len(s))))
			b.WriteString(s)
			continue
		}
		if err := binary.Write(&b, binary.LittleEndian, p); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// bytes returns the file.
func (w written) bytes() []byte {
	var head, data bytes.Buffer
	align := w.alignment
	if align == 0 {
		align = 32
	}
	pad := func(b *bytes.Buffer) { b.Write(make([]byte, (align-b.Len()%align)%align)) }
	head.WriteString("GGUF")
	head.Write(le(w.version, uint64(len(w.tensors))+w.counts[0], uint64(len(w.values))+w.counts[1]))
	for _, v := range w.values {
		head.Write(le(v.key, v.data))
	}
	for _, t := range w.tensors {
		pad(&data)
		offset := uint64(data.Len())
		if t.offset > 0 {
			offset = t.offset
		}
		data.Write(t.data)
		head.Write(le(t.name, uint32(len(t.dims)), t.dims, t.typ, offset))
	}
	pad(&head)
	return append(head.Bytes(), data.Bytes()...)
}

// saved writes a file and returns its path.
func saved(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// opened opens a file for the time of a test.
func opened(t testing.TB, data []byte) *File {
	t.Helper()
	f, err := Open(saved(t, data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
