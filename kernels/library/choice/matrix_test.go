package choice

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// TestMatrixErrors: each mistake in a matrix has its message, which names the place.
func TestMatrixErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*Matrix)
		want   string
	}{
		{func(m *Matrix) { m.Fields = nil }, "no fields"},
		{func(m *Matrix) { m.Fields = []string{""} }, `field 1 has the name ""`},
		{func(m *Matrix) { m.Shapes, m.Costs = nil, nil }, "no shapes"},
		{func(m *Matrix) { m.Variants = nil }, "no variants"},
		{func(m *Matrix) { m.Costs = m.Costs[1:] }, "2 rows of costs for 3 shapes"},
		{func(m *Matrix) { m.Variants[1].Name = "small" }, `variant 2 has the name "small"`},
		{func(m *Matrix) { m.Variants[1].Tuned = []int64{1, 2} }, "variant middle was tuned at a wrong shape: it has 2 values"},
		{func(m *Matrix) { m.Shapes[1].Fields = nil }, "shape 2: it has 0 values: want one for each of n"},
		{func(m *Matrix) { m.Shapes[1].Fields = []int64{-1} }, "shape 2: n=-1 is out of range"},
		{func(m *Matrix) { m.Shapes[1].Weight = 0 }, "shape n=100 has the weight 0"},
		{func(m *Matrix) { m.Shapes[1].Weight = math.Inf(1) }, "shape n=100 has the weight +Inf"},
		{func(m *Matrix) { m.Costs[1] = m.Costs[1][:2] }, "shape n=100: it has 2 costs for 4 variants"},
		{func(m *Matrix) { m.Costs[1][2] = 0 }, "shape n=100: variant large costs 0"},
		{func(m *Matrix) { m.Costs[1][2] = math.NaN() }, "shape n=100: variant large costs NaN"},
		{func(m *Matrix) { m.Costs[1] = []float64{Missing, Missing, Missing, Missing} }, "shape n=100: no variant has a cost there"},
	} {
		m := sizes()
		c.change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		for _, r := range []Rule{Library(1, Search{}, Growth{}), OneForAll(), Nearest(), Wisdom(), Classifier(nil, Growth{})} {
			if chooser, err := r.Train(m); err == nil || chooser != nil {
				t.Errorf("%s trains on a matrix with %q", r.Name, c.want)
			}
		}
	}
}

// TestArguments: a search or a growth that cannot be is refused.
func TestArguments(t *testing.T) {
	m := sizes()
	for _, c := range []struct {
		k    int
		s    Search
		want string
	}{
		{0, Search{}, "at least 1"},
		{1, Search{Nodes: -1}, "-1 nodes"},
		{1, Search{Must: []int{0, 1}}, "2 variants must be in a choice of at most 1"},
		{2, Search{Must: []int{0, 0}}, "variant 0 must be in the choice"},
		{2, Search{Must: []int{4}}, "from 0 to 3"},
	} {
		if _, err := Choose(m, c.k, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d, %+v: got %v, want %q", c.k, c.s, err, c.want)
		}
	}
	if _, err := Fewest(m, math.NaN(), Search{}); err == nil || !strings.Contains(err.Error(), "tolerated regret is NaN") {
		t.Errorf("a tolerated regret of NaN gives %v", err)
	}
	for _, c := range []struct {
		variants []int
		g        Growth
		want     string
	}{
		{nil, Growth{}, "no variants"},
		{[]int{4}, Growth{}, "variant 4"},
		{[]int{1}, Growth{Features: []Feature{{}}}, "the factors []"},
		{[]int{1}, Growth{Features: []Feature{{[]int{1}}}}, "the factors [1]"},
		{[]int{1}, Growth{Features: []Feature{{make([]int, 17)}}}, "want 1 to 16"},
		{[]int{1}, Growth{Depth: -1}, "a depth of 1 or more"},
		{[]int{1}, Growth{MinGain: math.NaN()}, "a gain that is not negative"},
		{[]int{1}, Growth{Folds: 1}, "2 folds or more"},
	} {
		if _, err := Grow(m, c.variants, c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %+v: got %v, want %q", c.variants, c.g, err, c.want)
		}
	}
}

// FuzzLibrary: whatever the costs, a matrix is refused or gives a choice, a tree and a certificate that agree with each other.
func FuzzLibrary(f *testing.F) {
	f.Add(uint8(2), uint8(1), []byte("12345678abcdefgh12345678abcdefgh12345678abcdefgh"))
	f.Fuzz(func(t *testing.T, variants, k uint8, data []byte) {
		m := Matrix{Fields: []string{"a", "b"}}
		for j := range variants % 8 {
			m.Variants = append(m.Variants, Variant{Name: string(rune('a' + j))})
		}
		number := func() uint64 {
			var b [8]byte
			data = data[copy(b[:], data):]
			return binary.LittleEndian.Uint64(b[:])
		}
		for len(data) > 0 && len(m.Shapes) < 20 {
			n := number()
			s := Shape{[]int64{int64(n & 0xfffff), int64(n >> 20 & 0xfffff)}, float64(1 + n>>60)}
			row := make([]float64, len(m.Variants))
			for j := range row {
				row[j] = math.Float64frombits(number())
				if row[j] < 1e-9 || row[j] > 1e9 {
					row[j] = Missing
				}
			}
			m.Shapes, m.Costs = append(m.Shapes, s), append(m.Costs, row)
		}
		c, err := Choose(m, int(k), Search{})
		if err != nil {
			return
		}
		if len(c.Variants) > int(k) || !(c.Bound <= c.Mean) || c.Optimal && c.Bound != c.Mean {
			t.Fatalf("%+v of %+v", c, m)
		}
		tree, err := Grow(m, c.Variants, Growth{})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Regrets(uses(m, tree)).Mean; got < c.Mean && !same(got, c.Mean) || depth(tree) > DefaultDepth {
			t.Fatalf("the tree has the mean %v, less than its choice %v, or depth %d", got, c.Mean, depth(tree))
		}
		if len(m.Shapes) < 2 {
			return
		}
		if cert, err := Evaluate(tree, m, Bootstrap{Samples: 100}); err != nil || !(cert.Mean.Low <= cert.Mean.Value && cert.Mean.Value <= cert.Mean.High && cert.Mean.Value <= cert.Worst.Value*(1+1e-9)) {
			t.Fatalf("%+v, %v", cert, err)
		}
	})
}
