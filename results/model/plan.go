package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/model"
	"tune/kernels/native"
	"tune/results"
)

// Plan is what is tuned. It stands in the directory of the library from the first moment.
type Plan struct {
	Format int    `json:"format"`
	Name   string `json:"name"` // of the library, with which its functions begin
	Seed   uint64 `json:"seed"`
	// Machine is the fingerprint of the one that measures.
	Machine   string           `json:"machine"`
	Model     *model.Config    `json:"model"`
	Quant     string           `json:"quant"`
	Threads   int              `json:"threads"`
	Notes     []string         `json:"notes,omitempty"`
	Scenarios []model.Scenario `json:"scenarios"`
	Tasks     []model.Task     `json:"tasks"`
	// Versions are those of the kernels.
	Versions map[string]string `json:"versions"`
}

const planFormat = 1

// UnfitError says that a kernel does not take a shape that a model needs.
type UnfitError struct {
	Roles []string // what the kernel is needed for
	Model string
	Err   error // what is wrong with the shape
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("%s of %s: %v", strings.Join(e.Roles, ", "), e.Model, e.Err)
}

func (e *UnfitError) Unwrap() error { return e.Err }

// NewPlan makes the plan of a model. machine is the fingerprint of the machine that measures.
func NewPlan(c *model.Config, o model.Options, name string, find func(string) (kernels.Kernel, error), machine string) (*Plan, error) {
	p := &Plan{Format: planFormat, Name: name, Seed: 1, Machine: machine, Model: c, Quant: o.Quant, Threads: max(o.Threads, 1), Versions: map[string]string{}}
	if p.Name == "" {
		p.Name = identifier(c.Name)
	}
	if err := native.CheckLibraryName(p.Name); err != nil {
		return nil, err
	}
	var err error
	if p.Scenarios, p.Notes, err = c.Scenarios(o); err != nil {
		return nil, err
	}
	if len(p.Scenarios) == 0 {
		return nil, errors.New("there is nothing to do: give a context and a batch, or a prompt")
	}
	p.Tasks = model.Tasks(p.Scenarios)
	for _, t := range p.Tasks {
		k, err := find(t.Kernel)
		if err != nil {
			return nil, err
		}
		info := k.Info()
		if _, err := kernels.ParseShape(info.Shape, t.Shape); err != nil {
			return nil, &UnfitError{t.Roles, c.Name, err}
		}
		p.Versions[info.Name] = info.Version
	}
	return p, nil
}

// identifier makes the name of a library from that of a model: model_0_5b.
func identifier(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, text)
	const most = 40
	name = name[:min(len(name), most)]
	if native.CheckLibraryName(name) != nil {
		name = "model_" + name
	}
	return name
}

// share is the part of the time of a step that a task has, on average over the scenarios. seconds is the time of a call.
func (p *Plan) share(seconds func(task int) float64) []float64 {
	out := make([]float64, len(p.Tasks))
	for s := range p.Scenarios {
		total := 0.0
		for i, t := range p.Tasks {
			total += float64(t.Calls[s]) * seconds(i)
		}
		for i, t := range p.Tasks {
			out[i] += float64(t.Calls[s]) * seconds(i) / total / float64(len(p.Scenarios))
		}
	}
	return out
}

// Expected is roughly how long a call takes, in seconds, before anything is measured. It only says which tasks come first.
func Expected(o model.Operation) float64 {
	const callOverhead, bytesRate, opsRate = 50e-9, 8e9, 50e9
	return callOverhead + o.Bytes/bytesRate + o.Ops/opsRate
}

// The names of what stands in the directory beside the library itself.
const (
	tuningDir    = results.TuningDir
	planName     = "model.json"
	measuredName = "measured.jsonl"
	runsDir      = results.RunsDir
	madeDir      = "made"
	manifestName = results.ManifestName
)

const mostPlan = 64 << 20

// OtherPlanError says that a directory holds the library of another model, or of other options.
type OtherPlanError struct{ Dir string }

func (e *OtherPlanError) Error() string {
	return fmt.Sprintf("%s: it was begun for another model, other options or another machine: give another --out", e.Dir)
}

// text is the plan as it is written.
func (p *Plan) text() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", "  ")
	return append(text, '\n'), err
}

// claim writes the plan into a directory that was begun, or compares it with the one that is there. The caller has locked the directory, so that no
// other process writes another plan.
func (p *Plan) claim(dir string) error {
	path := filepath.Join(dir, tuningDir, planName)
	old, err := files.Read(path, mostPlan)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := p.text()
		if err != nil {
			return err
		}
		return files.Write(path, text)
	}
	if err != nil {
		return err
	}
	var was Plan
	if err := json.Unmarshal(old, &was); err == nil && was.Model != nil {
		p.Notes, p.Model.Notes = was.Notes, was.Model.Notes // they name the file by the path that it was given with
	}
	if text, err := p.text(); err != nil || !bytes.Equal(old, text) {
		return cmp.Or[error](err, &OtherPlanError{dir})
	}
	return nil
}

// begin makes the directory of a library, unless it holds something else.
func begin(dir string) error {
	_, err := os.Stat(filepath.Join(dir, tuningDir, planName))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != tuningDir {
			return fmt.Errorf("%s: it holds %s, and no library that tune has begun: give --out a new folder", dir, e.Name())
		}
	}
	return os.MkdirAll(filepath.Join(dir, tuningDir, madeDir), 0o777)
}
