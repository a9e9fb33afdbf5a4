package model

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels/model"
	"tune/results"
	"tune/space"
)

// Report is what the library of a model came to. It stands in its manifest.
type Report struct {
	Format      int               `json:"format"`
	Name        string            `json:"name"`
	Model       *model.Config     `json:"model"`
	Quant       string            `json:"quant"`
	Threads     int               `json:"threads"`
	ToolVersion string            `json:"tool_version"`
	Machine     results.Machine   `json:"machine"`
	Created     time.Time         `json:"created"`
	Elapsed     float64           `json:"elapsed_seconds"` // over all sittings
	Notes       []string          `json:"notes,omitempty"`
	Scenarios   []ReportScenario  `json:"scenarios"`
	Tasks       []ReportTask      `json:"tasks"`
	Files       map[string]string `json:"files"` // the SHA-256 of each file by its path
	Dir         string            `json:"-"`
}

const reportFormat = 1

// ReportScenario is what a step of a model takes: the sum of its kernels.
type ReportScenario struct {
	Name    string `json:"name"`
	Tokens  int    `json:"tokens"` // of a step
	Batch   int    `json:"batch"`
	Context int    `json:"context"`
	Prompt  bool   `json:"prompt,omitempty"`
	// Before and After are the seconds of a token, with the plain forms and with what is exported.
	Before float64 `json:"before_seconds"`
	After  float64 `json:"after_seconds"`
	// PeakShare is the share of the roofs, weighted by time, of those kernels whose roof is known.
	PeakShare float64 `json:"peak_share,omitempty"`
	// OfPeers are the seconds of a token in those kernels that an installed library has too, by the fastest library for each, and
	// Beside what the exported ones take for the same.
	OfPeers float64 `json:"peers_seconds,omitempty"`
	Beside  float64 `json:"beside_peers_seconds,omitempty"`
	// Weights are the bytes of weights that a step reads.
	Weights float64 `json:"weights_bytes"`
}

// ReportTask is a task with what was measured of it.
type ReportTask struct {
	model.Task
	Function string `json:"function"`
	Measured Row    `json:"measured"`
	// Shares are the parts of a step that the task has, by scenario, before and after.
	Before []float64 `json:"shares_before"`
	After  []float64 `json:"shares_after"`
}

// report sums up what was measured.
func (m *maker) report() *Report {
	r := &Report{
		Format: reportFormat, Name: m.Plan.Name, Model: m.Plan.Model, Quant: m.Plan.Quant, Threads: m.Plan.Threads, ToolVersion: m.Version,
		Machine: m.Machine, Created: m.Began.UTC(), Elapsed: m.elapsed().Seconds(), Notes: m.Plan.Notes, Dir: m.Dir,
	}
	for _, t := range m.tasks {
		r.Tasks = append(r.Tasks, ReportTask{Task: t.Task, Function: m.Plan.function(t.Name), Measured: *t.row})
	}
	for i, s := range m.Plan.Scenarios {
		one := ReportScenario{Name: s.Name, Tokens: s.Tokens, Batch: s.Batch, Context: s.Context, Prompt: s.Prompt}
		known, peak := 0.0, 0.0
		for _, t := range r.Tasks {
			calls := float64(t.Calls[i])
			one.Before += calls * t.Measured.cost(false)
			one.After += calls * t.Measured.cost(true)
			if t.Measured.Peer != "" {
				one.Beside += calls * t.Measured.cost(true) / float64(s.Tokens)
				one.OfPeers += calls * t.Measured.cost(true) * t.Measured.PeerRatio / float64(s.Tokens)
			}
			if t.Measured.PeakShare > 0 {
				known += calls * t.Measured.cost(true)
				peak += calls * t.Measured.cost(true) * t.Measured.PeakShare
			}
		}
		for n := range r.Tasks {
			t := &r.Tasks[n]
			t.Before = append(t.Before, float64(t.Calls[i])*t.Measured.cost(false)/one.Before)
			t.After = append(t.After, float64(t.Calls[i])*t.Measured.cost(true)/one.After)
		}
		for _, o := range s.Operations {
			one.Weights += o.Weights * float64(o.Calls)
		}
		if known > 0 {
			one.PeakShare = peak / known
		}
		one.Before, one.After = one.Before/float64(s.Tokens), one.After/float64(s.Tokens)
		r.Scenarios = append(r.Scenarios, one)
	}
	return r
}

// ReadReport reads the manifest of a library of a model.
func ReadReport(dir string) (*Report, error) {
	path := filepath.Join(dir, manifestName)
	text, err := files.In(dir).Read(manifestName, mostPlan)
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: dir}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Format != reportFormat {
		return nil, fmt.Errorf("%s: format is %d, want %d: another version of tune wrote it", path, r.Format, reportFormat)
	}
	return r, nil
}

// Write writes the tables of a report as text.
func (r *Report) Write(out io.Writer) error {
	for i, s := range r.Scenarios {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s\n", s.title())
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, strings.Join(columns, "\t"))
		for _, t := range r.Tasks {
			if t.Calls[i] > 0 {
				fmt.Fprintln(w, strings.Join(t.cells(i, s), "\t"))
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out, s.sum())
	}
	for _, remark := range r.Remarks() {
		fmt.Fprintf(out, "%-9s%s\n", remark.About, remark.Text)
	}
	return nil
}

// columns are the heads of a table.
var columns = []string{"operation", "kernel", "shape", "calls a token", "before", "after", "gain", "peer", "roof", "share before", "after"}

// title says what a step is.
func (s ReportScenario) title() string {
	if s.Prompt {
		return fmt.Sprintf("prompt of %d tokens", s.Tokens)
	}
	return fmt.Sprintf("decoding of %s, with a context of %d tokens", plain.Count(s.Batch, "sequence"), s.Context)
}

// sum says what a token takes.
func (s ReportScenario) sum() string {
	text := fmt.Sprintf("a token  %s before, %s after: %.2f times as fast, %.1f tokens a second", words(s.Before), words(s.After), s.Before/s.After, 1/s.After)
	if s.PeakShare > 0 {
		text += fmt.Sprintf(", %.0f %% of the roofs", 100*s.PeakShare)
	}
	if s.OfPeers > 0 {
		text += fmt.Sprintf("\npeers    where an installed library has the kernel, the fastest takes %s of a token and this library %s: %.2f times as fast", words(s.OfPeers), words(s.Beside), s.OfPeers/s.Beside)
	}
	return text
}

// words writes seconds.
func words(seconds float64) string { return space.Unit("ns").Words(seconds * 1e9) }

// cells are those of a task in the table of a scenario.
func (t ReportTask) cells(scenario int, s ReportScenario) []string {
	m := t.Measured
	peer, roof := "-", "-"
	if m.Peer != "" {
		peer = fmt.Sprintf("%s %s", m.Peer, words(m.Peers[m.Peer]*1e-9))
	}
	if m.PeakShare > 0 {
		roof = fmt.Sprintf("%.0f %%", 100*m.PeakShare)
	}
	return []string{
		strings.Join(t.Roles, ", "), t.Kernel, t.One().Brief(), calls(t.Calls[scenario], s.Tokens), words(m.cost(false)), words(m.cost(true)), m.Gain(), peer, roof,
		fmt.Sprintf("%.1f %%", 100*t.Before[scenario]), fmt.Sprintf("%.1f %%", 100*t.After[scenario]),
	}
}

// Gain says how many times as fast the export is, with its interval and how far to trust it.
func (r Row) Gain() string {
	if !r.Searched {
		return "not searched"
	}
	text := fmt.Sprintf("%.2f", r.Ratio)
	if r.Low > 0 {
		text += fmt.Sprintf(" [%.2f, %.2f]", r.Low, r.High)
	}
	if r.Unverified {
		text += " ?"
	}
	return text
}

// One is the operation of a task.
func (t ReportTask) One() model.Operation { return model.Operation{Kernel: t.Kernel, Shape: t.Shape} }

// calls writes the calls a token.
func calls(step, tokens int) string {
	if step%tokens == 0 {
		return fmt.Sprint(step / tokens)
	}
	return fmt.Sprintf("%d/%d", step, tokens)
}

// Remark says what the tables do not show.
type Remark struct {
	About string // forms, threads or note
	Text  string
}

// Remarks are those about the library, in the order in which they are shown.
func (r *Report) Remarks() (out []Remark) {
	add := func(about, format string, args ...any) {
		out = append(out, Remark{about, fmt.Sprintf(format, args...)})
	}
	for _, t := range r.Tasks {
		m := t.Measured
		at := fmt.Sprintf("%s %s", t.Kernel, t.One().Brief())
		if f := m.Forms; f != nil {
			line := fmt.Sprintf("%s: naive %s, flash %s: flash is %.2f times as fast", at, words(f.Naive*1e-9), words(f.Flash*1e-9), f.Ratio)
			switch {
			case f.Low > 0:
				line += fmt.Sprintf(" [%.2f, %.2f]", f.Low, f.High)
			default:
				line += " (too few pairs for an interval)"
			}
			add("forms", "%s", line)
		}
	}
	for _, t := range r.Tasks {
		m := t.Measured
		if m.SerialRatio <= 0 {
			continue
		}
		line := fmt.Sprintf("%s %s: ", t.Kernel, t.One().Brief())
		if m.Build.Threads <= 1 {
			add("threads", "%sthe best point has one thread", line)
			continue
		}
		line += fmt.Sprintf("%d threads are %.2f times as fast as the best serial point", m.Build.Threads, m.SerialRatio)
		if m.SerialLow > 0 {
			line += fmt.Sprintf(" [%.2f, %.2f]", m.SerialLow, m.SerialHigh)
		}
		add("threads", "%s", line)
	}
	none, noisy, peers, asked := 0, 0, 0, false
	for _, t := range r.Tasks {
		if !t.Measured.Searched {
			none++
		}
		if t.Measured.Unverified {
			noisy++
		}
		if t.Measured.Peer != "" {
			peers++
		}
		asked = asked || t.Measured.LeftOut[allPeers] != unasked
	}
	if none > 0 {
		add("note", "the budget did not reach %d of %s: the library has their plain forms. A longer --budget in a new folder searches them", none, plain.Count(len(r.Tasks), "kernel"))
	}
	if noisy > 0 {
		add("note", "the machine was not quiet at %d of %s, marked with ?", noisy, plain.Count(len(r.Tasks), "measurement"))
	}
	switch {
	case !asked:
		add("note", "the library was measured beside no other, because of --no-peers")
	case peers == 0:
		add("note", "no installed library computes these kernels: 'tune peers' says how to get some")
	}
	for _, n := range r.Notes {
		add("note", "%s", plain.Line(n))
	}
	return out
}
