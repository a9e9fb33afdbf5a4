// Package memcurve measures the memory of a long run: it runs a cheap kernel, with journal and export, and prints how memory
// grows with the number of evaluations.
package memcurve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"tune"
	"tune/results"
	"tune/search"
)

// Options say how long the run is. The zero value is a day.
type Options struct {
	// Evaluations is how many there are; 0 means PerDay.
	Evaluations int
	// Strategy is its name; "" means "evolve".
	Strategy string
	// Levels are the fidelities below the full one that the kernel has; 0, the default, for none. With some of them the
	// strategy is wrapped by package halving, as that of the tree-hash kernel is.
	Levels int
	Seed   uint64
	// Dir is where the run directory is made, and removed at the end; "" means the directory for temporary files.
	Dir string
	// Rows is how many rows the table has; 0 means 10.
	Rows int
	// MostRSS is the resident memory, in bytes, above which Run fails; 0 means 2 GiB. PerPoint is the limit of live memory for
	// each evaluation, beyond what was live at the start; 0 means 200 bytes.
	MostRSS, PerPoint int64
	// JSON asks for a line of JSON for each row, in place of the table.
	JSON bool
}

// Row is one row of the table. Sizes are in bytes.
type Row struct {
	Evaluations int     `json:"evaluations"`
	Resident    int64   `json:"resident"` // now
	Peak        int64   `json:"peak"`     // the most that was resident
	Alive       int64   `json:"alive"`    // on the heap
	PerPoint    float64 `json:"alive_per_evaluation"`
	Journal     int64   `json:"journal"`
	Seconds     float64 `json:"seconds"` // since the start
}

// PerDay is how many evaluations fill a simulated day: one takes 8.64 ms.
const PerDay = 10_000_000

const day = 24 * time.Hour

func (o Options) withDefaults() Options {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Evaluations, PerDay)
	set(&o.Rows, 10)
	if o.Strategy == "" {
		o.Strategy = "evolve"
	}
	if o.MostRSS == 0 {
		o.MostRSS = 2 << 30
	}
	if o.PerPoint == 0 {
		o.PerPoint = 200
	}
	return o
}

// Run carries out the run and prints the table. It fails where the run does, and where memory passes a limit of the
// options; the table is printed then too.
func Run(ctx context.Context, w io.Writer, o Options) (err error) {
	o = o.withDefaults()
	if o.Evaluations < 0 || o.Rows < 0 || o.Levels < 0 {
		return fmt.Errorf("memcurve: %d evaluations, %d rows, %d levels: want 0 or more", o.Evaluations, o.Rows, o.Levels)
	}
	root, err := os.MkdirTemp(o.Dir, "memcurve-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	m := &meter{
		journal: filepath.Join(root, "run", results.JournalName), every: max(o.Evaluations/o.Rows, 1), most: o.Evaluations,
		out: w, json: o.JSON,
	}
	k, err := newKernel(o.Levels)
	if err != nil {
		return err
	}
	text := w
	if o.JSON {
		text = io.Discard
	}
	fmt.Fprintf(text, "%d evaluations of a cheap kernel, strategy %s, %d cheaper fidelities: %v simulated\n", o.Evaluations, o.Strategy, o.Levels,
		time.Duration(float64(day)*float64(o.Evaluations)/PerDay).Round(time.Second))
	fmt.Fprintf(text, "%12s %22s %23s %23s %7s\n", "", "resident MiB", "alive", "journal", "real")
	fmt.Fprintf(text, "%12s %11s %10s %11s %11s %11s %11s %7s\n", "evaluations", "now", "most", "MiB", "B/eval.", "MiB", "B/eval.", "s")
	m.row(0)
	report, err := tune.Run(ctx, tune.Options{
		Kernel: k, Strategy: o.Strategy, Seed: o.Seed, Jobs: 1, Dir: filepath.Join(root, "run"),
		Budget: search.Budget{Evaluations: o.Evaluations, Wall: day * 2}, Observe: m.observe,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(text, "%s; best %v after %d\n", report.Result.Stop, report.Result.Best.Outcome.Cost, report.Result.Told)
	switch {
	case report.Result.Told != o.Evaluations:
		return fmt.Errorf("memcurve: the run ended after %d evaluations: %v", report.Result.Told, report.Result.Stop)
	case m.peak > o.MostRSS:
		return fmt.Errorf("memcurve: resident memory came to %d MiB: the limit is %d MiB", m.peak>>20, o.MostRSS>>20)
	case m.perPoint > float64(o.PerPoint):
		return fmt.Errorf("memcurve: %.0f bytes are alive for each evaluation: the limit is %d", m.perPoint, o.PerPoint)
	}
	return nil
}

// meter takes the rows of the table.
type meter struct {
	journal     string
	every, most int
	out         io.Writer
	json        bool
	began       time.Time
	base        uint64 // bytes alive before the run
	peak        int64
	perPoint    float64 // in the last row
}

func (m *meter) observe(e search.Event) {
	if e.Known%m.every == 0 && m.most-e.Known >= m.every/2 || e.Known == m.most {
		m.row(e.Known)
	}
}

func (m *meter) row(evaluations int) {
	rss, peak := resident()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if evaluations == 0 {
		m.base, m.began = stats.HeapAlloc, time.Now()
	}
	m.peak = max(m.peak, peak, rss)
	row := Row{
		Evaluations: evaluations, Resident: rss, Peak: m.peak, Alive: int64(stats.HeapAlloc), Seconds: time.Since(m.began).Seconds(),
		PerPoint: float64(int64(stats.HeapAlloc)-int64(m.base)) / float64(max(evaluations, 1)),
	}
	if info, err := os.Stat(m.journal); err == nil {
		row.Journal = info.Size()
	}
	m.perPoint = row.PerPoint
	if m.json {
		json.NewEncoder(m.out).Encode(row)
		return
	}
	per := func(bytes float64) string {
		if evaluations == 0 {
			return "-"
		}
		return strconv.FormatFloat(bytes, 'f', 1, 64)
	}
	const mib = 1 << 20
	fmt.Fprintf(m.out, "%12d %11d %10d %11.1f %11s %11.1f %11s %7.0f\n", evaluations, rss/mib, m.peak/mib, float64(row.Alive)/mib,
		per(row.PerPoint), float64(row.Journal)/mib, per(float64(row.Journal)/float64(max(evaluations, 1))), row.Seconds)
}

// resident returns how much memory the process has, and the most that it had, in bytes; 0 where the system does not tell.
func resident() (now, peak int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		to := map[string]*int64{"VmRSS": &now, "VmHWM": &peak}[string(name)]
		if f := bytes.Fields(value); to != nil && len(f) > 0 {
			kb, _ := strconv.ParseInt(string(f[0]), 10, 64)
			*to = kb << 10
		}
	}
	return now, peak
}
