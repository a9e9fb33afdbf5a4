package strategies_test

import (
	"slices"
	"strings"
	"testing"

	"tune/search/strategies"
)

func parse(t *testing.T, text string) strategies.Strategy {
	t.Helper()
	s, err := strategies.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestParse: a text is read, and written with what is not the default alone. What is written is read as the same.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"auto":                           "auto",
		"grid":                           "grid",
		"auto:lead=100,batch=16":         "auto:lead=100,batch=16",
		"auto:batch=16, lead=100":        "auto:lead=100,batch=16",
		"auto:lead=150":                  "auto",
		"auto:evolve=true,ils=false":     "auto:ils=false,evolve=true",
		"auto:exploration=.5":            "auto:exploration=0.5",
		"evolve:population=60":           "evolve:population=60,elites=10",
		"evolve:population=60,elites=4":  "evolve:population=60,elites=4",
		"evolve:population=60,elites=10": "evolve:population=60,elites=10",
		"diffevo:population=4":           "diffevo:population=4,batch=4",
		"random:batch=1":                 "random:batch=1",
		"surrogate:centre=false":         "surrogate:centre=false",
	} {
		s := parse(t, text)
		if s.Text() != want {
			t.Errorf("%s is written as %s, not %s", text, s.Text(), want)
		}
		if again := parse(t, s.Text()); again.Config() != s.Config() {
			t.Errorf("%s is read as %s, and was %s", s.Text(), again.Config(), s.Config())
		}
		if again := parse(t, s.Name+":"+s.Config()); again.Config() != s.Config() || again.Text() != s.Text() {
			t.Errorf("%s is read as %s", s.Config(), again.Config())
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `unknown strategy "": want auto,`,
		"atuo:lead=100":               `unknown strategy "atuo": want auto, evolve, surrogate, anneal, ils, diffevo, swarm, nsga2, random, grid (did you mean "auto"?)`,
		"auto:":                       `auto: "" is not of the form constant=value: want lead, window,`,
		"auto:leed=100":               `auto: unknown constant leed: want lead, window, exploration, batch,`,
		"auto:lead":                   `auto: lead has no value: want a whole number from 1 to 1000000`,
		"auto:lead=0":                 `auto: lead is 0: want a whole number from 1 to 1000000`,
		"auto:lead=ten":               `auto: lead is ten: want a whole number from 1 to 1000000`,
		"auto:lead=1,lead=1":          `auto: lead is there twice`,
		"evolve:elites=24":            `evolve: elites is 24: want 1 to 23, as population is 24`,
		"diffevo:batch=17":            `diffevo: batch is 17: want 1 to 16, as population is 16`,
		"anneal:cooling=1":            `anneal: cooling is 1: want a number from 0.01 to 0.9999`,
		"surrogate:centre=no":         `surrogate: centre is no: want true or false`,
		"random:batch=64:batch=64":    `random: batch is 64:batch=64: want a whole number from 1 to 100000`,
		"swarm:inertia=0.5,particle=": `swarm: unknown constant particle: want particles, batch, inertia, own, all, patience (did you mean "particles"?)`,
	} {
		if _, err := strategies.Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, not %s", text, err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for list, want := range map[string][]string{
		"auto":                                  {"auto"},
		"auto,evolve":                           {"auto", "evolve"},
		"auto, evolve":                          {"auto", "evolve"},
		"auto,auto:lead=50,batch=16,evolve":     {"auto", "auto:lead=50,batch=16", "evolve"},
		"ils:kick=2,pairs=3,ils:kick=1,pairs=4": {"ils:kick=2,pairs=3", "ils:kick=1,pairs=4"},
		"lead=50,auto":                          {"lead=50", "auto"},
		"auto,lead=50":                          {"auto,lead=50"}, // which Parse refuses
	} {
		if got := strategies.Split(strings.Split(list, ",")); !slices.Equal(got, want) {
			t.Errorf("%s is split into %q", list, got)
		}
	}
}

// TestRecorded: what a run has recorded is read as the strategy that it had. A run of before constants were recorded had the
// defaults of version 1.
func TestRecorded(t *testing.T) {
	for _, text := range []string{"auto", "auto:lead=100,evolve=true", "evolve:population=60,elites=4"} {
		s := parse(t, text)
		again, err := strategies.Recorded(s.Name, s.Config(), s.Version)
		if err != nil || again.Config() != s.Config() {
			t.Errorf("%s is recorded as %s, which is read as %s, %v", text, s.Config(), again.Config(), err)
		}
		if label := strategies.Label(s.Name, s.Config(), s.Version); label != text {
			t.Errorf("%s is shown as %s", text, label)
		}
	}
	for _, entry := range strategies.Table() {
		if entry.Version != 1 {
			continue
		}
		old, err := strategies.Recorded(entry.Name, "", 0)
		if err != nil || old.Config() != entry.Config() {
			t.Errorf("an old run with %s had %s, %v", entry.Name, old.Config(), err)
		}
	}
	if _, err := strategies.Recorded("auto", "leed=3", 1); err == nil || !strings.HasPrefix(err.Error(), "the recorded constants of the strategy: auto: unknown constant leed: ") {
		t.Errorf("a constant that there is not: %v", err)
	}
	if _, err := strategies.Recorded("auot", "", 1); err == nil {
		t.Error("an unknown strategy was taken")
	}
	_, err := strategies.Recorded("auto", "lead=3", 7)
	if err == nil || err.Error() != "the run was made with version 7 of strategy auto; this is version 1, which asks for other points: start a new run" {
		t.Errorf("another version: %v", err)
	}
	if label := strategies.Label("auto", "leed=3", 1); label != "auto" {
		t.Errorf("what cannot be read is shown as %s", label)
	}
}

// TestAgrees: a run goes on with the strategy and constants that it has; who names some of them must name these.
func TestAgrees(t *testing.T) {
	s := parse(t, "auto:lead=100,evolve=true")
	for _, text := range []string{"auto", "auto:lead=100", "auto:window=60,lead=100", "auto:evolve=true"} {
		if err := s.Agrees(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"evolve":            "the run has strategy auto:lead=100,evolve=true, not evolve: ",
		"auto:lead=150":     "the run has strategy auto:lead=100,evolve=true, not auto:lead=150: ",
		"auto:evolve=false": "the run has strategy auto:lead=100,evolve=true, not auto:evolve=false: ",
		"auto:leed=100":     "auto: unknown constant leed",
		"auot":              `unknown strategy "auot"`,
	} {
		if err := s.Agrees(text); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %v, not %s", text, err, want)
		}
	}
}

// FuzzParse: no text is more than an error, and what is read can be written, recorded and read again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"auto", "auto:lead=100,batch=16", "evolve:population=60,elites=4", "ils:", "swarm:own=1e-2", "x:=,", "anneal:cooling=0x1p-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := strategies.Parse(text)
		if err != nil {
			return
		}
		again, err := strategies.Parse(s.Text())
		if err != nil || again.Config() != s.Config() {
			t.Fatalf("%q is written as %q, which is %q, %v", text, s.Text(), again.Config(), err)
		}
		if pieces := strategies.Split(strings.Split(s.Text(), ",")); len(pieces) != 1 || pieces[0] != s.Text() {
			t.Fatalf("%q is split into %q", s.Text(), pieces)
		}
		recorded, err := strategies.Recorded(s.Name, s.Config(), s.Version)
		if err != nil || recorded.Text() != s.Text() || recorded.Agrees(text) != nil {
			t.Fatalf("%q is recorded as %q, which is %q, %v, %v", text, s.Config(), recorded.Text(), err, recorded.Agrees(text))
		}
	})
}
