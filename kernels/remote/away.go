package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/space"
)

// awayKernel is a kernel whose problem is on another machine.
type awayKernel struct {
	info    kernels.Info
	shape   string
	problem *away
}

// Info describes the kernel.
func (k *awayKernel) Info() kernels.Info { return k.info }

// Problem returns the problem of the shape that was opened.
func (k *awayKernel) Problem(shape kernels.Shape) (kernels.Problem, error) {
	if shape.String() != k.shape {
		return nil, fmt.Errorf("kernel %s is open at the shape %s on another machine, and not at %s", k.info.Name, k.shape, shape)
	}
	return k.problem, nil
}

// away is a problem on the machine of a target.
type away struct {
	t      *Target
	in     *space.Space
	traits kernels.Traits

	mu      sync.Mutex
	presets []kernels.Preset
}

var _ kernels.Problem = (*away)(nil)

// newAway makes a problem of what a worker says of it.
func newAway(t *Target, knew *openedKernel) (*away, error) {
	in, err := space.Read(strings.NewReader(knew.Space))
	if err != nil {
		return nil, errors.New(plain.Clip(plain.Line(err.Error()), 300))
	}
	if in.Fingerprint() != knew.Fingerprint {
		return nil, fmt.Errorf("its space has the fingerprint %s, and it says %s", in.Fingerprint(), plain.Clip(plain.Line(knew.Fingerprint), 20))
	}
	p := &away{t: t, in: in}
	if p.presets, err = p.readPresets(knew.Presets); err != nil {
		return nil, err
	}
	if p.traits, err = p.readTraits(knew); err != nil {
		return nil, err
	}
	return p, p.traits.Validate()
}

// readPresets reads the presets of a worker.
func (p *away) readPresets(list []presetOf) (out []kernels.Preset, err error) {
	if len(list) == 0 || len(list) > mostPresets {
		return nil, fmt.Errorf("it has %d presets: want 1 to %d", len(list), mostPresets)
	}
	for _, l := range list {
		point, err := p.in.Parse(l.Key)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %s", plain.Clip(plain.Line(l.Name), 100), plain.Clip(plain.Line(err.Error()), 300))
		}
		out = append(out, kernels.Preset{
			Name: plain.Clip(plain.Line(l.Name), 100), Doc: plain.Clip(plain.Line(l.Doc), mostName), Point: point, Start: l.Start, First: l.First,
		})
	}
	return out, nil
}

// readTraits reads the traits of a worker.
func (p *away) readTraits(knew *openedKernel) (t kernels.Traits, err error) {
	const mostLevels, mostLacks = 10, 20
	if knew.Levels < 0 || knew.Levels > mostLevels || knew.Finalists < 0 || len(knew.Lacks) > mostLacks || knew.Checking > uint8(kernels.NotChecked) {
		return t, errors.New("a number of its traits is out of range")
	}
	t = kernels.Traits{Checking: kernels.Checking(knew.Checking), Launches: knew.Launches, Levels: knew.Levels, Blind: knew.Blind, MostFinalists: knew.Finalists}
	for _, name := range knew.Blind {
		if _, ok := p.in.Parameter(name); !ok {
			return t, fmt.Errorf("its space has no parameter %s", plain.Clip(plain.Line(name), 100))
		}
	}
	if knew.Levels > 0 {
		t.BuildAt = p.buildAt
	}
	if knew.Lacks != nil {
		var lacks []string
		for _, l := range knew.Lacks {
			lacks = append(lacks, fmt.Sprintf("on %s: %s", workerName(p.t.Info().Name), plain.Clip(plain.Line(l), 300)))
		}
		t.Lacks = func() []string { return lacks }
	}
	if knew.Threads {
		t.Threads = p.threads
	}
	if knew.Weak {
		t.Weak = p.weak
	}
	if knew.Examine {
		t.Examine = func(ctx context.Context) error {
			_, _, err := p.t.anew(ctx, call{Do: doExamine}, nil)
			return err
		}
	}
	if knew.Compare {
		t.Compare = p.compare
	}
	if knew.Measures != nil {
		t.Measures = measuresOf(knew.Measures)
	}
	if knew.Baselines != nil {
		var points []space.Point
		for _, key := range knew.Baselines {
			point, err := p.in.Parse(key)
			if err != nil {
				return t, fmt.Errorf("a baseline: %s", plain.Clip(plain.Line(err.Error()), 300))
			}
			points = append(points, point)
		}
		t.Baselines, t.Settle = func() []space.Point { return points }, p.settle
	}
	return t, nil
}

// measuresOf is Traits.Measures for what a worker says of each metric.
func measuresOf(list []unmeasuredFor) func(string) error {
	return func(name string) error {
		for _, u := range list {
			if u.Name != name {
				continue
			}
			if u.Why == "" {
				return nil
			}
			return errors.New(plain.Clip(plain.Line(u.Why), 300))
		}
		return errors.New("the worker does not know it")
	}
}

// Space returns the space of the worker's problem.
func (p *away) Space() *space.Space { return p.in }

// Presets returns the presets of the worker's problem.
func (p *away) Presets() []kernels.Preset {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.presets
}

// Traits returns what the worker's problem can do, as far as runs need it: exports are not loaded, and nothing is explained.
func (p *away) Traits() kernels.Traits { return p.traits }

// Build has the worker build the candidate of a point.
func (p *away) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return p.buildAt(ctx, point, 0)
}

func (p *away) buildAt(ctx context.Context, point space.Point, fidelity int) (kernels.Candidate, error) {
	c := &awayCandidate{p: p}
	var err error
	if c.at, c.number, err = p.t.anew(ctx, call{Do: doBuild, Key: point.Key(), Fidelity: fidelity}, &c.built); err != nil {
		return nil, err
	}
	if r := c.built.Repacking; r != nil {
		r.Argument, r.Layout = plain.Clip(plain.Line(r.Argument), 100), plain.Clip(plain.Line(r.Layout), mostReason)
	}
	return c, nil
}

// threads is Traits.Threads.
func (p *away) threads(point space.Point) (n int, err error) {
	const most = 1 << 20
	if _, _, err = p.t.anew(p.t.ctx, call{Do: doThreads, Key: point.Key()}, &n); err == nil && (n < 1 || n > most) {
		err = fmt.Errorf("%s says that a point has %d threads", workerName(p.t.Info().Name), n)
	}
	return n, err
}

// weak is Traits.Weak.
func (p *away) weak(ctx context.Context, seeds []uint64) ([]space.WeakOutput, error) {
	var list []space.WeakOutput
	if _, _, err := p.t.anew(ctx, call{Do: doWeak, Seeds: seeds}, &list); err != nil {
		return nil, err
	}
	for _, l := range list {
		if !l.Valid() || plain.Line(l.Output) != l.Output || len(l.Output) > mostName {
			return nil, fmt.Errorf("%s says of the checks of an output what makes no sense", workerName(p.t.Info().Name))
		}
	}
	return list, nil
}

// settle is Traits.Settle.
func (p *away) settle(ctx context.Context, seed uint64) error {
	var list []presetOf
	c := call{Do: doSettle, Seeds: []uint64{seed}}
	if _, _, err := p.t.anew(ctx, c, &list); err != nil {
		return err
	}
	presets, err := p.readPresets(list)
	if err != nil {
		return fmt.Errorf("%s: %w", workerName(p.t.Info().Name), err)
	}
	p.t.mu.Lock()
	p.t.repeat = []call{c}
	p.t.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.presets = presets
	return nil
}

// compare is Traits.Compare.
func (p *away) compare(ctx context.Context, baseline kernels.Candidate, finalists []kernels.Candidate, s kernels.Series) (kernels.Final, error) {
	if s.Sure != nil {
		return kernels.Final{}, errors.New("a comparison on another machine cannot be looked at while it goes on")
	}
	base, err := candidateOf(baseline)
	if err != nil {
		return kernels.Final{}, err
	}
	all := []*awayCandidate{base}
	c := call{Do: doCompare, Series: &series{s.Limit, s.Confirm, s.Seed, s.Peak}}
	for _, f := range finalists {
		one, err := candidateOf(f)
		if err == nil && one.at != base.at {
			err = one.lost()
		}
		if err != nil {
			return kernels.Final{}, err
		}
		all, c.Finalists = append(all, one), append(c.Finalists, one.number)
	}
	var out comparedAll
	if err := base.ask(ctx, c, &out, s.Observe); err != nil {
		return kernels.Final{}, err
	}
	if err := out.check(len(finalists)); err != nil {
		return kernels.Final{}, fmt.Errorf("%s: its comparison makes no sense: %w", workerName(p.t.Info().Name), err)
	}
	for i, progress := range out.Progressed {
		all[i].note(progress)
	}
	for i, f := range out.Faults {
		if f != nil {
			out.Comparisons[i] = kernels.Comparison{Err: f.rejection()}
		}
	}
	return out.Final, nil
}

// check reports what no comparison of so many finalists can be.
func (c *comparedAll) check(finalists int) error {
	switch {
	case len(c.Comparisons) != finalists || len(c.Faults) != finalists || len(c.Progressed) != finalists+1:
		return fmt.Errorf("%d finalists were compared, and %d comparisons came back", finalists, len(c.Comparisons))
	case c.Best < -1 || c.Best >= finalists || c.Machine.Probes < 0 || len(c.PeakOf) > mostName:
		return errors.New("a number is out of range")
	}
	c.PeakOf = plain.Line(c.PeakOf)
	for _, one := range c.Comparisons {
		switch {
		case one.Pairs < 0 || one.Ratio < 0 || one.Low < 0 || one.Low > one.High || len(one.Ratios) > mostRatios:
			return errors.New("a number of a comparison is out of range")
		case one.Pairs == 0 && one.Low > 0:
			return errors.New("it has an interval without pairs")
		}
		if err := checkMetrics(one.Metrics); err != nil {
			return err
		}
	}
	for _, p := range c.Progressed {
		if err := p.Deviation.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// checkMetrics reports metrics that no candidate has.
func checkMetrics(list []space.Metric) error {
	const most = 1000
	if len(list) > most {
		return fmt.Errorf("it has %d metrics: want at most %d", len(list), most)
	}
	for _, m := range list {
		if m.Name == "" || len(m.Name) > mostName || plain.Line(m.Name) != m.Name {
			return fmt.Errorf("%q is not the name of a metric", plain.Clip(plain.Line(m.Name), 100))
		}
	}
	return nil
}

// awayCandidate is a candidate on the machine of a target.
type awayCandidate struct {
	p         *away
	at        seat // where it is
	number    int
	alone     bool
	built     builtCandidate
	deviation kernels.Deviation
}

// Abilities says what the candidate can do, as the worker says: it is isolated from the next call on, and its deviation is what came with
// the answers so far.
func (c *awayCandidate) Abilities() kernels.Abilities {
	can := kernels.Abilities{Isolate: func() { c.alone = true }, Measure: c.measure, Repacking: c.built.Repacking}
	if c.built.Deviates {
		can.Deviation = func() kernels.Deviation { return c.deviation }
	}
	return can
}

// candidateOf returns the candidate on another machine that c is.
func candidateOf(c kernels.Candidate) (*awayCandidate, error) {
	if c, ok := c.(*awayCandidate); ok {
		return c, nil
	}
	return nil, fmt.Errorf("a candidate of type %T is not on the other machine", c)
}

// lost says that the candidate is no longer there.
func (c *awayCandidate) lost() error {
	return &GoneError{c.p.t.Info().Name, "has begun again, and has lost the candidates that it had built", true}
}

// ask makes a call about the candidate.
func (c *awayCandidate) ask(ctx context.Context, about call, result any, observe func(pair, of int)) error {
	if c.at != c.p.t.seat() {
		return c.lost()
	}
	about.Candidate, about.Alone = c.number, c.alone
	_, err := c.p.t.call(ctx, c.at, about, result, observe)
	return err
}

// nonsense says that an answer about the candidate makes no sense.
func (c *awayCandidate) nonsense(err error) error {
	return fmt.Errorf("%s: its answer about a candidate makes no sense: %w", workerName(c.p.t.Info().Name), err)
}

// note keeps what checks have found so far.
func (c *awayCandidate) note(p progressed) { c.deviation = c.deviation.Or(p.Deviation) }

// Check has the worker check the candidate.
func (c *awayCandidate) Check(ctx context.Context, seed uint64) error {
	var p progressed
	if err := c.ask(ctx, call{Do: doCheck, Seeds: []uint64{seed}}, &p, nil); err != nil {
		return err
	}
	if err := p.Deviation.Validate(); err != nil {
		return c.nonsense(err)
	}
	c.note(p)
	return nil
}

// Score has the worker score the candidate.
func (c *awayCandidate) Score(ctx context.Context, fidelity int) (kernels.Score, error) {
	var s scored
	if err := c.ask(ctx, call{Do: doScore, Fidelity: fidelity}, &s, nil); err != nil {
		return kernels.Score{}, err
	}
	if err := errors.Join(checkMetrics(s.Metrics), s.Deviation.Validate()); err != nil {
		return kernels.Score{}, c.nonsense(err)
	}
	c.note(s.progressed)
	return kernels.Score{Cost: s.Cost, Metrics: s.Metrics}, nil
}

// measure has the worker measure metrics of the candidate.
func (c *awayCandidate) measure(ctx context.Context, names []string) ([]space.Metric, error) {
	var m measuredOf
	if err := c.ask(ctx, call{Do: doMeasure, Names: names}, &m, nil); err != nil {
		return nil, err
	}
	if err := errors.Join(checkMetrics(m.Metrics), m.Deviation.Validate()); err != nil {
		return nil, c.nonsense(err)
	}
	c.note(m.progressed)
	return m.Metrics, nil
}

// Artifacts fetches the files of the candidate.
func (c *awayCandidate) Artifacts() ([]kernels.Artifact, error) {
	ctx := c.p.t.ctx
	var list []exported
	if err := c.ask(ctx, call{Do: doArtifacts}, &list, nil); err != nil {
		return nil, err
	}
	if err := checkExported(list); err != nil {
		return nil, c.nonsense(err)
	}
	var out []kernels.Artifact
	for _, e := range list {
		data, err := c.p.t.fetch(ctx, c.at, e.Content)
		if err != nil {
			return nil, err
		}
		out = append(out, kernels.Artifact{Name: e.Name, Derived: e.Derived, Write: func(w io.Writer) error {
			_, err := io.Copy(w, bytes.NewReader(data))
			return err
		}})
	}
	return out, nil
}

// checkExported refuses files that must not be written.
func checkExported(list []exported) error {
	if len(list) > mostArtifacts {
		return fmt.Errorf("it has %d files: want at most %d", len(list), mostArtifacts)
	}
	total, seen := int64(0), map[string]bool{}
	for _, e := range list {
		name := plain.Clip(plain.Line(e.Name), 100)
		switch {
		case name != e.Name || e.Name == "" || filepath.Base(e.Name) != e.Name || strings.ContainsAny(e.Name, `/\:`) || !filepath.IsLocal(e.Name) || e.Name == ".":
			return fmt.Errorf("%q is not the name of a file of an export", name)
		case seen[e.Name]:
			return fmt.Errorf("its file %q is given twice", name)
		case e.Size < 0 || e.Size > MostBytes:
			return fmt.Errorf("its file %q has %d bytes: want at most %s", name, e.Size, files.Size(MostBytes))
		}
		if total += e.Size; total > MostBytes {
			return fmt.Errorf("its files have more than %s together, the most that travels", files.Size(MostBytes))
		}
		seen[e.Name] = true
	}
	return nil
}
