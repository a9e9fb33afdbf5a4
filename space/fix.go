package space

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Fix returns the space of those points that have the given values, written as in keys, wherever the parameters of
// these names are active. The values are also the defaults there. The error names what is no parameter, no value of
// one, or leaves no point.
func (s *Space) Fix(values map[string]string) (*Space, error) {
	params, constraints := slices.Clone(s.params), s.Constraints()
	fixed := make(map[int]int, len(values)) // ordinals by parameter
	for _, name := range slices.Sorted(maps.Keys(values)) {
		i, err := s.lookup(name)
		if err != nil {
			return nil, err
		}
		v, err := params[i].ParseValue(values[name])
		if err != nil {
			return nil, err
		}
		fixed[i], _ = params[i].Ordinal(v)
		params[i] = params[i].WithDefault(v)
		text := v.String()
		if v.kind == kindString {
			text = strconv.Quote(v.text)
		}
		constraints = append(constraints, name+" == "+text)
	}
	if !s.listed {
		return New(s.name, params, constraints...)
	}
	var rows [][]int
	for p := range s.All() {
		row, keep := p.Ordinals(), true
		for i, want := range fixed {
			keep = keep && row[i] == want
		}
		if keep {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("space %q has no point with %v", s.name, values)
	}
	return FromRows(s.name, params, rows)
}
