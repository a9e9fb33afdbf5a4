package elementwise

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// formulas say what an operation does, where i counts elements and k arrays.
var formulas = map[string]string{
	"relu": "y[i] = max(a[i], 0)", "mul": "y[i] = a[i] · b[i]", "add": "y[i] = a[i] + b[i]", "sqdiff": "y[i] = (a[i] - b[i])²",
	"dot": "y[k] = the sum of a[i] · b[i] over array k", "distance": "y[k] = the root of the sum of (a[i] - b[i])² over array k",
}

// Linkage says how programs call the family: with arrays that follow each other.
func (k *Spec) Linkage() native.Linkage {
	l := native.Linkage{
		About: formulas[k.op.name],
		Dims:  []native.Dim{{Name: "n", About: "elements of an array"}, {Name: "arrays", About: "arrays, one after the other"}},
	}
	for _, name := range k.knobs(k.plain).Names {
		l.Buffers = append(l.Buffers, native.Argument{Name: name, Type: "const float *", About: "arrays times n elements"})
		l.Extents = append(l.Extents, native.Extent{Rows: "arrays", Cols: "n"})
	}
	result, extent := native.Argument{Name: "y", Type: "float *", About: "arrays times n elements, written"}, native.Extent{Rows: "arrays", Cols: "n"}
	if k.op.reduce {
		result.About, extent = "arrays elements, written", native.Extent{Cols: "arrays"}
		// Of sums of numbers up to 1: forms add up in different orders, and plain loops err the most.
		l.Tolerance = native.Tolerance{Absolute: 1e-5, Relative: 1e-4, Root: "n"}
	}
	l.Buffers, l.Extents = append(l.Buffers, result), append(l.Extents, extent)
	l.Plain = k.source(k.plain)
	return l
}

// plainPoint returns the point of the plain loop for every processor.
func (k *Spec) plainPoint() (space.Point, error) {
	p, err := k.Space().Make(map[string]any{"code": codePlain, "compiler": k.machine.Compilers[0], "opt": "O3", "isa": cgen.Generic})
	if err != nil {
		return p, fmt.Errorf("the plain form: %w", err)
	}
	return p, nil
}

// Linked returns the same family, whose sources have as many threads as a call of any size uses.
func (k *Spec) Linked() native.Spec { return native.Linked(k, k.linkedSource) }

// linkedSource writes the code of a point that is called at any shape.
func (k *Spec) linkedSource(p space.Point) (native.Source, error) {
	src := k.source(p)
	if k.parallel(p) {
		src.Threads = p.Int("workers")
	}
	if isas := vectorISAs(k.machine); p.Str("isa") == cgen.Native && len(isas) > 0 {
		src.Flags = k.flags(p, isas[len(isas)-1].Name) // a library names what its code needs
	}
	return src, nil
}
