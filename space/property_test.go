package space

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawSpace makes a random definition, its points by brute force, and its space, with a diagram of any
// size: whole, without some constraints, or without some conditions. It returns no space where there
// are no points.
func drawSpace(t *rapid.T) (*Space, [][]int) {
	params := drawParameters(t)
	var constraints []string
	for range rapid.IntRange(0, 3).Draw(t, "constraints") {
		constraints = append(constraints, drawTruth(t, params, 2))
	}
	limits := limits{edges: rapid.SampledFrom([]int{1 << 20, 200, 40, 10, 3}).Draw(t, "edges"), steps: 1 << 20, draws: 1 << 20}
	s, err := newSpace("random", params, constraints, limits)
	var fault *ExprError
	if errors.As(err, &fault) && (strings.Contains(fault.Reason, "has no value") || strings.Contains(fault.Reason, "cannot be compared")) {
		t.Skip("a constant part has no value")
	}
	if err != nil && strings.Contains(err.Error(), "never true") {
		t.Skip("a constraint is constant and false")
	}
	points := bruteForce(params, constraints)
	if err != nil && len(points) == 0 && strings.Contains(err.Error(), "has no point") {
		return nil, nil
	}
	if err != nil {
		t.Fatalf("%v, but there are %d points", err, len(points))
	}
	if len(points) == 0 {
		t.Fatalf("a space without points was not refused")
	}
	return s, points
}

func TestSpaceIsBruteForce(t *testing.T) {
	whole, partial := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		i := 0
		for p := range s.All() {
			if i == len(points) || !slices.Equal(p.Ordinals(), points[i]) {
				t.Fatalf("point %d of All is %v", i, p)
			}
			i++
		}
		if i != len(points) {
			t.Fatalf("All has %d points of %d", i, len(points))
		}
		n, ok := s.Len()
		if ok == s.partial || ok && n != uint64(len(points)) {
			t.Fatalf("Len is %d, %t; there are %d points", n, ok, len(points))
		}
		if !ok {
			partial++
			return
		}
		whole++
		for i, ords := range points {
			p := s.At(uint64(i))
			if at, ok := s.Index(p); !ok || at != uint64(i) || !slices.Equal(p.Ordinals(), ords) {
				t.Fatalf("At(%d) is %v, whose index is %d, %t", i, p, at, ok)
			}
		}
	})
	if whole == 0 || partial == 0 {
		t.Errorf("the property saw %d whole diagrams and %d partial ones", whole, partial)
	}
}

func TestPointForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		p, err := s.FromOrdinals(rapid.SampledFrom(points).Draw(t, "point"))
		if err != nil {
			t.Fatal(err)
		}
		if q, err := s.Parse(p.Key()); err != nil || !q.Equal(p) {
			t.Fatalf("Parse(%s) = %v, %v", p.Key(), q, err)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := s.UnmarshalPoint(data); err != nil || !q.Equal(p) {
			t.Fatalf("UnmarshalPoint(%s) = %v, %v", data, q, err)
		}
		values := map[string]any{}
		for _, parameter := range s.Parameters() {
			if v, ok := p.Value(parameter.Name); ok {
				values[parameter.Name] = v.Any()
			}
		}
		if q, err := s.Make(values); err != nil || !q.Equal(p) {
			t.Fatalf("Make(%v) = %v, %v", values, q, err)
		}
		if q, ok := s.Complete(p.Ordinals()); !ok || !q.Equal(p) {
			t.Fatalf("Complete(%v) = %v, %t", p, q, ok)
		}
		for _, ords := range points {
			q := Point{s, ords}
			if q.HasKey(p.Key()) != q.Equal(p) || q.HasKey(p.Key()+" ") || q.HasKey(q.Key()[:len(q.Key())-1]) {
				t.Fatalf("%v does not tell its own key from %q", q, p.Key())
			}
		}
	})
}

// AppendComplete packs what Complete returns, also where it starts from a point that is near.
func TestAppendComplete(t *testing.T) {
	near, far, idle := 0, 0, 0
	check := func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		from := rapid.SampledFrom(points).Draw(t, "from")
		ords := slices.Clone(from)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			i := rapid.IntRange(0, len(ords)-1).Draw(t, "parameter")
			ords[i] = rapid.IntRange(-1, s.sizes[i]).Draw(t, "ordinal")
		}
		changed := slices.Clone(ords)
		if s.follow(from, changed) < len(ords) {
			far++
		} else if near++; !slices.Equal(changed, ords) {
			idle++
		}
		want, ok := s.Complete(ords)
		for _, base := range [][]int{nil, from} {
			packed, got := s.AppendComplete([]byte("x"), slices.Clone(ords), base, s.appendPacked(nil, from))
			if got != ok || ok && string(packed) != "x"+string(want.AppendPacked(nil)) || !ok && string(packed) != "x" {
				t.Fatalf("AppendComplete(%v, %v) is %x, %t; want %v, %t", ords, base, packed, got, want, ok)
			}
		}
	}
	for range 20 { // a hundred draws may have no values for inactive parameters
		if rapid.Check(t, check); near > 0 && far > 0 && idle > 0 {
			return
		}
	}
	t.Errorf("%d vectors were near a point, %d of them with values for inactive parameters; %d were not near", near, idle, far)
}

// TestOrdinals gives FromOrdinals, Complete and Explain every tuple of ordinals.
func TestOrdinals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		ords := make([]int, len(s.params))
		for i := range ords {
			ords[i] = rapid.IntRange(-1, s.sizes[i]).Draw(t, "ordinal")
		}
		p, err := s.FromOrdinals(ords)
		if (err == nil) != (s.Explain(ords) == nil) {
			t.Fatalf("FromOrdinals(%v) = %v and Explain = %v", ords, err, s.Explain(ords))
		}
		if err == nil && !slices.ContainsFunc(points, func(q []int) bool { return slices.Equal(p.ords, q) }) {
			t.Fatalf("FromOrdinals(%v) = %v, which is no point", ords, p)
		}
		if slices.ContainsFunc(points, func(q []int) bool { return slices.Equal(ords, q) }) && (err != nil || !slices.Equal(p.ords, ords)) {
			t.Fatalf("FromOrdinals(%v) = %v, %v", ords, p, err)
		}
		q, ok := s.Complete(ords)
		if ok && !slices.ContainsFunc(points, func(o []int) bool { return slices.Equal(q.ords, o) }) {
			t.Fatalf("Complete(%v) = %v, which is no point", ords, q)
		}
		for i, o := range q.ords {
			if ok && ords[i] >= 0 && o >= 0 && o != ords[i] {
				t.Fatalf("Complete(%v) = %v changed a value", ords, q.ords)
			}
		}
	})
}

func TestSampleIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 10 {
			p, err := s.Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(points, func(q []int) bool { return slices.Equal(p.ords, q) }) {
				t.Fatalf("Sample = %v, which is no point", p)
			}
		}
	})
}

func TestNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, points := drawSpace(t)
		if s == nil {
			return
		}
		p, err := s.FromOrdinals(rapid.SampledFrom(points).Draw(t, "point"))
		if err != nil {
			t.Fatal(err)
		}
		for _, hood := range []Neighbourhood{Adjacent, AnyValue} {
			seen := map[string]bool{p.Key(): true}
			neighbours := s.Neighbours(p, hood)
			for _, q := range neighbours {
				if seen[q.Key()] {
					t.Fatalf("%v is twice among the neighbours of %v, or itself", q, p)
				}
				seen[q.Key()] = true
				if !slices.ContainsFunc(points, func(o []int) bool { return slices.Equal(q.ords, o) }) {
					t.Fatalf("%v is no point", q)
				}
				changed := 0
				for i := range q.ords {
					if q.ords[i] != p.ords[i] && q.ords[i] >= 0 && p.ords[i] >= 0 {
						changed++
						if distance := abs(q.ords[i] - p.ords[i]); hood == Adjacent && distance != 1 {
							t.Fatalf("%v is %d steps from %v", q, distance, p)
						}
					}
				}
				if changed != 1 {
					t.Fatalf("%v changes %d values of %v", q, changed, p)
				}
			}
			checkNoneMissed(t, s, points, p, neighbours, hood)
		}
	})
}

// checkNoneMissed looks for points that differ from p in one value, and otherwise only in parameters
// that this made active or inactive, and that no neighbour changes in the same way.
func checkNoneMissed(t *rapid.T, s *Space, points [][]int, p Point, neighbours []Point, hood Neighbourhood) {
	for _, ords := range points {
		at, changed := -1, 0
		for i, o := range ords {
			if o != p.ords[i] && o >= 0 && p.ords[i] >= 0 {
				at, changed = i, changed+1
			}
		}
		if changed != 1 || hood == Adjacent && abs(ords[at]-p.ords[at]) != 1 {
			continue
		}
		if !slices.ContainsFunc(neighbours, func(q Point) bool { return q.ords[at] == ords[at] }) {
			t.Fatalf("no neighbour of %v changes %s as %v does", p, s.params[at].Name, ords)
		}
	}
}

func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawSpace(t)
		if s == nil {
			return
		}
		var text strings.Builder
		if err := s.Write(&text); err != nil {
			t.Fatal(err)
		}
		again, err := read(strings.NewReader(text.String()), s.limits)
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		if again.Fingerprint() != s.Fingerprint() || !again.Default().Equal(s.Default()) || again.Default().Key() != s.Default().Key() {
			t.Fatalf("the space has changed:\n%s", text.String())
		}
	})
}
