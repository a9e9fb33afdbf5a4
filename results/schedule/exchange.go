package schedule

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"tune/kernels"
	"tune/results"
	"tune/results/exchange"
	"tune/space"
)

// longestDomain is the longest list of values that is exported completely for a parameter; of a longer one only the values that
// were tried.
const longestDomain = 1024

// exchangeFormat writes the outcomes of a run in a format of package exchange, in the order of the journal. It leaves out those
// of lesser fidelity. The formats have no inactive parameters: an inactive one is written with its default; no other point with
// the same values of the other parameters can have that. s is the space of the run. origin is where its scores come from, nil where
// they were measured here.
func exchangeFormat(s *space.Space, origin *kernels.Origin, run *results.Run, format exchange.Format, wrote func(), w io.Writer) error {
	kernel, unit := run.Settings.Kernel, run.Settings.Unit
	f := &exchange.File{Space: kernel, Device: run.Settings.Machine.CPU, Kernel: kernel, Objective: unit, Unit: unit}
	if shape := run.Settings.Shape; shape != "" {
		f.Space += " " + shape
	}
	if unit == "ns" || unit == "ms" {
		f.Objective = "time"
	}
	if o := origin; o != nil {
		f.Space, f.Device, f.Kernel, f.Objective = cmp.Or(o.Space, f.Space), o.Device, o.Kernel, cmp.Or(o.Objective, f.Objective)
	}
	domains, err := domainsOf(s, run)
	if err != nil {
		return err
	}
	for _, d := range domains {
		values := make([]space.Value, len(d.ordinals))
		for at, o := range d.ordinals {
			values[at] = d.param.At(o)
		}
		f.Parameters = append(f.Parameters, space.Values(d.param.Name, values...))
	}
	return f.WriteRows(w, format, rows(s, run, domains, wrote))
}

// rows yields the rows of an export, and calls wrote for each. A row is valid until the next one.
func rows(s *space.Space, run *results.Run, domains []domain, wrote func()) iter.Seq2[*exchange.Row, error] {
	return func(yield func(*exchange.Row, error) bool) {
		var row exchange.Row
		for point, err := range measuredOf(s, run) {
			if err != nil {
				yield(nil, err)
				return
			}
			wrote()
			ended := run.Settings.Created.Add(space.Duration(point.entry.Elapsed))
			row = exchange.Row{
				Ordinals: row.Ordinals[:0], Outcome: point.entry.Outcome, Timestamp: ended.UTC().Format("2006-01-02 15:04:05.000000+00:00"),
			}
			for j, d := range domains {
				at, _ := slices.BinarySearch(d.ordinals, ordinalOf(d.param, point.Point, j))
				row.Ordinals = append(row.Ordinals, at)
			}
			if !yield(&row, nil) {
				return
			}
		}
	}
}

// measuredPoint is an outcome of full fidelity and its point.
type measuredPoint struct {
	space.Point
	entry *space.Entry
}

// measuredOf yields the outcomes of a run that are exported.
func measuredOf(s *space.Space, run *results.Run) iter.Seq2[measuredPoint, error] {
	return func(yield func(measuredPoint, error) bool) {
		full := func(e *space.Entry) bool { return e.Outcome.Fidelity == 0 }
		for r, err := range results.Only(run.LastEnd().Trim(run), full) {
			if err != nil {
				yield(measuredPoint{}, err)
				return
			}
			for i := range r.Entries {
				e := &r.Entries[i]
				if !full(e) {
					continue
				}
				p, err := s.Parse(e.Key)
				if err != nil {
					err = fmt.Errorf("trial %d: %w", e.Number, err)
				}
				if !yield(measuredPoint{p, e}, err) || err != nil {
					return
				}
			}
		}
	}
}

// domain is the values of a parameter that an export lists: all, or those that were tried.
type domain struct {
	param    space.Parameter
	ordinals []int // ascending
}

// domainsOf finds the domains. ErrNoValid says that the run has nothing to export.
func domainsOf(s *space.Space, run *results.Run) ([]domain, error) {
	params := s.Parameters()
	domains, tried := make([]domain, len(params)), make([]map[int]struct{}, len(params))
	for j, p := range params {
		domains[j].param, tried[j] = p, map[int]struct{}{}
		if p.Len() <= longestDomain {
			for o := range p.Len() {
				domains[j].ordinals = append(domains[j].ordinals, o)
			}
		}
	}
	long := slices.ContainsFunc(params, func(p space.Parameter) bool { return p.Len() > longestDomain })
	found := false
	for point, err := range measuredOf(s, run) {
		if err != nil {
			return nil, err
		}
		if found = true; !long {
			break
		}
		for j, p := range params {
			if p.Len() > longestDomain {
				tried[j][ordinalOf(p, point.Point, j)] = struct{}{}
			}
		}
	}
	if !found {
		return nil, ErrNoValid
	}
	for j, p := range params {
		if p.Len() > longestDomain {
			domains[j].ordinals = slices.Sorted(maps.Keys(tried[j]))
		}
	}
	return domains, nil
}

// ordinalOf returns the ordinal of parameter j at a point; for an inactive parameter, that of its default.
func ordinalOf(p space.Parameter, point space.Point, j int) int {
	if o := point.Ordinal(j); o >= 0 {
		return o
	}
	if p.Default == nil {
		return 0
	}
	o, _ := p.Ordinal(*p.Default)
	return o
}
