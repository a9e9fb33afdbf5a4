package attention

import (
	"context"
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// Linkage says how programs call the family: with the queries and the context of a call, and with caches of keys and values that have room
// for a longer context. The heads are those of a model, and the code is made for them.
func (a *Spec) Linkage() native.Linkage {
	numbers := a.heads * a.head // of the queries of all heads
	l := native.Linkage{
		About: fmt.Sprintf("attention of %d query heads and %d heads of keys and values, each of %d numbers, over a cache of keys and values in %s", a.heads, a.kvHeads, a.head, a.kv),
		Dims: []native.Dim{
			{Name: "queries", About: "queries of each head" + map[bool]string{true: ", which are the last ones of the context and see no later keys"}[a.causal]},
			{Name: "context", About: "keys and values of each head that are there"},
			{Name: "stride", About: "keys and values of each head that there is room for: those of the next head begin behind them", Dense: "context"},
		},
		Each: 4 * float64(numbers),
	}
	rows := native.Extent{Length: fmt.Sprintf("queries * %d", numbers), Count: func(dims []int64) int64 { return dims[0] * int64(numbers) }, Cols: "queries"}
	cache := native.Extent{
		Length: fmt.Sprintf("(context > 0 ? (%d * stride + context) * %d : 0)", a.kvHeads-1, a.head),
		Count: func(dims []int64) int64 {
			if dims[1] <= 0 {
				return 0
			}
			return (int64(a.kvHeads-1)*dims[2] + dims[1]) * int64(a.head)
		},
	}
	kv, content := "const uint16_t *", native.Content{Halves: &native.BlockHalves{Every: 2, At: []int{0}, Exponent: -1, Brain: a.kv == kvBF16}}
	if a.kv == kvF32 {
		kv, content = "const float *", native.Content{}
	}
	of := fmt.Sprintf("%d heads, stride keys apart, of context %%s of %d numbers of %s", a.kvHeads, a.head, a.kv)
	l.Buffers = []native.Argument{
		{Name: "q", Type: "const float *", About: fmt.Sprintf("%d heads of queries rows of %d elements", a.heads, a.head)},
		{Name: "k", Type: kv, About: fmt.Sprintf(of, "keys")},
		{Name: "v", Type: kv, About: fmt.Sprintf(of, "values")},
		{Name: "out", Type: "float *", About: fmt.Sprintf("queries rows of %d heads of %d elements, written; 0 where a query sees no key", a.heads, a.head)},
	}
	l.Extents = []native.Extent{rows, cache, cache, rows}
	// Values are below 1, and so is their weighted sum. Each of two forms is as far from the right result as the accuracy allows.
	l.Contents = []native.Content{{Low: fmt.Sprint(-spread), High: fmt.Sprint(spread)}, content, content, {Tolerance: native.Tolerance{Absolute: 2 * tolerances[a.accuracy]}}}
	for _, name := range []string{"heads", "kv_heads", "head"} {
		l.Fixed = append(l.Fixed, native.FixedField{Name: name, Why: "the code is made for it"})
	}
	plain := a.Presets()[0].Point
	l.Plain = a.source(plain, a.linked(plain))
	l.Plain.Flags = cgen.Flags{Arch: a.machine.Arch, Std: "gnu11", Opt: "O3", Contract: cgen.ContractOff, NoMathErrno: true, ISA: cgen.Generic}.List()
	return l
}

// linked reads a point, for code that programs call.
func (a *Spec) linked(p space.Point) knobs {
	k := a.knobs(p)
	k.Linked, k.Heads = true, a.heads
	return k
}

// Linked returns the same family, whose code takes queries, context and stride, and whose flags name what it needs.
func (a *Spec) Linked() native.Spec { return linkedSpec{a} }

// linkedSpec is a Spec whose code is called at any number of queries and any context.
type linkedSpec struct{ *Spec }

// Generate writes the code of a point.
func (a linkedSpec) Generate(p space.Point) (native.Source, error) {
	src := a.source(p, a.linked(p))
	src.Flags = cgen.Named(src.Flags, a.machine)
	return src, nil
}

// Cases returns those of the family, all with the heads that the code is made for.
func (a linkedSpec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	cases, err := a.casesWith(ctx, p, seed, func(int) int { return a.kvHeads })
	for i := range cases {
		cases[i] = called(cases[i])
	}
	return cases, err
}

// Variant returns the asked shape with the inputs of a seed.
func (a linkedSpec) Variant(ctx context.Context, p space.Point, seed uint64) (native.Case, error) {
	c, err := a.Spec.Variant(ctx, p, seed)
	return called(c), err
}

// called returns a case with the dimensions that programs give, and dense arrays.
func called(c native.Case) native.Case {
	if c.Dims != nil {
		c.Dims = []int64{c.Dims[0], c.Dims[1], c.Dims[1]}
	}
	return c
}
