package gguf

import (
	"cmp"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels/blocks"
	"tune/space"
)

// The limits of what is read. Real headers have at most some 10 MiB, most of it the vocabulary, and thousands of tensors.
const (
	headerLimit = files.Text
	countLimit  = 1 << 16 // tensors, and values
	tensorLimit = files.Data
)

const (
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
	mostDims         = 4
)

// File is a GGUF file whose header was read and checked.
type File struct {
	Path      string
	Version   int
	Alignment int64 // of the data of tensors, in bytes
	Values    []Value

	f       source
	size    int64
	data    int64 // where the data of tensors begins
	tensors []Tensor
}

// source is what a file is read from.
type source interface {
	io.ReaderAt
	io.Closer
}

// Tensor is a tensor of a file.
type Tensor struct {
	Name   string
	Dims   []uint64 // Dims[0] is the length of a row, whose weights lie one after the other
	Type   Type
	Offset int64 // of its first byte in the file
	Bytes  int64 // -1 where the type is unknown

	file *File
	at   int64 // where the header tells of it
}

// Type is a type of tensors.
type Type uint32

// others are types that package blocks does not have: their names, and the weights and bytes of a block.
var others = map[Type]struct {
	name           string
	weights, bytes uint64
}{
	9: {"q8_1", 32, 36}, 10: {"q2_k", 256, 84}, 11: {"q3_k", 256, 110}, 16: {"iq2_xxs", 256, 66}, 17: {"iq2_xs", 256, 74},
	18: {"iq3_xxs", 256, 98}, 19: {"iq1_s", 256, 50}, 20: {"iq4_nl", 32, 18}, 21: {"iq3_s", 256, 110}, 22: {"iq2_s", 256, 82},
	23: {"iq4_xs", 256, 136}, 24: {"i8", 1, 1}, 25: {"i16", 1, 2}, 26: {"i32", 1, 4}, 27: {"i64", 1, 8}, 28: {"f64", 1, 8},
	29: {"iq1_m", 256, 56}, 34: {"tq1_0", 256, 54}, 35: {"tq2_0", 256, 66}, 39: {"mxfp4", 32, 17},
}

// block returns the name of a type, and the weights and bytes of a block: 0 where it is unknown.
func (t Type) block() (name string, weights, bytes uint64) {
	if f, ok := blocks.ByType(uint32(t)); ok {
		return f.Name, uint64(f.Weights), uint64(f.Bytes)
	}
	if o, ok := others[t]; ok {
		return o.name, o.weights, o.bytes
	}
	return fmt.Sprintf("type %d", uint32(t)), 0, 0
}

func (t Type) String() string {
	name, _, _ := t.block()
	return name
}

// Open reads the header of a file, and keeps the file open.
func Open(path string) (*File, error) {
	f, size, err := files.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	file, err := open(path, f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	return file, nil
}

// open reads the header of a file of some size.
func open(path string, f source, size int64) (*File, error) {
	file := &File{Path: path, f: f, size: size}
	return file, file.read(newReader(path, f, size))
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Tensors returns the tensors, in the order of the file.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Value returns the value of a key, and whether there is one.
func (f *File) Value(key string) (Value, bool) {
	i := slices.IndexFunc(f.Values, func(v Value) bool { return v.Key == key })
	if i < 0 {
		return Value{}, false
	}
	return f.Values[i], true
}

// Tensor returns the tensor of a name. The error of an unknown name lists the closest ones.
func (f *File) Tensor(name string) (Tensor, error) {
	names := make([]string, len(f.tensors))
	for i, t := range f.tensors {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	var closest []string
	for len(closest) < 3 {
		near := space.Nearest(name, names)
		if near == "" {
			break
		}
		closest = append(closest, quote(near))
		names = slices.DeleteFunc(names, func(other string) bool { return other == near })
	}
	switch {
	case len(closest) == 1:
		return Tensor{}, fmt.Errorf("%s has no tensor %s: did you mean %s?", f.Path, quote(name), closest[0])
	case len(closest) > 1:
		return Tensor{}, fmt.Errorf("%s has no tensor %s: the closest names are %s", f.Path, quote(name), strings.Join(closest, ", "))
	case len(names) == 0:
		return Tensor{}, fmt.Errorf("%s has no tensors", f.Path)
	}
	return Tensor{}, fmt.Errorf("%s has no tensor %s, but %s, such as %s", f.Path, quote(name), plain.Count(len(names), "other"), quote(names[0]))
}

// quote writes a text of a file in quotes, without what terminals would obey, and no more of it than one reads.
func quote(s string) string {
	const most = 80
	return strconv.Quote(plain.Clip(s[:min(len(s), 4*most)], most))
}

// read reads a header.
func (f *File) read(r *reader) error {
	magic, err := r.u32(`"GGUF", which begins the file`)
	switch {
	case err != nil:
		return err
	case magic != 0x46554747: // "GGUF" in little-endian
		return r.fail(0, `the file begins with %q: want "GGUF"`, []byte{byte(magic), byte(magic >> 8), byte(magic >> 16), byte(magic >> 24)})
	}
	version, err := r.u32("the version")
	switch {
	case err != nil:
		return err
	case version<<16 == 0 && version != 0:
		return r.fail(4, "version %d: the file is big-endian: want a little-endian one", bits.ReverseBytes32(version))
	case version != 2 && version != 3:
		return r.fail(4, "version %d: want 2 or 3", version)
	}
	f.Version = int(version)
	tensors, err := r.count("tensors", 24) // an empty name, no dimensions, a type and an offset
	if err != nil {
		return err
	}
	values, err := r.count("values", 13) // an empty key, a type and one byte
	if err != nil {
		return err
	}
	if err := f.readValues(r, values); err != nil {
		return err
	}
	return f.readTensors(r, tensors)
}

// count reads how many things of at least some size the header has.
func (r *reader) count(what string, size uint64) (int, error) {
	at := r.at
	n, err := r.u64("the number of " + what)
	switch {
	case err != nil:
		return 0, err
	case n > uint64(r.size-r.at)/size:
		return 0, r.fail(at, "%d %s take at least %s bytes, but the file has only %d more", n, what, product(n, size), r.size-r.at)
	case n > countLimit:
		return 0, r.fail(at, "%d %s: want at most %d", n, what, countLimit)
	}
	return int(n), nil
}

// readValues reads the metadata.
func (f *File) readValues(r *reader, n int) error {
	before := map[string]int64{}
	f.Alignment = defaultAlignment
	for range n {
		v, err := r.value()
		if err != nil {
			return err
		}
		if at, twice := before[v.Key]; twice {
			return r.fail(v.At, "the key %s is a second time in the file: first at byte %d", quote(v.Key), at)
		}
		before[v.Key] = v.At
		f.Values = append(f.Values, v)
		if v.Key == alignmentKey {
			n, ok := v.Scalar.(uint32)
			switch {
			case !ok:
				return r.fail(v.At, "%s is of type %v: want a uint32", alignmentKey, v.Type)
			case n == 0 || n&(n-1) != 0:
				return r.fail(v.At, "%s is %d: want a power of two", alignmentKey, n)
			}
			f.Alignment = int64(n)
		}
	}
	return nil
}

// readTensors reads what the header says of tensors, and checks it.
func (f *File) readTensors(r *reader, n int) error {
	before := map[string]int64{}
	for range n {
		t, err := f.readTensor(r)
		if err != nil {
			return err
		}
		if at, twice := before[t.Name]; twice {
			return r.fail(t.at, "the tensor %s is a second time in the file: first at byte %d", quote(t.Name), at)
		}
		before[t.Name] = t.at
		f.tensors = append(f.tensors, t)
	}
	f.data = (r.at + f.Alignment - 1) / f.Alignment * f.Alignment
	for i := range f.tensors {
		t := &f.tensors[i]
		bytes := max(t.Bytes, 0)
		if left := max(f.size-f.data, 0); t.Offset > left || bytes > left-t.Offset {
			return r.fail(t.at, "the tensor %s has %d bytes, from byte %d of the data on, which begins at byte %d of the file: want it to end within the file's %d bytes",
				quote(t.Name), bytes, t.Offset, f.data, f.size)
		}
		t.Offset += f.data
	}
	return f.overlap()
}

// overlap reports two tensors with the same bytes.
func (f *File) overlap() error {
	sorted := slices.DeleteFunc(slices.Clone(f.tensors), func(t Tensor) bool { return t.Bytes <= 0 })
	slices.SortStableFunc(sorted, func(a, b Tensor) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.Offset+a.Bytes > b.Offset {
			return fault(f.Path, b.at, "the tensor %s begins at byte %d, within %s, which ends at byte %d", quote(b.Name), b.Offset, quote(a.Name), a.Offset+a.Bytes)
		}
	}
	return nil
}

// readTensor reads what the header says of one tensor. Its offset is still that in the data.
func (f *File) readTensor(r *reader) (t Tensor, err error) {
	t.file, t.at = f, r.at
	if t.Name, err = r.text("the name of a tensor"); err != nil {
		return t, err
	}
	what := "of the tensor " + quote(t.Name)
	at := r.at
	dims, err := r.u32("the number of dimensions " + what)
	switch {
	case err != nil:
		return t, err
	case dims > mostDims:
		return t, r.fail(at, "%d dimensions %s: want at most %d", dims, what, mostDims)
	}
	t.Dims = make([]uint64, dims)
	for i := range t.Dims {
		if t.Dims[i], err = r.u64("a dimension " + what); err != nil {
			return t, err
		}
	}
	number, err := r.u32("the type " + what)
	if err != nil {
		return t, err
	}
	t.Type = Type(number)
	if t.Bytes, err = t.bytes(); err != nil {
		return t, r.fail(at, "%w", err)
	}
	at = r.at
	offset, err := r.u64("the offset " + what)
	switch {
	case err != nil:
		return t, err
	case offset%uint64(f.Alignment) != 0:
		return t, r.fail(at, "the offset %s is %d: want a multiple of the alignment, %d", what, offset, f.Alignment)
	case offset > uint64(f.size):
		return t, r.fail(at, "the offset %s is %d: want it within the file's %d bytes", what, offset, f.size)
	}
	t.Offset = int64(offset)
	return t, nil
}

// bytes returns the size of a tensor, from its dimensions and its type: -1 where the type is unknown.
func (t Tensor) bytes() (int64, error) {
	name, weights, size := t.Type.block()
	n, row := uint64(1), uint64(1)
	for i, d := range t.Dims {
		if i == 0 {
			row = d
		}
		over, product := bits.Mul64(n, d)
		if over != 0 || product >= 1<<63 {
			return 0, fmt.Errorf("the tensor %s has the dimensions %d: want fewer than 2^63 elements", quote(t.Name), t.Dims)
		}
		n = product
	}
	if weights == 0 {
		return -1, nil
	}
	if row%weights != 0 {
		return 0, fmt.Errorf("the tensor %s has rows of %d elements: want a multiple of %d, the block of %s", quote(t.Name), row, weights, name)
	}
	over, bytes := bits.Mul64(n/weights, size)
	if over != 0 || bytes >= 1<<63 {
		return 0, fmt.Errorf("the tensor %s has the dimensions %d of %s: want fewer than 2^63 bytes", quote(t.Name), t.Dims, name)
	}
	return int64(bytes), nil
}

// Format returns the format of the weights. The error of a type that package blocks does not have lists those that it has.
func (t Tensor) Format() (blocks.Format, error) {
	if f, ok := blocks.ByType(uint32(t.Type)); ok {
		return f, nil
	}
	var names []string
	for _, f := range append(blocks.Formats(), blocks.Floats()...) {
		names = append(names, f.Name)
	}
	return blocks.Format{}, fault(t.file.Path, t.at, "the tensor %s is of %v, which tune does not know: want one of %s", quote(t.Name), t.Type, strings.Join(names, ", "))
}

// Read returns the bytes of a tensor: its rows, one after the other.
func (t Tensor) Read() ([]byte, error) {
	switch {
	case t.Bytes < 0:
		_, err := t.Format()
		return nil, err
	case t.Bytes > tensorLimit:
		return nil, fault(t.file.Path, t.at, "the tensor %s has %d bytes, more than %s, the most that is read of one", quote(t.Name), t.Bytes, files.Size(tensorLimit))
	}
	b := make([]byte, t.Bytes)
	n, err := io.ReadFull(io.NewSectionReader(t.file.f, t.Offset, t.Bytes), b)
	if err != nil {
		return nil, fault(t.file.Path, t.Offset+int64(n), "cannot read the tensor %s, which ends at byte %d: %w", quote(t.Name), t.Offset+t.Bytes, err)
	}
	return b, nil
}
