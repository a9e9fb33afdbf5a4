package space

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Fix returns the space of the points that have the given values, written as in keys, wherever the named parameters are active.
// The values also become the defaults of these parameters. It is an error if a parameter or a value does not exist, or if no
// point is left.
func (s *Space) Fix(values map[string]string) (*Space, error) {
	params, constraints := slices.Clone(s.params), s.Constraints()
	fixed := make(map[int]int, len(values)) // ordinals by parameter
	var given []string
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
		given = append(given, name+"="+values[name])
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
		return nil, fmt.Errorf("space %q has no point with %s: want the values of another point", s.name, strings.Join(given, " "))
	}
	return FromRows(s.name, params, rows)
}
