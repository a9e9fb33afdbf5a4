package user

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tune/kernels"
	"tune/space"
)

// startPoint is a point that a search evaluates before all others: values of some parameters. The rest have their defaults.
type startPoint struct {
	values map[string]any
	node   node // its position in the file
}

// starts reads the start points of a space. The source or the command is read before, because it may bring the parameter compiler.
func (r *reader) starts(d *definition, ns *names) {
	shape, err := kernels.ParseShape(d.shape, "")
	if err != nil {
		return // it is reported elsewhere
	}
	d.space.starts = r.startsAt(ns.starts, d, ns, shape)
}

// startsAt reads start points, which have to exist at a shape.
func (r *reader) startsAt(nodes []node, d *definition, ns *names, shape kernels.Shape) (starts []startPoint) {
	if ns.broken {
		return nil // a name may be one that could not be read
	}
	params := slices.Clone(ns.parameters)
	var more []space.Parameter
	if len(ns.compilers) > 1 {
		more = append(more, space.Enum(compilerParameter, ns.compilers...))
		params = append(params, more...)
	}
	before := len(r.faults)
	for _, n := range nodes {
		if p, ok := r.start(n, params); ok {
			starts = append(starts, p)
		}
	}
	if len(starts) == 0 || len(r.faults) > before {
		return starts
	}
	sp, err := d.space.make(constants(d.shape, shape), more...)
	if err != nil {
		return starts // as above
	}
	known := map[string]string{sp.Default().Key(): "the baseline, which is measured anyway"}
	for _, s := range starts {
		p, err := sp.Make(s.values)
		if err != nil {
			r.fault(s.node, "%v", noPoint(err, sp, s))
			continue
		}
		if same := known[p.Key()]; same != "" {
			r.fault(s.node, "it is %s: leave it out", same)
			continue
		}
		known[p.Key()] = "the same point as " + s.node.path
	}
	return starts
}

// key returns the values of a start point as a run takes them.
func (s startPoint) key() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		words = append(words, fmt.Sprintf("%s=%v", name, s.values[name]))
	}
	return strings.Join(words, " ")
}

// noPoint says why the values of a start point are no point, and how to mend it.
func noPoint(err error, sp *space.Space, s startPoint) error {
	if len(s.values) < len(sp.Parameters()) {
		return fmt.Errorf("%w: other values are needed, perhaps for a parameter that it leaves at its default", err)
	}
	return fmt.Errorf("%w: other values are needed", err)
}

// start reads one start point: a mapping from parameters to values, or their key.
func (r *reader) start(n node, params []space.Parameter) (p startPoint, ok bool) {
	p = startPoint{values: map[string]any{}, node: n}
	before := len(r.faults)
	set := func(name, text string, key, value node) {
		i := slices.IndexFunc(params, func(q space.Parameter) bool { return q.Name == name })
		if i < 0 {
			var all []string
			for _, q := range params {
				all = append(all, q.Name)
			}
			r.fault(key, "there is no parameter %q%s", name, space.DidYouMeanOneOf(name, all))
			return
		}
		v, err := parseValue(params[i], text)
		if err != nil {
			r.fault(value, "%v", err)
			return
		}
		p.values[name] = v
	}
	switch n.Kind {
	case yaml.ScalarNode:
		texts, err := space.KeyTexts(n.Value)
		if err != nil {
			r.fault(n, "%v: want values such as {tile: 16, unroll: 4} or \"tile=16 unroll=4\"", err)
			return p, false
		}
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			set(name, texts[name], n, n)
		}
	default:
		for _, one := range r.pairs(n, "parameters to values") {
			text, isScalar := scalarText(one.value)
			if !isScalar {
				r.fault(one.value, "want one value of the parameter")
				continue
			}
			set(one.name, text, one.key, one.value)
		}
	}
	if len(r.faults) == before && len(p.values) == 0 {
		r.fault(n, "it names no parameter: leave it out, or name values that differ from the defaults")
	}
	return p, len(r.faults) == before
}

// presets returns the baseline of a space, and the start points that exist there.
func (d definedSpace) presets(sp *space.Space) []kernels.Preset {
	out := []kernels.Preset{{Name: "baseline", Doc: "the default of every parameter", Point: sp.Default()}}
	for i, s := range d.starts {
		if p, err := sp.Make(s.values); err == nil {
			out = append(out, kernels.Preset{Name: fmt.Sprintf("start-%d", i+1), Doc: "a start point of the file", Point: p, Start: true, First: true})
		}
	}
	return out
}

// LeftOut returns, as faults, the start points of the file that do not exist at a shape, or on this machine: no search there evaluates
// them.
func (k *Kernel) LeftOut(shape kernels.Shape) []Fault {
	if len(k.d.space.starts) == 0 {
		return nil
	}
	var more []space.Parameter
	if k.d.source != nil {
		var err error
		if more, _, _, err = k.compilerChoice(); err != nil {
			return nil
		}
	}
	sp, err := k.d.space.make(constants(k.d.shape, shape), more...)
	if err != nil {
		return nil
	}
	r := &reader{file: k.path}
	for _, s := range k.d.space.starts {
		if _, err := sp.Make(s.values); err != nil {
			r.warn(s.node, "this start point is left out, because it does not exist here: %v", err)
		}
	}
	return r.warnings
}
