package native

import (
	"context"
	"debug/elf"
	"fmt"
	"slices"

	"tune/space"
)

// Linkage says how programs call the code of a family at any shape, as a function of a library of kernels.
type Linkage struct {
	About string // what a call computes, in a line: C = A·B
	// Dims are the dimensions that a function takes, in the order of dims of tune_kernel.
	Dims []Dim
	// Buffers are the arrays that it takes, in the order of args of tune_kernel. About says how many elements an array has, in terms
	// of the dimensions.
	Buffers []Argument
	// Extents are the extents of the buffers, in their order.
	Extents []Extent
	// Tolerance is how far results of two forms of the kernel may be apart.
	Tolerance Tolerance
	// Contents say more of the buffers, in their order; nil where all that are read may hold any numbers, none is updated, and
	// Tolerance is that of all.
	Contents []Content
	// Plain is a form of the kernel that is right for all dimensions, also for empty ones, on every processor.
	Plain Source
	// Fixed are the fields of the shape that code is compiled for. All calls of a library share them.
	Fixed []FixedField
	// Foreign says that the code is not tune's own: it may define names beside tune_kernel (see Problem.Symbols), may want arrays that
	// are aligned to 64 bytes, and may leave elements of results unwritten.
	Foreign bool
}

// FixedField is a field of the shape that a function does not take.
type FixedField struct {
	Name string
	Why  string // "the source names it", for messages
}

// Dim is a dimension of a function that works at any shape.
type Dim struct {
	Name  string // of a field of the kernel's shape, or of what the shape does not have, such as lda
	About string // "rows of A and C"
	// Dense is the name of the dimension that this one equals where arrays are dense; "" for a field of the shape.
	Dense string
	// Least and Most bound the dimension, where Most is not 0: beyond them only the plain form is called, and nothing is promised.
	// Without bounds empty arrays are right.
	Least, Most int64
}

// Extent says which dimensions give the size of an array: rows of so many columns, a stride of elements apart. The last row may end
// with its last column. Rows and Stride are "" for an array of one row.
type Extent struct {
	Rows, Cols, Stride string
	// Length is the number of elements instead, where Count is not nil: an expression of C over the dimensions, and the same in Go,
	// over their values in the order of the linkage.
	Length string
	Count  func(dims []int64) int64
}

// Content is what an array holds. Numbers are expressions of C over the dimensions.
type Content struct {
	// Low and High bound what is drawn for an array that is read: from Low to below High, and to High too where Whole asks for whole
	// numbers. "" stands for -1 and 1, and for all values of an integer type.
	Low, High string
	Whole     bool
	Updated   bool // it is read and written
	Tolerance Tolerance
}

// Tolerance bounds the difference of two results of an element, by Absolute times the root of a dimension, if one is named, and by
// Relative of their size. The zero value asks for the same bits.
type Tolerance struct {
	Absolute, Relative float64
	Root               string
}

// Linker is implemented by a Spec whose code can be called at any shape.
type Linker interface {
	// Linkage is the zero Linkage where the code of this spec cannot be called at any shape.
	Linkage() Linkage
	// Linked returns a spec with the same points and cases, whose code takes the dimensions of the linkage. Those beyond the fields
	// of the shape need not be dense.
	Linked() Spec
}

// Linked returns the problem whose code takes the dimensions of a linkage, at the same shape; ok is false for a family whose code
// programs cannot call at any shape.
func (p *Problem) Linked() (linked *Problem, l Linkage, ok bool, err error) {
	linker, ok := p.spec.(Linker)
	if !ok || linker.Linkage().About == "" {
		return nil, Linkage{}, false, nil
	}
	made, err := New(linker.Linked(), Options{Host: p.host, Limits: p.limits, CompileTime: p.compileTime})
	if err != nil {
		return nil, Linkage{}, true, err
	}
	return made.(*Problem), linker.Linkage(), true, nil
}

// Source returns the code of a point. Wrap makes a candidate of it, also at another shape.
func (p *Problem) Source(point space.Point) (Source, error) { return p.spec.Generate(point) }

// Work describes one call at the asked shape.
func (p *Problem) Work() Work { return p.work }

// Symbols compiles a source of this problem, and returns the names beside tune_kernel that it defines for other files. A library
// gives them a prefix, so that the code of several variants links into one program.
func (p *Problem) Symbols(ctx context.Context, source Source) ([]string, error) {
	tools, err := p.host.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	so, err := tools.BuildWithin(ctx, p.compileTime, source.Lang, source.Text, source.Compiler, source.Flags)
	if err != nil {
		return nil, err
	}
	f, err := elf.Open(so)
	if err != nil {
		return nil, fmt.Errorf("reading a compiled object: %w", err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("reading the symbols of %s, which -s leaves out: %w", so, err)
	}
	var names []string
	for _, s := range all {
		kind := elf.ST_TYPE(s.Info)
		// What is hidden is local to a shared object, and yet meets its like in a static library.
		shared := elf.ST_BIND(s.Info) != elf.STB_LOCAL || elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN
		named := kind == elf.STT_FUNC || kind == elf.STT_OBJECT || kind == elf.STT_TLS
		if s.Section != elf.SHN_UNDEF && shared && named && identifier.MatchString(s.Name) && s.Name != kernelName {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
