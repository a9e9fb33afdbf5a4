package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tune/results/schedule"
)

// GuardRow is what became of one case of the guard on one machine.
type GuardRow struct {
	Machine string `json:"machine"`
	Case    string `json:"case"`
	Runs    int    `json:"runs"`
	// How often each standing was given.
	Slower     int     `json:"slower"`
	Holds      int     `json:"holds"`
	CannotTell int     `json:"cannot_tell"`
	Pairs      float64 `json:"pairs"`   // of a guard, on average
	Seconds    float64 `json:"seconds"` // the same
	// Bound is what the share of Slower must not exceed or, where AtLeast is set, what it must reach.
	Bound   float64 `json:"bound"`
	AtLeast bool    `json:"at_least,omitempty"`
	OK      bool    `json:"ok"` // the counts do not contradict the bound
	// Hyperfine is set where Options.Hyperfine is.
	Hyperfine *Beside `json:"hyperfine,omitempty"`
}

// guardCase is what is guarded beside the baseline, by its extra work in per mille.
type guardCase struct {
	id      string
	name    string
	extra   int
	bound   float64
	atLeast bool
}

var guardCases = []guardCase{
	{"alike", "the same code", 0, schedule.GuardErrorRate, false},
	{"more", "3 % more work", 30, 0.95, true},
}

// The machines of a guard: what is there beside it.
const occupied = "one busy process a core"

// Guard holds guards with a slack of 2 %, and writes their table in Markdown to w. It takes Runs, 200 for 0, Limit, Seed, Quiet, Busy,
// Cases, of "alike" and "more", Hyperfine, OnlyHyperfine and Observe of the options. An error means that it could not be done; whether the
// bounds hold is in the rows.
func Guard(ctx context.Context, w io.Writer, o Options) (rows []GuardRow, err error) {
	o.settle(200)
	for _, id := range o.Cases {
		if !slices.ContainsFunc(guardCases, func(c guardCase) bool { return c.id == id }) {
			return nil, fmt.Errorf("power: unknown case %q of a guard", id)
		}
	}
	b, done, err := newBench(o.Limit)
	if err != nil {
		return nil, err
	}
	defer done()
	if o.Hyperfine || o.OnlyHyperfine {
		if b.programs, err = newPrograms(ctx, b.dir); err != nil {
			return nil, err
		}
	}
	var of []guardCase // of each row
	for _, machine := range []struct {
		name string
		on   bool
	}{{leftAlone, o.Quiet}, {occupied, o.Busy}} {
		for _, c := range guardCases {
			if machine.on && (len(o.Cases) == 0 || slices.Contains(o.Cases, c.id)) {
				of = append(of, c)
				rows = append(rows, GuardRow{Machine: machine.name, Case: c.name, Bound: c.bound, AtLeast: c.atLeast})
			}
		}
	}
	for run := range o.Runs {
		for i := range rows {
			outcome, err := b.pair(ctx, of[i], o, o.Seed+uint64(run), &rows[i])
			if err != nil {
				return rows, errors.Join(err, writeGuard(w, rows, o.Limit)) // what was counted until then is worth to be seen
			}
			if o.Observe != nil {
				o.Observe(run*len(rows)+i+1, o.Runs*len(rows), rows[i].Machine+": "+outcome)
			}
		}
	}
	return rows, writeGuard(w, rows, o.Limit)
}

// pair asks the guard and hyperfine, as the options say, about one pair, and returns in words what they say.
func (b *bench) pair(ctx context.Context, t guardCase, o Options, seed uint64, row *GuardRow) (string, error) {
	if row.Machine == occupied {
		stop, err := occupy()
		if err != nil {
			return "", err
		}
		defer stop()
	}
	var said []string
	for _, asked := range []struct {
		on  bool
		ask func() (string, error)
	}{
		{!o.OnlyHyperfine, func() (string, error) { return b.guard(ctx, t, seed, row) }},
		{b.programs != nil, func() (string, error) { return b.beside(ctx, t, row) }},
	} {
		if !asked.on {
			continue
		}
		outcome, err := asked.ask()
		if err != nil {
			return "", err
		}
		said = append(said, outcome)
	}
	return t.name + ": " + strings.Join(said, "; "), nil
}

// guard holds one guard and counts what it says, which it returns in words too.
func (b *bench) guard(ctx context.Context, t guardCase, seed uint64, row *GuardRow) (string, error) {
	base, err := b.build(ctx, names[0], 0)
	if err != nil {
		return "", err
	}
	guarded, err := b.build(ctx, names[1], t.extra)
	if err != nil {
		return "", err
	}
	g := schedule.Guarded{Name: t.name, Against: "the baseline", Promise: 1, Slack: schedule.DefaultSlack, Bar: 1 / (1 + schedule.DefaultSlack)}
	if err := g.Measure(ctx, b.problem.Traits().Compare, base, guarded, schedule.GuardOptions{Limit: b.limit, Seeds: []uint64{seed}}); err != nil {
		return "", err
	}
	mean := func(of *float64, v float64) { *of = (*of*float64(row.Runs) + v) / float64(row.Runs+1) }
	mean(&row.Pairs, float64(g.Pairs))
	mean(&row.Seconds, g.Seconds)
	row.Runs++
	switch g.Standing {
	case schedule.Slowed:
		row.Slower++
	case schedule.Holds:
		row.Holds++
	case schedule.CannotTell:
		row.CannotTell++
	}
	if t.atLeast {
		row.OK = atMost(row.Runs, row.Slower, t.bound) > mistaken
	} else {
		row.OK = atMost(row.Runs, row.Runs-row.Slower, 1-t.bound) > mistaken
	}
	return fmt.Sprintf("%.4f [%.4f, %.4f] in %d pairs: %s", g.Ratio, g.Low, g.High, g.Pairs, g.Standing), nil
}

// beside asks hyperfine about the pair of a guard.
func (b *bench) beside(ctx context.Context, t guardCase, row *GuardRow) (string, error) {
	base, err := b.programs.build(ctx, b.spec, names[0], 0)
	if err != nil {
		return "", err
	}
	guarded, err := b.programs.build(ctx, b.spec, names[1], t.extra)
	if err != nil {
		return "", err
	}
	if row.Hyperfine == nil {
		row.Hyperfine = &Beside{}
	}
	return b.programs.compare(ctx, base, guarded, row.Hyperfine)
}

// writeGuard writes the rows as tables in Markdown: what the guards said, then what hyperfine said.
func writeGuard(w io.Writer, rows []GuardRow, limit time.Duration) error {
	var b strings.Builder
	if slices.ContainsFunc(rows, func(r GuardRow) bool { return r.Runs > 0 }) {
		b.WriteString("| machine | beside the baseline | guards | called slower | wanted | hold | cannot tell | pairs | s each |  |\n")
		b.WriteString(strings.Repeat("| --- ", 10) + "|\n")
		for _, r := range rows {
			want, verdict := fmt.Sprintf("≤ %.0f %%", 100*r.Bound), "holds"
			if r.AtLeast {
				want = fmt.Sprintf("≥ %.0f %%", 100*r.Bound)
			}
			if !r.OK {
				verdict = "FAILS"
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %d | %d | %.0f | %.1f | %s |\n", r.Machine, r.Case, r.Runs, share(r.Slower, r.Runs), want, r.Holds,
				r.CannotTell, r.Pairs, r.Seconds, verdict)
		}
		fmt.Fprintf(&b, "\nEach guard had %v at most, and 2 %% of slack.\n", limit)
	}
	if slices.ContainsFunc(rows, func(r GuardRow) bool { return r.Hyperfine != nil }) {
		b.WriteString("\nhyperfine compared the pairs as programs. Its summary gives a ratio ± a deviation.\n\n")
		fmt.Fprintf(&b, "| machine | beside the baseline | pairs | all of ratio ± deviation above 1 | ratio of %.3f or more | s each |\n", halfway)
		b.WriteString(strings.Repeat("| --- ", 6) + "|\n")
		for _, r := range rows {
			if h := r.Hyperfine; h != nil {
				fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %.1f |\n", r.Machine, r.Case, h.Runs, share(h.Beyond, h.Runs), share(h.Mean, h.Runs), h.Seconds)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// share writes how many of some runs.
func share(n, runs int) string {
	return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(runs, 1)))
}
