package tune_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"tune"
	"tune/kernels"
	"tune/space"
)

// power is a kernel: x to the n, modulo 2^64, by the 2^k-ary method. What varies is the width k of its windows and
// whether they slide; the cost is the number of multiplications, which stands for cycles.
type power struct{}

func (power) Info() kernels.Info {
	return kernels.Info{
		Name: "power", Doc: "x to the n by windows", Version: "1", Unit: "cycles", Exact: true,
		Shape: []kernels.Field{{Name: "n", Doc: "the exponent", Default: "1000003", Min: 1, Max: 1 << 30}},
	}
}

func (power) Problem(s kernels.Shape) (kernels.Problem, error) {
	sp, err := space.New("power", []space.Parameter{
		space.Range("width", 1, 8).Describe("bits of a window"),
		space.Bool("slide").Describe("windows begin at a bit that is set"),
	})
	if err != nil {
		return nil, err
	}
	return &powerProblem{n: uint64(s.Int("n")), space: sp}, nil
}

type powerProblem struct {
	n     uint64
	space *space.Space
}

func (p *powerProblem) Space() *space.Space { return p.space }

func (p *powerProblem) Presets() []kernels.Preset {
	binary, err := p.space.Parse("width=1 slide=false")
	if err != nil {
		panic(err) // the key stands a few lines below its space
	}
	return []kernels.Preset{{Name: "baseline", Doc: "the binary method", Point: binary}}
}

func (p *powerProblem) Traits() kernels.Traits { return kernels.Traits{} }

func (p *powerProblem) Build(_ context.Context, point space.Point) (kernels.Candidate, error) {
	return &powerCandidate{n: p.n, width: point.Int("width"), slide: point.Bool("slide")}, nil
}

type powerCandidate struct {
	n     uint64
	width int
	slide bool
}

// run returns x to the n and the multiplications that it took.
func (c *powerCandidate) run(x uint64) (result uint64, multiplications int) {
	multiply := func(a, b uint64) uint64 {
		multiplications++
		return a * b
	}
	table := map[uint64]uint64{1: x}
	if c.slide { // only odd powers are needed
		square := multiply(x, x)
		for i := uint64(3); i < 1<<c.width; i += 2 {
			table[i] = multiply(table[i-2], square)
		}
	} else {
		for i := uint64(2); i < 1<<c.width; i++ {
			table[i] = multiply(table[i-1], x)
		}
	}
	begun := false
	step := func(bits int, digit uint64) {
		for range bits {
			if begun {
				result = multiply(result, result)
			}
		}
		switch {
		case digit != 0 && begun:
			result = multiply(result, table[digit])
		case digit != 0:
			result, begun = table[digit], true
		}
	}
	for i := 64; i > 0; {
		if c.slide && c.n>>(i-1)&1 == 0 {
			step(1, 0)
			i--
			continue
		}
		w := min(c.width, i)
		if !c.slide {
			w = (i-1)%c.width + 1
		}
		for c.slide && c.n>>(i-w)&1 == 0 {
			w--
		}
		step(w, c.n>>(i-w)&(1<<w-1))
		i -= w
	}
	return result, multiplications
}

func (c *powerCandidate) Check(_ context.Context, seed uint64) error {
	x, want := rand.New(rand.NewPCG(seed, 0)).Uint64(), uint64(1)
	got, _ := c.run(x)
	for n, square := c.n, x; n > 0; n, square = n/2, square*square {
		if n%2 == 1 {
			want *= square
		}
	}
	if got != want {
		return kernels.Reject(space.WrongAnswer, "%d to the %d is %d, want %d", x, c.n, got, want)
	}
	return nil
}

func (c *powerCandidate) Score(context.Context, int) (kernels.Score, error) {
	_, n := c.run(3)
	return kernels.Score{Cost: float64(n)}, nil
}

func (*powerCandidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

func (c *powerCandidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{{Name: "txt", Write: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "width %d, sliding %t\n", c.width, c.slide)
		return err
	}}}, nil
}

// A kernel of one's own is searched, exported, and verified again.
func Example() {
	root, err := os.MkdirTemp("", "tune-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	ctx, table := context.Background(), kernels.Table{power{}}

	shape, err := kernels.ParseShape(power{}.Info().Shape, "n=999999999")
	if err != nil {
		log.Fatal(err)
	}
	dir := filepath.Join(root, "run")
	report, err := tune.Run(ctx, tune.Options{Kernel: power{}, Shape: shape, Strategy: "grid", Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d evaluated\n", report.Result.Stop, report.Result.Told)
	s := report.Schedule
	fmt.Printf("%s: %v multiplications, %.2f× as fast as the %s\n", s.Key, s.Cost, s.Ratio, s.Baseline.Preset)

	v, err := tune.Verify(ctx, table, filepath.Join(dir, tune.ScheduleName), tune.FreshSeeds(4))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("verified:", v.OK())

	var csv bytes.Buffer
	if err := tune.Export(ctx, table, dir, "csv", &csv); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		line, _ := csv.ReadString('\n')
		fmt.Print(line)
	}
	// Output:
	// space exhausted: 16 evaluated
	// width=3 slide=true: 39 multiplications, 1.26× as fast as the baseline
	// verified: true
	// number,batch,fidelity,status,cost,width,slide,reason
	// 0,0,0,ok,49,1,false,
	// 1,0,0,ok,50,1,true,
}
