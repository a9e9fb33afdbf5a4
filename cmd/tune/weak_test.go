package main

import (
	"bytes"
	"strings"
	"testing"

	"tune"
	"tune/results"
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
	var text bytes.Buffer
	if err := printJSON(&text, verifyJSON(&tune.Verification{Weak: weak[:1]})); err != nil || !strings.Contains(text.String(), `"reference": "constant"`) {
		t.Errorf("%v\n%s", err, text.String())
	}
}
