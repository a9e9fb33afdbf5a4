package insight

import (
	"cmp"
	"slices"

	"tune/results"
	"tune/space"
)

// Effect is what a run saw of one parameter: the costs with each of its values, the value with the least cost first.
type Effect struct {
	Parameter string        `json:"parameter"`
	Values    []ValueEffect `json:"values"`
}

// ValueEffect is what a run saw of the candidates with one value of a parameter.
type ValueEffect struct {
	Value string  `json:"value"` // as keys write it
	Count int     `json:"count"` // of right candidates
	Best  float64 `json:"best"`  // the least of their costs
	// Quartiles are the costs below which a quarter, a half and three quarters of them are.
	Quartiles [3]float64 `json:"quartiles"`
	order     int        // among the values of the parameter
}

// Order is the place of the value among those of its parameter: by number, or by name.
func (v ValueEffect) Order() int { return v.order }

// Effects returns the effects of the parameters of which a table has right candidates with several values, those that matter most
// first: the ones whose middle value is furthest from the best. A search does not try all values as often, and other parameters may
// make up for a value, so that they only show where to look.
func (t *Table) Effects() []Effect {
	var out []Effect
	var rows []*Row // the best first, so that the costs of each value are in order too
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Counts() {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *Row) int { return cmp.Compare(a.Cost, b.Cost) })
	costs := t.costsByValue(rows)
	for k, p := range t.Parameters {
		effect := Effect{Parameter: p.Name}
		for c, list := range costs[k] {
			if len(list) > 0 {
				effect.Values = append(effect.Values, ValueEffect{
					Value: p.Values[c], Count: len(list), Best: list[0], order: c,
					Quartiles: [3]float64{quantile(list, 0.25), quantile(list, 0.5), quantile(list, 0.75)},
				})
			}
		}
		if len(effect.Values) < 2 {
			continue
		}
		slices.SortStableFunc(effect.Values, func(a, b ValueEffect) int { return cmp.Compare(a.Best, b.Best) })
		out = append(out, effect)
	}
	slices.SortStableFunc(out, func(a, b Effect) int { return cmp.Compare(b.matters(), a.matters()) })
	return out
}

// costsByValue returns, of each parameter and value, the costs of the rows that have it, in their order.
func (t *Table) costsByValue(rows []*Row) [][][]float64 {
	counts, lists := make([][]int, len(t.Parameters)), make([][][]float64, len(t.Parameters))
	for k, p := range t.Parameters {
		counts[k], lists[k] = make([]int, len(p.Values)), make([][]float64, len(p.Values))
	}
	for _, r := range rows {
		for k, c := range r.Choices {
			if c >= 0 {
				counts[k][c]++
			}
		}
	}
	for k, of := range counts {
		for c, n := range of {
			lists[k][c] = make([]float64, 0, n)
		}
	}
	for _, r := range rows {
		for k, c := range r.Choices {
			if c >= 0 {
				lists[k][c] = append(lists[k][c], r.Cost)
			}
		}
	}
	return lists
}

// matters is the distance of the middle value from the best one.
func (e Effect) matters() float64 { return e.Values[len(e.Values)/2].Best - e.Values[0].Best }

// quantile is the cost below which a share of sorted costs is.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	next := sorted[min(i+1, len(sorted)-1)]
	// Both are scaled before the sum, because the difference of two finite costs may overflow.
	return sorted[i]*(1-(at-float64(i))) + next*(at-float64(i))
}

// Loss is what it costs to leave one parameter at its default, as far as the outcomes of a run and its baseline tell.
type Loss struct {
	Parameter string  `json:"parameter"`
	Default   string  `json:"default"`
	Count     int     `json:"count"`          // right candidates that have the default
	Best      float64 `json:"best,omitempty"` // the least of their costs
	// Loss is how much more that is than the least cost of all, as a part of it: 0.1 for a tenth. It is 0 where Count is, and where
	// there is no such part: where the least cost is not above 0, or is so small that the part is too large for a number. The search
	// may have tried the default seldom, so that the true loss may be less.
	Loss float64 `json:"loss"`
	// Known says that there is such a part.
	Known bool `json:"-"`
	// Chosen is the value that the best candidate has instead.
	Chosen string `json:"chosen"`
}

// Reference is what the outcomes of a run are compared with.
type Reference struct {
	// Defaults is the key of the baseline, whose choices are the defaults; "" where they are not known.
	Defaults string
	// Cost is what the search measured of the baseline. It counts where Measured says so: the search need not ask for the baseline, so that no
	// outcome may have it.
	Cost     float64
	Measured bool
	// Exported is the key of the point that was exported; "" for none. Then the best is the one of the least cost.
	Exported string
}

// Exported is the reference of a run with a schedule.
func Exported(s *results.Schedule) Reference {
	r := Reference{Defaults: s.Baseline.Key, Cost: s.Baseline.Cost, Measured: s.Baseline.Key != "", Exported: s.Key}
	if s.Search != nil {
		r.Cost = s.Search.Baseline // measured as the outcomes were
	}
	return r
}

// Losses returns the loss of each parameter that the best candidate has at another value than its default, the largest first and those
// that are not known last. The best candidate is the one that was exported, else the one of the least cost. A parameter that it lacks has no
// loss: what its default loses is the loss of those that decide whether there is such a parameter.
func (t *Table) Losses(from Reference) []Loss {
	least, chosen, ok := t.best(from)
	if !ok {
		return nil
	}
	defaults := map[string]string{}
	for _, c := range choicesOf(from.Defaults) {
		defaults[c.name] = c.value
	}
	apart := from.Measured && !t.has(defaults) // an outcome of the baseline counts once
	var out []Loss
	for _, c := range choicesOf(chosen) {
		value, ok := defaults[c.name]
		if !ok || c.value == value {
			continue
		}
		l := Loss{Parameter: c.name, Default: value, Chosen: c.value}
		if from.Measured {
			l.Best = from.Cost
		}
		if apart {
			l.Count = 1
		}
		t.left(&l)
		if l.Count > 0 && least > 0 {
			if loss := l.Best/least - 1; space.Finite(loss) {
				l.Loss, l.Known = loss, true
			}
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(min(b.Count, 1), min(a.Count, 1)), cmp.Compare(b.Best, a.Best))
	})
	return out
}

// best returns the least cost of all, and the key of the best candidate; ok is false where nothing was right.
func (t *Table) best(from Reference) (least float64, key string, ok bool) {
	best := t.Best()
	switch {
	case best == nil && !from.Measured:
		return 0, "", false
	case best == nil || from.Measured && !(best.Cost < from.Cost): // what is not better than the baseline is no gain
		least, key = from.Cost, from.Defaults
	default:
		least, key = best.Cost, t.Key(best)
	}
	return least, cmp.Or(from.Exported, key), true
}

// has reports whether a row that counts has just these choices.
func (t *Table) has(choices map[string]string) bool {
	want, found := make([]int32, len(t.Parameters)), 0
	for k, p := range t.Parameters {
		want[k] = -1
		if value, ok := choices[p.Name]; ok {
			want[k] = int32(slices.Index(p.Values, value))
			found++
			if want[k] < 0 {
				return false
			}
		}
	}
	if found < len(choices) {
		return false
	}
rows:
	for i := range t.Rows {
		r := &t.Rows[i]
		if !r.Counts() {
			continue
		}
		for k, c := range want {
			if r.Choice(k) != c {
				continue rows
			}
		}
		return true
	}
	return false
}

// left adds the outcomes with the default of a parameter to its loss.
func (t *Table) left(l *Loss) {
	k := slices.IndexFunc(t.Parameters, func(p Parameter) bool { return p.Name == l.Parameter })
	if k < 0 {
		return
	}
	value := int32(slices.Index(t.Parameters[k].Values, l.Default))
	known := l.Count > 0
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Counts() && value >= 0 && r.Choice(k) == value {
			if l.Count++; !known || r.Cost < l.Best {
				l.Best, known = r.Cost, true
			}
		}
	}
}
