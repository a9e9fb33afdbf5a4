package library

import (
	"fmt"
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/kernels/native"
)

// packParameters matches the parameters of a function that lays out an argument: where to, from where, and dimensions.
var packParameters = pattern.Lazy(`^[a-z0-9_]+ \*[a-z]+, const [a-z0-9_]+ \*[a-z]+((?:, int64_t [a-z]+)+)$`)

// packDims returns the names of the dimensions that a layout depends on; nil where its parameters are other ones.
func packDims(p *native.Pack) []string {
	m := packParameters().FindStringSubmatch(p.Parameters)
	if m == nil {
		return nil
	}
	return strings.Split(strings.TrimPrefix(m[1], ", int64_t "), ", int64_t ")
}

// packedArray returns the index of the array that variants take in layouts of theirs; -1 where there is none.
func (f Function) packedArray() int {
	for _, v := range f.Variants {
		if p := v.Source.Pack; p != nil {
			return slices.IndexFunc(f.Linkage.Buffers, func(b native.Argument) bool { return strings.EqualFold(b.Name, p.Argument) })
		}
	}
	return -1
}

// checkPacks returns an error where variants take arrays in layouts that the library cannot make.
func (f Function) checkPacks() error {
	at := f.packedArray()
	var dims []string
	for i, v := range f.Variants {
		p := v.Source.Pack
		if p == nil {
			continue
		}
		switch names := packDims(p); {
		case at < 0 || !strings.EqualFold(f.Linkage.Buffers[at].Name, p.Argument):
			return fmt.Errorf("argument %s of variant %d has a layout of its own: want one array of the function, the same for all variants", p.Argument, i)
		case names == nil || p.Name == "" || p.Length == "":
			return fmt.Errorf("argument %s of variant %d has a layout of its own, which is not known at any shape", p.Argument, i)
		case dims != nil && !slices.Equal(dims, names):
			return fmt.Errorf("argument %s of variant %d is laid out by %v, and by %v in others", p.Argument, i, names, dims)
		default:
			dims = names
		}
	}
	if dims == nil {
		return nil
	}
	e := f.Linkage.Extents[at]
	for _, name := range append([]string{e.Rows, e.Cols}, dims...) {
		if name != "" && !slices.Contains(f.shape(), name) {
			return fmt.Errorf("the size of argument %s depends on %s, which is no dimension of the shape", f.Linkage.Buffers[at].Name, name)
		}
	}
	if e.Stride != "" || !strings.HasPrefix(f.Linkage.Buffers[at].Type, "const ") {
		return fmt.Errorf("argument %s is laid out ahead: want an array without a leading dimension, which is only read", f.Linkage.Buffers[at].Name)
	}
	return nil
}

// packedText describes how the array that variants take in layouts of theirs is laid out.
type packedText struct {
	Index   int // of the array
	dims    []string
	all     []native.Dim
	Length  string // of the array as it is, in elements
	Layouts []layoutText
}

// layoutText is a layout, which several variants may share.
type layoutText struct {
	Number int    // from 1 on; 0 is the array as it is
	Length string // in bytes
	name   string
}

// pack fills in how an array is laid out, and which variant takes which layout.
func (t *functionText) pack(f Function) {
	at := f.packedArray()
	if at < 0 {
		return
	}
	p := &packedText{Index: at, all: t.Dims}
	e := f.Linkage.Extents[at]
	switch {
	case e.Count != nil:
		p.Length = e.Length
	case e.Rows != "":
		p.Length = e.Rows + " * " + e.Cols
	default:
		p.Length = e.Cols
	}
	for i, v := range f.Variants {
		pack := v.Source.Pack
		if pack == nil {
			continue
		}
		p.dims = packDims(pack)
		number := 1 + slices.IndexFunc(p.Layouts, func(l layoutText) bool { return l.name == pack.Name })
		if number == 0 {
			number = len(p.Layouts) + 1
			p.Layouts = append(p.Layouts, layoutText{number, pack.Length, pack.Name})
		}
		k := &t.Kernels[i]
		k.Layout, k.PackLength, k.PackParameters, k.PackNames = number, pack.Length, pack.Parameters, strings.Join(p.dims, ", ")
	}
	t.Packed = p
	a := &t.Arrays[at]
	a.Raw = a.Variable + "_given"
}

// Parameters are the dimensions that layouts depend on, as they are declared.
func (p *packedText) Parameters() string { return "int64_t " + strings.Join(p.dims, ", int64_t ") }

// Names are their names.
func (p *packedText) Names() string { return strings.Join(p.dims, ", ") }

// Empty is the condition that there is nothing to lay out.
func (p *packedText) Empty() string { return strings.Join(p.dims, " <= 0 || ") + " <= 0" }

// AllDims are the dimensions of the function, with 0 for those that layouts do not depend on.
func (p *packedText) AllDims() string {
	words := make([]string, len(p.all))
	for i, d := range p.all {
		words[i] = "0"
		if slices.Contains(p.dims, d.Name) {
			words[i] = d.Name
		}
	}
	return strings.Join(words, ", ")
}

// TableNames are the dimensions that layouts depend on, from an array of all dimensions of a call.
func (p *packedText) TableNames() string {
	var words []string
	for _, name := range p.dims {
		words = append(words, fmt.Sprintf("dims[%d]", slices.IndexFunc(p.all, func(d native.Dim) bool { return d.Name == name })))
	}
	return strings.Join(words, ", ")
}

// Before are the layouts that stand before one of a number where all variants run: the array as it is, if some variant takes it so, and those
// with lower numbers. Lengths are in bytes.
func (t *functionText) Before(number int) (lengths []string) {
	if number > 0 && slices.ContainsFunc(t.Kernels, func(k kernelText) bool { return k.Layout == 0 }) {
		lengths = append(lengths, fmt.Sprintf("(%s) * (int64_t)sizeof(%s)", t.Packed.Length, t.PackedArray().Element))
	}
	for _, l := range t.Packed.Layouts {
		if l.Number < number {
			lengths = append(lengths, l.Length)
		}
	}
	return lengths
}

// ShapeLocals declares the dimensions of a shape as variables of C.
func (t *functionText) ShapeLocals() string {
	var b strings.Builder
	for _, name := range t.shape {
		fmt.Fprintf(&b, "\tconst int64_t %s = dims[%d];\n\t(void)%[1]s;\n", name, t.index(name))
	}
	return b.String()
}

// Elsewhere is the condition that dimensions are not those of a shape.
func (t *functionText) Elsewhere(shape []int64) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		words[i] = fmt.Sprintf("dims[%d] != INT64_C(%d)", t.index(t.shape[i]), n)
	}
	return strings.Join(words, " || ")
}

// Last is the number of the last layout.
func (p *packedText) Last() int { return len(p.Layouts) }

// PackSamples are the dimensions that layouts depend on, in the examples.
func (t *functionText) PackSamples() string {
	var words []string
	for _, name := range t.Packed.dims {
		words = append(words, fmt.Sprint(t.sample(name)))
	}
	return strings.Join(words, ", ")
}

// PackGoTypes and PackPythonTypes are their types.
func (t *functionText) PackGoTypes() string { return t.Packed.repeated("int64") }

// PackPythonTypes are those of ctypes.
func (t *functionText) PackPythonTypes() string { return t.Packed.repeated("ctypes.c_int64") }

// repeated writes a word for each dimension that layouts depend on.
func (p *packedText) repeated(word string) string {
	return strings.Join(slices.Repeat([]string{word}, len(p.dims)), ", ")
}

// Given is the name of the array in C before it is laid out.
func (a arrayText) Given() string {
	if a.Raw == "" {
		return a.Name
	}
	return a.Name + "_given"
}

// GivenVariable is its name in Go and Python before it is laid out.
func (a arrayText) GivenVariable() string {
	if a.Raw == "" {
		return a.Variable
	}
	return a.Raw
}

// PackedArray is the array that is laid out.
func (t *functionText) PackedArray() arrayText { return t.Arrays[t.Packed.Index] }
