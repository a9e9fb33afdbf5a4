package searchtest

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"pgregory.net/rapid"

	"tune/space"
)

// The spaces that the suite goes through. Those with few points are exhausted.
type spaces struct {
	few  []*space.Space // numbered, up to some hundred points
	many []*space.Space // beyond reach: numbered and not
	// scattered has few points, in a product so wide that they cannot be numbered.
	scattered *space.Space
}

var theSpaces = sync.OnceValues(func() (s spaces, err error) {
	make := func(name string, constraints []string, params ...space.Parameter) *space.Space {
		made, e := space.New(name, params, constraints...)
		if e != nil && err == nil {
			err = e
		}
		return made
	}
	s.few = []*space.Space{
		make("one", nil, space.Range("a", 5, 5)),
		make("two", nil, space.Bool("a")),
		make("three", nil, space.Enum("a", "x", "y", "z")),
		make("small", []string{"rows * cols <= 24", "not packed or rows > 1"},
			space.Range("rows", 1, 8), space.Pow2("cols", 1, 8), space.Enum("order", "diagonal", "row"),
			space.Bool("packed"), space.Range("lanes", 1, 4).If("packed")),
		make("mixed", []string{"tile != 3 or ratio < 1"},
			space.Enum("word", "x", "y", "z"), space.Ints("tile", 1, 3, 7), space.Floats("ratio", 0.5, 1, 2.5),
			space.Stepped("step", -6, 6, 4), space.Pow2("pow", 2, 16), space.Bool("flag")),
	}
	var wide, vast []space.Parameter
	for i := range 4 {
		wide = append(wide, space.Range(fmt.Sprintf("x%d", i), 0, 999))
	}
	for i := range 10 {
		vast = append(vast, space.Range(fmt.Sprintf("x%d", i), -1<<20, 1<<20))
	}
	vast = append(vast, space.Enum("word", "x", "y"), space.Pow2("pow", 1, 1024).If("word == 'y'"))
	s.many = []*space.Space{make("wide", nil, wide...), make("vast", []string{"x0 < x1"}, vast...)}
	s.scattered = make("scattered", []string{"(a*a + b) % 9973 == 5"}, space.Range("a", 0, 1499), space.Range("b", 0, 1499))
	if err != nil {
		return s, err
	}
	for _, few := range s.few {
		if _, ok := few.Len(); !ok {
			return s, fmt.Errorf("the points of space %q are not numbered", few.Name())
		}
	}
	if n, ok := s.many[0].Len(); !ok || n != 1e12 {
		return s, fmt.Errorf("space %q has %d points", s.many[0].Name(), n)
	}
	for _, uncounted := range []*space.Space{s.many[1], s.scattered} {
		if _, ok := uncounted.Len(); ok {
			return s, fmt.Errorf("the points of space %q are numbered", uncounted.Name())
		}
	}
	return s, nil
})

// walked has the points of spaces that are found by a long walk alone, by the space.
var walked sync.Map

// every returns the points of a space.
func every(in *space.Space) []space.Point {
	if _, numbered := in.Len(); numbered {
		return slices.Collect(in.All())
	}
	found, ok := walked.Load(in)
	if !ok {
		found, _ = walked.LoadOrStore(in, slices.Collect(in.All()))
	}
	return found.([]space.Point)
}

// drawSpace makes a random space of at most some hundred points, with constraints and conditions.
func drawSpace(t *rapid.T) *space.Space {
	var params []space.Parameter
	var numbers []string // names of the integer parameters that are always active
	for i := range rapid.IntRange(1, 4).Draw(t, "parameters") {
		name, n := fmt.Sprintf("p%d", i), rapid.IntRange(1, 4).Draw(t, "values")
		var p space.Parameter
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			p = space.Enum(name, []string{"w", "x", "y", "z"}[:n]...)
		case 1:
			p = space.Bool(name)
		case 2:
			p = space.Floats(name, []float64{2.5, 1, 0.25, -3}[:n]...)
		case 3:
			p = space.Pow2(name, 1, 1<<(n-1))
		default:
			p = space.Stepped(name, -2, -2+3*(n-1), 3)
		}
		if len(numbers) > 0 && rapid.Bool().Draw(t, "conditional") {
			p = p.If(fmt.Sprintf("%s > %d", rapid.SampledFrom(numbers).Draw(t, "on"), rapid.IntRange(-2, 3).Draw(t, "above")))
		} else if p.Type == space.TypeInt || p.Type == space.TypePow2 {
			numbers = append(numbers, name)
		}
		params = append(params, p)
	}
	var constraints []string
	if len(numbers) > 1 && rapid.Bool().Draw(t, "constrained") {
		constraints = append(constraints, fmt.Sprintf("%s + %s < %d", numbers[0], numbers[1], rapid.IntRange(-3, 8).Draw(t, "below")))
	}
	s, err := space.New("random", params, constraints...)
	if err != nil {
		t.Skip("the space has no point: " + err.Error())
	}
	return s
}

// landscape gives every point an outcome.
type landscape struct {
	name    string
	outcome func(space.Point) space.Outcome
}

// hash is a number that depends on the point alone.
func hash(p space.Point) uint64 {
	h := fnv.New64a()
	h.Write([]byte(p.Key()))
	return h.Sum64()
}

// slope is the sum of the ordinals.
func slope(p space.Point) float64 {
	sum := 0
	for _, o := range p.Ordinals() {
		sum += o
	}
	return float64(sum)
}

// Metric is a number beside the cost that most right outcomes of the suite have, for strategies with several goals. It has nothing to do
// with the cost.
const Metric = "second"

// right returns a right outcome with a cost.
func right(p space.Point, cost float64) space.Outcome {
	o := space.Outcome{Status: space.OK, Cost: cost}
	if h := hash(p) >> 13; h%16 != 0 {
		o.Metrics = []space.Metric{{Name: Metric, Value: float64(h % 1000)}}
	}
	return o
}

func costs(cost func(space.Point) float64) func(space.Point) space.Outcome {
	return func(p space.Point) space.Outcome { return right(p, cost(p)) }
}

// fail gives each point one of the statuses that are not OK.
func fail(p space.Point) space.Outcome {
	failures := space.Statuses()[1:]
	return space.Fail(failures[hash(p)%uint64(len(failures))], "as planned")
}

// rough has a random cost, or a failure, at each point. It is what checks use that need only one landscape.
var rough = landscape{"rough", func(p space.Point) space.Outcome {
	if h := hash(p); h%8 != 0 {
		return right(p, float64(h>>40))
	}
	return fail(p)
}}

var landscapes = []landscape{
	rough,
	{"slope", costs(slope)},
	{"all failures", fail},
	{"all equal", costs(func(space.Point) float64 { return 7 })},
	{"zeros", costs(func(p space.Point) float64 { return math.Copysign(0, float64(hash(p)%2)-0.5) })},
	{"negative", costs(func(p space.Point) float64 { return -1000 * slope(p) })},
	{"huge", costs(func(p space.Point) float64 { return math.Copysign(math.MaxFloat64, float64(hash(p)%2)-0.5) })},
	{"tiny", costs(func(p space.Point) float64 { return float64(hash(p)%3) * math.SmallestNonzeroFloat64 })},
}
