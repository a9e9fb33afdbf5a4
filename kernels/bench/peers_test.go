package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tune/kernels"
	"tune/space"
)

// fake is a kernel and its problem, whose peers fail in some way.
type fake struct {
	space    *space.Space
	failing  error
	optional bool
}

func (f *fake) Info() kernels.Info {
	return kernels.Info{Name: "fake", Unit: "ns", Shape: []kernels.Field{{Name: "n", Default: "1", Min: 1, Max: 9}}}
}
func (f *fake) Problem(kernels.Shape) (kernels.Problem, error) { return f, nil }
func (f *fake) Space() *space.Space                            { return f.space }
func (f *fake) Presets() []kernels.Preset {
	p, _ := f.space.Parse("a=1")
	return []kernels.Preset{{Name: "baseline", Point: p}}
}
func (f *fake) Build(context.Context, space.Point) (kernels.Candidate, error) { return made{}, nil }
func (f *fake) Traits() kernels.Traits {
	return kernels.Traits{
		Compare: func(_ context.Context, _ kernels.Candidate, finalists []kernels.Candidate, _ kernels.Series) (kernels.Final, error) {
			final := kernels.Final{}
			for range finalists {
				final.Comparisons = append(final.Comparisons, kernels.Comparison{Ratio: 0.5, Low: 0.4, High: 0.6, Cost: 2, Baseline: 1, Pairs: 9})
			}
			return final, nil
		},
		Peers: func([]string) ([]kernels.Peer, error) {
			return []kernels.Peer{
				{Name: "lib", Candidate: made{}},
				{Name: "lib-packed", Candidate: made{f.failing}, Optional: f.optional},
				{Name: "other", Install: "apt-get install other"},
			}, nil
		},
	}
}

// made is a candidate.
type made struct{ err error }

func (m made) Check(context.Context, uint64) error { return m.err }
func (m made) Score(context.Context, int) (kernels.Score, error) {
	return kernels.Score{Cost: 1}, nil
}
func (m made) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
func (m made) Abilities() kernels.Abilities           { return kernels.Abilities{} }

// TestOptionalPeers: one of several ways of a library is left out where there is no such way, and not where it is wrong. A library has to
// be able to what it is there for.
func TestOptionalPeers(t *testing.T) {
	lacking, wrong := kernels.Reject(space.Invalid, "no such way"), kernels.Reject(space.WrongAnswer, "off by one")
	for _, c := range []struct {
		fake
		want string // peers and what is left out, or the error
	}{
		{fake{optional: true}, "lib lib-packed"},
		{fake{optional: true, failing: lacking}, "lib, without lib-packed: no such way"},
		{fake{optional: true, failing: wrong}, "peer lib-packed: "},
		{fake{failing: lacking}, "peer lib-packed: "},
	} {
		var err error
		if c.space, err = space.New("fake", []space.Parameter{space.Ints("a", 1, 2)}); err != nil {
			t.Fatal(err)
		}
		shape, err := kernels.ParseShape(c.Info().Shape, "")
		if err != nil {
			t.Fatal(err)
		}
		b := Peers{Kernel: &c.fake, Shapes: []kernels.Shape{shape}, Tune: func(context.Context, kernels.Shape, string) (Tuned, error) {
			return Tuned{Key: "a=2"}, nil
		}}
		got := ""
		err = b.Run(t.Context(), func(r Row) error {
			var names []string
			for _, name := range []string{"lib", "lib-packed", "other"} {
				if _, ok := r.Peers[name]; ok {
					names = append(names, name)
				}
			}
			got = strings.Join(names, " ")
			for name, why := range r.LeftOut {
				got += ", without " + name + ": " + why
			}
			return nil
		})
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("optional=%v, %v: got %q, want %q", c.optional, c.failing, got, c.want)
		}
	}
}

// TestFailedShapes: a shape that fails costs its own row alone, and an interrupt ends all.
func TestFailedShapes(t *testing.T) {
	k := &fake{}
	var err error
	if k.space, err = space.New("fake", []space.Parameter{space.Ints("a", 1, 2)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ failing, interrupted, rows, failed, want string }{
		{"", "", "1234", "", ""},
		{"2", "", "134", "2", "n=2: too slow"},
		{"24", "", "13", "24", "2 of 4 shapes have no result; the first: n=2: too slow"},
		{"1234", "", "", "1234", "4 of 4 shapes have no result; the first: n=1: too slow"},
		{"24", "2", "1", "2", "n=2: too slow"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		rows, failed := "", ""
		b := Peers{Kernel: k, Alone: true, Failed: func(err error) { failed += err.Error()[2:3] }}
		b.Tune = func(_ context.Context, shape kernels.Shape, _ string) (Tuned, error) {
			n := shape.String()[2:]
			if strings.Contains(c.interrupted, n) && c.interrupted != "" {
				cancel()
			}
			if strings.Contains(c.failing, n) {
				return Tuned{}, errors.New("too slow")
			}
			return Tuned{Key: "a=2"}, nil
		}
		for n := 1; n <= 4; n++ {
			shape, err := kernels.ParseShape(k.Info().Shape, fmt.Sprintf("n=%d", n))
			if err != nil {
				t.Fatal(err)
			}
			b.Shapes = append(b.Shapes, shape)
		}
		got := ""
		if err := b.Run(ctx, func(r Row) error { rows += r.Shape[2:]; return nil }); err != nil {
			got = err.Error()
		}
		cancel()
		if rows != c.rows || failed != c.failed || got != c.want {
			t.Errorf("%+v: rows %q, failed %q, error %q", c, rows, failed, got)
		}
	}
}
