package space

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGrids(t *testing.T) {
	for _, test := range []struct {
		p              Parameter
		values, domain string
	}{
		{Float("x", 0, 1, 10), "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0", "0..1 in 10 steps"},
		{Float("x", 0.1, 0.7, 6), "0.1 0.2 0.3 0.4 0.5 0.6 0.7", "0.1..0.7 in 6 steps"},
		{Float("x", -1, 1, 2), "-1.0 0.0 1.0", "-1..1 in 2 steps"},
		{Float("x", 0, 1, 3), "0.0 0.3333 0.6667 1.0", "0..1 in 3 steps"},
		{Float("x", 1e-9, 2e-9, 1), "1e-09 2e-09", "1e-09..2e-09 in 1 step"},
		{LogFloat("x", 0.1, 10, 4), "0.1 0.316 1.0 3.16 10.0", "0.1..10 in 4 log steps"},
		{LogFloat("x", 0.1, 10, 20), "0.1 0.1259 0.1585 0.1995 0.2512 0.3162 0.3981 0.5012 0.631 0.7943 1.0 1.259 1.585 1.995 2.512 3.162 3.981 5.012 6.31 7.943 10.0", "0.1..10 in 20 log steps"},
		{LogFloat("x", 1e-8, 1, 2), "1e-08 0.0001 1.0", "1e-08..1 in 2 log steps"},
		{LogRange("x", 1, 1000, 9), "1 2 5 10 22 46 100 215 464 1000", "1..1000 in 9 log steps"},
		{LogRange("x", 1, 4, 6), "1 2 3 4", "1..4 in 6 log steps"},
	} {
		s, err := New("x", []Parameter{test.p})
		if err != nil {
			t.Fatal(err)
		}
		p := s.Parameters()[0]
		var texts []string
		for i := range p.Len() {
			v := p.At(i)
			texts = append(texts, v.String())
			if w, err := p.ParseValue(v.String()); err != nil || w != v {
				t.Errorf("ParseValue(%v) = %v, %v", v, w, err)
			}
		}
		if got := strings.Join(texts, " "); got != test.values || p.Domain() != test.domain {
			t.Errorf("%s has %s,\nwant %s has %s", p.Domain(), got, test.domain, test.values)
		}
	}
}

// TestGridProperties: the values of any grid ascend from one end to the other, each near the exact one, and read back from YAML
// and JSON.
func TestGridProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Grid{From: rapid.Float64Range(-1e6, 1e6).Draw(t, "from"), Steps: rapid.IntRange(1, 300).Draw(t, "steps"), Log: rapid.Bool().Draw(t, "log")}
		if g.Log {
			g.From = math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log from"))
			g.To = g.From * math.Exp(rapid.Float64Range(0.01, 20).Draw(t, "ratio"))
		} else {
			g.To = g.From + math.Exp(rapid.Float64Range(-5, 20).Draw(t, "length"))
		}
		s, err := New("x", []Parameter{g.parameter("x")})
		if err != nil {
			t.Fatal(err)
		}
		p := s.Parameters()[0]
		if p.Len() != g.Steps+1 || p.At(0) != FloatValue(g.From) || p.At(g.Steps) != FloatValue(g.To) {
			t.Fatalf("%v: %d values from %v to %v", g, p.Len(), p.At(0), p.At(p.Len()-1))
		}
		step, ratio := (g.To-g.From)/float64(g.Steps), math.Pow(g.To/g.From, 1/float64(g.Steps))
		for i := 1; i <= g.Steps; i++ {
			a, b := p.At(i-1).float(), p.At(i).float()
			if !g.Log && math.Abs(b-a-step) > 3*nearly*step || g.Log && math.Abs(b/a-ratio) > 3*nearly*ratio*(ratio-1)+1e-12 {
				t.Fatalf("%v: %v is followed by %v", g, a, b)
			}
		}
		var text strings.Builder
		if err := s.Write(&text); err != nil {
			t.Fatal(err)
		}
		again, err := Read(strings.NewReader(text.String()))
		if err != nil || again.Fingerprint() != s.Fingerprint() || again.Parameters()[0].Grid == nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		at := s.At(uint64(g.Steps / 2))
		data, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := s.UnmarshalPoint(data); err != nil || !back.Equal(at) {
			t.Fatalf("%s: %v, %v", data, back, err)
		}
	})
}

func TestReadGrids(t *testing.T) {
	const text = `name: g
parameters:
  - {name: alpha, type: float, from: 0.1, to: 10, steps: 20, scale: log, default: 1.0}
  - {name: share, type: float, from: 0, to: 1, steps: 4}
  - {name: count, type: int, from: 1, to: 1000, steps: 9, scale: log, default: 22}
  - {name: plain, type: int, from: 1, to: 3}
constraints:
  - alpha * count <= 5000 or share > 0.5
`
	s, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if key := s.Default().Key(); key != "alpha=1.0 share=0.0 count=22 plain=1" {
		t.Errorf("the default is %s", key)
	}
	var out strings.Builder
	if err := s.Write(&out); err != nil || out.String() != text {
		t.Errorf("%v\n%s", err, out.String())
	}
	// An equal list is the same space.
	listed, err := New("g", []Parameter{
		Values("alpha", s.params[0].Values...), Floats("share", 0, 0.25, 0.5, 0.75, 1), Ints("count", 1, 2, 5, 10, 22, 46, 100, 215, 464, 1000), Range("plain", 1, 3),
	}, "alpha * count <= 5000 or share > 0.5")
	if err != nil || listed.Fingerprint() != s.Fingerprint() {
		t.Errorf("%v: the fingerprint differs from that of listed values", err)
	}
	for text, want := range map[string]string{
		"alpha=0.1259 share=0.25 count=464 plain=2": "", "alpha=1 share=0 count=1 plain=1": "",
		"alpha=0.126 share=0.25 count=1 plain=2": "(the nearest is 0.1259)", "alpha=1.0 share=0.25 count=450 plain=2": "(the nearest is 464)",
	} {
		if _, err := s.Parse(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	// A step of a size that fits is the same as the number of steps; an int may say that its scale is linear.
	forms, err := Read(strings.NewReader("name: g\nparameters: [{name: a, type: float, from: 0, to: 1, step: 0.1}, {name: b, type: int, from: 0, to: 9, scale: linear}]\n"))
	if err != nil || forms.Parameters()[0].Len() != 11 || forms.Parameters()[1].Len() != 10 {
		t.Errorf("%v", err)
	}
}

// TestGridNeighbours: a local search goes from value to value in their order.
func TestGridNeighbours(t *testing.T) {
	s, err := New("x", []Parameter{LogFloat("alpha", 0.1, 10, 4)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Parse("alpha=1.0")
	if err != nil {
		t.Fatal(err)
	}
	near := s.Neighbours(p, Adjacent)
	if len(near) != 2 || near[0].Key() != "alpha=0.316" || near[1].Key() != "alpha=3.16" {
		t.Errorf("the neighbours of 1.0 are %v", near)
	}
}

func TestGridErrors(t *testing.T) {
	grid := Grid{From: 0, To: 1, Steps: 4}
	for want, p := range map[string]Parameter{
		"steps is 0":                           Float("x", 0, 1, 0),
		"from 1 is not less than to 1":         Float("x", 1, 1, 3),
		"from -1 is not above 0":               LogFloat("x", -1, 1, 3),
		"have to be finite":                    Float("x", math.Inf(-1), 1, 3),
		"finite numbers, and their differ":     Float("x", -math.MaxFloat64, math.MaxFloat64, 3),
		"its values are not those of its grid": {Name: "x", Type: TypeEnum, Values: []Value{FloatValue(1)}, Grid: &grid},
		"type bool takes no grid":              {Name: "x", Type: TypeBool, Grid: &grid},
	} {
		if _, err := New("x", []Parameter{p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
