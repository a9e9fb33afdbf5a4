package main

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"tune/configs"
	"tune/search"
)

// read reads settings as run does.
func read(t *testing.T, args []string, config string, environ ...string) (settings, error) {
	t.Helper()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	addSettings(flags, "shape", "strategy", "seed", "budget", "evals", "target", "jobs", "final", "out", "dir")
	flags.String("config", "", "")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return readSettings(flags, config, environ)
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	got, err := read(t, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	want := settings{kernel: "treehash", seed: 1, out: "runs", from: map[string]string{},
		texts: map[string]string{"kernel": "treehash", "seed": "1", "out": "runs"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPrecedence(t *testing.T) {
	config := writeConfig(t, "kernel: k\nshape: a=1\nstrategy: random\nseed: 2\nbudget: 1m\nevals: 5\ntarget: 1.5\njobs: 3\nout: o\ndir: d\nfinal: 5s\n")
	got, err := read(t, []string{"--seed", "4", "--budget", "2h"}, config, "TUNE_SEED=3", "TUNE_JOBS=8", "HOME=/", "TUNE_OUT=p")
	if err != nil {
		t.Fatal(err)
	}
	got.texts = nil // the tests of the command tune config look at them
	want := settings{
		kernel: "k", shape: "a=1", strategy: "random", seed: 4, jobs: 8, final: 5 * time.Second, out: "p", dir: "d",
		budget: search.Budget{Wall: 2 * time.Hour, Evaluations: 5}, target: "1.5",
		from: map[string]string{
			"kernel": config + ": line 1: kernel", "shape": config + ": line 2: shape", "strategy": config + ": line 3: strategy",
			"seed": "--seed", "budget": "--budget", "evals": config + ": line 6: evals", "target": config + ": line 7: target",
			"jobs": "environment: TUNE_JOBS", "out": "environment: TUNE_OUT", "dir": config + ": line 10: dir", "final": config + ": line 11: final",
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPresets: every preset can be read, and says what it is for.
func TestPresets(t *testing.T) {
	for _, name := range configs.Names() {
		s, err := read(t, nil, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if configs.Doc(name) == "" {
			t.Errorf("%s does not begin with a comment", name)
		}
		if s.budget.Wall == 0 && s.budget.Evaluations == 0 {
			t.Errorf("%s has no budget", name)
		}
	}
	if got := configs.Doc("none"); got != "" {
		t.Errorf("the doc of no preset is %q", got)
	}
}

// A command takes from the environment what it has a flag for, but knows every name.
func TestEnvironmentOfOtherCommands(t *testing.T) {
	flags := pflag.NewFlagSet("space", pflag.ContinueOnError)
	addSettings(flags, "shape")
	got, err := readSettings(flags, "", []string{"TUNE_SHAPE=a=1", "TUNE_BUDGET=60"})
	if err != nil || got.shape != "a=1" || got.budget.Wall != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := readSettings(flags, "", []string{"TUNE_SHPAE=a=1"}); err == nil || !strings.Contains(err.Error(), "did you mean TUNE_SHAPE?") {
		t.Errorf("error %v", err)
	}
}

// TestKept: what a run keeps is refused by the commands that go on with it, in words. Every other flag of run is one that a resumed run
// may have too, or is no part of a run.
func TestKept(t *testing.T) {
	noPart := []string{"config", "live", "help", "version"}
	for _, s := range settingTable {
		if s.of < ofRun || s.of > ofPlace {
			t.Errorf("setting %s does not say how long it holds", s.key)
		}
		if s.of == ofPlace {
			noPart = append(noPart, s.key)
		}
	}
	root := (&app{}).root()
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ofRuns {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		run.Flags().VisitAll(func(f *pflag.Flag) {
			called := kept(run.Flags(), f.Name)
			if other := c.Flags().Lookup(f.Name); other != nil && called != "" && f.Name != "strategy" { // which resume compares
				t.Errorf("tune %s has the flag --%s, and a run keeps its %s", name, f.Name, called)
			} else if other != nil {
				return
			}
			err := c.ParseFlags([]string{"--" + f.Name, "1"})
			want := "unknown flag: --" + f.Name + ": the run keeps its " + called + ": leave it out, or start a new run"
			switch {
			case called != "" && (err == nil || flagError(c, err).Error() != want):
				t.Errorf("tune %s --%s: %v", name, f.Name, flagError(c, err))
			case called == "" && name == "resume" && !slices.Contains(noPart, f.Name):
				t.Errorf("tune resume has no flag --%s, and the flag does not say that the run keeps it", f.Name)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1.5m": 90 * time.Second, " 10ms ": 10 * time.Millisecond, "3us": 3 * time.Microsecond,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"60": "60 has no unit", "0": "0: want more than 0, with a unit", "1e3": "1e3 has no unit", "-5": "-5: want more than 0, with a unit",
		"0s": "more than 0", "-1s": "more than 0",
		"5 min": "(did you mean 5m?)", "5 m": "is not a duration (did you mean 5m?)", "2hours": "(did you mean 2h?)", "3Sec": "(did you mean 3s?)",
		"4msec": "(did you mean 4ms?)", "1M": "(did you mean 1m?)",
		"2days": "a day is 24h",
		"":      "is not a duration", "s": "is not a duration", "inf": "is not a duration", "nan": "is not a duration",
		"1e400": "is not a duration", "9999999h": "is not a duration", "5parsecs": "is not a duration", "1h2": "is not a duration",
	} {
		got, err := parseDuration(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestParseSeed(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "18446744073709551615": math.MaxUint64} {
		if got, err := parseSeed(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.0", "1e3", "0x10", "1_000", "18446744073709551616", " 1"} {
		if got, err := parseSeed(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

// FuzzConfig: whatever a file holds, it is refused in one line, or every value comes out as it stands there.
func FuzzConfig(f *testing.F) {
	for _, name := range configs.Names() {
		text, err := configs.Read(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"", "#", "budget: 60", "budget: *a", "&a budget: &a 3s", "? [budget]\n: 3", "<<: {budget: 3s}", "seed: !!int '3'", "---\n...\n---\n",
		"shape: |\n  a=1\n", "{budget: 3s", "\x00", "budget: \"\\x00\"", "!!map {seed: 1}", "evals: 0o17", "dir: ~", "a: &a [*a]", "%YAML 1.1\n---\nseed: 1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, lines, err := parseConfig(data)
		if err != nil {
			if text := err.Error(); text == "" || strings.ContainsAny(text, "\n") {
				t.Errorf("the error is %q", text)
			}
			return
		}
		if len(values) != len(lines) {
			t.Fatalf("%d values with %d lines", len(values), len(lines))
		}
		for key, value := range values {
			if _, ok := value.(string); !ok {
				t.Errorf("%s is %v, of type %T", key, value, value)
			}
			if lines[key] < 1 {
				t.Errorf("%s stands on line %d", key, lines[key])
			}
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, text := range []string{"90s", "60", "1h30min", "-1s", "1e3", "٣s", "µs", "1d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err == nil && d <= 0 {
			t.Errorf("%q is %v", text, d)
		}
		want, werr := time.ParseDuration(strings.TrimSpace(text))
		if err == nil && (werr != nil || want != d) {
			t.Errorf("%q is %v, not %v (%v)", text, d, want, werr)
		}
	})
}
