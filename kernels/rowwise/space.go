package rowwise

import (
	"fmt"
	"maps"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// The words of the parameters.
const (
	codePlain  = "plain"
	codeVector = "vector"

	storesPlain = "plain"
	storesNT    = "nontemporal"

	tailPadded = "padded"
	tailMasked = "masked"

	passesThree          = "three"
	passesThreeRecompute = "three-recompute"
	passesTwo            = "two"
	passesTwoRecompute   = "two-recompute"
	passesUnshifted      = "unshifted"

	keptResult = "result"
	keptBuffer = "buffer"

	scaleMultiply = "multiply"
	scaleScalef   = "scalef"
	scaleReduce   = "reduce"

	reciprocalDivide    = "divide"
	reciprocalNewton    = "newton"
	reciprocalEstimate  = "estimate"
	reciprocalAlternate = "alternate"

	formExponential = "exponential"
	formPolynomial  = "polynomial"
	formTable       = "table"

	pairsSwap  = "swap"
	pairsSplit = "split"

	nextNo = "no"
	nextL1 = "l1"
	nextL2 = "l2"

	searchIndices = "indices"
	searchBlocks  = "blocks"
)

// vectorISAs returns the instruction sets that code for vectors of floats can use on the machine.
func vectorISAs(m native.Machine) []cgen.ISA {
	return cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVX512)
}

// swept returns how many elements a loop over a row has.
func (k *Spec) swept() int {
	if k.op.rope {
		return k.size.cols / 2
	}
	return k.size.cols
}

func (k *Spec) newSpace() (*space.Space, error) {
	isas := vectorISAs(k.machine)
	widest := isas[len(isas)-1]
	names := []string{cgen.Native}
	var widths []int
	for _, isa := range isas {
		names = append(names, isa.Name)
		widths = append(widths, isa.Lanes())
	}
	const vector = "code == '" + codeVector + "'"
	parameters := []space.Parameter{
		space.Enum("code", codePlain, codeVector).
			Describe("a plain loop that the compiler vectorises as it can, or explicit vectors"),
		space.Enum("compiler", k.machine.Compilers...).Describe("the compiler"),
		space.Enum("opt", "O2", "O3").WithDefault("O3").Describe("its level of optimisation"),
		space.Enum("isa", names...).
			Describe("instruction set: all that the CPU has, as the compiler knows it, or a named one"),
		space.Bool("unroll_loops").If(fmt.Sprintf("code == '%s'", codePlain)).Describe("-funroll-loops"),
		space.Ints("lanes", widths...).If(vector).Describe("floats in a vector"),
		space.Ints("unroll", 1, 2, 4, 8).WithDefault(4).If(vector).
			Describe("vectors of a row in one step, each with its own sum where there are sums; of the q8 forms blocks"),
	}
	if together := upTo(k.together(), 1, 2, 4, 8); len(together) > 1 {
		parameters = append(parameters, space.Ints("together", together...).If(vector).
			Describe("rows that are walked side by side"))
	}
	parameters = append(parameters, space.Ints("prefetch", 0, 4, 8, 16, 32, 64).If(vector).
		Describe("cache lines that inputs are prefetched ahead in the first pass; 0 leaves it to the hardware"))
	if k.size.rows > 1 && (k.op.norm || k.op.name == "softmax") {
		parameters = append(parameters, space.Enum("next", nextNo, nextL1, nextL2).If(vector).
			Describe("the next rows are prefetched while these are worked on: not, into the first-level cache, or into the second"))
	}
	if k.storesPast() {
		parameters = append(parameters, space.Enum("stores", storesPlain, storesNT).If(vector).
			Describe("through the caches, or past them where the rows are aligned"))
	}
	wide := widest.Name == cgen.AVX512
	masked := wide && k.swept()%widest.Lanes() != 0 && !k.op.q8
	if masked {
		parameters = append(parameters, space.Enum("tail", tailPadded, tailMasked).If(vector).
			Describe("elements that fill no vector: through a small buffer, or by masks"))
	}
	parameters = append(parameters, k.ownParameters(vector)...)
	if k.threads > 1 && k.size.rows > 1 {
		const parallel = "workers > 1"
		parameters = append(parameters,
			space.Range("workers", 1, k.threads).Describe("threads that share the rows, the caller included; 1 is serial"),
			space.Ints("pieces", 1, 2, 4, 8).If(parallel).Describe("chunks of rows for each worker"),
		)
		parameters = append(parameters, cgen.CrewParameters(parallel)...)
	}
	// "native" leaves the width to the compiler.
	constraints := []string{fmt.Sprintf("code == '%s' || isa != '%s'", codePlain, cgen.Native)}
	for _, isa := range isas {
		constraints = append(constraints, fmt.Sprintf("isa != '%s' || lanes <= %d", isa.Name, isa.Lanes()))
	}
	if k.op.exponential && !k.op.q8 {
		constraints = append(constraints, k.interleaveConstraints(wide)...)
	}
	if masked {
		constraints = append(constraints, fmt.Sprintf("tail != '%s' || isa == '%s'", tailMasked, cgen.AVX512))
	}
	if wide && k.op.exponential {
		constraints = append(constraints, fmt.Sprintf("form != '%s' || isa == '%s' && lanes == %d", formTable, cgen.AVX512, tableLanes))
	}
	if k.op.name == "softmax" {
		// A running sum is scaled by exp 0 again and again, which has to be 1; and the errors of exponentials of stretches add up.
		constraints = append(constraints, fmt.Sprintf("passes != '%s' || degree >= 5", passesTwoRecompute))
		if wide {
			constraints = append(constraints, fmt.Sprintf("passes != '%s' || form != '%s'", passesTwoRecompute, formTable))
		}
		if !k.fast {
			constraints = append(constraints, fmt.Sprintf("passes != '%s' || degree >= 5", passesTwo))
			if wide {
				// That form rounds a product with log₂ e.
				constraints = append(constraints, fmt.Sprintf("scale != '%s' || degree >= 5 || passes == '%s'", scaleReduce, passesUnshifted))
			}
		}
	}
	return space.New("rowwise", parameters, constraints...)
}

// together returns the most rows that can be walked side by side.
func (k *Spec) together() int {
	switch {
	case k.op.q8 && k.op.flat:
		return 1
	case k.op.rope:
		return k.size.heads
	}
	return k.size.rows
}

// storesPast reports whether the results are floats that can be stored past the caches.
func (k *Spec) storesPast() bool { return !k.op.q8 && k.op.name != "argmax" }

// ownParameters are the choices of the operation.
func (k *Spec) ownParameters(vector string) []space.Parameter {
	var out []space.Parameter
	switch k.op.name {
	case "softmax":
		out = append(out, space.Enum("passes", passesThree, passesThreeRecompute, passesTwo, passesTwoRecompute, passesUnshifted).If(vector).
			Describe("maximum, exponentials, scaling: in three passes or in two, block by block or with a running maximum; exponentials are kept or computed again; unshifted looks for no maximum, and does a row again in three passes if its sum shows that one was needed"))
		if k.size.cols <= keptCols {
			out = append(out, space.Enum("kept", keptResult, keptBuffer).
				If(fmt.Sprintf("%s && (passes == '%s' || passes == '%s')", vector, passesThree, passesUnshifted)).
				Describe("where exponentials are kept: in the result, or in a buffer, so that results are written once"))
		}
	case "layernorm":
		out = append(out, space.Enum("passes", passesThree, passesTwo).If(vector).
			Describe("mean, variance, result: in three passes, or mean and variance block by block in one"))
	case "rope-pairwise":
		out = append(out, space.Enum("pairs", pairsSwap, pairsSplit).If(vector).
			Describe("neighbours are swapped and the table doubled, or pairs are taken apart and put together again"))
	case "argmax":
		out = append(out, space.Enum("search", searchIndices, searchBlocks).If(vector).
			Describe("indices travel with the maxima, or the block of the maximum is searched again"))
	}
	if !k.op.exponential {
		return out
	}
	isas := vectorISAs(k.machine)
	wide := isas[len(isas)-1].Name == cgen.AVX512
	explicit := vector
	if forms := k.forms(wide); len(forms) > 1 {
		out = append(out, space.Enum("form", forms...).If(vector).
			Describe("of an activation an exponential and a reciprocal, or one polynomial; table has polynomials of segments, whose coefficients are looked up in registers"))
		if wide && k.op.flat {
			out = append(out, space.Ints("segments", tableLanes, 2*tableLanes).If(vector+" && form == '"+formTable+"'").
				Describe("of the table, each with its polynomial: a coefficient of theirs is one register, or two"))
		}
		vector += " && form == '" + forms[0] + "'"
	}
	out = append(out, k.interleaveParameters(explicit, wide)...)
	out = append(out, space.Ints("degree", k.degrees()...).WithDefault(map[bool]int{true: 3, false: 5}[k.fast]).If(vector).
		Describe("of the polynomial for the exponential"))
	if wide {
		out = append(out, space.Enum("scale", scaleMultiply, scaleScalef, scaleReduce).If(vector+" && isa == '"+cgen.AVX512+"'").
			Describe("the power of two: a factor that is put together from bits, the instruction that scales by it, or with that the one that takes the integer off"))
	}
	if k.op.flat && k.machine.Arch == "amd64" {
		reciprocals := []string{reciprocalDivide, reciprocalNewton}
		if k.fast {
			reciprocals = append(reciprocals, reciprocalEstimate)
		}
		if !k.op.q8 && k.op.name != "gelu-erf" {
			reciprocals = append(reciprocals, reciprocalAlternate)
		}
		out = append(out, space.Enum("reciprocal", reciprocals...).If(vector).
			Describe("a division, or an estimate with or without a step of Newton's method; alternate has every other vector divided, so that the units for both are busy"))
	}
	return out
}

// degrees are those of the polynomial for the exponential whose errors the tolerance has room for, the least first.
func (k *Spec) degrees() []int {
	switch erf := k.op.name == "gelu-erf"; {
	case k.fast && k.op.flat && !erf:
		return []int{2, 3, 4, 5}
	case k.fast:
		return []int{3, 4, 5}
	case erf:
		return []int{5, 6} // see TestErf
	}
	return []int{4, 5, 6}
}

// interleaveParameters has the order of operations, for those operations whose vectors can be computed side by side.
func (k *Spec) interleaveParameters(vector string, wide bool) []space.Parameter {
	switch {
	case k.op.q8 || k.op.name == "gelu-erf" && !wide:
		return nil
	case k.op.name == "gelu-erf":
		vector += " && form == '" + formTable + "'"
	case k.op.name == "softmax":
		vector += " && passes != '" + passesTwoRecompute + "'"
	}
	return []space.Parameter{space.Bool("interleave").If(vector).
		Describe("the vectors of a step are computed side by side, one operation after the other, rather than one vector after the other")}
}

// forms returns the forms of the factor of an activation, or of the exponential of softmax. The first has the other choices of the
// exponential.
func (k *Spec) forms(wide bool) []string {
	out := []string{formExponential}
	switch k.op.name {
	case "softmax":
		out = []string{formPolynomial}
	case "gelu-erf":
		out = append(out, formPolynomial)
	}
	if wide {
		out = append(out, formTable)
	}
	return out
}

// interleaveConstraints leave out what is the same as without: a step of one vector, and divisions of every other vector among vectors
// that follow each other.
func (k *Spec) interleaveConstraints(wide bool) []string {
	if k.op.name == "gelu-erf" && !wide {
		return nil
	}
	several := "unroll > 1"
	if k.together() > 1 {
		several += " || together > 1"
	}
	out := []string{"!interleave || " + several}
	if k.op.flat && k.op.name != "gelu-erf" && k.machine.Arch == "amd64" {
		out = append(out, "interleave || reciprocal != '"+reciprocalAlternate+"'")
	}
	return out
}

// upTo returns the values that are not above most.
func upTo(most int, values ...int) []int {
	var out []int
	for _, v := range values {
		if v <= most {
			out = append(out, v)
		}
	}
	return out
}

// newPresets makes the baseline and the points to start from.
func (k *Spec) newPresets() ([]kernels.Preset, error) {
	m := k.machine
	isas := vectorISAs(m)
	widest := isas[len(isas)-1]
	common := map[string]any{"compiler": m.Compilers[0], "opt": "O3"}
	vector := map[string]any{"code": codeVector, "isa": widest.Name, "lanes": widest.Lanes(), "unroll": 4}
	if k.op.q8 {
		vector["unroll"] = 2
	}
	if k.has("scale") {
		vector["scale"] = scaleReduce
	}
	if k.has("degree") {
		vector["degree"] = map[bool]int{true: 3, false: k.degrees()[0]}[k.fast]
	}
	if k.has("reciprocal") {
		vector["reciprocal"] = reciprocalNewton
	}
	if k.has("tail") {
		vector["tail"] = tailMasked
	}
	if k.has("search") {
		vector["search"] = searchBlocks
	}
	if k.has("passes") && k.op.name == "softmax" {
		vector["passes"] = passesUnshifted
	}
	if k.has("interleave") && k.op.name != "gelu-erf" {
		vector["interleave"] = true
	}
	past := maps.Clone(vector)
	past["unroll"] = 2
	if k.has("stores") {
		past["stores"] = storesNT
	}
	if p, ok := k.Space().Parameter("together"); ok {
		past["together"] = min(4, 1<<(p.Len()-1))
	}
	if k.has("kept") {
		past["kept"] = keptBuffer
		if k.has("next") {
			past["next"] = nextL1
		}
		delete(past, "together")
	}
	looked := maps.Clone(vector)
	for _, name := range []string{"scale", "degree", "reciprocal"} {
		delete(looked, name) // of the other form
	}
	if k.has("interleave") {
		looked["interleave"] = true
	}
	if k.has("segments") {
		looked["segments"] = 2 * tableLanes
	}
	looked["form"] = formTable
	generic := map[string]any{"code": codeVector, "isa": cgen.Generic, "lanes": 4, "unroll": 4}
	type preset struct {
		name, doc string
		values    map[string]any
	}
	list := []preset{
		{"baseline", "plain loops and the functions of the C library, compiled with -O3 for this CPU", map[string]any{"code": codePlain, "isa": cgen.Native}},
		{"vector", "the widest vectors, several at a step", vector},
		{"past", "rows side by side, results past the caches: for arrays in memory", past},
		{"generic", "instructions that every CPU of the architecture has", generic},
	}
	if form, ok := k.Space().Parameter("form"); ok {
		if _, ok := form.Ordinal(space.StringValue(formTable)); ok {
			list = append(list, preset{"table", "as vector, with coefficients that are looked up in registers", looked})
		}
	}
	var out []kernels.Preset
	for _, l := range list {
		values := maps.Clone(common)
		maps.Copy(values, l.values)
		p, err := k.Space().Make(values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", l.name, err)
		}
		out = append(out, kernels.Preset{Name: l.name, Doc: l.doc, Point: p, Start: l.name != "baseline" && l.name != "generic"})
	}
	return out, nil
}

// has reports whether the space has a parameter.
func (k *Spec) has(name string) bool {
	_, ok := k.Space().Parameter(name)
	return ok
}
