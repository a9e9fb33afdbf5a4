package space

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// writtenOf writes the values of a point in JSON: strings as encoding/json does, others as keys have them.
func writtenOf(t *rapid.T, p Point) *Written {
	v := &Written{}
	var texts []string
	for i, o := range p.ords {
		if o < 0 {
			continue
		}
		value := p.space.params[i].at(o)
		text := value.appendText(nil)
		if value.kind == kindString {
			var err error
			if text, err = json.Marshal(value.text); err != nil {
				t.Fatal(err)
			}
		}
		v.Names, texts = append(v.Names, p.space.params[i].Name), append(texts, string(text))
	}
	v.Text = []byte(strings.Join(texts, ","))
	return v
}

// A written point matches that point, and no other.
func TestMatches(t *testing.T) {
	var plainly int
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawSpace(t)
		if s == nil {
			return
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		var m Matcher
		var points []Point
		var written []*Written
		for range 8 {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			points, written = append(points, p), append(written, writtenOf(t, p))
		}
		for i, p := range points {
			if key := written[i].Key(); key != p.Key() {
				t.Fatalf("the key of %+v is %q, not %q", written[i], key, p.Key())
			}
			for k, v := range written {
				if got := m.Matches(p, v); got != p.Equal(points[k]) {
					t.Fatalf("%q matches %s of the parameters %v: %t", p.Key(), v.Text, v.Names, got)
				}
				if m.plainly(p, v) {
					plainly++
				}
			}
		}
	})
	if plainly == 0 {
		t.Error("no point was written in the usual way")
	}
}

// What another program has written may look different, or be no point.
func TestMatchesOtherTexts(t *testing.T) {
	s, err := New("texts", []Parameter{Range("n", 0, 20), Floats("f", 0.5, 1), Enum("word", "a", "ü", `"q"`, "true", "7"), Bool("flag")})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"n", "f", "word", "flag"}
	for _, c := range []struct {
		key   string
		names []string
		text  string
		want  bool
	}{
		{"n=1 f=0.5 word=a flag=true", all, `1,0.5,"a",true`, true},
		{"n=1 f=0.5 word=a flag=true", all, `1,0.5,"\u0061",true`, true},
		{"n=1 f=0.5 word=a flag=true", all, ` 1, 0.5 ,"a", true`, true},
		{"n=1 f=0.5 word=ü flag=true", all, `1,0.5,"ü",true`, true},
		{"n=1 f=0.5 word=ü flag=true", all, `1,0.5,"\u00fc",true`, true},
		{`n=1 f=0.5 word="\"q\"" flag=true`, all, `1,0.5,"\"q\"",true`, true},
		{"n=1 f=0.5 word=true flag=true", all, `1,0.5,true,true`, true},
		{"n=1 f=0.5 word=7 flag=true", all, `1,0.5,7,true`, true},
		{"n=1 f=0.5 word=a flag=true", all, `12,0.5,"a",true`, false},
		{"n=12 f=0.5 word=a flag=true", all, `1,0.5,"a",true`, false},
		{"n=1 f=0.5 word=a flag=true", all, `1,0.5,"a",true,1`, false},
		{"n=1 f=0.5 word=a flag=true", all, `1,0.5,"a"`, false},
		{"n=1 f=0.5 word=a flag=true", all[:3], `1,0.5,"a",true`, false},
		{"n=1 f=0.5 word=a flag=true", slices.Concat(all[:3], []string{"other"}), `1,0.5,"a",true`, false},
		{"n=1 f=0.5 word=a flag=true", all, `1,0.5,"a",[true]`, false},
		{"n=1 f=0.5 word=a flag=true", all, `1,0.5,"a`, false},
		{"n=1 f=0.5 word=a flag=true", nil, ``, false},
	} {
		p, err := s.Parse(c.key)
		if err != nil {
			t.Fatal(err)
		}
		var m Matcher
		if got := m.Matches(p, &Written{c.names, []byte(c.text)}); got != c.want {
			t.Errorf("%s matches %s: %t", c.key, c.text, got)
		}
	}
	// Texts with quotation marks and backslashes: the values of one point begin like those of the other, escapes aside.
	s, err = New("escapes", []Parameter{Enum("word", `\`, `",`), Enum("tail", `,"x`, "x")})
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"word", "tail"}
	for _, c := range []struct {
		values map[string]any
		want   bool
	}{
		{map[string]any{"word": `\`, "tail": `,"x`}, false},
		{map[string]any{"word": `",`, "tail": "x"}, true},
	} {
		p, err := s.Make(c.values)
		if err != nil {
			t.Fatal(err)
		}
		var m Matcher
		if got := m.Matches(p, &Written{both, []byte(`"\",","x"`)}); got != c.want {
			t.Errorf("%v matches: %t", c.values, got)
		}
	}
	var m Matcher
	if m.Matches(Point{}, &Written{all, []byte(`1,0.5,"a",true`)}) {
		t.Error("no point matches")
	}
}
