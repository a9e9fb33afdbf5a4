package tune

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels"
	"tune/results/schedule"
	"tune/search"
	"tune/space"
)

// words is a toy whose other parameters have values of every kind.
type words struct {
	toy
	when string // the condition of the last parameter; "" for none
}

func (k words) Problem(kernels.Shape) (kernels.Problem, error) {
	flag := space.Enum("flag", "-O2", "-O3")
	if k.when != "" {
		flag = flag.If(k.when)
	}
	sp, err := space.New("words", []space.Parameter{
		space.Range("n", 1, k.size), space.Enum("text", "12", "b c", "true"), space.Bool("on"), space.Floats("share", 0.25, 1), flag,
	})
	return &wordsProblem{toyProblem{k.toy, sp}}, err
}

type wordsProblem struct{ toyProblem }

func (p *wordsProblem) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Doc: "the default of every parameter", Point: p.space.Default()}}
}

// TestExportUnknown: of a run whose kernel is not there, everything but the trace is exported as with the kernel, byte for byte.
func TestExportUnknown(t *testing.T) {
	k := words{toy: toy{size: 4, cost: func(n int) float64 { return float64(10 - n) }}}
	dir := runToy(t, k, Options{Strategy: "grid"}).Dir
	without := func(format string) (string, error) {
		var b bytes.Buffer
		err := Export(t.Context(), nil, dir, format, &b)
		return b.String(), err
	}
	for _, format := range Formats {
		if format == "trace" {
			if _, err := without(format); err == nil || !strings.Contains(err.Error(), `unknown kernel "toy"`) || !strings.Contains(err.Error(), "without it there is no trace") {
				t.Errorf("%s: %v", format, err)
			}
			continue
		}
		got, err := without(format)
		if want := export(t, k, dir, format); err != nil || got != want {
			t.Errorf("%s: %v, and this is exported:\n%s\nwant\n%s", format, err, got, want)
		}
	}

	var picked bytes.Buffer
	if err := (schedule.Exporter{Pick: "min cost"}).Export(t.Context(), dir, "json", &picked); err == nil || !strings.Contains(err.Error(), "without it no point of the front can be built") {
		t.Errorf("a point that is picked: %v\n%s", err, picked.String())
	}

	// What was changed, or is missing, is refused: nothing can be made again.
	best := filepath.Join(dir, ScheduleName)
	text, err := os.ReadFile(best)
	if err != nil {
		t.Fatal(err)
	}
	cost := []byte(`"cost": 6`)
	if !bytes.Contains(text, cost) {
		t.Fatalf("the schedule has no %s:\n%s", cost, text)
	}
	replaced := func(text []byte, old, by string) []byte { return bytes.Replace(text, []byte(old), []byte(by), 1) }
	cheaper := replaced(text, `"cost": 6`, `"cost": 5`)
	for _, c := range []struct {
		name string
		file string
		text []byte // nil removes the file
		want string
	}{
		{"program", "best.program.json", []byte("3\n"), "best.program.json"},
		{"cost", ScheduleName, cheaper, "field ratio is 1.5, and the costs give 1.8: it was edited"},
		{"cost and ratio", ScheduleName, replaced(cheaper, `"ratio": 1.5`, `"ratio": 1.8`), "field cost is 5, and the least cost in journal.jsonl is 6"},
		{"the baseline's cost", ScheduleName, replaced(replaced(replaced(text, `"cost": 6`, `"cost": 9`), `"ratio": 1.5`, `"ratio": 1`), `"faster"`, `"no gain"`), "which is not one of the best of the run"},
		{"seed", ScheduleName, replaced(text, `"seed": 0`, `"seed": 8`), "field seed is"},
		{"version", ScheduleName, replaced(text, `"kernel_version": "1"`, `"kernel_version": "2"`), `fields unit and kernel_version are "cycles" and "2", and run.json of the run says`},
		{"no schedule", ScheduleName, nil, ScheduleName + " is missing"},
	} {
		path := filepath.Join(dir, c.file)
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.text == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, c.text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"json", "program"} {
			if out, err := without(format); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "the program that made the run writes it when it goes on with the run") {
				t.Errorf("%s, %s: %v\n%s", c.name, format, err, out)
			}
		}
		if _, err := without("recorded"); (err != nil) != (c.text == nil) || err != nil && !strings.Contains(err.Error(), " is missing, which says of what kind the values are: ") {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := os.WriteFile(path, old, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExportUnknownStale: a schedule from before the run went on is refused.
func TestExportUnknownStale(t *testing.T) {
	k := toy{size: 6, cost: func(n int) float64 { return float64(10-n) + float64(n/6*90) }} // the last one is the baseline
	dir := runToy(t, k, Options{Strategy: "grid", Budget: search.Budget{Evaluations: 2}}).Dir
	kept := map[string][]byte{}
	for _, name := range []string{ScheduleName, "best.program.json", "best.trace.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		kept[name] = text
	}
	if _, err := Resume(t.Context(), kernels.Table{k}, dir, Changes{Budget: search.Budget{Evaluations: 5}}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Export(t.Context(), nil, dir, "json", &b); err != nil || b.String() != export(t, k, dir, "json") {
		t.Fatalf("%v\n%s", err, b.String())
	}
	for name, text := range kept {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := Export(t.Context(), nil, dir, "json", &b); err == nil || !strings.Contains(err.Error(), "which is not one of the best of the run") {
		t.Errorf("a schedule of an earlier state: %v", err)
	}
}

// TestExportUnknownInactive: only the kernel knows what to write for a parameter that a point does not have.
func TestExportUnknownInactive(t *testing.T) {
	k := words{toy: toy{size: 4}, when: "on"}
	dir := runToy(t, k, Options{Strategy: "grid"}).Dir
	var b bytes.Buffer
	err := Export(t.Context(), nil, dir, "recorded", &b)
	if err == nil || !strings.Contains(err.Error(), "has no value of flag, and only the program that made the run knows its default: let that program call tune.Export") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := Export(t.Context(), nil, dir, "csv", &b); err != nil || !strings.Contains(b.String(), ",n,text,on,share,flag,reason") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
