package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/all"
	"tune/kernels/model"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/results"
	"tune/results/schedule"
	"tune/space"
)

// sizes are those of a small model. Where weights have no blocks, odd has rows that do not begin with a line of the cache.
const (
	sizes = `"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "intermediate_size": 96, "vocab_size": 90, "num_hidden_layers": 3`
	odd   = `"hidden_size": 72, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 24, "intermediate_size": 90, "vocab_size": 91, "num_hidden_layers": 3`
)

// configOf reads a config.
func configOf(t *testing.T, text string) *model.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := model.ReadFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unmeasured makes the library of a model from the plain forms, with made-up costs.
func unmeasured(t *testing.T, config string, o model.Options) (*maker, *Report) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	host := nativetest.Hasty()
	t.Cleanup(func() { host.Close() })
	find := all.Table(host).Lookup
	plan, err := NewPlan(configOf(t, config), o, "", find, "machine")
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{Options: Options{Plan: plan, Dir: t.TempDir(), Find: find, Version: "1"}}
	if err := begin(m.Dir); err != nil {
		t.Fatal(err)
	}
	if err := plan.claim(m.Dir); err != nil {
		t.Fatal(err)
	}
	if err := m.load(true); err != nil {
		t.Fatal(err)
	}
	for i, task := range m.tasks {
		k, err := task.open()
		if err != nil {
			t.Fatal(err)
		}
		point := k.Problem.Presets()[0].Point
		c, err := k.Build(context.Background(), point, nil)
		if err != nil {
			t.Fatal(err)
		}
		program, build, err := filesOf(c)
		if err != nil {
			t.Fatal(err)
		}
		row := Row{Task: task.Name, Point: point.Key(), Before: 2000, After: 1000 + float64(i), Ratio: 2, PeakShare: 0.5}
		if err := m.write(task, program, build, &row); err != nil {
			t.Fatal(err)
		}
		if err := m.keep(row); err != nil {
			t.Fatal(err)
		}
		task.row = &row
	}
	r, err := m.finish()
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

// steps are models whose layers are run with guard pages and canaries.
var steps = []struct {
	name, config string
	options      model.Options
	stress       bool
}{
	// Biases, several sequences and a prompt.
	{"qwen2", `{"model_type": "qwen2", ` + sizes + `}`, model.Options{Quant: "q4_0", Contexts: []int{9}, Batches: []int{3}, Prompt: 5}, false},
	{"qwen3", `{"model_type": "qwen3", "attention_bias": true, ` + odd + `}`, model.Options{Quant: "bf16", Contexts: []int{9}, Batches: []int{2}, Prompt: 5}, true},
	{"gemma", `{"model_type": "gemma", ` + odd + `}`, model.Options{Quant: "f16", Contexts: []int{9}, Batches: []int{2}}, true},
	{"gemma3", `{"model_type": "gemma3_text", "sliding_window": 4, "sliding_window_pattern": 2, ` + sizes + `}`, model.Options{Quant: "q8_0", Contexts: []int{9, 33}, Batches: []int{3}, Prompt: 5}, true},
	// All layers have a window, and the prompt is longer.
	{"mistral", `{"model_type": "mistral", "sliding_window": 4, ` + sizes + `}`, model.Options{Quant: "q4_0", Contexts: []int{9}, Batches: []int{1}, Prompt: 5}, true},
	{"phi", `{"model_type": "phi", ` + sizes + `}`, model.Options{Quant: "q5_1", Contexts: []int{9}, Batches: []int{3}, Prompt: 5}, true},
}

// runSteps runs the layers of the models.
func runSteps(t *testing.T, stress bool) {
	for _, test := range steps {
		if test.stress != stress {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, r := unmeasured(t, test.config, test.options)
			run := func(name string, args ...string) string {
				c := exec.Command(name, args...)
				c.Dir = r.Dir
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%s %v: %v\n%s", name, args, err, out)
				}
				return string(out)
			}
			if _, err := exec.LookPath("make"); err != nil {
				t.Skip(err)
			}
			if out := run("make", "-s", "CFLAGS=-Wall -Wextra -Werror", "bench", "check"); !strings.Contains(out, "none wrote beside an array") || !strings.HasSuffix(out, "all right\n") {
				t.Errorf("make check: %s", out)
			}
			if out := run("./bench", "--tokens", "3", "--memory", "1"); !strings.Contains(out, "the parts alone take") {
				t.Errorf("bench: %s", out)
			}
		})
	}
}

// TestSteps: the program of a library runs the layers of a model, and no kernel writes beside its arrays.
func TestSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	runSteps(t, false)
}

// TestDebug: a kernel that writes one element too many, before or behind its result, is found and named.
func TestDebug(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	m, r := unmeasured(t, `{"model_type": "llama", `+strings.Replace(sizes, `"vocab_size": 90`, `"vocab_size": 91`, 1)+`}`, model.Options{Quant: "q8_0", Contexts: []int{9}, Batches: []int{1}})
	name := m.Plan.function(m.tasks[0].Name)
	for _, task := range m.tasks {
		if task.Roles[0] == model.RoleHead {
			name = m.Plan.function(task.Name)
		}
	}
	source := filepath.Join(r.Dir, "src", name+".c")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ write, want string }{
		{"c[91] = 1;", name[len(r.Name)+1:] + " wrote 1 bytes behind logits"},
		{"c[-1] = 1;", " bytes before logits"},
	} {
		planted := string(text) + "\n"
		at := strings.LastIndex(planted, "}")
		if err := os.WriteFile(source, []byte(planted[:at]+"\t"+test.write+"\n"+planted[at:]), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("make", "-s", "bench-debug")
		c.Dir = r.Dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		c = exec.Command("./bench-debug", "--tokens", "1")
		c.Dir = r.Dir
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v\n%s", test.write, err, out)
		}
	}
}

// TestExamine: shapes that a kernel refuses are found before anything is searched.
func TestExamine(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	host := native.NewHost(native.HostOptions{})
	t.Cleanup(func() { host.Close() })
	find := all.Table(host).Lookup
	for _, test := range []struct{ model, quant, want string }{
		{"0.5b", "q4_0", ""}, {"7b", "q4_k", ""}, {"8b", "q4_0", ""},
		{"8b", "bf16", "vocabulary of 8b: shape: m=1,n=128256,k=4096: a matrix may have at most 268435456 elements: another --quant"},
	} {
		c, err := model.ReadFile("../../configs/models/"+test.model+".json", "")
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(c, model.Options{Quant: test.quant, Contexts: []int{64}, Batches: []int{1}}, "", find, "")
		if err != nil {
			t.Fatal(err)
		}
		m := &maker{Options: Options{Plan: p, Dir: t.TempDir(), Find: find}}
		if err := m.load(true); err != nil {
			t.Fatal(err)
		}
		if err := m.examine(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, %s: %v, want %q", test.model, test.quant, err, test.want)
		}
	}
}

// offering is a kernel that knows some libraries.
type offering []string

func (offering) Space() *space.Space                                           { return nil }
func (offering) Presets() []kernels.Preset                                     { return nil }
func (offering) Build(context.Context, space.Point) (kernels.Candidate, error) { return nil, nil }
func (o offering) Traits() kernels.Traits {
	return kernels.Traits{Peers: func(names []string) ([]kernels.Peer, error) {
		for _, name := range names {
			if !slices.Contains(o, name) {
				return nil, fmt.Errorf("unknown peer %q", name)
			}
		}
		return nil, nil
	}}
}

// TestPeers: each kernel is measured beside those of the named libraries that it knows, and one that no kernel knows is refused before anything
// is searched.
func TestPeers(t *testing.T) {
	fit, others := peersOf(&kernels.Opened{Problem: offering{"a", "c"}}, []string{"a", "b", "c"})
	if !slices.Equal(fit, []string{"a", "c"}) || len(others) != 1 || others["b"].Error() != `unknown peer "b"` {
		t.Errorf("%q, %v", fit, others)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	host := native.NewHost(native.HostOptions{})
	t.Cleanup(func() { host.Close() })
	find := all.Table(host).Lookup
	p, err := NewPlan(configOf(t, `{"model_type": "llama", `+sizes+`}`), model.Options{Quant: "q4_0", Contexts: []int{8}, Batches: []int{1}}, "", find, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = Make(t.Context(), Options{Plan: p, Dir: dir, Find: find, Evaluations: 1, Peers: []string{"opneblas"}})
	if wrong, ok := errors.AsType[*PeersError](err); !ok || !strings.Contains(wrong.Error(), `unknown peer "opneblas": want `) {
		t.Errorf("an unknown library: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, tuningDir, runsDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was searched: %v", err)
	}
}

// TestReport: a token is the sum of its calls, and shares are parts of it.
func TestReport(t *testing.T) {
	p, err := NewPlan(configOf(t, `{"model_type": "llama", `+sizes+`}`), model.Options{Quant: "q4_0", Contexts: []int{8}, Batches: []int{1, 2}, Prompt: 4}, "x", all.Table(nil).Lookup, "")
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{Options: Options{Plan: p, Dir: "x"}}
	for _, one := range p.Tasks {
		m.tasks = append(m.tasks, &task{Task: one, row: &Row{Task: one.Name, Before: 300, After: 100, Ratio: 3, PeakShare: 0.25, Searched: one.Kernel == "qgemm", Peer: "p", PeerRatio: 1.5, Peers: map[string]float64{"p": 150}}})
	}
	r := m.report()
	for i, s := range r.Scenarios {
		calls, before, after := 0, 0.0, 0.0
		for _, o := range p.Scenarios[i].Operations {
			calls += o.Calls
		}
		for _, one := range r.Tasks {
			before += one.Before[i]
			after += one.After[i]
		}
		want := float64(calls) * 100e-9 / float64(s.Tokens)
		if near(s.After, want) || near(s.Before, 3*want) || near(before, 1) || near(after, 1) || near(s.PeakShare, 0.25) || near(s.Beside, want) || near(s.OfPeers, 1.5*want) {
			t.Errorf("%s: a token takes %v and %v of %v, shares add up to %v and %v", s.Name, s.Before, s.After, want, before, after)
		}
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"decoding of 2 sequences, with a context of 8 tokens", "prompt of 4 tokens", "3.00 times as fast", "25 % of the roofs", "1.50 times as fast", "p 150.0 ns", "\nnote     the budget did not reach", "not searched"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	for want, row := range map[string]Row{
		"not searched": {Ratio: 1}, "3.00": {Searched: true, Ratio: 3}, "3.00 ?": {Searched: true, Ratio: 3, Unverified: true},
		"3.00 [2.50, 3.50]": {Searched: true, Ratio: 3, Low: 2.5, High: 3.5},
	} {
		if got := row.Gain(); got != want {
			t.Errorf("the gain of %+v is %q, want %q", row, got, want)
		}
	}
}

// TestGuard: a kernel that is the plain form is checked alone, and another one is held to its recorded ratio.
func TestGuard(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	m, r := unmeasured(t, `{"model_type": "llama", `+sizes+`}`, model.Options{Quant: "q8_0", Contexts: []int{9}, Batches: []int{1}})
	slack := 9.0
	guard := func() ([]*schedule.Guarded, error) {
		return Guard(t.Context(), GuardOptions{Dir: r.Dir, Find: m.Find, Guard: schedule.GuardOptions{Slack: &slack, Limit: 5 * time.Minute, Seeds: []uint64{1, 2}}})
	}
	found, err := guard()
	if err != nil || len(found) != len(m.tasks) {
		t.Fatalf("%d of %d kernels, %v", len(found), len(m.tasks), err)
	}
	for i, g := range found {
		if !g.Itself || g.Standing != schedule.Holds || g.Name != r.Dir+": "+m.tasks[i].Name {
			t.Errorf("%s: %s", g.Name, g.Words())
		}
	}
	// The rest is tried with the first kernel that has another point which is right.
	task := m.tasks[0]
	k, err := task.open()
	if err != nil {
		t.Fatal(err)
	}
	presets := k.Problem.Presets()
	row := *task.row
	row.Point = presets[len(presets)-1].Point.Key()
	if row.Point == task.row.Point {
		t.Fatalf("%s has one preset alone", task.Name)
	}
	path := filepath.Join(r.Dir, tuningDir, measuredName)
	rows, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, others, _ := strings.Cut(string(rows), "\n")
	for _, c := range []struct {
		ratio float64
		point string
		want  schedule.GuardStanding
	}{{0, row.Point, schedule.Holds}, {1e6, row.Point, schedule.Slowed}, {0, "none=1", ""}} {
		row.Ratio, row.Low, row.High, row.Point = c.ratio, c.ratio, c.ratio, c.point
		line, err := json.Marshal(row)
		if err == nil {
			err = os.WriteFile(path, []byte(string(line)+"\n"+others), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := guard()
		if c.want == "" {
			if err == nil || !strings.HasPrefix(err.Error(), path+": field point of "+task.Name+": ") || !strings.HasSuffix(err.Error(), ": remove its line, and the command that began the library measures it again") {
				t.Errorf("a point that is none: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if g := found[0]; g.Itself || g.Standing != c.want || g.Recorded != c.ratio {
			t.Errorf("recorded %v: %s", c.ratio, g.Words())
		}
	}
}

// TestReadReport: a manifest of another format is not read.
func TestReadReport(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{"format": 99, "tasks": [{}]}`: "manifest.json: format is 99, want 1: another version of tune wrote it",
		`{"format": 1, "tasks": [{}]}`:  "",
	} {
		if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := ReadReport(dir)
		if want == "" && (err != nil || len(r.Tasks) != 1) || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

// near reports whether two numbers differ.
func near(a, b float64) bool { return a < b*(1-1e-9) || a > b*(1+1e-9) }

// TestRows: a line that was cut off is removed, and one that is wrong is named.
func TestRows(t *testing.T) {
	m := &maker{Options: Options{Dir: t.TempDir()}}
	if err := os.MkdirAll(filepath.Join(m.Dir, tuningDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := m.keep(Row{Task: name, Point: "é"}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(m.Dir, tuningDir, measuredName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		// Who only reads leaves the line: a tune may be writing it.
		only, err := readRows(path, false)
		if is, rerr := os.ReadFile(path); err != nil || rerr != nil || len(is) != cut {
			t.Fatalf("cut at %d, and only read: %d bytes are left: %v, %v", cut, len(is), err, rerr)
		}
		rows, err := readRows(path, true)
		if err != nil || len(rows) != len(only) {
			t.Fatalf("cut at %d: %d rows, only read %d: %v", cut, len(rows), len(only), err)
		}
		if err := m.keep(Row{Task: "c"}); err != nil {
			t.Fatal(err)
		}
		again, err := readRows(path, true)
		if err != nil || len(again) != len(rows)+1 || again[len(rows)].Task != "c" {
			t.Fatalf("cut at %d: %d rows, then %d, %v", cut, len(rows), len(again), err)
		}
	}
	if err := os.WriteFile(path, []byte("{}\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRows(path, false); err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), ": remove the line, and what it measured is measured again") {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		`{"format": 99}`: "field format is 99, want 1: another version of tune began this library: give --out a new folder",
		`{"format": 1, "model": {}, "tasks": [{"name": "x"}]}`: "the tasks are not those of the scenarios: give --out a new folder",
	} {
		if err := os.WriteFile(filepath.Join(m.Dir, tuningDir, planName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readPlan(m.Dir); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestPlan: names that cannot be those of functions and kernels that are not there are refused, and so is the directory of another plan.
func TestPlan(t *testing.T) {
	c := configOf(t, `{"model_type": "llama", `+sizes+`}`)
	o := model.Options{Quant: "q4_0", Contexts: []int{8}, Batches: []int{1}}
	known := all.Table(nil)
	for _, test := range []struct {
		name string
		o    model.Options
		find func(string) (kernels.Kernel, error)
		want string
	}{
		{"a b", o, known.Lookup, "cannot be the name of a function"},
		{"", model.Options{Quant: "q4_0"}, known.Lookup, "there is nothing to do"},
		{"", o, kernels.Table{}.Lookup, `unknown kernel "rowwise"`},
	} {
		if _, err := NewPlan(c, test.o, test.name, test.find, ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.name, err, test.want)
		}
	}
	p, err := NewPlan(c, o, "", known.Lookup, "")
	if err != nil || p.Name != "tiny" {
		t.Fatalf("%+v, %v", p, err)
	}
	dir := t.TempDir()
	if err := begin(dir); err != nil {
		t.Fatal(err)
	}
	// Of two that begin at once, the one that is locked out writes no plan.
	lock, err := results.Lock(filepath.Join(dir, tuningDir))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Make(t.Context(), Options{Plan: p, Dir: dir, Find: known.Lookup})
	if _, used := errors.AsType[*results.InUseError](err); !used {
		t.Errorf("a folder of another process: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, tuningDir, planName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plan in the folder of another process: %v", err)
	}
	if err := errors.Join(lock.Close(), p.claim(dir)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(begin(dir), p.claim(dir)); err != nil {
		t.Errorf("the same again: %v", err)
	}
	p.Notes, p.Model.Notes = []string{"elsewhere/tiny.json:1:2: a note"}, []string{"elsewhere/tiny.json:1:2: a note"}
	if err := p.claim(dir); err != nil || len(p.Notes)+len(p.Model.Notes) > 0 {
		t.Errorf("the same by another path: %v, %q", err, p.Notes)
	}
	p.Quant = "q8_0"
	if err := p.claim(dir); err == nil || !strings.Contains(err.Error(), "it was begun for another model") {
		t.Errorf("another plan: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := begin(other); err == nil || !strings.Contains(err.Error(), "it holds mine") {
		t.Errorf("a folder that is in use: %v", err)
	}
	for text, want := range map[string]string{"0.5b": "model_0_5b", "Qwen2.5-7B": "qwen2_5_7b", "int": "model_int", "": "model_"} {
		if got := identifier(text); got != want {
			t.Errorf("%q makes %q, want %q", text, got, want)
		}
	}
}
