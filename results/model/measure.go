package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/bench"
	"tune/kernels/model"
	"tune/kernels/native"
	"tune/results"
	"tune/results/schedule"
	"tune/space"
)

// Row is what was measured of a task. It is a line of a file. Costs are those of a call, in nanoseconds; ratios are estimated from
// pairs of measurements.
type Row struct {
	Task string `json:"task"`
	// Searched says that the budget reached the task. Otherwise the library has the plain form.
	Searched    bool          `json:"searched"`
	Evaluations int           `json:"evaluations"`
	Point       string        `json:"point"`
	Verdict     space.Verdict `json:"verdict,omitempty"`
	// Before is the cost of the plain form, After that of what is exported: from the same pairs. Ratio is how many times faster it is,
	// with its interval; Low is 0 where there were too few pairs.
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
	Ratio      float64 `json:"ratio"`
	Low        float64 `json:"ratio_low,omitempty"`
	High       float64 `json:"ratio_high,omitempty"`
	Pairs      int     `json:"pairs"`
	Unverified bool    `json:"unverified,omitempty"` // the machine was not idle

	// Peer is the fastest installed library, "" where none computes the task. PeerRatio is how many times faster than it the export
	// is. Peers are the costs of all of them, and LeftOut says why others are not among them.
	Peer      string             `json:"peer,omitempty"`
	PeerRatio float64            `json:"peer_ratio,omitempty"`
	PeerLow   float64            `json:"peer_ratio_low,omitempty"`
	PeerHigh  float64            `json:"peer_ratio_high,omitempty"`
	Peers     map[string]float64 `json:"peers,omitempty"`
	LeftOut   map[string]string  `json:"left_out,omitempty"`
	// PeakShare is the share of what the cores do if they do nothing but PeakOf; 0 where that is unknown.
	PeakShare float64 `json:"peak_share,omitempty"`
	PeakOf    string  `json:"peak_of,omitempty"`
	// SerialRatio is how many times faster than the best point with one thread the export is; 0 where only one may be used, or none
	// was found.
	SerialRatio float64 `json:"serial_ratio,omitempty"`
	SerialLow   float64 `json:"serial_ratio_low,omitempty"`
	SerialHigh  float64 `json:"serial_ratio_high,omitempty"`
	Forms       *Forms  `json:"forms,omitempty"` // of attention

	Build   Build   `json:"build"`
	Seconds float64 `json:"seconds"` // that measuring took
}

// Forms compares attention that keeps all scores with attention that goes through the keys once: the best point of each that is known.
type Forms struct {
	Naive float64 `json:"naive"` // cost
	Flash float64 `json:"flash"`
	// Ratio is how many times faster the second one is, with its interval.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"ratio_low,omitempty"`
	High  float64 `json:"ratio_high,omitempty"`
	Pairs int     `json:"pairs"`
}

// Build is what a program has to know of the exported code: a part of build.json.
type Build struct {
	Compiler string       `json:"compiler"`
	Flags    []string     `json:"flags"`
	Threads  int          `json:"threads"`
	Buffers  []Buffer     `json:"buffers"`
	Pack     *native.Pack `json:"pack,omitempty"`
}

// Buffer is an argument of a function.
type Buffer struct {
	Name string `json:"name"`
	Type string `json:"type"` // in C
	Len  int    `json:"len"`  // elements
	Mode string `json:"mode"` // in, out or inout
}

// readRows reads what was measured. A last line that was cut off is left out, and removed with mend: who only reads must not take it from a
// tune that is writing it.
func readRows(path string, mend bool) (out []Row, err error) {
	text, err := files.Read(path, mostPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for n, size := 1, int64(0); len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole && !mend {
			return out, nil
		}
		if !whole {
			return out, files.Cut(path, size)
		}
		var r Row
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w: remove the line, and what it measured is measured again", path, n, err)
		}
		out, text, size = append(out, r), rest, size+int64(len(line))+1
	}
	return out, nil
}

// keep appends a row to the file, and syncs it.
func (m *maker) keep(r Row) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return files.AppendLine(filepath.Join(m.Dir, tuningDir, measuredName), line)
}

// measureAll measures each task that is not measured yet.
func (m *maker) measureAll(ctx context.Context) error {
	left := 0
	for _, t := range m.tasks {
		if t.row == nil {
			left++
		}
	}
	for i, t := range m.tasks {
		if t.row != nil {
			continue
		}
		m.tell(Progress{Step: "measuring", Text: t.Name, Done: i, Of: len(m.tasks)})
		began := time.Now()
		row, err := m.measure(ctx, t, m.limit(left))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		row.Task, row.Seconds = t.Name, time.Since(began).Seconds()
		if err := m.keep(row); err != nil {
			return err
		}
		t.row = &row
		left--
	}
	return nil
}

// limit is how long each of the series of a task may take, roughly, when so many tasks are left. A task has a contest and a series beside
// the peers; starting processes and checks take as long again.
func (m *maker) limit(left int) time.Duration {
	const series, least, most, usual = 4, 300 * time.Millisecond, 15 * time.Second, 2 * time.Second
	switch {
	case m.Measure > 0:
		return m.Measure
	case m.Budget == 0:
		return usual
	}
	return min(max((m.Budget-m.elapsed())/time.Duration(series*left), least), most)
}

// measure holds the final measurement of a task, compares its winner with libraries and the roof, and writes its code.
func (m *maker) measure(ctx context.Context, t *task, limit time.Duration) (Row, error) {
	row := Row{}
	k, err := t.open()
	if err != nil {
		return row, err
	}
	program, build, err := m.final(ctx, t, k, limit, &row)
	if err != nil {
		return row, err
	}
	if err := m.beside(ctx, t, k, limit, &row); err != nil {
		return row, err
	}
	if t.Kernel == "attention" {
		if row.Forms, err = m.forms(ctx, t, k, limit); err != nil {
			return row, err
		}
	}
	err = m.write(t, program, build, &row)
	return row, err
}

// write writes the code of a task, and fills in what programs have to know of it.
func (m *maker) write(t *task, program, build []byte, row *Row) error {
	if err := json.Unmarshal(build, &row.Build); err != nil {
		return fmt.Errorf("build.json: %w", err)
	}
	l, err := m.Plan.library(t.Task, program, build)
	if err != nil {
		return err
	}
	// The code is on disk before the row that says so.
	for name, text := range map[string][]byte{l.HeaderName: l.Header, l.SourceName: l.Source} {
		if err := files.Write(filepath.Join(m.Dir, tuningDir, madeDir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// library makes the header and the source of a task.
func (p *Plan) library(t model.Task, program, build []byte) (native.Library, error) {
	about := fmt.Sprintf("%s %s, as %s of %s", t.Kernel, t.Shape, strings.Join(t.Roles, ", "), p.Model.Name)
	return native.NewLibrary(program, build, p.function(t.Name), about)
}

// function returns the name of the function of a task.
func (p *Plan) function(task string) string { return p.Name + "_" + task }

// final holds the contest of the best points of a run, and returns the program and the build.json of what it exports. Where the search
// has found nothing, that is the plain form.
func (m *maker) final(ctx context.Context, t *task, k *kernels.Opened, limit time.Duration, row *Row) (program, build []byte, err error) {
	if t.search.Best == "" {
		return m.plain(ctx, t, k, row)
	}
	measured, err := schedule.Measure(ctx, kernels.Table{t.search.Kernel}, t.search.Dir, m.Version, schedule.MeasureOptions{Limit: limit})
	if errors.Is(err, schedule.ErrNoValid) {
		return m.plain(ctx, t, k, row)
	}
	if _, kept := errors.AsType[*schedule.UnverifiedError](err); err != nil && !kept {
		return nil, nil, err
	}
	s := measured.Schedule
	*row = Row{
		Searched: true, Evaluations: s.Evaluations, Point: s.Key, Verdict: s.Verdict, Before: s.Baseline.Cost, After: s.Cost, Ratio: s.Ratio,
		Pairs: s.Pairs, Unverified: s.Unverified,
	}
	if i := s.RatioInterval; i != nil && s.Key != s.Baseline.Key {
		row.Low, row.High = i[0], i[1]
	}
	for i, a := range s.Artifacts {
		if err := a.Verify(t.search.Dir); err != nil {
			return nil, nil, err
		}
		text, err := files.In(t.search.Dir).Read(a.Name, files.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case i == 0:
			program = text
		case strings.HasSuffix(a.Name, buildSuffix):
			build = text
		}
	}
	return program, build, nil
}

const buildSuffix = "build.json"

// plain measures the plain form of a task and returns its files.
func (m *maker) plain(ctx context.Context, t *task, k *kernels.Opened, row *Row) (program, build []byte, err error) {
	point := k.Problem.Presets()[0].Point
	c, err := k.Build(ctx, point, kernels.ExportSeeds(m.Plan.Seed)[:1])
	if err != nil {
		return nil, nil, err
	}
	score, err := k.Score(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	*row = Row{Searched: t.search.Found(), Evaluations: t.search.Evaluations(), Point: point.Key(), Before: score.Cost, After: score.Cost, Ratio: 1}
	return filesOf(c)
}

// filesOf returns the program of a candidate and its build.json.
func filesOf(c kernels.Candidate) (program, build []byte, err error) {
	artifacts, err := c.Artifacts()
	if err != nil {
		return nil, nil, err
	}
	for i, a := range artifacts {
		if i > 0 && a.Name != buildSuffix {
			continue
		}
		var text bytes.Buffer
		if err := a.Write(&text); err != nil {
			return nil, nil, err
		}
		if i == 0 {
			program = text.Bytes()
		} else {
			build = text.Bytes()
		}
	}
	return program, build, nil
}

// allPeers stands in Row.LeftOut for all libraries, and unasked is why they are left out where the user does not want them.
const allPeers, unasked = "peers", "--no-peers"

// beside measures what is exported beside the installed libraries and the machine's roof.
func (m *maker) beside(ctx context.Context, t *task, k *kernels.Opened, limit time.Duration, row *Row) error {
	names, others := peersOf(k, m.Peers)
	b := bench.Peers{
		Kernel: t.search.Kernel, Seed: m.Plan.Seed, Names: names, Limit: limit,
		Alone: m.NoPeers || k.Problem.Traits().Peers == nil || len(m.Peers) > 0 && len(names) == 0,
	}
	tuned := bench.Tuned{Key: row.Point, Evaluations: row.Evaluations}
	dir := t.search.Dir
	if t.search.Best == "" {
		dir = ""
	}
	r, err := b.Measure(ctx, k.Shape, tuned, dir)
	if err != nil && !b.Alone && ctx.Err() == nil {
		// A library at fault is no reason to have no library of one's own.
		why := err.Error()
		b.Alone = true
		if r, err = b.Measure(ctx, k.Shape, tuned, dir); err == nil {
			r.LeftOut[allPeers] = why
		}
	}
	if err != nil {
		return err
	}
	if m.NoPeers {
		r.LeftOut[allPeers] = unasked
	}
	for name, err := range others {
		r.LeftOut[name] = err.Error()
	}
	row.PeakShare, row.PeakOf, row.LeftOut = r.PeakShare, r.PeakOf, r.LeftOut
	row.SerialRatio, row.SerialLow, row.SerialHigh = r.SerialRatio, r.SerialLow, r.SerialHigh
	if len(r.PeerCosts) > 0 {
		row.Peers, row.Peer, row.PeerRatio, row.PeerLow, row.PeerHigh = r.PeerCosts, r.BestPeer, r.Ratio, r.Low, r.High
	}
	row.Unverified = row.Unverified || r.Unverified
	return nil
}

// forms compares the two forms of attention: the best of each among its best point of the search and its presets, as a first series finds
// them.
func (m *maker) forms(ctx context.Context, t *task, k *kernels.Opened, limit time.Duration) (*Forms, error) {
	var found [2][]kernels.Candidate
	for i, form := range []string{"naive", "online"} {
		var err error
		if found[i], err = m.contenders(ctx, t, k, form); err != nil || len(found[i]) == 0 {
			return nil, err
		}
	}
	series := kernels.Series{Limit: limit, Seed: kernels.Derive(m.Plan.Seed, "forms of "+t.Name)}
	for i := range found {
		best, err := fastest(ctx, k.Compare(), found[i], series)
		if err != nil {
			return nil, err
		}
		found[i][0] = best
	}
	final, err := k.Compare()(ctx, found[0][0], found[1][:1], series)
	if err != nil {
		return nil, err
	}
	c := final.Comparisons[0]
	if c.Err != nil {
		return nil, c.Err
	}
	return &Forms{Naive: c.Baseline, Flash: c.Cost, Ratio: c.Ratio, Low: c.Low, High: c.High, Pairs: c.Pairs}, nil
}

// contenders builds and checks the points of a form that may be its best: the first right one of the search, and the presets.
func (m *maker) contenders(ctx context.Context, t *task, k *kernels.Opened, form string) (out []kernels.Candidate, err error) {
	ofSearch, presets, err := t.pointsOf(k, form)
	if err != nil {
		return nil, err
	}
	seeds := kernels.ExportSeeds(m.Plan.Seed)[:1]
	keys := map[string]bool{}
	take := func(p space.Point) error {
		c, err := k.Build(ctx, p, seeds)
		if kernels.AsRejection(err) != nil {
			return nil
		}
		if err == nil {
			out, keys[p.Key()] = append(out, c), true
		}
		return err
	}
	for _, p := range ofSearch {
		if err := take(p); err != nil {
			return nil, err
		}
		if len(out) > 0 {
			break
		}
	}
	for _, p := range presets {
		if keys[p.Key()] {
			continue
		}
		if err := take(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fastest returns the fastest of some candidates, by one series.
func fastest(ctx context.Context, compare kernels.CompareFunc, all []kernels.Candidate, series kernels.Series) (kernels.Candidate, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	final, err := compare(ctx, all[0], all[1:], series)
	if err != nil {
		return nil, err
	}
	best, ratio := all[0], 1.0
	for i, c := range final.Comparisons {
		if c.Err == nil && c.Ratio > ratio {
			best, ratio = all[i+1], c.Ratio
		}
	}
	return best, nil
}

// pointsOf returns the points of a form of attention: those of the search, the best first, and the presets.
func (t *task) pointsOf(k *kernels.Opened, form string) (ofSearch, presets []space.Point, err error) {
	run, err := results.Read(t.search.Dir)
	if err == nil {
		entries, err := results.Ranking(run.LastEnd().Trim(run), nil, 0)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			p, err := k.Problem.Space().Parse(e.Key)
			if err != nil {
				return nil, nil, err
			}
			if p.Str("form") == form {
				ofSearch = append(ofSearch, p)
			}
		}
	} else if !results.NotBegun(err) {
		return nil, nil, err
	}
	for _, preset := range k.Problem.Presets() {
		if preset.Point.Str("form") == form {
			presets = append(presets, preset.Point)
		}
	}
	return ofSearch, presets, nil
}

// cost returns what a call of a task costs before or after, in seconds.
func (r Row) cost(after bool) float64 {
	if after {
		return r.After * 1e-9
	}
	return cmp.Or(r.Before, r.After) * 1e-9
}
