package kernels_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/kernels"
	"tune/kernels/kernelstest"
	"tune/space"
)

// shellSort is a kernel: sort n numbers by Shell's method. What varies is the sequence of gaps. Its cost is
// the number of comparisons on fixed inputs, which stands for cycles and is exact.
type shellSort struct{}

func (shellSort) Info() kernels.Info {
	return kernels.Info{
		Name: "shellsort", Doc: "sort by shrinking gaps", Version: "1", Unit: "cycles", Exact: true,
		Shape: []kernels.Field{{Name: "n", Doc: "numbers to sort", Default: "500", Min: 1, Max: 10_000}},
	}
}

func (shellSort) Problem(s kernels.Shape) (kernels.Problem, error) {
	sp, err := space.New("shellsort", []space.Parameter{
		space.Range("first", 1, 200).Describe("the largest gap"),
		space.Range("shrink", 1, 5).Describe("what divides a gap to give the next"),
	})
	if err != nil {
		return nil, err
	}
	return &sortProblem{n: s.Int("n"), space: sp}, nil
}

type sortProblem struct {
	n     int
	space *space.Space
}

func (p *sortProblem) Space() *space.Space { return p.space }

func (p *sortProblem) Presets() []kernels.Preset {
	insertion, err := p.space.Parse("first=1 shrink=2")
	if err != nil {
		panic(err) // the key stands a few lines below its space
	}
	return []kernels.Preset{{Name: "baseline", Doc: "insertion sort", Point: insertion}}
}

func (p *sortProblem) Traits() kernels.Traits { return kernels.Traits{} }

// Build makes the list of gaps. A gap that does not shrink has no end, so such a point cannot be built.
func (p *sortProblem) Build(_ context.Context, point space.Point) (kernels.Candidate, error) {
	gap, shrink := point.Int("first"), point.Int("shrink")
	if gap > 1 && shrink == 1 {
		return nil, kernels.Reject(space.Invalid, "the gap %d never shrinks", gap)
	}
	c := &gaps{n: p.n}
	for ; gap > 1; gap /= shrink {
		c.gaps = append(c.gaps, gap)
	}
	c.gaps = append(c.gaps, 1)
	return c, nil
}

// gaps is a candidate.
type gaps struct {
	n    int
	gaps []int
}

func (c *gaps) run(seed uint64) (sorted, input []int, comparisons int) {
	input = rand.New(rand.NewPCG(seed, 0)).Perm(c.n)
	a := slices.Clone(input)
	for _, gap := range c.gaps {
		for i := gap; i < len(a); i++ {
			for j := i; j >= gap; j -= gap {
				if comparisons++; a[j-gap] <= a[j] {
					break
				}
				a[j], a[j-gap] = a[j-gap], a[j]
			}
		}
	}
	return a, input, comparisons
}

func (c *gaps) Check(ctx context.Context, seed uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	got, want, _ := c.run(seed)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return kernels.Reject(space.WrongAnswer, "the numbers are not sorted")
	}
	return nil
}

func (c *gaps) Score(context.Context, int) (kernels.Score, error) {
	_, _, comparisons := c.run(0)
	return kernels.Score{Cost: float64(comparisons), Metrics: []space.Metric{{Name: "gaps", Value: float64(len(c.gaps))}}}, nil
}

func (*gaps) Abilities() kernels.Abilities { return kernels.Abilities{} }

func (c *gaps) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{{Name: "gaps.txt", Write: func(w io.Writer) error {
		_, err := fmt.Fprintln(w, c.gaps)
		return err
	}}}, nil
}

// A kernel of one's own: its problem of one shape, and the outcomes of three points.
func Example() {
	var k kernels.Kernel = shellSort{}
	shape, err := kernels.ParseShape(k.Info().Shape, "n=300")
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := k.Problem(shape)
	if err != nil {
		fmt.Println(err)
		return
	}
	evaluator := kernels.Evaluator{Problem: problem, CheckSeed: 7}
	for _, key := range []string{"first=1 shrink=2", "first=100 shrink=3", "first=100 shrink=1"} {
		point, err := problem.Space().Parse(key)
		if err != nil {
			fmt.Println(err)
			return
		}
		out, err := evaluator.Evaluate(context.Background(), space.Trial{Proposal: space.Proposal{Point: point}})
		if err != nil {
			fmt.Println(err)
			return
		}
		if out.Status != space.OK {
			fmt.Printf("%v: %v: %s\n", point, out.Status, out.Reason)
			continue
		}
		fmt.Printf("%v: %v comparisons with %v gaps\n", point, out.Cost, out.Metrics[0].Value)
	}
	// Output:
	// first=1 shrink=2: 22764 comparisons with 1 gaps
	// first=100 shrink=3: 3205 comparisons with 5 gaps
	// first=100 shrink=1: invalid: the gap 100 never shrinks
}

func TestExampleConforms(t *testing.T) {
	kernelstest.Run(t, shellSort{}, "", "n=1", "n=64")
}

// pinnedKernel is a kernel that wraps another one: some of its parameters have given values, and are not searched. Everything
// else about the kernel and its problems is passed on unchanged, including traits that this code does not know.
type pinnedKernel struct {
	kernels.Kernel
	values map[string]string
}

func (k pinnedKernel) Info() kernels.Info {
	info := k.Kernel.Info()
	info.Name += "-pinned"
	info.Version += fmt.Sprint("-", k.values)
	return info
}

func (k pinnedKernel) Problem(s kernels.Shape) (kernels.Problem, error) {
	p, err := k.Kernel.Problem(s)
	if err != nil {
		return nil, err
	}
	return kernels.Pin(p, k.values)
}

// A kernel that wraps another one and pins a parameter.
func ExamplePin() {
	var k kernels.Kernel = pinnedKernel{shellSort{}, map[string]string{"shrink": "2"}}
	shape, err := kernels.ParseShape(k.Info().Shape, "n=300")
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := k.Problem(shape)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := problem.Space().Len()
	fmt.Println(k.Info().Name, "has", n, "points")
	evaluator := kernels.Evaluator{Problem: problem, CheckSeed: 7}
	for i := range n {
		if i%50 != 0 {
			continue
		}
		point := problem.Space().At(i)
		out, err := evaluator.Evaluate(context.Background(), space.Trial{Proposal: space.Proposal{Point: point}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v: %v comparisons\n", point, out.Cost)
	}
	// Output:
	// shellsort-pinned has 200 points
	// first=1 shrink=2: 22764 comparisons
	// first=51 shrink=2: 3353 comparisons
	// first=101 shrink=2: 3500 comparisons
	// first=151 shrink=2: 3459 comparisons
}
