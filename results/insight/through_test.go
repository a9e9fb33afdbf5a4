package insight_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/native"
	"tune/results/insight"
	"tune/search/surrogate"
	"tune/space"
	"tune/space/t1"
)

// roughly is a cost that depends on all parameters: each value has an effect of its own, a part of which is smooth, and so has each
// combination of two parameters that follow each other.
func roughly(p space.Point) float64 {
	random := func(format string, args ...any) float64 {
		h := fnv.New64a()
		fmt.Fprintf(h, format, args...)
		return rand.New(rand.NewPCG(h.Sum64(), 0)).NormFloat64()
	}
	sum, before := 0.0, 0
	for k, parameter := range p.Space().Parameters() {
		o := p.Ordinal(k)
		x := float64(o) / float64(max(parameter.Len()-1, 1))
		sum += random("slope %d", k)*x + 0.3*random("value %d %d", k, o)
		sum += random("pair %d", k)*math.Cos(3*x+float64(before)) + 0.2*random("values %d %d %d", k, o, before)
		before = o
	}
	return math.Exp(sum / 3)
}

// taught returns the model that the search learns of n points at random.
func taught(t testing.TB, s *space.Space, n int) *surrogate.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	var right []space.Observation
	for range n {
		p, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		right = append(right, space.Observation{Point: p, Outcome: space.Outcome{Status: space.OK, Cost: roughly(p)}})
	}
	m, ok := surrogate.Learn(s, 1, right, true)
	if !ok {
		t.Fatal("nothing was learned")
	}
	return m
}

// furthest returns the share of the first that differs most from that of the second.
func furthest(a, b insight.Shares) (name string, off float64) {
	of := named(b)
	for known, share := range named(a) {
		if d := math.Abs(share - of[known]); d > off || d == off && known > name {
			name, off = known, d
		}
	}
	return name, off
}

// small are spaces that can be listed.
func small(t testing.TB) map[string]*space.Space {
	make := func(params []space.Parameter, constraints ...string) *space.Space {
		s, err := space.New("small", params, constraints...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return map[string]*space.Space{
		"plain": make([]space.Parameter{space.Range("a", 0, 6), space.Pow2("b", 1, 64), space.Enum("c", "x", "y", "z"), space.Bool("d"), space.Ints("e", 1, 2, 3, 4, 6, 8)}),
		"constraints": make([]space.Parameter{space.Pow2("a", 1, 256), space.Pow2("b", 1, 256), space.Range("c", 1, 12), space.Range("d", 1, 12)},
			"a * b <= 1024", "c % d == 0 || d < 4", "b >= c"),
		"conditions": make([]space.Parameter{space.Bool("a"), space.Range("b", 1, 9).If("a"), space.Enum("c", "x", "y", "z"),
			space.Pow2("d", 1, 64).If("c != \"x\""), space.Range("e", 0, 9)}, "b <= d"),
		"bins": make([]space.Parameter{space.Range("a", 0, 129), space.Range("b", 0, 69), space.Bool("c")}, "a % 2 == 0 || b < 40"),
	}
}

// Through the diagram, the shares of what a search learned are those that come from the list of all points, to within a thousandth.
func TestThroughDiagram(t *testing.T) {
	for name, s := range small(t) {
		for _, n := range []int{12, 40, 90} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				m := taught(t, s, n)
				want := insight.Learned(s, m, true)
				got, ok := insight.ThroughDiagram(s, m)
				if !ok {
					t.Fatal("it was not possible")
				}
				if !want.All || !got.All || got.Points != want.Points || len(got.Single) != len(want.Single) || len(got.Pairs) != len(want.Pairs) {
					t.Errorf("got %+v, want %+v", got, want)
				}
				if at, off := furthest(want, got); off > 1e-3 {
					t.Errorf("the share of %s is off by %.5f", at, off)
				} else {
					t.Logf("off by at most %.5f, that of %s", off, at)
				}
			})
		}
	}
}

// In a large space they are those of many points that are drawn.
func TestThroughLargeDiagram(t *testing.T) {
	var params []space.Parameter
	for i := range 7 {
		params = append(params, space.Pow2(string(rune('a'+i)), 1, 1<<7))
	}
	params = append(params, space.Range("h", 0, 99).If("a > 8"), space.Bool("i"))
	s := newSpace(t, params, "a * b <= 1024", "c * d >= e", "f <= g * 4")
	m := taught(t, s, 50)
	got := insight.Learned(s, m, true)
	if n, _ := s.Len(); !got.All || uint64(got.Points) != n {
		t.Fatalf("%d of %d points", got.Points, n)
	}
	if again := insight.Learned(s, m, true); !reflect.DeepEqual(got, again) {
		t.Error("the same model has other shares the second time")
	}
	const draws = 200_000
	want := insight.Sampled(s, m, draws)
	if at, off := furthest(want, got); off > 3*math.Sqrt(2./draws) {
		t.Errorf("the share of %s is off by %.5f", at, off)
	} else {
		t.Logf("off by at most %.5f, that of %s", off, at)
	}
}

// twice is a model whose products do not add up to it.
type twice struct{ *surrogate.Model }

func (m twice) Products() []float64 {
	weights := m.Model.Products()
	for i := range weights {
		weights[i] *= 2
	}
	return weights
}

// Where the diagram is no means, the shares come from a sample, and say so.
func TestNotThroughDiagram(t *testing.T) {
	var many []space.Parameter
	for i := range 12 {
		many = append(many, space.Range(string(rune('a'+i)), 0, 63))
	}
	four := newSpace(t, []space.Parameter{space.Range("a", 1, 40), space.Range("b", 1, 40), space.Range("c", 1, 40), space.Range("d", 1, 40)}, "a * b * c * d < 20000")
	for name, of := range map[string]struct {
		space *space.Space
		n     int // how many outcomes are learned
	}{
		"constraints beside the diagram": {newSpace(t, []space.Parameter{space.Range("a", 0, 1<<40), space.Range("b", 0, 1<<40)}, "a <= b"), 20},
		"many values":                    {newSpace(t, []space.Parameter{space.Range("a", 0, 99_999), space.Bool("b")}), 20},
		"many edges":                     {newSpace(t, many, "a + b + c + d + e + f + g + h + i + j + k + l <= 300"), 20},
		"much work":                      {four, 150},
	} {
		got := insight.Learned(of.space, taught(t, of.space, of.n), true)
		if got.All || got.Points != 8192 || len(got.Single) != len(of.space.Parameters()) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	m := taught(t, four, 20)
	if got := insight.Learned(four, m, true); !got.All {
		t.Errorf("a model of few outcomes: %+v", got)
	}
	if got := insight.Learned(four, twice{m}, true); got.All || got.Points != 8192 {
		t.Errorf("products that do not add up: %+v", got)
	}
}

// BenchmarkLearned computes the shares in spaces of more points than are listed, of a cost that depends on all parameters, after 100 and
// 200 outcomes. It reports the edges of the diagram, how many products are used, and by how much the shares, and those of as many points as
// are drawn otherwise, differ from those of 200,000 points.
func BenchmarkLearned(b *testing.B) {
	spaces := map[string]*space.Space{}
	for _, k := range all.Table(native.NewHost(native.HostOptions{})) {
		shape, err := kernels.ParseShape(k.Info().Shape, "")
		if err != nil {
			b.Fatal(err)
		}
		if problem, err := k.Problem(shape); err == nil { // a machine without a compiler has few problems
			spaces[k.Info().Name] = problem.Space()
		}
	}
	for _, name := range []string{"hotspot", "gemm"} {
		data, err := os.ReadFile("../../space/t1/testdata/" + name + ".json")
		if err != nil {
			b.Fatal(err)
		}
		f, err := t1.Read(bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		if spaces["measured-"+name], err = f.Space(); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		for _, n := range []int{100, 200} {
			b.Run(fmt.Sprintf("space=%s/outcomes=%d", name, n), func(b *testing.B) {
				s := spaces[name]
				if n, ok := s.Len(); ok && n <= 1<<14 {
					b.Skip("its points are listed")
				}
				m := taught(b, s, n)
				var through insight.Shares
				for b.Loop() {
					through = insight.Learned(s, m, true)
				}
				w := insight.WorkOf(s, m)
				many := insight.Sampled(s, m, 200_000)
				_, off := furthest(many, through)
				_, sampled := furthest(many, insight.Sampled(s, m, 8192))
				b.ReportMetric(float64(w.Edges), "edges")
				b.ReportMetric(float64(w.Used), "products")
				b.ReportMetric(w.Work, "work")
				b.ReportMetric(off, "off")
				b.ReportMetric(sampled, "off-sampled")
				if !through.All {
					b.Log("it was too much work")
				}
			})
		}
	}
}
