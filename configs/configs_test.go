package configs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"tune/configs"
	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/user"
	"tune/search"
	"tune/search/strategies"
)

// run is what a preset, or the section run of an example, says of a search.
type run struct {
	Kernel   string
	Shape    string
	Strategy string
	Seed     uint64
	Budget   string
	Evals    int
	Target   *float64
	Jobs     int
}

// check reports what no run can be started with.
func (r run) check(t *testing.T, k kernels.Kernel) {
	t.Helper()
	budget := search.Budget{Evaluations: r.Evals, Target: r.Target}
	if r.Budget != "" {
		d, err := time.ParseDuration(r.Budget)
		if err != nil || d <= 0 {
			t.Errorf("the budget is %q: %v", r.Budget, err)
		}
		budget.Wall = d
	}
	if budget.Wall == 0 && budget.Evaluations == 0 {
		t.Error("it has no budget")
	}
	if err := (search.Settings{Budget: budget, Jobs: r.Jobs}).Validate(); err != nil {
		t.Error(err)
	}
	shape, err := kernels.ParseShape(k.Info().Shape, r.Shape)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := k.Problem(shape)
	if errors.Is(err, cc.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := problem.Space()
	if n, ok := s.Len(); ok && n < 2 {
		t.Errorf("its space has %d points", n)
	}
	for _, p := range problem.Presets() {
		if !p.Point.Space().Same(s) {
			t.Errorf("the point %s, %s, is none of the space", p.Name, p.Point)
		}
	}
	if len(problem.Presets()) == 0 {
		t.Error("there is nothing to compare with")
	}
	name := r.Strategy
	if name == "" {
		name = strategies.Default
	}
	strategy, err := strategies.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strategy.New(s, r.Seed, strategies.Hints{}); err != nil {
		t.Error(err)
	}
}

// decode reads YAML whose keys are all known.
func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// TestPresets: every preset can be read, says what it is for, and names what there is.
func TestPresets(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) != len(configs.Names()) {
		t.Errorf("the files are %v and the presets %v, %v", files, configs.Names(), err)
	}
	for _, name := range configs.Names() {
		t.Run(name, func(t *testing.T) {
			text, err := configs.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			onDisk, err := os.ReadFile(name + ".yaml")
			if err != nil || string(onDisk) != string(text) {
				t.Errorf("the file holds %q: %v", onDisk, err)
			}
			if doc := configs.Doc(name); doc == "" || strings.ContainsAny(doc, "#\n") {
				t.Errorf("its doc is %q", doc)
			}
			var r run
			decode(t, text, &r)
			k, err := all.Table(native.NewHost(native.HostOptions{})).Lookup(r.Kernel)
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, k)
		})
	}
}

// TestExamples: every example is a kernel of a user's own that can be read and searched.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the examples are %v: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			k, err := user.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !user.IsKernel(text) {
				t.Error("it is not seen to be a kernel")
			}
			if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); k.Info().Name != want || filepath.Base(filepath.Dir(file)) != want {
				t.Errorf("the kernel of %s is called %s", file, k.Info().Name)
			}
			if !strings.Contains(string(text), "tune run configs/"+file) {
				t.Error("it does not say how it is run")
			}
			var sections struct{ Kernel, Space, Source, Command, Run yaml.Node }
			decode(t, text, &sections)
			r := run{Evals: 1} // without a section, that is the user's choice
			if !sections.Run.IsZero() {
				r = run{}
				if err := sections.Run.Decode(&r); err != nil {
					t.Fatal(err)
				}
			}
			r.check(t, k.On(native.NewHost(native.HostOptions{})))
		})
	}
}

// TestUnknown: the error of a preset that does not exist names the nearest.
func TestUnknown(t *testing.T) {
	_, err := configs.Read("treehsh")
	if err == nil || !strings.Contains(err.Error(), `did you mean "treehash"?`) {
		t.Errorf("the error is %v", err)
	}
	if got := configs.Doc("treehsh"); got != "" {
		t.Errorf("its doc is %q", got)
	}
}
