package tune

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"tune/kernels"
	"tune/results"
	"tune/results/exchange"
	"tune/space"
)

// longestDomain is the longest list of values that an exported parameter gets whole; of a longer one those that were
// tried stand for it.
const longestDomain = 1024

// exchangeFormat writes the outcomes of a run in a format of package exchange.
func (s *session) exchangeFormat(run *results.Run, format exchange.Format, w io.Writer) error {
	f, err := s.measurements(run)
	if err != nil {
		return err
	}
	return f.Write(w, format)
}

// measurements makes a measured space of the outcomes of a run, in the order asked. Those of lesser fidelity are left
// out. The formats know no inactive parameters: one that is inactive has its default, which no other point with the
// same values of the rest can have.
func (s *session) measurements(run *results.Run) (*exchange.File, error) {
	sp := s.problem.Space()
	f := &exchange.File{
		Space: s.info.Name, Device: run.Settings.Machine.CPU, Kernel: s.info.Name, Objective: s.info.Unit, Unit: s.info.Unit,
	}
	if shape := run.Settings.Shape; shape != "" {
		f.Space += " " + shape
	}
	if s.info.Unit == "ns" || s.info.Unit == "ms" {
		f.Objective = "time"
	}
	if p, ok := s.problem.(kernels.Sourced); ok {
		o := p.Origin()
		f.Space, f.Device, f.Kernel, f.Objective = cmp.Or(o.Space, f.Space), o.Device, o.Kernel, cmp.Or(o.Objective, f.Objective)
	}
	var points []space.Point
	var entries []space.Entry
	history := run.LastEnd().Trim(run.History)
	for _, n := range sortedNumbers(history) {
		e := history.Entries[n]
		if e.Outcome.Fidelity != 0 {
			continue
		}
		p, err := sp.Parse(e.Key)
		if err != nil {
			return nil, fmt.Errorf("trial %d: %w", e.Number, err)
		}
		points, entries = append(points, p), append(entries, e)
	}
	if len(entries) == 0 {
		return nil, ErrNoValid
	}
	rows := make([][]int, len(points))
	for i := range rows {
		rows[i] = make([]int, len(sp.Parameters()))
	}
	for j, p := range sp.Parameters() {
		values, places := domainOf(p, points, j)
		f.Parameters = append(f.Parameters, space.Values(p.Name, values...))
		for i := range rows {
			rows[i][j] = places[ordinalOf(p, points[i], j)]
		}
	}
	for i, e := range entries {
		o := e.Outcome
		ended := run.Settings.Created.Add(time.Duration(e.Elapsed * float64(time.Second)))
		f.Rows = append(f.Rows, exchange.Row{
			Ordinals: rows[i], Outcome: o, Timestamp: ended.UTC().Format("2006-01-02 15:04:05.000000+00:00"),
		})
	}
	return f, nil
}

func sortedNumbers(h space.History) []int {
	numbers := make([]int, 0, len(h.Entries))
	for n := range h.Entries {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// ordinalOf returns the ordinal of parameter j at a point, that of its default where it is inactive.
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

// domainOf lists the values of parameter j for an export, and where each ordinal stands among them.
func domainOf(p space.Parameter, points []space.Point, j int) (values []space.Value, places map[int]int) {
	var ordinals []int
	if p.Len() <= longestDomain {
		for o := range p.Len() {
			ordinals = append(ordinals, o)
		}
	} else {
		for _, point := range points {
			ordinals = append(ordinals, ordinalOf(p, point, j))
		}
		slices.Sort(ordinals)
		ordinals = slices.Compact(ordinals)
	}
	places = make(map[int]int, len(ordinals))
	for at, o := range ordinals {
		places[o] = at
		values = append(values, p.At(o))
	}
	return values, places
}
