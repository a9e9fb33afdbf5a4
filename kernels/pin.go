package kernels

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"tune/space"
)

// Pin returns a problem whose points are those of p that have the given values wherever these parameters are active. The values
// are given by parameter, and written as in keys; without any, no point is left out. It fails where [space.Space.Fix] does: a
// parameter or a value does not exist, or no point is left.
//
// Everything else is that of p, which sees only points of its own space. Pinned values are set in presets too; a parameter that
// becomes active by that takes its default. A preset that then breaks a constraint is left out; if it is the first one, the
// baseline, the default point takes its place.
func Pin(p Problem, values map[string]string) (Problem, error) {
	s, err := p.Space().Fix(values)
	if err != nil {
		return nil, err
	}
	pinned := &pinned{problem: p, space: s}
	for _, parameter := range s.Parameters() {
		_, fixed := values[parameter.Name]
		pinned.fixed = append(pinned.fixed, fixed)
	}
	pinned.traits = pinned.translated(p.Traits())
	return pinned, nil
}

// ParsePinned reads values of parameters, each as name=value, for Pin.
func ParsePinned(given []string) (map[string]string, error) {
	var values map[string]string
	for _, one := range given {
		name, value, ok := strings.Cut(one, "=")
		switch other, twice := values[name]; {
		case !ok || name == "":
			return nil, fmt.Errorf("%q: want a parameter and its value, such as unroll=4", one)
		case twice && other != value:
			return nil, fmt.Errorf("%s is %s and %s: want one value", name, other, value)
		}
		if values == nil {
			values = map[string]string{}
		}
		values[name] = value
	}
	return values, nil
}

// PinnedText lists pinned values for people, by name: "isa=avx2, unroll=4".
func PinnedText(values map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, name+"="+values[name])
	}
	return strings.Join(list, ", ")
}

// pinned is the problem that Pin makes. It does not embed the problem, so that a new method of Problem that is missing here does
// not compile.
type pinned struct {
	problem Problem
	space   *space.Space
	fixed   []bool // by parameter
	traits  Traits

	mu       sync.Mutex
	baseline space.Point // set by Settle; zero before
}

// original returns the point of the wrapped problem with the values of a pinned point.
func (p *pinned) original(point space.Point) (space.Point, error) {
	out, err := p.problem.Space().FromOrdinals(point.Ordinals())
	if err != nil {
		return space.Point{}, fmt.Errorf("%s is not a point of the whole space: %w", point.Key(), err)
	}
	return out, nil
}

// like returns the pinned point that agrees with a point of the wrapped problem in all other parameters. It returns false where a
// constraint forbids that.
func (p *pinned) like(point space.Point) (space.Point, bool) {
	ordinals := point.Ordinals()
	for i, fixed := range p.fixed {
		if fixed {
			ordinals[i] = -1 // the default, which Fix has set to that value
		}
	}
	return p.space.Complete(ordinals)
}

// Space returns the space of the remaining points.
func (p *pinned) Space() *space.Space { return p.space }

// Presets returns the presets of the wrapped problem that are points here, the baseline first.
func (p *pinned) Presets() []Preset {
	var out []Preset
	for i, preset := range p.problem.Presets() {
		point, ok := p.like(preset.Point)
		if !ok && i > 0 {
			continue
		}
		if !ok {
			point, preset.Start, preset.First = p.space.Default(), false, false
		}
		preset.Point = point
		out = append(out, preset)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.baseline.IsZero() {
		out[0].Point = p.baseline
	}
	return out
}

// Build generates the candidate of a point.
func (p *pinned) Build(ctx context.Context, point space.Point) (Candidate, error) {
	of, err := p.original(point)
	if err != nil {
		return nil, err
	}
	return p.problem.Build(ctx, of)
}

// Traits returns the traits of the wrapped problem, translated to pinned points.
func (p *pinned) Traits() Traits { return p.traits }

// translated returns traits whose funcs take and return pinned points.
func (p *pinned) translated(t Traits) Traits {
	if build := t.BuildAt; build != nil {
		t.BuildAt = func(ctx context.Context, point space.Point, fidelity int) (Candidate, error) {
			of, err := p.original(point)
			if err != nil {
				return nil, err
			}
			return build(ctx, of, fidelity)
		}
	}
	if seconds := t.Seconds; seconds != nil {
		t.Seconds = func(point space.Point) float64 {
			of, err := p.original(point)
			if err != nil {
				return 0 // Build reports the error
			}
			return seconds(of)
		}
	}
	if threads := t.Threads; threads != nil {
		t.Threads = func(point space.Point) (int, error) {
			of, err := p.original(point)
			if err != nil {
				return 0, err
			}
			return threads(of)
		}
	}
	if passes := t.Passes; passes != nil {
		t.Passes = func(point space.Point) []string {
			of, err := p.original(point)
			if err != nil {
				return nil // Explain reports the error
			}
			return passes(of)
		}
	}
	if explain := t.Explain; explain != nil {
		t.Explain = func(ctx context.Context, w io.Writer, point space.Point, pass string) error {
			of, err := p.original(point)
			if err != nil {
				return err
			}
			return explain(ctx, w, of, pass)
		}
	}
	if baselines := t.Baselines; baselines != nil {
		t.Baselines = func() []space.Point { return p.baselines(baselines()) }
		// Which points of the wrapped problem are right says nothing about the pinned ones.
		t.Settle = p.settle
	}
	return t
}

// baselines returns, without duplicates, the pinned points for those that may be the baseline.
func (p *pinned) baselines(points []space.Point) []space.Point {
	var out []space.Point
	for i, point := range points {
		like, ok := p.like(point)
		if !ok && i == 0 {
			like, ok = p.space.Default(), true
		}
		if ok && !slices.ContainsFunc(out, like.Equal) {
			out = append(out, like)
		}
	}
	return out
}

// settle is Traits.Settle.
func (p *pinned) settle(ctx context.Context, seed uint64) error {
	point, err := FirstRight(ctx, p, p.traits.Baselines(), seed)
	if err != nil || point.IsZero() {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.baseline = point
	return nil
}
