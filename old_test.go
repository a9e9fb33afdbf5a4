package tune

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/treehash"
	"tune/results"
	"tune/search"
	"tune/space"
)

// oldRun is a run directory as version 0.1.0 has written it: its journal is of format 1, and its settings say neither the
// version of the strategy nor whether costs are measured. Its traces, which can be made again, are not here.
const oldRun = "testdata/v0.1.0"

// oldTrials is how many trials it has.
const oldTrials = 20

var oldTable = kernels.Table{oldKernel{}}

// oldKernel stands for the tree-hash kernel as version 0.1.0 has it, whose generator is gone. Its space is on record, and so are
// the costs and the best program of the run. Points that the run has not asked for get a cost that is never the best.
type oldKernel struct{ treehash.Kernel }

func (k oldKernel) Info() kernels.Info {
	info := k.Kernel.Info()
	info.Version = "5"
	return info
}

func (k oldKernel) Problem(shape kernels.Shape) (kernels.Problem, error) {
	now, err := k.Kernel.Problem(shape)
	if err != nil {
		return nil, err
	}
	p := &oldProblem{Problem: now, outcomes: map[oldAsk]space.Outcome{}}
	text, err := os.ReadFile("testdata/v0.1.0-space.yaml")
	if err != nil {
		return nil, err
	}
	if p.space, err = space.Read(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	if p.baseline, err = p.space.Parse(now.Presets()[0].Point.Key()); err != nil {
		return nil, err
	}
	if p.start, err = p.space.Make(map[string]any{"family": "vector", "spread": true}); err != nil {
		return nil, err
	}
	journal, err := os.ReadFile(filepath.Join(oldRun, results.JournalName))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(journal)) {
		_, text, _ := strings.Cut(line, " ")
		var record struct {
			Outcome *struct {
				Key string `json:"key"`
				space.Outcome
			} `json:"outcome"`
		}
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			return nil, err
		}
		if o := record.Outcome; o != nil {
			p.outcomes[oldAsk{o.Key, o.Fidelity}] = o.Outcome
		}
	}
	s, err := results.ReadSchedule(filepath.Join(oldRun, ScheduleName))
	if err != nil {
		return nil, err
	}
	p.best = s.Key
	return p, nil
}

type oldAsk struct {
	key      string
	fidelity int
}

type oldProblem struct {
	kernels.Problem
	space           *space.Space
	baseline, start space.Point
	best            string
	outcomes        map[oldAsk]space.Outcome
}

func (p *oldProblem) Space() *space.Space { return p.space }

func (p *oldProblem) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Doc: "the first", Point: p.baseline}, {Name: "vector", Doc: "a start", Point: p.start, Start: true}}
}

func (p *oldProblem) Traits() kernels.Traits {
	return kernels.Traits{
		Levels: 2, BuildAt: p.buildAt, Load: p.Problem.Traits().Load,
		Blind: []string{"madd_first", "load_round", "vector_round", "scalar_round", "flow_round", "setup_round", "laggards", "shuffle"},
	}
}

func (p *oldProblem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	return p.buildAt(ctx, point, 0)
}

func (p *oldProblem) buildAt(ctx context.Context, point space.Point, fidelity int) (kernels.Candidate, error) {
	switch {
	case point.Str("family") == "scalar":
		now, err := p.Problem.Space().Parse(point.Key())
		if err != nil {
			return nil, err
		}
		return p.Problem.Build(ctx, now)
	case point.Key() == p.best && fidelity == 0:
		program, err := os.ReadFile(filepath.Join(oldRun, "best.program.json"))
		if err != nil {
			return nil, err
		}
		return p.Traits().Load(bytes.NewReader(program))
	}
	if o, ok := p.outcomes[oldAsk{point.Key(), fidelity}]; ok {
		return oldCandidate(o), nil
	}
	return oldCandidate{Status: space.OK, Cost: 1000}, nil
}

// oldCandidate is a point whose outcome is on record.
type oldCandidate space.Outcome

func (c oldCandidate) Check(context.Context, uint64) error {
	if c.Status != space.OK {
		return kernels.Reject(c.Status, "%s", c.Reason)
	}
	return nil
}

func (c oldCandidate) Score(context.Context, int) (kernels.Score, error) {
	return kernels.Score{Cost: c.Cost, Metrics: c.Metrics}, nil
}

func (oldCandidate) Artifacts() ([]kernels.Artifact, error) { return nil, nil }
func (oldCandidate) Abilities() kernels.Abilities           { return kernels.Abilities{} }

// copyOld returns a copy of the old run whose file of a name is changed.
func copyOld(t *testing.T, name string, change func(string) string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "v1")
	if err := os.CopyFS(dir, os.DirFS(oldRun)); err != nil {
		t.Fatal(err)
	}
	if change == nil {
		return dir
	}
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(change(string(data))), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func exportOld(t *testing.T, dir, format string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Export(t.Context(), oldTable, dir, format, &out); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return out.String()
}

// TestOldRun: a run of version 0.1.0 is read, exported, verified and replayed, and goes on in the format that it has.
func TestOldRun(t *testing.T) {
	dir := copyOld(t, "", nil)
	run, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := run.Settings; run.Outcomes != oldTrials || s.ToolVersion != "0.1.0" || s.StrategyVersion != 0 || s.StrategyConfig != "" || s.Measured {
		t.Errorf("the run has %d outcomes and the settings %+v", run.Outcomes, s)
	}
	if n, err := Replay(oldTable, dir); n != oldTrials || err != nil {
		t.Errorf("replay: %d, %v", n, err)
	}
	for _, format := range Formats {
		if text := exportOld(t, dir, format); text == "" {
			t.Errorf("%s: nothing is written", format)
		}
	}
	for format, file := range map[string]string{"json": ScheduleName, "program": "best.program.json"} {
		want, err := os.ReadFile(filepath.Join(oldRun, file))
		if err != nil {
			t.Fatal(err)
		}
		if got := exportOld(t, dir, format); got != string(want) {
			t.Errorf("%s is not as it was written:\n%s", format, got)
		}
	}
	v, err := Verify(t.Context(), oldTable, filepath.Join(dir, ScheduleName), []uint64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range v.Steps {
		if s.Err != nil && s.Name != "best.trace.json" {
			t.Errorf("verification: %s: %v", s.Name, s.Err)
		}
	}
	old, err := os.ReadFile(filepath.Join(dir, results.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	report, err := Resume(context.Background(), oldTable, dir, Changes{Budget: search.Budget{Evaluations: oldTrials + 10}})
	if err != nil || report.Result.Told != oldTrials+10 || report.Schedule == nil {
		t.Fatalf("resume: %+v, %v", report, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, results.JournalName)); err != nil || !bytes.HasPrefix(data, old) {
		t.Errorf("the journal does not go on where it was: %v", err)
	}
	if n, err := Replay(oldTable, dir); n != oldTrials+10 || err != nil {
		t.Errorf("replay of the resumed run: %d, %v", n, err)
	}
}

// TestOldRunCutOff: resumed where it was cut off, in the middle of a record, the run asks and measures what it did then.
func TestOldRunCutOff(t *testing.T) {
	dir := copyOld(t, results.JournalName, func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		return strings.Join(lines[:12], "") + lines[12][:40]
	})
	report, err := Resume(context.Background(), oldTable, dir, Changes{})
	if err != nil || report.Result.Told != oldTrials {
		t.Fatalf("resume: %+v, %v", report, err)
	}
	rows := func(dir string) [][]string {
		all, err := csv.NewReader(strings.NewReader(exportOld(t, dir, "csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got, want := rows(dir), rows(oldRun); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the run has found\n%q, want\n%q", got, want)
	}
}

// TestOldKernelRefused: the tree-hash kernel has changed since, which a line says.
func TestOldKernelRefused(t *testing.T) {
	table := kernels.Table{treehash.Kernel{}}
	_, replayed := Replay(table, oldRun)
	_, resumed := Resume(t.Context(), table, copyOld(t, "", nil), Changes{})
	for what, err := range map[string]error{"replay": replayed, "resume": resumed} {
		if err == nil || !strings.Contains(err.Error(), "the run was made with version 5 of kernel treehash; this is version ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want a line that says so", what, err)
		}
	}
}

// TestOldRunRefused: what a run of another version of its kernel found does not hold, which a line says.
func TestOldRunRefused(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"kernel_version": "5"`, `"kernel_version": "4"`}:                       "the run was made with version 4 of kernel treehash",
		{`"space_fingerprint": "31ae`, `"space_fingerprint": "0000`}:             "the run searched another space",
		{`"strategy_config": ""`, `"strategy_config": "","strategy_version":99`}: "version 99",
	} {
		dir := copyOld(t, results.SettingsName, func(text string) string {
			if !strings.Contains(text, change[0]) {
				t.Fatalf("%s has no %s", results.SettingsName, change[0])
			}
			return strings.Replace(text, change[0], change[1], 1)
		})
		_, replayed := Replay(oldTable, dir)
		_, resumed := Resume(context.Background(), oldTable, dir, Changes{})
		for what, err := range map[string]error{"replay": replayed, "resume": resumed} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want a line that says %q", what, err, want)
			}
		}
	}
}
