package native

import "tune/space"

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
	// Plain is a form of the kernel that is right for all dimensions, also for empty ones, on every processor.
	Plain Source
}

// Dim is a dimension of a function that works at any shape.
type Dim struct {
	Name  string // of a field of the kernel's shape, or of what the shape does not have, such as lda
	About string // "rows of A and C"
	// Dense is the name of the dimension that this one equals where arrays are dense; "" for a field of the shape.
	Dense string
}

// Extent says which dimensions give the size of an array: rows of so many columns, a stride of elements apart. The last row may end
// with its last column.
type Extent struct{ Rows, Cols, Stride string } // Rows and Stride are "" for an array of one row

// Tolerance bounds the difference of two results of an element, by Absolute times the root of a dimension, if one is named, and by
// Relative of their size. The zero value asks for the same bits.
type Tolerance struct {
	Absolute, Relative float64
	Root               string
}

// Linker is implemented by a Spec whose code can be called at any shape.
type Linker interface {
	Linkage() Linkage
	// Linked returns a spec with the same points and cases, whose code takes the dimensions of the linkage. Those beyond the fields
	// of the shape need not be dense.
	Linked() Spec
}

// Linked returns the problem whose code takes the dimensions of a linkage, at the same shape; ok is false for a family whose code
// programs cannot call at any shape.
func (p *Problem) Linked() (linked *Problem, l Linkage, ok bool, err error) {
	linker, ok := p.spec.(Linker)
	if !ok {
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
