package cheats

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tune"
	"tune/internal/trust/corpus"
	"tune/kernels/native/cc"
	"tune/space"
)

func TestMain(m *testing.M) {
	if IsChild() {
		Main()
	}
	os.Exit(m.Run())
}

// TestQuick is a part of what make trust does.
func TestQuick(t *testing.T) {
	if _, err := cc.Find(t.Context()); err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("runs kernels for half a minute; make trust runs all of them")
	}
	entries, err := selected("", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name, func(t *testing.T) {
			e.Repeat = 1                     // what happens by chance only, make trust tries more often
			e.Final = 100 * time.Millisecond // what make trust measures longer
			l, err := Try(t.Context(), e, 1) // what a busy machine does to times is no error here
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range l.Faults {
				if l.noisy {
					t.Log(fault) // Others may have the machine: a test does not depend on times, and the table does.
				} else {
					t.Error(fault)
				}
			}
			t.Logf("%s: %s", l.Status, l.Reason)
		})
	}
}

func TestJudge(t *testing.T) {
	cheat := corpus.Entry{Name: "x", Does: "y", Class: corpus.SkipsWork}
	wrong, honest, harmful := cheat, cheat, cheat
	wrong.Wrong = true
	honest.Class = corpus.Honest
	harmful.Class = corpus.HarmsOthers
	ok := func(cost float64) space.Outcome { return space.Outcome{Status: space.OK, Cost: cost} }
	refused := space.Fail(space.WrongAnswer, "out[3] is 1, want 2")
	// run returns what came of a run in which all honest points cost 100, and an honest one was exported.
	run := func(change func(*found)) found {
		f := found{
			Outcomes: map[string]space.Outcome{"HONEST": ok(100), "BEFORE": ok(100), "CHEAT": refused, "AFTER": ok(100)},
			Export:   &exported{Key: "VARIANT=BEFORE", Ratio: 1.01},
		}
		change(&f)
		return f
	}
	scored := func(cost float64) func(*found) {
		return func(f *found) { f.Outcomes["CHEAT"] = ok(cost) }
	}
	exportIt := func(ratio float64) func(*found) {
		return func(f *found) {
			scored(100 / ratio)(f)
			f.Export = &exported{Key: "VARIANT=CHEAT LINK=x", Ratio: ratio}
		}
	}
	for _, c := range []struct {
		name  string
		entry corpus.Entry
		found found
		want  string // part of the only fault; "" for none
		noisy bool   // a busy machine has it too
	}{
		{"a cheat is refused", cheat, run(func(*found) {}), "", false},
		{"a cheat is scored at its true time", cheat, run(scored(95)), "", false},
		{"a cheat is scored as faster", cheat, run(scored(85)), "1.18 times as fast", true},
		{"a cheat is scored as much faster", cheat, run(scored(60)), "1.67 times as fast", false},
		{"a cheat is scored as much faster than what others disturbed", cheat, run(func(f *found) {
			scored(60)(f)
			o := ok(100)
			o.Metrics = []space.Metric{{Name: "unverified", Value: 1}}
			f.Outcomes["BEFORE"] = o
		}), "1.67 times as fast", true},
		{"a cheat is scored as slower", cheat, run(scored(500)), "", false},
		{"a cheat is refused for a slip of the pen", cheat, run(func(f *found) { f.Outcomes["CHEAT"] = space.Fail(space.CompileFailed, "no ;") }), "another reason", false},
		{"a cheat is exported at its true time", cheat, run(exportIt(1.05)), "", false},
		{"a cheat is exported as faster than it was scored", cheat, run(func(f *found) { exportIt(1)(f); f.Export.Ratio = 1.2 }), "exported as at least 1.20", true},
		{"a cheat is exported with an interval that leaves out its true time", cheat,
			run(func(f *found) { exportIt(1)(f); f.Export.Ratio, f.Export.Interval = 1.6, &[2]float64{1.5, 1.7} }), "at least 1.50", false},
		{"a cheat is exported with an interval that its true time is in", cheat,
			run(func(f *found) { exportIt(1)(f); f.Export.Ratio, f.Export.Interval = 1.15, &[2]float64{0.98, 1.2} }), "", false},
		{"a cheat is scored as faster, and refused only at the export", cheat,
			run(func(f *found) { scored(50)(f); f.Refused = []tune.Refusal{{Key: "VARIANT=CHEAT", Reason: "late"}} }), "2.00 times as fast", false},
		{"wrong results are scored", wrong, run(scored(100)), "its results are wrong", false},
		{"a cheat was not evaluated", cheat, run(func(f *found) { delete(f.Outcomes, "CHEAT") }), "not evaluated", false},
		{"an honest point was refused", harmful, run(func(f *found) { f.Outcomes["AFTER"] = space.Fail(space.Crashed, "aborted") }), "honest AFTER: crashed", false},
		{"an honest point is missing", harmful, run(func(f *found) { delete(f.Outcomes, "AFTER") }), "AFTER was not evaluated", false},
		{"an honest point became slow", harmful, run(func(f *found) { f.Outcomes["AFTER"] = ok(140) }), "100 and 140 ns", true},
		{"an honest point became fast", harmful, run(func(f *found) { f.Outcomes["AFTER"] = ok(60) }), "60 and 100 ns", true},
		{"an honest point was refused at the export", harmful, run(func(f *found) { f.Refused = []tune.Refusal{{Key: "VARIANT=AFTER", Reason: "late"}} }), "refused at the export", false},
		{"an honest point was exported as what it is not", harmful, run(func(f *found) { f.Export.Ratio = 1.5 }), "1.50 times", true},
		{"nothing was exported", harmful, run(func(f *found) { f.Export = nil }), "nothing was exported", false},
		{"the run ended", harmful, run(func(f *found) { f.Err = "worker: it is gone" }), "it is gone", false},
		{"an honest point costs what it does outside of tune", harmful, run(func(f *found) { f.Truth = 80 }), "", false},
		{"an honest point costs something else outside of tune", harmful, run(func(f *found) { f.Truth = 70 }), "takes 70 ns", true},
		{"a file was written", harmful, run(func(f *found) { f.Harm = []string{"wrote a file"} }), "it wrote a file", false},
		{"an honest kernel is scored", honest, run(scored(100)), "", false},
		{"an honest kernel is refused", honest, run(func(*found) {}), "it was refused", false},
		{"an honest kernel is scored as faster", honest, run(scored(60)), "1.67 times as fast", true},
		{"an honest kernel is scored as slower", honest, run(scored(150)), "0.67 times as fast", true},
	} {
		l := judge(c.entry, c.found)
		if l.noisy != c.noisy {
			t.Errorf("%s: noisy is %t", c.name, l.noisy)
		}
		switch {
		case c.want == "" && len(l.Faults) > 0:
			t.Errorf("%s: %q", c.name, l.Faults)
		case c.want != "" && (len(l.Faults) != 1 || !strings.Contains(l.Faults[0], c.want)):
			t.Errorf("%s: %q, want one fault with %q", c.name, l.Faults, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	err := writeTable(&b, []Line{
		{Name: "a", Does: "b", Class: corpus.SkipsWork, Mistake: true, Status: "wrong answer", Reason: "x | y\x1b[31m\nz", Before: "9×"},
		{Name: "c", Does: "d", Class: corpus.Honest, Status: "ok", Claimed: 1.004, Faults: []string{"e", "f"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| a * | b | wrong answer | x ¦ y [31m z | – | 9× | pass |\n",
		"| c | d | ok |  | 1.00× | – | **FAIL**: e; f |\n",
		"2 kernels, 1 of them mistakes that are easily made (*): 1 as they should be, 1 not.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

func TestSelected(t *testing.T) {
	if _, err := selected("nonsense", false); err == nil {
		t.Error("an unknown name passes")
	}
	all, err := selected("", false)
	if err != nil {
		t.Fatal(err)
	}
	quick, err := selected("", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []corpus.Class{corpus.SkipsWork, corpus.HidesTime, corpus.HarmsOthers, corpus.Honest} {
		has := func(e corpus.Entry) bool { return e.Class == class }
		// Three points of each entry are honest.
		if !slices.ContainsFunc(all, has) || !slices.ContainsFunc(quick, has) && class != corpus.Honest {
			t.Errorf("no entry of the class %q", class)
		}
	}
}
