package elementwise

import (
	"fmt"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/threads"
	"tune/space"
)

// The words of the parameters.
const (
	codePlain  = "plain"
	codeVector = "vector"

	storesPlain = "plain"
	storesNT    = "nontemporal"

	hintT0  = "t0"
	hintNTA = "nta"

	tailScalar  = "scalar"
	tailOverlap = "overlap"
	tailMasked  = "masked"

	splitArrays   = "arrays"
	splitElements = "elements"

	restChunk  = "chunk"
	restSpread = "spread"
)

// The preset of the parallel form: a threshold in elements, and a number of workers.
const (
	presetThreshold = 1000
	presetWorkers   = 4
)

// vectorISAs returns the instruction sets that code for vectors of floats can use on the machine.
func vectorISAs(m native.Machine) []cgen.ISA {
	return cgen.Select(m, cgen.Generic, cgen.AVX2, cgen.AVX512)
}

func (k *Spec) newSpace() (*space.Space, error) {
	isas := vectorISAs(k.machine)
	names := []string{cgen.Native}
	var widths []int
	for _, isa := range isas {
		names = append(names, isa.Name)
		widths = append(widths, isa.Lanes())
	}
	vector := fmt.Sprintf("code == '%s'", codeVector)
	parameters := []space.Parameter{
		space.Enum("code", codePlain, codeVector).
			Describe("a plain loop that the compiler vectorises as it can, or explicit vectors"),
		space.Enum("compiler", k.machine.Compilers...).Describe("the compiler"),
		space.Enum("opt", "O2", "O3").WithDefault("O3").Describe("its level of optimisation"),
		space.Enum("isa", names...).
			Describe("instruction set: all that the CPU has, as the compiler knows it, or a named one"),
		space.Bool("unroll_loops").If(fmt.Sprintf("code == '%s'", codePlain)).Describe("-funroll-loops"),
		space.Ints("lanes", widths...).If(vector).Describe("floats in a vector"),
		space.Ints("unroll", 1, 2, 3, 4, 6, 8, 12, 16).WithDefault(4).If(vector).
			Describe("vectors of a stream in one step; in a reduction also the number of independent sums"),
		space.Ints("streams", 1, 2, 3, 4, 6, 8, 10, 12, 16).If(vector).
			Describe("rows of the array that are walked side by side"),
		space.Ints("skew", 0, 1, 3, 5, 8, 13, 21).If(vector + " && streams > 1").
			Describe("distance of the streams, in cache lines modulo a page of 64, so that they do not meet in one set of a cache; 0 leaves it as it falls"),
		space.Ints("prefetch", 0, 4, 8, 16, 32, 64, 128).If(vector).
			Describe("cache lines that inputs are prefetched ahead; 0 leaves it to the hardware"),
		space.Enum("hint", hintT0, hintNTA).If(vector + " && prefetch > 0").Describe("into all caches, or past the outer ones"),
	}
	constraints := []string{
		// "native" leaves the width to the compiler.
		fmt.Sprintf("code == '%s' || isa != '%s'", codePlain, cgen.Native),
	}
	for _, isa := range isas {
		constraints = append(constraints, fmt.Sprintf("isa != '%s' || lanes <= %d", isa.Name, isa.Lanes()))
	}
	tails := []string{tailScalar}
	if !k.op.reduce {
		parameters = append(parameters,
			space.Enum("stores", storesPlain, storesNT).If(vector).Describe("through the caches, or past them"))
		tails = append(tails, tailOverlap)
	}
	if slices.Contains(names, cgen.AVX512) {
		tails = append(tails, tailMasked)
		constraints = append(constraints, fmt.Sprintf("tail != '%s' || isa == '%s'", tailMasked, cgen.AVX512))
	}
	parameters = append(parameters, space.Enum("tail", tails...).If(vector).
		Describe("elements that fill no vector: one by one, by a last vector that overlaps the one before, or by a masked one"))
	if k.threads > 1 {
		parameters = append(parameters, k.parallelParameters()...)
	}
	return space.New("elementwise-f32", parameters, constraints...)
}

// parallelParameters are the knobs of the parallel form.
func (k *Spec) parallelParameters() []space.Parameter {
	const parallel = "workers > 1"
	thresholds := []int{presetThreshold}
	if k.n*k.arrays < presetThreshold {
		thresholds = append(thresholds, 0) // else every threshold up to the work at hand is the same program
	}
	splits := []string{splitElements}
	if k.arrays > 1 {
		splits = []string{splitArrays, splitElements}
	}
	return append([]space.Parameter{
		space.Range("workers", 1, k.threads).Describe("threads that share the work, the caller included; 1 is serial"),
		space.Ints("threshold", thresholds...).If(parallel).Describe("elements of a call below which it stays serial"),
		space.Enum("split", splits...).If(parallel).Describe("workers take whole arrays, or share each array"),
		space.Ints("pieces", 1, 2, 4, 8).If(parallel).Describe("chunks for each worker"),
		space.Enum("rest", restChunk, restSpread).If(parallel).
			Describe("what does not divide evenly: one more chunk, or spread over the chunks in whole cache lines"),
	}, cgen.CrewParameters(parallel)...)
}

// newPresets makes the baseline and the points to start from.
func (k *Spec) newPresets() ([]kernels.Preset, error) {
	m := k.machine
	isas := vectorISAs(m)
	widest := isas[len(isas)-1]
	baseline := map[string]any{"code": codePlain, "compiler": m.Compilers[0], "opt": "O3", "isa": cgen.Native}
	vector := map[string]any{"code": codeVector, "compiler": m.Compilers[0], "opt": "O3", "isa": widest.Name, "lanes": widest.Lanes(), "unroll": 4}
	list := []struct {
		name, doc string
		base      map[string]any
		more      map[string]any
	}{
		{"baseline", "a plain loop, compiled with -O3 for this CPU", baseline, nil},
		{"vector", "the widest vectors, four at a step", vector, nil},
		{"streams", "rows walked side by side, past the caches where it writes: for arrays in memory", vector, map[string]any{"unroll": 4, "streams": 8, "skew": 5}},
	}
	if k.threads >= presetWorkers {
		list = append(list, struct {
			name, doc string
			base      map[string]any
			more      map[string]any
		}{"parallel", "the plain loop on 4 workers, chunks of size / workers and one of the rest, serial below 1,000 elements", baseline, map[string]any{
			"workers": presetWorkers, "threshold": presetThreshold, "split": splitElements, "pieces": 1, "rest": restChunk, "hand_out": string(threads.Static), "start": string(threads.Pool),
		}})
	}
	var out []kernels.Preset
	for _, l := range list {
		values := map[string]any{}
		for _, m := range []map[string]any{l.base, l.more} {
			for name, v := range m {
				values[name] = v
			}
		}
		if l.name == "streams" && !k.op.reduce {
			values["stores"] = storesNT
		}
		if l.name == "parallel" && k.arrays > 1 {
			values["split"] = splitArrays
		}
		p, err := k.Space().Make(values)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %w", l.name, err)
		}
		out = append(out, kernels.Preset{Name: l.name, Doc: l.doc, Point: p, Start: true})
	}
	return out, nil
}

// rooflines of one core, in bytes a second, which no machine of today comes near: times below are faults of a clock.
const (
	cacheRoof  = 2e12
	memoryRoof = 400e9
)

// Work returns the memory traffic of one call. Without more knowledge of the caches it is that of a kernel that
// reads each input and writes each output once.
func (k *Spec) Work() native.Work {
	total := float64(k.n) * float64(k.arrays)
	w := native.Work{Ops: k.op.ops * total, OpsName: "GFLOP/s", Cold: k.cold()}
	for _, b := range k.buffers(k.n, k.arrays) {
		w.Bytes += float64(b.Bytes())
	}
	roof := cacheRoof
	if w.Cold {
		roof = memoryRoof
	}
	w.MinSeconds = w.Bytes / (roof * float64(k.threads))
	return w
}

// cold reports whether times are taken with the operands in memory.
func (k *Spec) cold() bool {
	var bytes int64
	for _, b := range k.buffers(k.n, k.arrays) {
		bytes += int64(b.Bytes())
	}
	return cgen.Cold(k.cache, bytes > k.machine.Cache)
}

// buffers returns the arguments of a call.
func (k *Spec) buffers(n, arrays int) []native.Buffer {
	list := []native.Buffer{{Name: "a", Elem: native.F32, Len: n * arrays, Mode: native.In}}
	if k.op.two {
		list = append(list, native.Buffer{Name: "b", Elem: native.F32, Len: n * arrays, Mode: native.In})
	}
	results := n * arrays
	if k.op.reduce {
		results = arrays
	}
	return append(list, native.Buffer{Name: "y", Elem: native.F32, Len: results, Mode: native.Out})
}
