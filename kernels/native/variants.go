package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// Varier is implemented by a Spec that can make the asked case (the first of Cases) alone, for any seed. Such a case is a variant.
// Candidates are timed on several variants in turn, so that a candidate gains nothing by keeping results of earlier calls. For a Spec
// without it, all of Cases are made for each variant, and only the first is used.
type Varier interface {
	// Variant returns the asked case with inputs drawn from a seed. They need not be distributed like those of Cases: where Cases
	// has constant inputs, these may vary.
	Variant(ctx context.Context, p space.Point, seed uint64) (Case, error)
	// VariantClass names what Variant depends on besides the seed: points of the same class have the same variants.
	VariantClass(p space.Point) string
}

// Batcher is implemented by a Varier for which several variants at once cost less than one by one.
type Batcher interface {
	// Variants returns what Variant returns for each of the seeds.
	Variants(ctx context.Context, p space.Point, seeds []uint64) ([]Case, error)
}

// Drawer is implemented by a Varier that can draw the inputs of a variant without its reference. Calls are then timed on many
// more contents than those with a known reference, so that neither a table of results nor branch prediction can learn them.
type Drawer interface {
	// Draw returns the inputs of the variant of a seed.
	Draw(ctx context.Context, p space.Point, seed uint64) ([][]byte, error)
}

// variants are what the candidates of a class are timed on: a few variants, whose references are known, and further contents of the inputs
// without a reference. (Package worker calls all of these contents variants.)
type variants struct {
	cases  []Case       // the variants; only the first one keeps its inputs
	pool   *worker.Pool // all contents, those of the variants first
	differ bool         // whether they differ
	// unwritten says, by buffer, whether the reference leaves elements of it unwritten in one of the cases.
	unwritten []bool
	narrowed  *Case         // see Narrower; nil where there is none
	reshaped  *reshaped     // see Reshaper; nil where there are none
	judging   time.Duration // what the reference took last for one case, with all that it takes to call it
	sound     bool          // whether the baseline agreed with the reference on inputs of timed calls
}

// The number of variants and of further contents.
const (
	fewVariants    = 2
	manyVariants   = 3       // of small inputs
	smallVariants  = 8 << 20 // bytes of inputs of one
	variantClasses = 4       // that are kept
	// Contents without a reference are drawn up to this number and this many bytes in total, those of the variants included. Timed calls work
	// on contents that are put together from parts of them, so that there are many more.
	mostContents  = 16384
	contentsBytes = 8 << 20
	// Where the tolerance accepts results that differ (Case.Tolerant), inputs are mixed anew from three contents: then every part changes,
	// and no content comes again. Inputs of up to this many bytes have a third content for that, without a reference.
	mixedContents = 256 << 20
	// Up to this many bytes that a call reads or writes, variants are made at the same time as a check.
	besideBytes = 64 << 20
	// Small inputs may be the same for two seeds by chance. Then so many more seeds are tried, within contentsBytes.
	mostTries = 16
)

// variantCache keeps the variants of recent classes. All variants of a problem come from one seed that nobody can predict. A candidate that
// knew them could work for them alone, and write anything for the contents that are mixed from them.
type variantCache struct {
	mu   sync.Mutex
	seed uint64         // 0 before the first use
	kept []keptVariants // the last used first
}

type keptVariants struct {
	class string
	*variants
}

// of returns the variants of a point.
func (vc *variantCache) of(ctx context.Context, p *Problem, c *candidate) (*variants, error) {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	if vc.seed == 0 {
		vc.seed = kernels.FreshSeed()
	}
	variant := func(seed uint64) (Case, error) {
		cases, err := p.cases.of(ctx, p.spec, c.point, seed)
		if err != nil {
			return Case{}, err
		}
		if len(cases) == 0 {
			return Case{}, kernels.Reject(space.Invalid, "there is no case to time it on")
		}
		return cases[0], nil
	}
	class, classed := "", false
	if v, ok := as[Varier](p.spec); ok {
		class, classed = v.VariantClass(c.point), true
		variant = func(seed uint64) (Case, error) { return v.Variant(ctx, c.point, seed) }
	} else if v, ok := as[CaseClasser](p.spec); ok {
		class, classed = v.CaseClass(c.point), true
	}
	if b, ok := as[Batcher](p.spec); ok {
		variant = p.atOnce(vc.seed, variant, func(seeds []uint64) ([]Case, error) { return b.Variants(ctx, c.point, seeds) })
	}
	if i := slices.IndexFunc(vc.kept, func(k keptVariants) bool { return classed && k.class == class }); i >= 0 {
		k := vc.kept[i]
		vc.kept = slices.Insert(slices.Delete(vc.kept, i, i+1), 0, k)
		return k.variants, nil
	}
	var draw func(seed uint64) ([][]byte, error)
	if d, ok := as[Drawer](p.spec); ok {
		draw = func(seed uint64) ([][]byte, error) { return d.Draw(ctx, c.point, seed) }
	}
	began := time.Now()
	made, err := newVariants(vc.seed, variant, draw)
	if err == nil {
		took := time.Since(began)
		made.judging = took / time.Duration(len(made.cases))
		err = made.addNarrowed(ctx, p, c, vc.seed, took)
	}
	if err == nil {
		err = made.addReshaped(p, c, vc.seed)
	}
	if err != nil {
		return nil, err
	}
	vc.kept = slices.Insert(vc.kept, 0, keptVariants{class, made})
	vc.kept = vc.kept[:min(len(vc.kept), variantClasses)]
	return made, nil
}

// atOnce returns a function like variant. Its first call makes all variants together that newVariants usually asks for; later calls return
// them. Any other variant is made by itself.
func (p *Problem) atOnce(seed uint64, variant func(seed uint64) (Case, error), several func(seeds []uint64) ([]Case, error)) func(seed uint64) (Case, error) {
	n := fewVariants
	if p.read > 0 && p.read <= smallVariants {
		n = manyVariants
	}
	var made map[uint64]Case
	return func(asked uint64) (Case, error) {
		if made == nil {
			seeds := make([]uint64, n)
			for i := range seeds {
				seeds[i] = variantSeed(seed, i)
			}
			cases, err := several(seeds)
			if err != nil {
				return Case{}, err
			}
			made = map[uint64]Case{}
			for i, one := range cases {
				made[seeds[i]] = one
			}
		}
		if one, ok := made[asked]; ok {
			return one, nil
		}
		return variant(asked)
	}
}

// makeVariantsBeside makes the variants of the baseline on another goroutine while it is checked: the check leaves a core free, and a run
// cannot begin before the baseline is timed. For other candidates, and where buffers are large, it does nothing: Score makes the variants.
// It drops errors, because the same ones occur when the candidate is scored. The caller calls end with the outcome of the check.
func (c *candidate) makeVariantsBeside(ctx context.Context) (end func(error)) {
	p := c.problem
	if _, ok := as[Batcher](p.spec); !ok || !c.isBaseline() || c.alone || p.traffic == 0 || p.traffic > besideBytes {
		return func(error) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // a panic occurs again too, where it is caught and reported
		_ = c.makeVariants(ctx)
	}()
	return func(err error) {
		if err != nil {
			cancel()
		}
		<-done
		cancel()
	}
}

// makeVariants makes the variants for timing a candidate before its turn comes: their references may have to be compiled, and may take
// long.
func (c *candidate) makeVariants(ctx context.Context) error {
	h := c.problem.host
	if err := h.noise.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.noise.Release(1)
	_, err := c.problem.varied.of(ctx, c.problem, c)
	return err
}

// newVariants makes the variants of a seed, and further contents where they can be drawn without a reference; draw may be nil.
func newVariants(seed uint64, variant func(seed uint64) (Case, error), draw func(seed uint64) ([][]byte, error)) (*variants, error) {
	v := &variants{}
	var inputs [][][]byte
	skipped := 0 // seeds after the first whose inputs are those of the first
	for n := fewVariants; len(v.cases) < n; {
		if len(v.cases) == 1 && draw != nil {
			var err error
			if skipped, err = likeFirst(seed, inputs[0], draw); err != nil {
				return nil, err
			}
		}
		one, err := variant(variantSeed(seed, skipped+len(v.cases)))
		if err != nil {
			return nil, err
		}
		if len(one.Inputs) != len(one.Buffers) {
			return nil, fmt.Errorf("native: case %s has %d buffers and %d inputs", one.Name, len(one.Buffers), len(one.Inputs))
		}
		if len(v.cases) > 0 && !slices.Equal(one.Buffers, v.cases[0].Buffers) {
			return nil, errors.New("native: the buffers of the asked case depend on the seed")
		}
		for i, in := range one.Inputs {
			v.differ = v.differ || len(inputs) > 0 && !slices.Equal(in, inputs[0][i])
		}
		if size := totalBytes(one.Inputs); size > 0 && size <= smallVariants {
			n = manyVariants
		}
		inputs = append(inputs, one.Inputs)
		one.Inputs = nil
		v.add(one)
		if len(v.cases) == fewVariants && !v.differ {
			break // There is nothing to draw.
		}
	}
	if !v.differ {
		v.cases, inputs = v.cases[:1], inputs[:1]
	}
	size := totalBytes(inputs[0])
	enough := func() bool {
		if v.cases[0].Tolerant && len(inputs) < manyVariants && size <= mixedContents {
			return false
		}
		return len(inputs) >= mostContents || size*(len(inputs)+1) > contentsBytes
	}
	for draw != nil && v.differ && !enough() {
		more, err := draw(variantSeed(seed, skipped+len(inputs)))
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, more)
	}
	buffers := workerBuffers(v.cases[0].Buffers)
	v.cases[0].Inputs = inputs[0] // for calls on it
	var err error
	v.pool, err = worker.NewPool(buffers, inputs, len(v.cases))
	return v, err
}

// add adds a case.
func (v *variants) add(one Case) {
	v.cases = append(v.cases, one)
	if v.unwritten == nil {
		v.unwritten = make([]bool, len(one.Buffers))
	}
	for i, is := range one.Unwritten {
		v.unwritten[i] = v.unwritten[i] || is
	}
}

// likeFirst returns how many seeds after the first draw the same inputs as the first; 0 where none of those that were tried draws others.
func likeFirst(seed uint64, first [][]byte, draw func(seed uint64) ([][]byte, error)) (int, error) {
	size := totalBytes(first)
	for n := range mostTries {
		if size*(n+1) > contentsBytes {
			break
		}
		inputs, err := draw(variantSeed(seed, n+1))
		if err != nil {
			return 0, err
		}
		if !slices.EqualFunc(inputs, first, bytes.Equal) {
			return n, nil
		}
	}
	return 0, nil
}

// variantSeed returns the seed of a variant [splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014].
func variantSeed(seed uint64, n int) uint64 {
	z := seed + uint64(n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
