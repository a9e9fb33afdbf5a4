package main

import (
	"bytes"
	"strings"
	"testing"

	"tune/results/schedule"
)

// TestGuardElsewhere: where the ratio was recorded on another processor, each form of the output says so.
func TestGuardElsewhere(t *testing.T) {
	g := &schedule.Guarded{
		Name: "best.json", Kernel: "blur", Against: "the baseline", Unit: "ns", Standing: schedule.Holds, Recorded: 2, RecordedLow: 1.9, RecordedHigh: 2.1, Ratio: 2, Low: 1.95, High: 2.05,
		Promise: 1.9, Bar: 1.86, Cost: 1, Baseline: 2, Pairs: 9, Processor: "Xeon | <b>", ProcessorNow: "EPYC",
	}
	var text, md, json bytes.Buffer
	a := &app{stdout: &text}
	for _, err := range []error{a.printGuarded([]*schedule.Guarded{g}), writeGuardMarkdown(&md, []*schedule.Guarded{g}), printJSON(&json, guardedJSON([]*schedule.Guarded{g}))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for of, want := range map[*bytes.Buffer]string{
		&text: "\nrecorded  2.000×, 1.900 to 2.100 on another processor, Xeon | <b>; this one is EPYC\n",
		&md:   `; recorded on another processor, Xeon \| \<b\>; this one is EPYC`,
		&json: `"processor_then": "Xeon | \u003cb\u003e"`,
	} {
		if !strings.Contains(of.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, of)
		}
	}
	g.ProcessorNow = g.Processor
	text.Reset()
	if err := a.printGuarded([]*schedule.Guarded{g}); err != nil || strings.Contains(text.String(), "another processor") {
		t.Errorf("on the same processor: %v\n%s", err, text.String())
	}
}

// TestGuardUnproven: where the recorded ratio has no interval, each form of the output says that it is not guarded.
func TestGuardUnproven(t *testing.T) {
	g := &schedule.Guarded{Name: "best.json", Kernel: "blur", Against: "the baseline", Unit: "ns", Standing: schedule.Holds, Unproven: 15.5, Ratio: 1.1, Low: 1.05, High: 1.15, Promise: 1, Bar: 0.98, Pairs: 9}
	var text, md, json bytes.Buffer
	a := &app{stdout: &text}
	for _, err := range []error{a.printGuarded([]*schedule.Guarded{g}), writeGuardMarkdown(&md, []*schedule.Guarded{g}), printJSON(&json, guardedJSON([]*schedule.Guarded{g}))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for of, want := range map[*bytes.Buffer]string{
		&text: "\nrecorded  15.500× in too few pairs for an interval, so that only the cost of the baseline is guarded; 'tune measure' measures it again\n",
		&md:   "; recorded 15.500× in too few pairs for an interval, so that only the cost of the baseline is guarded",
		&json: `"unproven_ratio": 15.5`,
	} {
		if !strings.Contains(of.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, of)
		}
	}
}

// TestGuardUnit: a unit of a user's own is no markup in the summary.
func TestGuardUnit(t *testing.T) {
	var md bytes.Buffer
	g := &schedule.Guarded{Name: "best.json", Kernel: "my", Against: "the recorded cost", Unit: "a|<b>", Exact: true, Standing: schedule.Holds, RecordedCost: 3, Cost: 2}
	if err := writeGuardMarkdown(&md, []*schedule.Guarded{g}); err != nil {
		t.Fatal(err)
	}
	if want := `| the recorded cost | 3 a\|\<b\> | 2 a\|\<b\> | at most `; !strings.Contains(md.String(), want) {
		t.Errorf("it lacks %q:\n%s", want, md.String())
	}
}
