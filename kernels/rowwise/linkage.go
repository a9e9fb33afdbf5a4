package rowwise

import (
	"fmt"
	"math"
	"slices"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// formulas say what an operation does to a row of n elements.
var formulas = map[string]string{
	"softmax": "y[i] = exp(x[i]) / the sum of all exp(x[j]), in each row", "rmsnorm": "y[i] = x[i] · w[i] / the root of the mean square of x, in each row",
	"add-rmsnorm": "s[i] = x[i] + r[i], and y[i] = s[i] · w[i] / the root of the mean square of s, in each row",
	"layernorm":   "y[i] = (x[i] - mean) · w[i] / the standard deviation + b[i], in each row",
	"silu":        "y[i] = x[i] / (1 + exp(-x[i]))", "swiglu": "y[i] = g[i] / (1 + exp(-g[i])) · u[i]",
	"gelu":          "y[i] = x[i] · (1 + tanh(√(2/π) · (x[i] + 0.044715 · x[i]³))) / 2",
	"rope":          "y is x with the pairs x[i] and x[i+cols/2] of each row turned by the angles of its token",
	"rope-pairwise": "y is x with the pairs x[2i] and x[2i+1] of each row turned by the angles of its token",
	"rmsnorm-q8":    "y[i] = x[i] · w[i] / the root of the mean square of x, in each row, as blocks of Q8_0",
	"swiglu-q8":     "y[i] = g[i] / (1 + exp(-g[i])) · u[i], as blocks of Q8_0",
	"gelu-erf":      "y[i] = x[i] · (1 + erf(x[i] / √2)) / 2", "argmax": "y is the first place of the largest element, of each row",
}

// Linkage says how programs call the family.
func (k *Spec) Linkage() native.Linkage {
	l := native.Linkage{About: formulas[k.op.name], Dims: k.linkedDims()}
	for _, name := range k.op.inputs {
		about, extent := "rows times cols elements", native.Extent{Rows: "rows", Cols: "cols"}
		switch name {
		case "w", "b":
			about, extent = "cols elements", native.Extent{Cols: "cols"}
		case "table":
			about = "cols elements for each token, which has heads rows: the cosines of the cols/2 angles, then the sines"
			extent = native.Extent{Length: "(heads > 0 ? rows / heads * cols : 0)", Count: func(dims []int64) int64 { return dims[0] / max(dims[2], 1) * dims[1] }}
		}
		content := native.Content{}
		if k.op.exponential && name != "u" {
			content.Low, content.High = "-8", "8"
		}
		l.Buffers = append(l.Buffers, native.Argument{Name: name, Type: "const float *", About: about})
		l.Extents, l.Contents = append(l.Extents, extent), append(l.Contents, content)
	}
	for _, name := range k.op.outputs {
		result, extent := native.Argument{Name: name, Type: "float *", About: "rows times cols elements, written"}, native.Extent{Rows: "rows", Cols: "cols"}
		content := native.Content{Tolerance: k.apart(name)}
		switch {
		case k.op.rope:
			result.About += "; not where heads is 0"
		case k.op.name == "argmax":
			result.Type, result.About, extent = "int32_t *", "rows elements, written", native.Extent{Cols: "rows"}
		case k.op.q8:
			result.Type, result.About = "uint8_t *", fmt.Sprintf("rows times cols / %d blocks of %d bytes, as ggml stores Q8_0, written", q8Weights, q8Bytes)
			extent = native.Extent{
				Length: fmt.Sprintf("rows * (cols / %d * %d)", q8Weights, q8Bytes),
				Count:  func(dims []int64) int64 { return dims[0] * (dims[1] / q8Weights * q8Bytes) },
			}
			content = native.Content{Quantised: true}
		}
		l.Buffers = append(l.Buffers, result)
		l.Extents, l.Contents = append(l.Extents, extent), append(l.Contents, content)
	}
	anywhere := k.knobs(k.loop)
	anywhere.Anywhere = true
	l.Plain = k.sourceOf(k.loop, anywhere)
	return l
}

// linkedDims are the dimensions that a function takes.
func (k *Spec) linkedDims() []native.Dim {
	dims := []native.Dim{{Name: "rows", About: "rows"}, {Name: "cols", About: "elements of a row"}}
	switch {
	case k.op.name == "argmax":
		dims[1].Least, dims[1].Most = 1, maxCols // nothing is the largest of nothing
	case k.op.q8:
		dims[1].Multiple = q8Weights
	case k.op.rope:
		dims[0].About, dims[0].MultipleOf = "rows, which are tokens times heads", "heads"
		dims[1].About, dims[1].Multiple = "elements of a row, which is a head", 2
		dims = append(dims, native.Dim{Name: "heads", About: "rows of a token", Least: 1, Most: maxHeads})
	}
	return dims
}

// apart is how far two right forms may be apart, for numbers as the self-test draws them: twice the tolerance of the reference.
func (k *Spec) apart(output string) native.Tolerance {
	exact := func(v float64) float64 {
		if k.fast {
			return 2 * toleranceFast
		}
		return 2 * v
	}
	switch {
	case output == "s" || k.op.name == "argmax":
		return native.Tolerance{}
	case k.op.name == "softmax":
		return native.Tolerance{Absolute: 2 * least, Relative: exact(toleranceSoftmax)}
	case k.op.name == "layernorm":
		// A mean is off by its rounding, which the quotient by the deviation enlarges.
		const rounding = 0x1p-22
		return native.Tolerance{Absolute: max(2*toleranceSoftmax, rounding/math.Sqrt(k.eps)), Relative: 2 * toleranceSoftmax}
	case k.op.norm:
		return native.Tolerance{Absolute: 2 * least, Relative: 2 * toleranceNorm}
	}
	tolerance := exact(toleranceNorm)
	return native.Tolerance{Absolute: activationReach * tolerance, Relative: tolerance}
}

// newPlain finds the point of the plain loop for every processor.
func (k *Spec) newPlain() (space.Point, error) {
	return k.Space().Make(map[string]any{"code": codePlain, "compiler": k.machine.Compilers[0], "opt": "O3", "isa": cgen.Generic})
}

// Linked returns the same family, whose flags name what the code needs.
func (k *Spec) Linked() native.Spec { return native.Linked(k, k.linkedSource) }

// linkedSource writes the code of a point that is called at any shape.
func (k *Spec) linkedSource(p space.Point) (native.Source, error) {
	src := k.source(p)
	if at := slices.Index(src.Flags, "-march=native"); at >= 0 {
		isas := vectorISAs(k.machine)
		named := cgen.Flags{Arch: k.machine.Arch, Opt: p.Str("opt"), ISA: isas[len(isas)-1].Name, Wide: true}.List()[1:]
		src.Flags = slices.Replace(slices.Clone(src.Flags), at, at+1, named...)
	}
	return src, nil
}
