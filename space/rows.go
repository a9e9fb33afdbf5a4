package space

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// RowError says that a row of FromRows cannot be a point.
type RowError struct {
	Row int // its position in the list, from 0
	Err error
}

// Error names the row, counted from 1.
func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row+1, e.Err) }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// FromRows returns the space whose points are exactly the given rows: each is a list of ordinals, one for each parameter. It is
// for spaces that were measured elsewhere and whose constraints are unknown. The parameters cannot have conditions. An error in
// one row, for instance that it is a duplicate, is a *RowError.
//
// The order of the rows does not matter: the points have the same canonical order as in any space.
func FromRows(name string, params []Parameter, rows [][]int) (*Space, error) {
	s, err := fromRows(name, params, rows)
	if err != nil {
		return nil, fmt.Errorf("space %q: %w", name, err)
	}
	return s, nil
}

func fromRows(name string, params []Parameter, rows [][]int) (*Space, error) {
	for i, p := range params {
		if p.When != "" {
			return nil, &definitionError{parameter: i, constraint: -1, label: fmt.Sprintf("parameter %q", p.Name),
				err: errors.New("a space of rows has no conditions")}
		}
	}
	s, err := define(name, params, nil, defaultLimits)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("it has no rows")
	}
	order := make([]int, len(rows))
	for i, row := range rows {
		order[i] = i
		if len(row) != len(params) {
			return nil, &RowError{i, fmt.Errorf("it has %d ordinals for %d parameters", len(row), len(params))}
		}
		for j, o := range row {
			if o < 0 || o >= s.sizes[j] {
				return nil, &RowError{i, fmt.Errorf("parameter %q has no value with ordinal %d, only 0 to %d", s.params[j].Name, o, s.sizes[j]-1)}
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(rows[a], rows[b]) })
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; slices.Equal(rows[a], rows[b]) {
			return nil, &RowError{b, fmt.Errorf("it has the values of row %d: %s", a+1, s.appendKey(nil, rows[b]))}
		}
	}
	s.diagram = diagramOf(len(params), rows, order)
	s.listed = true
	s.rejects = make([][]*check, len(params))
	s.fingerprint = s.digestRows(rows, order)
	return s, s.findFirst()
}

// diagramOf returns the diagram of the rows, which are distinct and ascending in the given order. It makes layers from the last
// one up, so that equal subtrees are merged.
func diagramOf(n int, rows [][]int, order []int) *diagram {
	d := &diagram{layers: make([]layer, n)}
	// A group is the rows that agree in the parameters before the layer. It begins at a position in order; node is the node for
	// the rest of these rows.
	type group struct {
		begin int
		node  int32
	}
	groups := make([]group, len(order))
	for k := range groups {
		groups[k].begin = k
	}
	for i := n - 1; i >= 0; i-- {
		l := &d.layers[i]
		known := map[string]int32{}
		var signature []byte
		var above []group
		for k := 0; k < len(groups); {
			first := rows[order[groups[k].begin]]
			begin, end := k, k
			signature = signature[:0]
			for ; end < len(groups); end++ {
				row := rows[order[groups[end].begin]]
				if !slices.Equal(row[:i], first[:i]) {
					break
				}
				signature = binary.LittleEndian.AppendUint32(signature, uint32(row[i]))
				signature = binary.LittleEndian.AppendUint32(signature, uint32(groups[end].node))
			}
			node, ok := known[string(signature)]
			if !ok {
				node = int32(len(l.first))
				known[string(signature)] = node
				start := len(l.runs)
				l.first = append(l.first, int32(start))
				for _, g := range groups[begin:end] {
					o := rows[order[g.begin]][i]
					if last := len(l.runs) - 1; last >= start && l.runs[last].child == g.node && l.runs[last].lo+l.runs[last].n == o {
						l.runs[last].n++
						continue
					}
					l.runs = append(l.runs, run{lo: o, n: 1, child: g.node})
				}
			}
			above = append(above, group{groups[begin].begin, node})
			k = end
		}
		l.first = append(l.first, int32(len(l.runs)))
		groups = above
	}
	d.number(1)
	return d
}

// digestRows is digest for a space of rows.
func (s *Space) digestRows(rows [][]int, order []int) string {
	h := sha256.New()
	h.Write([]byte(s.digest()))
	var b []byte
	for _, k := range order {
		b = b[:0]
		for _, o := range rows[k] {
			b = binary.LittleEndian.AppendUint32(b, uint32(o))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Listed reports whether the space was made by FromRows: its points are a list, which cannot be described by constraints or in
// the YAML form.
func (s *Space) Listed() bool { return s.listed }

// unlisted reports ordinals that are not a row of a space of FromRows.
func (s *Space) unlisted(ords []int) bool {
	if !s.listed {
		return false
	}
	_, ok := s.diagram.index(ords)
	return !ok
}
