package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"tune"
	"tune/kernels"
	"tune/kernels/native/nativetest"
	"tune/kernels/user"
	"tune/results"
	"tune/results/schedule"
	"tune/space"
)

// TestProbeSlow: of a reference that is too slow to be tried on several inputs, tune check says what one input shows.
func TestProbeSlow(t *testing.T) {
	const text = `kernel: {name: flat, shape: {n: 64}}
space: {parameters: [{name: T, type: int, from: 1, to: 2}]}
source:
  text: "void f(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 0 * (x[i] > 0); }"
  function: f
  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: write}
    - {name: n, type: int, value: n}
  language: c
  reference: {function: f}
`
	host := nativetest.Hasty()
	defer host.Close()
	if _, err := host.Machine(); err != nil {
		t.Skip(err)
	}
	path := writeConfig(t, text)
	k, err := user.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer k.On(host).Close()
	shape, err := kernels.ParseShape(k.Info().Shape, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := k.Problem(shape)
	if err != nil {
		t.Fatal(err)
	}
	odd, err := probe(t.Context(), p.(*user.SourceProblem), path, time.Nanosecond)
	if err != nil || len(odd) != 2 || !strings.HasPrefix(odd[0].Message, "the reference writes 0 to all of y: a candidate that reads nothing may pass for right") ||
		odd[1].Message != "1ns were not enough to see whether its results depend on its inputs" {
		t.Errorf("%v, %v", odd, err)
	}
}

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
