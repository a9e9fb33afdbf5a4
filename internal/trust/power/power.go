package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// Options say how much is tried. The zero value tries all cases on both machines, and takes hours.
type Options struct {
	Runs  int           // contests of each case on each machine; 0 means 500
	Limit time.Duration // of each contest; 0 means a minute, as of tune measure
	Seed  uint64        // of the load and of the inputs
	// Quiet and Busy are the machines to try: one left alone, and one made busy. Neither set means both.
	Quiet, Busy bool
	// Cases are the cases to try, of Cases(); none means all. Showing that errors are rare needs many runs, but little time for
	// each, because the error rate does not depend on the number of pairs. Showing that gains are found needs fewer runs and more
	// time.
	Cases []string
	// Hyperfine has hyperfine compare the pairs of guards too, as programs, and OnlyHyperfine has it do so in place of the guards.
	Hyperfine, OnlyHyperfine bool
	// Observe, where it is not nil, is called after each contest, with what it came to in words.
	Observe func(done, total int, outcome string)
}

// settle gives the fields that are not set their defaults; runs is that of Runs.
func (o *Options) settle(runs int) {
	if o.Runs <= 0 {
		o.Runs = runs
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	if !o.Quiet && !o.Busy {
		o.Quiet, o.Busy = true, true
	}
}

// Row is what became of one case on one machine.
type Row struct {
	Machine string `json:"machine"` // "left alone" or "made busy"
	Case    string `json:"case"`
	Runs    int    `json:"runs"`
	// How often each verdict was given. Right is how often "faster" was, of the point that is.
	Faster     int `json:"faster"`
	NoGain     int `json:"no_gain"`
	Unverified int `json:"unverified"`
	Right      int `json:"right"`
	// SlowerExported counts slower points that were exported, whatever the verdict.
	SlowerExported int     `json:"slower_exported"`
	Seconds        float64 `json:"seconds"` // of a contest, on average
	// Bound is what the share of Faster must not exceed or, where AtLeast is set, what the share of Right must reach. OK says
	// that the counts do not contradict it: some runs err by chance.
	Bound   float64 `json:"bound"`
	AtLeast bool    `json:"at_least,omitempty"`
	OK      bool    `json:"ok"`
}

// Share is that of the runs that the bound is about.
func (r Row) Share() float64 {
	n := r.Faster
	if r.AtLeast {
		n = r.Right
	}
	return float64(n) / float64(max(r.Runs, 1))
}

// Report is all rows.
type Report struct {
	Rows         []Row   `json:"rows"`
	LimitSeconds float64 `json:"limit_seconds"` // of each contest
}

// OK reports whether every row is.
func (r *Report) OK() bool {
	for _, row := range r.Rows {
		if !row.OK {
			return false
		}
	}
	return true
}

// Cases are the names of what can be tried.
func Cases() (names []string) {
	for _, t := range trials {
		names = append(names, t.id)
	}
	return names
}

// trial is one case: what its finalists do beyond the baseline's work, in per mille, in the order of the search.
type trial struct {
	id      string
	name    string
	extra   []int
	bound   float64
	atLeast bool
}

// equalBound is how often tune promises at most to say "faster" of a program that is not. Less is expected: a contest decides on
// intervals with the confidence kernels.Confirmed, which errs in 1 % of contests of equal programs.
const equalBound = 0.025

var trials = []trial{
	{"alike", "five of the same code, under other names", []int{0, 0, 0, 0, 0}, equalBound, false},
	{"slower", "1, 2, 3, 5 and 7 % more work", []int{10, 20, 30, 50, 70}, equalBound, false},
	{"gain", "3 % less work, and the same and more", []int{0, 0, -30, 20, 50}, 0.9, true},
}

// defaultRuns and defaultLimit are those of the zero Options.
const (
	defaultRuns  = 500
	defaultLimit = time.Minute
)

// Run holds the contests, and writes their table in Markdown to w. An error means that it could not be done; whether the bounds hold is
// in the report.
func Run(ctx context.Context, w io.Writer, o Options) (*Report, error) {
	o.settle(defaultRuns)
	b, done, err := newBench(o.Limit)
	if err != nil {
		return nil, err
	}
	defer done()
	var machines []string
	if o.Quiet {
		machines = append(machines, leftAlone)
	}
	if o.Busy {
		machines = append(machines, madeBusy)
	}
	var tried []trial
	for _, t := range trials {
		if len(o.Cases) == 0 || slices.Contains(o.Cases, t.id) {
			tried = append(tried, t)
		}
	}
	for _, id := range o.Cases {
		if !slices.Contains(Cases(), id) {
			return nil, fmt.Errorf("power: unknown case %q: want one of %q", id, Cases())
		}
	}
	report := &Report{LimitSeconds: o.Limit.Seconds()}
	for _, m := range machines {
		for _, t := range tried {
			report.Rows = append(report.Rows, Row{Machine: m, Case: t.name, Bound: t.bound, AtLeast: t.atLeast})
		}
	}
	// Cases and machines take turns, so that what changes in hours is the same for all.
	for run := range o.Runs {
		for i, m := range machines {
			stop := func() {}
			if m == madeBusy {
				stop = load(o.Seed + uint64(run))
			}
			for j, t := range tried {
				row := &report.Rows[i*len(tried)+j]
				outcome, err := b.hold(ctx, t, o.Seed+uint64(run), row)
				if err != nil {
					stop()
					if ctx.Err() != nil {
						// What was counted until then is worth to be seen.
						err = errors.Join(ctx.Err(), report.judged().Write(w))
					}
					return report, err
				}
				if o.Observe != nil {
					o.Observe(run*len(report.Rows)+i*len(tried)+j+1, o.Runs*len(report.Rows), m+": "+outcome)
				}
			}
			stop()
		}
	}
	return report, report.judged().Write(w)
}

// judged says of every row whether its counts contradict its bound.
func (r *Report) judged() *Report {
	for i := range r.Rows {
		r.Rows[i].judge()
	}
	return r
}

const (
	leftAlone = "left alone"
	madeBusy  = "made busy"
)

// bench holds contests.
type bench struct {
	spec    *spec
	problem kernels.Problem
	limit   time.Duration
	// dir is a folder for files.
	dir      string
	programs *programs // where hyperfine is asked too
}

// newBench makes a bench, which done closes.
func newBench(limit time.Duration) (b *bench, done func(), err error) {
	dir, err := os.MkdirTemp("", "tune-power-")
	if err != nil {
		return nil, nil, err
	}
	host := native.NewHost(native.HostOptions{CacheDir: dir})
	done = func() {
		host.Close()
		os.RemoveAll(dir)
	}
	b = &bench{limit: limit, dir: dir}
	if b.spec, err = newSpec(); err == nil {
		b.problem, err = native.New(b.spec, native.Options{Host: host})
	}
	if err != nil {
		done()
	}
	return b, done, err
}

// build builds and checks a program.
func (b *bench) build(ctx context.Context, name string, extra int) (kernels.Candidate, error) {
	point, err := b.spec.point(name, extra)
	if err != nil {
		return nil, err
	}
	c, err := b.problem.Build(ctx, point)
	if err != nil {
		return nil, err
	}
	return c, kernels.Verify(ctx, c, []uint64{1})
}

// hold holds one contest and counts what it says, which it returns in words too.
func (b *bench) hold(ctx context.Context, t trial, seed uint64, row *Row) (string, error) {
	baseline, err := b.build(ctx, names[0], 0)
	if err != nil {
		return "", err
	}
	var finalists []kernels.Candidate
	for i, extra := range t.extra {
		c, err := b.build(ctx, names[1+i], extra)
		if err != nil {
			return "", err
		}
		finalists = append(finalists, c)
	}
	began := time.Now()
	result, err := kernels.Contest{Compare: b.problem.Traits().Compare, Baseline: baseline, Finalists: finalists, Limit: b.limit, Seed: seed}.Run(ctx)
	if err != nil {
		return "", err
	}
	if result.Chosen < 0 {
		return "", fmt.Errorf("power: all finalists were refused: %w", result.Refused[0].Err)
	}
	row.Seconds = (row.Seconds*float64(row.Runs) + time.Since(began).Seconds()) / float64(row.Runs+1)
	row.Runs++
	extra := t.extra[result.Chosen]
	switch result.Verdict {
	case space.Faster:
		row.Faster++
		if extra < 0 {
			row.Right++
		}
	case space.NoGain:
		row.NoGain++
	case space.Unverified:
		row.Unverified++
	}
	if !result.Baseline && extra > 0 {
		row.SlowerExported++
	}
	c := result.Comparison()
	return fmt.Sprintf("%+.1f %% of work is %.4f× [%.4f, %.4f] in %d pairs: %s", float64(extra)/10, c.Ratio, c.Low, c.High, c.Pairs, result.Verdict), nil
}

// mistaken is how likely a row is called wrong that is right.
const mistaken = 0.01

// judge says whether the counts contradict the bound, and whether a slower point was exported as faster more often than that.
func (r *Row) judge() {
	if r.AtLeast {
		r.OK = atMost(r.Runs, r.Right, r.Bound) > mistaken
		return
	}
	r.OK = atMost(r.Runs, r.Runs-r.Faster, 1-r.Bound) > mistaken
}

// atMost is how likely at most k of n are, each of which has a probability.
func atMost(n, k int, probability float64) float64 {
	total := 0.0
	for i := range k + 1 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		total += math.Exp(a - b - c + float64(i)*math.Log(probability) + float64(n-i)*math.Log1p(-probability))
	}
	return total
}

// Write writes the rows as a table in Markdown.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| machine | finalists beside the baseline | runs | called faster | wanted | no gain | unverified | slower exported | s each |  |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range r.Rows {
		want, verdict := fmt.Sprintf("≤ %.1f %%", 100*row.Bound), "holds"
		if row.AtLeast {
			want = fmt.Sprintf("≥ %.0f %%", 100*row.Bound)
		}
		if !row.OK {
			verdict = "FAILS"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d (%.1f %%) | %s | %d | %d | %d | %.1f | %s |\n", row.Machine, row.Case, row.Runs, row.Faster,
			100*row.Share(), want, row.NoGain, row.Unverified, row.SlowerExported, row.Seconds, verdict)
	}
	fmt.Fprintf(&b, "\nEach contest had about %v s; where the machine is quiet it needs less.\n", r.LimitSeconds)
	_, err := io.WriteString(w, b.String())
	return err
}
