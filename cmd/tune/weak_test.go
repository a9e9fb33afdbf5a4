package main

import (
	"bytes"
	"strings"
	"testing"

	"tune"
	"tune/results"
	"tune/results/schedule"
	"tune/space"
)

// TestWeakChecks: the summary and tune verify say beside "checked" of which outputs that proves little.
func TestWeakChecks(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out}
	weak := []space.WeakOutput{{Output: "y", Kind: space.Constant}, {Output: "z", Kind: space.Unwritten}}
	a.printSchedule(&tune.Report{Schedule: &results.Schedule{Key: "n=1", Weak: weak, Checks: make([]results.Check, 8)}})
	const want = "checked   on 8 fresh inputs\n          the reference writes the same to y, whatever its inputs are\n          the reference writes nothing to z: nothing of it is compared\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("the summary is\n%s", out.String())
	}
	out.Reset()
	guarded := &schedule.Guarded{Name: "best.json", Standing: schedule.Holds, Checked: "on 8 fresh inputs", Weak: weak}
	if err := a.printGuarded([]*schedule.Guarded{guarded}); err != nil || !strings.Contains(out.String(), want) {
		t.Errorf("guard prints %v\n%s", err, out.String())
	}
	out.Reset()
	compared := &tune.Comparison{Unit: "ns", A: tune.Compared{Checked: "on 8 fresh inputs", Weak: weak}, B: tune.Compared{Checked: "on 8 fresh inputs", Weak: weak[:1]}}
	const both = "checked   both on 8 fresh inputs\n          A: the reference writes the same to y, whatever its inputs are\n          A: the reference writes nothing to z: nothing of it is compared\n          B: the reference writes the same to y, whatever its inputs are\n"
	if printCosts(a, compared); !strings.Contains(out.String(), both) {
		t.Errorf("compare prints\n%s", out.String())
	}
	out.Reset()
	alike := &tune.Comparison{Unit: "ns", A: compared.A, B: compared.A}
	if printCosts(a, alike); !strings.Contains(out.String(), strings.Replace(want, "checked   ", "checked   both ", 1)) {
		t.Errorf("compare prints of sides that are alike\n%s", out.String())
	}
	for _, of := range []any{guardedJSON([]*schedule.Guarded{guarded}), comparisonJSON(compared, nil, false)} {
		var text bytes.Buffer
		if err := printJSON(&text, of); err != nil || !strings.Contains(text.String(), `"weak_checks": [`) {
			t.Errorf("%v\n%s", err, text.String())
		}
	}
	var text bytes.Buffer
	if err := printJSON(&text, verifyJSON(&tune.Verification{Weak: weak[:1]})); err != nil || !strings.Contains(text.String(), `"reference": "constant"`) {
		t.Errorf("%v\n%s", err, text.String())
	}
}
