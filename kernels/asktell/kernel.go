package asktell

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"tune/internal/files"
	"tune/kernels"
	"tune/results"
	"tune/space"
)

// Unit is the unit of costs.
const Unit = space.Unnamed

// MostLevels bounds the fidelities below the full one.
const MostLevels = 8

// Kernel is a space whose points a client scores.
type Kernel struct {
	path    string // of the file, as it was named
	data    []byte // as it is on disk
	levels  int
	version string
	problem *problem
}

// Load reads the space in a YAML file. levels is the number of fidelities below the full one that the client can score at.
func Load(path string, levels int) (*Kernel, error) {
	data, err := files.Read(path, files.YAML)
	if err != nil {
		return nil, err
	}
	return New(path, data, levels)
}

// New is Load for a file that is read already.
func New(path string, data []byte, levels int) (*Kernel, error) {
	if levels < 0 || levels > MostLevels {
		return nil, fmt.Errorf("%d fidelities below the full one: want 0 to %d", levels, MostLevels)
	}
	d, err := space.ReadDocument(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := d.Space()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &problem{space: s, levels: levels, presets: []kernels.Preset{
		{Name: "baseline", Doc: "the default of every parameter", Point: s.Default(), First: true},
	}}
	for i, key := range d.Start {
		point, err := s.ParsePartial(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p.presets = append(p.presets, kernels.Preset{
			Name: fmt.Sprintf("start %d", i+1), Doc: "a point of the file under start", Point: point, First: true, Start: true,
		})
	}
	sum := sha256.New()
	if err := s.Write(sum); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(sum, "%q %d", d.Start, levels)
	return &Kernel{path: path, data: data, levels: levels, version: fmt.Sprintf("1-%x", sum.Sum(nil)[:8]), problem: p}, nil
}

// Info describes the kernel.
func (k *Kernel) Info() kernels.Info {
	return kernels.Info{
		Name: k.problem.space.Name(), Doc: "a space whose points a client scores", Version: k.version, Unit: string(Unit), Exact: true, Asked: true,
		Files: kernels.Files{Path: k.path, Save: k.save},
	}
}

// Problem returns the only problem of the kernel.
func (k *Kernel) Problem(kernels.Shape) (kernels.Problem, error) { return k.problem, nil }

// Levels is the number of fidelities below the full one.
func (k *Kernel) Levels() int { return k.levels }

// Attach makes a client score the points from now on, and returns the evaluator of a search.
func (k *Kernel) Attach(c *Client) Evaluator {
	k.problem.client = c
	return Evaluator{k.problem}
}

// Evaluator asks the client, one question for each trial.
type Evaluator struct{ p *problem }

// Evaluate asks for the outcome of a trial, under its number. The baseline has been asked for before the search.
func (e Evaluator) Evaluate(ctx context.Context, t space.Trial) (space.Outcome, error) {
	if o, ok := e.p.told(t.Point); ok && t.Fidelity == 0 {
		return o, ctx.Err()
	}
	return e.p.client.Ask(ctx, t.Number, t.Point, t.Fidelity)
}

// problem is the problem of a Kernel.
type problem struct {
	space   *space.Space
	levels  int
	presets []kernels.Preset
	client  *Client // nil where nothing can be asked

	mu       sync.Mutex
	runDir   string        // of the run, where outcomes are looked up; "" before there is one
	baseline space.Outcome // of the default point, as it was told in this process; unset before
}

// Space returns the points.
func (p *problem) Space() *space.Space { return p.space }

// Presets returns the default point, and then those that the file lists under start.
func (p *problem) Presets() []kernels.Preset { return append([]kernels.Preset(nil), p.presets...) }

// Traits says that nothing is checked: tune never sees a result.
func (p *problem) Traits() kernels.Traits {
	t := kernels.Traits{Checking: kernels.NotChecked, Levels: p.levels}
	if p.levels > 0 {
		t.BuildAt = func(ctx context.Context, point space.Point, _ int) (kernels.Candidate, error) {
			return p.Build(ctx, point)
		}
	}
	return t
}

// Build returns the point itself.
func (p *problem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return &candidate{p, point}, ctx.Err()
}

// told returns the outcome of the baseline, if the point is that.
func (p *problem) told(point space.Point) (space.Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.baseline, p.baseline.Status != space.StatusUnset && point.Equal(p.presets[0].Point)
}

type candidate struct {
	p     *problem
	point space.Point
}

// Check checks nothing.
func (c *candidate) Check(ctx context.Context, _ uint64) error { return ctx.Err() }

// UnaskedError says that the score of a point is not known, and that there is no client to ask.
type UnaskedError struct{ Key string }

func (e *UnaskedError) Error() string {
	return fmt.Sprintf("no client has scored the point %s in this run: continue the run with 'tune optimize --dir DIR'", e.Key)
}

// Score returns what the client has told of the point, and asks for the baseline where that is not known yet.
func (c *candidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	p := c.p
	o, known := p.told(c.point)
	if !known {
		var err error
		if o, err = p.lookup(c.point, fidelity); err != nil {
			return kernels.Score{}, err
		}
	}
	isBaseline := fidelity == 0 && c.point.Equal(p.presets[0].Point)
	switch {
	case o.Status != space.StatusUnset:
	case p.client == nil || !isBaseline:
		return kernels.Score{}, &UnaskedError{c.point.Key()}
	default:
		// The search asks for it too, as its first trial.
		var err error
		if o, err = p.client.Ask(ctx, 0, c.point, 0); err != nil {
			return kernels.Score{}, err
		}
	}
	if isBaseline {
		p.mu.Lock()
		p.baseline = o
		p.mu.Unlock()
	}
	if o.Status != space.OK {
		return kernels.Score{}, kernels.Reject(o.Status, "%s", o.Reason)
	}
	return kernels.Score{Cost: o.Cost, Metrics: o.Metrics}, nil
}

// lookup returns the outcome of a point in the journal of the run; it is unset where there is none.
func (p *problem) lookup(point space.Point, fidelity int) (space.Outcome, error) {
	p.mu.Lock()
	dir := p.runDir
	p.mu.Unlock()
	if dir == "" {
		return space.Outcome{}, nil
	}
	run, err := results.Read(dir)
	if err != nil {
		return space.Outcome{}, err
	}
	key := point.Key()
	for round, err := range run.Rounds() {
		if err != nil {
			return space.Outcome{}, err
		}
		for _, e := range round.Entries {
			if e.Key == key && e.Outcome.Fidelity == fidelity {
				return e.Outcome, nil
			}
		}
	}
	return space.Outcome{}, nil
}

// Abilities returns none.
func (*candidate) Abilities() kernels.Abilities { return kernels.Abilities{} }

// Artifacts returns the values of the point.
func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{{Name: "values.json", Write: kernels.WriteJSON(c.point)}}, nil
}

// The copy of the space in a run directory.
var savedIn = files.Saved{What: "space", Folder: "asked", List: "asked.json", Format: 1}

const savedSpace = "space.yaml"

type saved struct {
	Format int    `json:"format"`
	Path   string `json:"path"`   // of the file, as it was named
	Levels int    `json:"levels"` // fidelities below the full one
}

// save copies the space into a run directory, which from then on says what is known of its points.
func (k *Kernel) save(runDir string) error {
	dir := filepath.Join(runDir, savedIn.Folder)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot save the space: %w", err)
	}
	text, err := json.MarshalIndent(saved{savedIn.Format, k.path, k.levels}, "", "  ")
	if err != nil {
		return err
	}
	// The list is written last: where it exists, the space does.
	if err := files.Write(filepath.Join(dir, savedSpace), k.data); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(runDir, savedIn.ListPath()), append(text, '\n')); err != nil {
		return err
	}
	k.problem.mu.Lock()
	defer k.problem.mu.Unlock()
	k.problem.runDir = runDir
	return nil
}

// Open returns the kernel of a run. The error of a run of another kernel is fs.ErrNotExist.
func Open(runDir string) (*Kernel, error) {
	return files.ReadSaved(savedIn, runDir, func(s saved, read func(string, int64) ([]byte, error)) (*Kernel, error) {
		data, err := read(savedSpace, files.YAML)
		if err != nil {
			return nil, err
		}
		k, err := New(s.Path, data, s.Levels)
		if err != nil {
			return nil, err
		}
		k.problem.runDir = runDir
		return k, nil
	})
}
