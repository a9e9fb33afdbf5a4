package native

import (
	"context"
	"debug/elf"
	"fmt"
	"maps"
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
	// Pinned are values of parameters for a search of code that is called at many shapes: other values bring something at the shape of the
	// search alone. Nil for none.
	Pinned map[string]string
	// Foreign says that the code is not tune's own: it may define names beside tune_kernel (see Problem.Symbols), may want arrays that
	// are aligned to 64 bytes, and may leave elements of results unwritten.
	Foreign bool
	// Each is about how many operations a call takes for each element of the product of its dimensions; 0 stands for few. The self-test bounds
	// its shapes by it.
	Each float64
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
	// Multiple is what the dimension is a multiple of, where it is above 1: nothing is promised of others.
	Multiple int64
	// MultipleOf is the name of a dimension that it is a multiple of; "" for none.
	MultipleOf string
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
	// Halves are numbers among the bytes of an array of blocks; nil where any byte may have any value.
	Halves *BlockHalves
	// Quantised says that an array which is written has blocks of Q8_0, an fp16 and 32 integers that it multiplies. Rounding may go either
	// way, so that the products may be apart by a step and a bit.
	Quantised bool
}

// BlockHalves says where the blocks of an array have fp16 numbers among bytes that may have any value. They are drawn with either sign, from
// 2^Exponent on and below twice that.
type BlockHalves struct {
	Every    int   // bytes of a block
	At       []int // the bytes of a block at which such a number begins
	Exponent int
	Brain    bool // they are bfloat16
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

// Finisher is implemented by a linked Spec whose code for programs has more than that of a search: what does not depend on the point would be
// compiled for each candidate.
type Finisher interface {
	Finish(space.Point) (Source, error)
}

// Linked returns a spec that is the given one in all but the code of its points, which generate writes. It is what Linker.Linked returns where
// the cases are those of the family.
func Linked(spec Spec, generate func(space.Point) (Source, error)) Spec {
	return &linkedSpec{spec, generate}
}

type linkedSpec struct {
	Spec
	generate func(space.Point) (Source, error)
}

// Generate writes the code of a point.
func (l *linkedSpec) Generate(p space.Point) (Source, error) { return l.generate(p) }

// as returns what a spec can do beyond the least. One of Linked can do what the spec in it can.
func as[T any](spec Spec) (T, bool) {
	if l, ok := spec.(*linkedSpec); ok {
		spec = l.Spec
	}
	can, ok := spec.(T)
	return can, ok
}

// PackFinder is implemented by a Linker of whose points some take an argument in a layout of theirs.
type PackFinder interface {
	// PointOf returns a point that takes the argument in a layout; ok is false where no point of this shape does. Cases of points with
	// the same layout are the same.
	PointOf(*Pack) (p space.Point, ok bool)
}

// Counter is implemented by a Linker that knows how much the linked code of a point does in a call, such as steps of loops.
type Counter interface {
	// Amounts returns what a call does, each as the factors of a product: formulas over the dimensions of the shape. The time of a call
	// is roughly the sum of the amounts, each at a price of its own. nil says that nothing is known.
	Amounts(space.Point) [][]string
}

// Amounts returns what a call of the linked code of a point does, as Counter says; nil where the family does not say it.
func (p *Problem) Amounts(point space.Point) [][]string {
	if c, ok := as[Counter](p.spec); ok {
		return c.Amounts(point)
	}
	return nil
}

// PointWith returns a point of a space that takes an argument in the wanted layout, for PackFinder: pack describes the layout of a point. The point
// has the given values, and any of the named parameters, on which a layout depends; ok is false where there is none.
func PointWith(s *space.Space, values map[string]any, names []string, pack func(space.Point) *Pack, want *Pack) (p space.Point, ok bool) {
	if len(names) == 0 {
		p, err := s.Make(values)
		if err != nil {
			return p, false // no point of this space
		}
		packed := pack(p)
		return p, packed != nil && packed.Name == want.Name
	}
	// Without a value a parameter has its default, or no part in the point.
	if p, ok = PointWith(s, values, names[1:], pack, want); ok {
		return p, true
	}
	if param, has := s.Parameter(names[0]); has {
		for i := range param.Len() {
			with := maps.Clone(values)
			with[names[0]] = param.At(i).Any()
			if p, ok = PointWith(s, with, names[1:], pack, want); ok {
				return p, true
			}
		}
	}
	return space.Point{}, false
}

// PointOf returns a point whose cases the code of another shape is checked on: one that takes its arguments in the same layout.
func (p *Problem) PointOf(s Source) (space.Point, error) {
	if s.Pack == nil {
		return p.Presets()[0].Point, nil
	}
	if f, ok := as[PackFinder](p.spec); ok {
		if point, ok := f.PointOf(s.Pack); ok {
			return point, nil
		}
	}
	return space.Point{}, fmt.Errorf("no point takes argument %s as %s", s.Pack.Argument, s.Pack.Name)
}

// Linked returns the problem whose code takes the dimensions of a linkage, at the same shape; ok is false for a family whose code
// programs cannot call at any shape.
func (p *Problem) Linked() (linked *Problem, l Linkage, ok bool, err error) {
	linker, ok := as[Linker](p.spec)
	if !ok || linker.Linkage().About == "" {
		return nil, Linkage{}, false, nil
	}
	made, err := New(linker.Linked(), Options{Host: p.host, Limits: p.limits, CompileTime: p.compileTime})
	if err != nil {
		return nil, Linkage{}, true, err
	}
	return made.(*Problem), linker.Linkage(), true, nil
}

// Source returns the code of a point for programs. Wrap makes a candidate of it, also at another shape.
func (p *Problem) Source(point space.Point) (Source, error) {
	if f, ok := as[Finisher](p.spec); ok {
		return f.Finish(point)
	}
	return p.spec.Generate(point)
}

// Work describes one call at the asked shape.
func (p *Problem) Work() Work { return p.work }

// Symbols compiles a source of this problem, and returns the names beside tune_kernel that it defines for other files. A library
// gives them a prefix, so that the code of several variants links into one program. Of C++ there are none: a library makes them local
// when they are compiled, because the compiler makes names of its own. It is an error where code that needs features of the processor runs
// by itself when a program starts: that would be on every processor.
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
	if needs := NeedsOf(source.Flags); len(needs) > 0 && constructs(f) {
		return nil, fmt.Errorf("with %s: code runs by itself when a program starts, such as the constructor of a global variable, and it would be code for this processor on every processor: make such values at the first call, as a static variable of a function, and leave out <iostream>", needs[0].Flag)
	}
	if source.Lang == "c++" {
		return nil, nil
	}
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
		if s.Section != elf.SHN_UNDEF && shared && named && identifier().MatchString(s.Name) && s.Name != kernelName {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// constructs reports whether a shared object runs code when it is loaded, beside that which the compiler adds to each.
func constructs(f *elf.File) bool {
	var size uint64
	for _, s := range f.Sections {
		if s.Type == elf.SHT_INIT_ARRAY {
			size += s.Size
		}
	}
	pointer := uint64(8)
	if f.Class == elf.ELFCLASS32 {
		pointer = 4
	}
	return size > pointer
}
