package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tune/internal/files"
	"tune/results"
	"tune/results/insight"
	"tune/space"
)

// mostPoints is how many of the best points of a run are kept.
const mostPoints = 32

// entry is all that the index holds of one run. It is also a line of an export.
type entry struct {
	Run         string            `json:"run"` // identifies it: the SHA-256 sum of its settings, shortened
	Dir         string            `json:"dir,omitempty"`
	Stamp       string            `json:"-"` // of the files that it was read from
	Settings    results.Settings  `json:"settings"`
	Ended       string            `json:"ended,omitempty"` // why its last sitting stopped; "" where it was cut off
	Evaluations int               `json:"evaluations"`
	Valid       int               `json:"valid"`
	Elapsed     float64           `json:"elapsed_seconds"`
	Points      []Point           `json:"points,omitempty"`
	Failures    []insight.Failure `json:"failures,omitempty"`
	Schedule    *results.Schedule `json:"schedule,omitempty"`
	Roofs       json.RawMessage   `json:"roofs,omitempty"` // of its machine
}

// Point is one of the best points of a run, as its search measured it.
type Point struct {
	Trial   int            `json:"trial"`
	Key     string         `json:"key"`
	Cost    float64        `json:"cost"` // in the unit of the run
	Metrics []space.Metric `json:"metrics,omitempty"`
}

// Facts are what a sitting that has just ended says of its run, so that the journal need not be read for it.
type Facts struct {
	Best     []space.Entry // the best right outcomes of full fidelity, in their order: mostPoints of them or more, or all
	Failures []insight.Failure
}

// Add reads a run directory and enters it, in the place of what was known of it. A run that did not change since is not read again. known is
// nil where nothing is known of the run.
func (d *DB) Add(ctx context.Context, dir string, known *Facts) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	stamp, err := stampOf(dir)
	if err != nil {
		return err
	}
	var entered int
	err = d.sql.QueryRowContext(ctx, "SELECT count(*) FROM runs WHERE dir = ? AND stamp = ?", dir, stamp).Scan(&entered)
	if err != nil || entered > 0 {
		return d.explain(err)
	}
	e, err := read(ctx, dir, known)
	if err != nil {
		return err
	}
	e.Stamp = stamp
	return d.enter(ctx, e)
}

func (d *DB) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return explain(d.path, err)
}

// stampOf describes the files of a run, so that a change shows.
func stampOf(dir string) (string, error) {
	var stamp []string
	for _, name := range []string{results.SettingsName, results.JournalName, results.ScheduleName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && name == results.ScheduleName {
			stamp = append(stamp, "-")
			continue
		}
		if err != nil {
			return "", fmt.Errorf("%s is not a run: %w", dir, err)
		}
		stamp = append(stamp, fmt.Sprintf("%d@%d", info.Size(), info.ModTime().UnixNano()))
	}
	return strings.Join(stamp, " "), nil
}

// ofProgram ends the version of a kernel of a program's own. No query for a kernel of tune's finds its runs by that, though they may have the same
// name.
const ofProgram = " of a program"

// read reads a run directory.
func read(ctx context.Context, dir string, known *Facts) (entry, error) {
	text, err := files.In(dir).Read(results.SettingsName, files.Settings)
	if err != nil {
		return entry{}, fmt.Errorf("%s is not a run: %w", dir, err)
	}
	run, err := results.Look(dir)
	if err != nil {
		return entry{}, err
	}
	sum := sha256.Sum256(text)
	e := entry{Run: hex.EncodeToString(sum[:12]), Dir: dir, Settings: run.Settings}
	if run.Settings.Program {
		e.Settings.KernelVersion += ofProgram
	}
	about := results.Describe(dir)
	if about.Err != nil {
		return entry{}, about.Err
	}
	e.Ended, e.Evaluations, e.Elapsed = about.End.Why, about.Summary.Evaluations, about.Summary.Elapsed
	for _, c := range about.Summary.Counts {
		if c.Status == space.OK {
			e.Valid = c.Count
		}
	}
	if known == nil {
		if known, err = factsOf(ctx, run); err != nil {
			return entry{}, err
		}
	}
	for _, one := range known.Best[:min(len(known.Best), mostPoints)] {
		e.Points = append(e.Points, Point{one.Number, one.Key, one.Outcome.Cost, one.Outcome.Metrics})
	}
	e.Failures = known.Failures
	schedule, err := results.ReadResult(dir, run.Settings, about.Summary.Best)
	switch {
	case err == nil:
		e.Schedule = &schedule
	case !errors.Is(err, fs.ErrNotExist):
		return entry{}, err
	}
	return e, nil
}

// factsOf reads the journal of a run.
func factsOf(ctx context.Context, run *results.Run) (*Facts, error) {
	outcomes, best := insight.NewCollector(0), leaders{}
	wants := func(e *space.Entry) bool { return outcomes.Keeps(e) || best.wants(e) }
	for round, err := range run.Only(wants) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		for i := range round.Entries {
			outcomes.Add(&round.Entries[i])
			best.add(&round.Entries[i])
		}
	}
	failures, err := outcomes.Table().Failures(run)
	return &Facts{best.ranked(), failures}, err
}

// leaders are the best right outcomes of full fidelity, mostPoints of them or some more.
type leaders struct {
	entries []space.Entry
	last    *space.Entry // no outcome after this one is among the best; nil while that is not known
}

// wants reports whether an outcome may be one of the best.
func (l *leaders) wants(e *space.Entry) bool {
	return e.Outcome.Counts() && (l.last == nil || (space.Objective{}).Compare(*e, *l.last) < 0)
}

func (l *leaders) add(e *space.Entry) {
	if !l.wants(e) {
		return
	}
	if l.entries = append(l.entries, *e); len(l.entries) > 16*mostPoints {
		l.entries = l.ranked()
		last := l.entries[mostPoints-1]
		l.last = &last
	}
}

// ranked returns the best of them, in their order.
func (l *leaders) ranked() []space.Entry {
	slices.SortFunc(l.entries, space.Objective{}.Compare)
	return l.entries[:min(len(l.entries), mostPoints)]
}

// enter writes a run to the index.
func (d *DB) enter(ctx context.Context, e entry) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(err)
	}
	defer tx.Rollback() // without effect after Commit
	if err := e.write(ctx, tx); err != nil {
		return d.explain(err)
	}
	return d.explain(tx.Commit())
}

func (e *entry) write(ctx context.Context, tx querier) error {
	s := &e.Settings
	machine, err := enterMachine(ctx, tx, s.Machine, string(e.Roofs))
	if err != nil {
		return err
	}
	// A directory holds one run, and a run that was moved is in one directory.
	if _, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE run = ?", e.Run); err != nil {
		return err
	}
	if e.Dir != "" {
		if _, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE dir = ?", e.Dir); err != nil {
			return err
		}
	}
	row, err := tx.ExecContext(ctx, `INSERT INTO runs (run, dir, stamp, kernel, version, shape, size, unit, measured, strategy, seed,
		machine, created, ended, evaluations, valid, elapsed, settings) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Run, e.Dir, e.Stamp, s.Kernel, s.KernelVersion, s.Shape, parseShape(s.Shape).size(), s.Unit, s.Measured, s.Strategy,
		strconv.FormatUint(s.Seed, 10), machine, s.Created.UTC().Format(time.RFC3339Nano), e.Ended, e.Evaluations, e.Valid, e.Elapsed, jsonText(s))
	if err != nil {
		return err
	}
	id, err := row.LastInsertId()
	if err != nil {
		return err
	}
	for rank, p := range e.Points {
		if _, err := tx.ExecContext(ctx, "INSERT INTO points (run, rank, trial, key, cost, metrics) VALUES (?, ?, ?, ?, ?, ?)",
			id, rank, p.Trial, p.Key, p.Cost, jsonText(p.Metrics)); err != nil {
			return err
		}
	}
	for _, f := range e.Failures {
		if _, err := tx.ExecContext(ctx, "INSERT INTO failures (run, status, count, shared, reason) VALUES (?, ?, ?, ?, ?)",
			id, f.Status.String(), f.Count, jsonText(f.With), f.Reason); err != nil {
			return err
		}
	}
	if e.Schedule == nil {
		return nil
	}
	return writeSchedule(ctx, tx, id, e.Schedule)
}

// entryOf returns all that the index holds of a run; sql.ErrNoRows where it does not know the run.
func (d *DB) entryOf(ctx context.Context, id int64) (entry, error) {
	e := entry{Points: []Point{}, Failures: []insight.Failure{}}
	var settings, schedule, roofs string
	err := d.sql.QueryRowContext(ctx, "SELECT r.run, r.dir, r.ended, r.evaluations, r.valid, r.elapsed, r.settings, m.roofs, coalesce(s.content, 'null') FROM "+
		rowTables+" WHERE r.id = ?", id).Scan(&e.Run, &e.Dir, &e.Ended, &e.Evaluations, &e.Valid, &e.Elapsed, &settings, &roofs, &schedule)
	if err != nil {
		return e, err
	}
	if roofs != "" {
		e.Roofs = json.RawMessage(roofs)
	}
	if err := errors.Join(json.Unmarshal([]byte(settings), &e.Settings), json.Unmarshal([]byte(schedule), &e.Schedule)); err != nil {
		return e, &DamagedError{d.path, fmt.Errorf("run %s: %w", e.Run, err)}
	}
	err = d.each(ctx, "SELECT trial, key, cost, metrics FROM points WHERE run = ? ORDER BY rank", id, func(scan func(...any) error) error {
		var p Point
		var metrics string
		if err := scan(&p.Trial, &p.Key, &p.Cost, &metrics); err != nil {
			return err
		}
		e.Points = append(e.Points, p)
		return json.Unmarshal([]byte(metrics), &e.Points[len(e.Points)-1].Metrics)
	})
	if err != nil {
		return e, d.explain(err)
	}
	err = d.each(ctx, "SELECT status, count, shared, reason FROM failures WHERE run = ? ORDER BY count DESC, status", id, func(scan func(...any) error) error {
		var f insight.Failure
		var status, shared string
		if err := scan(&status, &f.Count, &shared, &f.Reason); err != nil {
			return err
		}
		err := errors.Join(f.Status.UnmarshalText([]byte(status)), json.Unmarshal([]byte(shared), &f.With))
		e.Failures = append(e.Failures, f)
		return err
	})
	return e, d.explain(err)
}

// each calls do with the row of each result of a query about one run.
func (d *DB) each(ctx context.Context, query string, run int64, do func(scan func(...any) error) error) error {
	rows, err := d.sql.QueryContext(ctx, query, run)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// isNone reports whether a query found nothing.
func isNone(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// writeSchedule enters the schedule of a run, and what it compares.
func writeSchedule(ctx context.Context, tx querier, id int64, s *results.Schedule) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO schedules (run, key, cost, verdict, checked, content) VALUES (?, ?, ?, ?, ?, ?)",
		id, s.Key, s.Cost, string(s.Verdict), s.Checked, jsonText(s)); err != nil {
		return err
	}
	compared := func(key string, ratio float64, interval *[2]float64, pairs int) error {
		if ratio <= 0 || key == s.Baseline.Key {
			return nil
		}
		low, high := ratio, ratio
		if interval != nil {
			low, high = interval[0], interval[1]
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO comparisons (run, key, other, ratio, low, high, pairs) VALUES (?, ?, ?, ?, ?, ?, ?)",
			id, key, s.Baseline.Key, ratio, low, high, pairs)
		return err
	}
	if err := compared(s.Key, s.Ratio, s.RatioInterval, s.Pairs); err != nil {
		return err
	}
	if c := s.Closest; c != nil {
		return compared(c.Key, c.Ratio, c.RatioInterval, c.Pairs)
	}
	return nil
}

// jsonText returns a value as JSON. What the index holds came from JSON, so that there is no error.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

// enterMachine returns the id of a machine, which is new where the index does not know it. roofs replace those that are known, unless
// they are "".
func enterMachine(ctx context.Context, q querier, m results.Machine, roofs string) (id int64, err error) {
	print := fingerprint(m)
	err = q.QueryRowContext(ctx, "SELECT id FROM machines WHERE fingerprint = ?", print).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = q.QueryRowContext(ctx, "INSERT INTO machines (fingerprint, os, arch, cpu, cores) VALUES (?, ?, ?, ?, ?) RETURNING id",
			print, m.OS, m.Arch, m.CPU, m.Cores).Scan(&id)
	}
	if err == nil && roofs != "" {
		_, err = q.ExecContext(ctx, "UPDATE machines SET roofs = ? WHERE id = ?", roofs, id)
	}
	return id, err
}

// fingerprint identifies a processor: by what the machine says itself, or in runs of earlier versions, which do not say it, by its name.
func fingerprint(m results.Machine) string {
	if m.Fingerprint != "" {
		return m.Fingerprint
	}
	return m.OS + "/" + m.Arch + "/" + m.CPU
}

// SetRoofs keeps the roofs of a machine, as JSON.
func (d *DB) SetRoofs(ctx context.Context, m results.Machine, roofs json.RawMessage) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(err)
	}
	defer tx.Rollback() // without effect after Commit
	if _, err := enterMachine(ctx, tx, m, string(roofs)); err != nil {
		return d.explain(err)
	}
	return d.explain(tx.Commit())
}

// shape is the text form of a shape in its fields. Sums over its fields are made in the order of their names, so that they are the same numbers
// each time.
type shape map[string]string

func parseShape(text string) shape {
	s := shape{}
	for _, f := range strings.Split(text, ",") {
		if name, value, ok := strings.Cut(f, "="); ok {
			s[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return s
}

// logarithm returns the binary logarithm of a field that is a number above 0.
func logarithm(value string) (float64, bool) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0, false
	}
	return math.Log2(n), true
}

// size is the sum of the logarithms of all numbers. Two shapes are at least as far apart as their sizes.
func (s shape) size() (sum float64) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if l, ok := logarithm(s[name]); ok {
			sum += l
		}
	}
	return sum
}

// rounding is by how much sums of logarithms that are equal may differ.
const rounding = 1e-9

// otherWord is the distance of two shapes for a field with different words, such as a layout or a type: more than a number that is eight
// times as large.
const otherWord = 4

// distance is how far apart two shapes are: 1 for each number that is twice as large, otherWord for each word that differs. A field
// that one of them lacks counts as a word.
func (s shape) distance(o shape) (sum float64) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		a := s[name]
		b, ok := o[name]
		la, isA := logarithm(a)
		lb, isB := logarithm(b)
		switch {
		case ok && isA && isB:
			sum += math.Abs(la - lb)
		case !ok || a != b:
			sum += otherWord + math.Abs(la-lb)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if _, ok := s[name]; !ok {
			lb, _ := logarithm(o[name])
			sum += otherWord + math.Abs(lb)
		}
	}
	return sum
}
