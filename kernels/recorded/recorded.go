// Package recorded turns a measured search space into a kernel: an evaluation looks up the measured cost of a configuration. The
// points are exactly the rows of the file; a configuration that failed has the status of its reason. An evaluation takes, in
// simulated time, the seconds that compiling and measuring the row once took (see kernels.Traits), so that a search is the same
// on every machine.
//
// Package exchange describes the formats of the file.
package recorded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/kernels"
	"tune/results"
	"tune/results/exchange"
	"tune/space"
)

// Name is the name of the kernel.
const Name = "recorded"

// Doc describes the kernel in one line.
const Doc = "a search space that was measured before, from the file given by --data"

// Kernel is one file of measurements.
type Kernel struct {
	path    string // of the file, as it was named
	data    []byte // as it is on disk
	file    *exchange.File
	problem *Problem
}

// Load reads the kernel of a file.
func Load(path string) (*Kernel, error) { return LoadObserved(path, nil) }

// LoadObserved is Load, with an observer of how much of the file is read and checked.
func LoadObserved(path string, observe exchange.Observer) (*Kernel, error) {
	data, err := files.Read(path, files.Data)
	if err != nil {
		return nil, err
	}
	return newKernel(path, data, observe)
}

// New makes the kernel of a file's content.
func New(path string, data []byte) (*Kernel, error) { return newKernel(path, data, nil) }

func newKernel(path string, data []byte, observe exchange.Observer) (*Kernel, error) {
	f, err := exchange.ReadObserved(path, data, observe)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(f)
	if err != nil {
		return nil, err
	}
	return &Kernel{path: path, data: data, file: f, problem: p}, nil
}

// Info describes the kernel. Its version changes with the content of the file.
func (k *Kernel) Info() kernels.Info {
	return kernels.Info{
		Name: Name, Doc: Doc, Version: "1-" + k.file.SHA256[:16], Unit: k.file.Unit, Exact: true,
		Files: kernels.Files{Data: &kernels.DataFile{Path: k.path, SHA256: k.file.SHA256}, Save: k.Save},
	}
}

// Problem returns the only problem of the file.
func (k *Kernel) Problem(kernels.Shape) (kernels.Problem, error) { return k.problem, nil }

// File returns the file.
func (k *Kernel) File() *exchange.File { return k.file }

// savedIn is the copy of the file in a run directory.
var savedIn = files.Saved{What: "data", Folder: "data", List: "data.json", Format: 1}

// saved is the description of a saved file.
type saved struct {
	Format int    `json:"format"`
	Path   string `json:"path"`   // of the file, as it was named
	Saved  string `json:"saved"`  // its name in the folder
	SHA256 string `json:"sha256"` // of its content
}

// Save copies the file into a run directory. Open reads the copy.
func (k *Kernel) Save(runDir string) error {
	dir := filepath.Join(runDir, savedIn.Folder)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot save the data: %w", err)
	}
	s := saved{savedIn.Format, k.path, filepath.Base(k.path), k.file.SHA256}
	if s.Saved == savedIn.List {
		s.Saved = "0-" + savedIn.List
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	// The description is written last: where it exists, the file does.
	for _, f := range []struct {
		name string
		data []byte
	}{{s.Saved, k.data}, {savedIn.List, append(text, '\n')}} {
		_, err := results.WriteArtifact(filepath.Join(dir, f.name), func(w io.Writer) error {
			_, err := w.Write(f.data)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Open reads the kernel that Save copied into a run directory. A directory without one is an error that is fs.ErrNotExist.
func Open(runDir string) (*Kernel, error) {
	return files.ReadSaved(savedIn, runDir, func(s saved, read func(string, int64) ([]byte, error)) (*Kernel, error) {
		if err := files.Beside(s.Saved); err != nil {
			return nil, fmt.Errorf("%s: field saved: %w", savedIn.List, err)
		}
		data, err := read(s.Saved, files.Data)
		if err != nil {
			return nil, err
		}
		k, err := New(s.Path, data)
		if err == nil && k.file.SHA256 != s.SHA256 {
			err = fmt.Errorf("%s was changed since it was saved", s.Saved)
		}
		return k, err
	})
}

// Problem is a measured space.
type Problem struct {
	file    *exchange.File
	space   *space.Space
	rows    []int // the row of each point, by its index
	presets []kernels.Preset
	optimum *exchange.Row
}

func newProblem(f *exchange.File) (*Problem, error) {
	s, err := f.MakeSpace()
	if err != nil {
		return nil, err
	}
	p := &Problem{file: f, space: s, rows: make([]int, len(f.Rows)), optimum: f.Best()}
	if p.optimum == nil {
		return nil, &exchange.Error{File: f.Path, Text: fmt.Sprintf("none of its %d configurations is valid: there is nothing to find", len(f.Rows))}
	}
	best, baseline := uint64(0), uint64(len(f.Rows))
	for i := range f.Rows {
		point, err := s.FromOrdinals(f.Rows[i].Ordinals)
		if err != nil {
			return nil, err
		}
		at, _ := s.Index(point)
		p.rows[at] = i
		if f.Rows[i].Outcome.Status == space.OK {
			baseline = min(baseline, at)
		}
		if &f.Rows[i] == p.optimum {
			best = at
		}
	}
	p.presets = []kernels.Preset{
		{Name: "baseline", Doc: "the first valid configuration", Point: s.At(baseline)},
		{Name: "optimum", Doc: "the fastest configuration of the file", Point: s.At(best)},
	}
	return p, nil
}

// Space holds the rows.
func (p *Problem) Space() *space.Space { return p.space }

// Presets are the first valid configuration and the best one. A search must not start from either.
func (p *Problem) Presets() []kernels.Preset { return slices.Clone(p.presets) }

// Optimum returns the least cost of all configurations.
func (p *Problem) Optimum() float64 { return p.optimum.Outcome.Cost }

// Row returns the row of a point, nil where the file has none.
func (p *Problem) Row(point space.Point) *exchange.Row {
	at, ok := p.space.Index(point)
	if !ok {
		return nil
	}
	return &p.file.Rows[p.rows[at]]
}

// Lookup returns the outcome of a point, without the seconds that the look-up takes.
func (p *Problem) Lookup(point space.Point) space.Outcome {
	r := p.Row(point)
	if r == nil {
		return space.Fail(space.Invalid, "the file has no such configuration")
	}
	return r.Outcome
}

// Traits says that nothing is checked here, and passes on what the file says about the machine and about the time of evaluations.
func (p *Problem) Traits() kernels.Traits {
	return kernels.Traits{
		Checking: kernels.NotChecked,
		Origin:   &kernels.Origin{Space: p.file.Space, Device: p.file.Device, Kernel: p.file.Kernel, Objective: p.file.Objective},
		Seconds:  func(point space.Point) float64 { return p.Lookup(point).Seconds },
	}
}

// Build looks a point up. A configuration that failed is rejected.
func (p *Problem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o := p.Lookup(point); o.Status != space.OK {
		return nil, kernels.Reject(o.Status, "%s", o.Reason)
	}
	return &candidate{p, point, p.Row(point)}, nil
}

// candidate is a configuration that was measured.
type candidate struct {
	problem *Problem
	point   space.Point
	row     *exchange.Row
}

// Check always passes: the configuration was checked when it was measured.
func (c *candidate) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

// Score returns the cost, with the spread of the repeats where the file has it.
func (c *candidate) Score(context.Context, int) (kernels.Score, error) {
	score := kernels.Score{Cost: c.row.Outcome.Cost}
	if s := c.row.Spread(); s != nil {
		score.Metrics = []space.Metric{
			{Name: "repeats_max", Value: s[2]}, {Name: "repeats_median", Value: s[1]},
			{Name: "repeats_min", Value: s[0]}, {Name: "repeats_std", Value: s[3]},
		}
	}
	return score, nil
}

// Abilities returns none.
func (*candidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

// Artifacts are the configuration and what was measured of it.
func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	write := func(w io.Writer) error {
		values, err := c.point.MarshalJSON()
		if err != nil {
			return err
		}
		f := c.problem.file
		text, err := json.Marshal(struct {
			Space         string          `json:"space"`
			Device        string          `json:"device,omitempty"`
			Kernel        string          `json:"kernel,omitempty"`
			Objective     string          `json:"objective"`
			Configuration json.RawMessage `json:"configuration"`
			Cost          float64         `json:"cost"`
			Unit          string          `json:"unit"`
			Seconds       float64         `json:"seconds"`
			SHA256        string          `json:"data_sha256"`
		}{f.Space, f.Device, f.Kernel, f.Objective, values, c.row.Outcome.Cost, f.Unit, c.row.Outcome.Seconds, f.SHA256})
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return err
		}
		_, err = io.Copy(w, io.MultiReader(&b, strings.NewReader("\n")))
		return err
	}
	return []kernels.Artifact{{Name: "config.json", Write: write}}, nil
}
