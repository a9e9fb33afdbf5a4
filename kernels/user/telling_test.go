package user

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tune/space"
)

// tellingProblem returns the problem of probeYAML whose reference has a body, and the path of its file.
func tellingProblem(t *testing.T, body string) (*SourceProblem, string) {
	t.Helper()
	k, path := load(t, probeYAML, "f.c", "void g(const float *x, float *y, int *z, int n) { "+body+" }\n"+
		"void f(const float *x, float *y, int *z, int n) { g(x, y, z, T * n / T * (WAY / WAY)); }\n")
	return problem(t, k, "").(*SourceProblem), path + "/kernel.yaml:"
}

// TestTelling: a file is refused where an output cannot tell a right candidate from a wrong one.
func TestTelling(t *testing.T) {
	needCompiler(t)
	const nan = "8:7: source.arguments[1]: the reference writes only NaN to y (inputs tried: 3), and a candidate that does the same is right: change the fills so that its results are numbers, or correct the reference"
	for body, want := range map[string]string{
		"for (int i = 0; i < n; i++) y[i] = x[i]; *z += 1;":                   "",
		"for (int i = 0; i < n; i++) y[i] = 0.0f / 0.0f; *z += 1;":            nan,
		"for (int i = 1; i < n; i++) y[i] = 0.0f / 0.0f; *z += 1;":            nan,
		"for (int i = 0; i < n; i++) y[i] = i ? 0.0f / 0.0f : x[i]; *z += 1;": "",
		"for (int i = 0; i < n; i++) y[i] = x[0] > 0 ? x[i] : 0.0f / 0.0f;":   "",
		"for (int i = 0; i < n; i++) y[i] = 0; *z = 0;":                       "", // constant
		"*z += 1; /* y is room to work in */":                                 "",
	} {
		p, path := tellingProblem(t, body)
		err := p.Traits().Examine(t.Context())
		got := ""
		if faults, ok := errors.AsType[Faults](err); ok {
			got = strings.ReplaceAll(faults.Error(), path, "")
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// TestTellingSlow: a reference that is slow is judged too, by two inputs.
func TestTellingSlow(t *testing.T) {
	needCompiler(t)
	for body, want := range map[string]string{
		"for (int i = 0; i < n; i++) y[i] = 0.0f / 0.0f; *z += 1;": "8:7: source.arguments[1]: the reference writes only NaN to y (inputs tried: 2), and a candidate that does the same is right: change the fills so that its results are numbers, or correct the reference",
		"for (int i = 0; i < n; i++) y[i] = x[i]; *z += 1;":        "",
	} {
		p, path := tellingProblem(t, body)
		got := ""
		if err := p.telling(t.Context(), time.Nanosecond); err != nil {
			got = strings.ReplaceAll(err.Error(), path, "")
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// TestTellingNothing: a file is refused where nothing of any output is written.
func TestTellingNothing(t *testing.T) {
	needCompiler(t)
	text := strings.Replace(probeYAML, "length: 1, access: update", "length: 1, access: write", 1)
	k, path := load(t, text, "f.c", "void g(const float *x, float *y, int *z, int n) {}\nvoid f(const float *x, float *y, int *z, int n) { g(x, y, z, T * n / T * (WAY / WAY)); }\n")
	err := problem(t, k, "").Traits().Examine(t.Context())
	const want = "source.arguments[%]: the reference writes nothing to # (inputs tried: 3), and a number to no other output: every candidate would be right; correct the reference, or the access of this argument"
	text = "8:7: " + strings.NewReplacer("%", "1", "#", "y").Replace(want) + "\n9:7: " + strings.NewReplacer("%", "2", "#", "z").Replace(want)
	if err == nil || strings.ReplaceAll(err.Error(), path+"/kernel.yaml:", "") != text {
		t.Errorf("%v", err)
	}
}

// TestWeak: outputs of which a passed check proves little are named, and others are not.
func TestWeak(t *testing.T) {
	needCompiler(t)
	for body, want := range map[string][]space.WeakOutput{
		"for (int i = 0; i < n; i++) y[i] = x[i]; *z += 1;": nil,
		"for (int i = 0; i < n; i++) y[i] = 0; *z += 1;":    {{Output: "y", Kind: space.Constant}},
		"for (int i = 0; i < n; i += 2) y[i] = i; *z = 3;":  {{Output: "y", Kind: space.Constant}, {Output: "z", Kind: space.Constant}},
		"*z += 1;": {{Output: "y", Kind: space.Unwritten}},
		"for (int i = 0; i < n; i++) y[i] = x[i];":                     {{Output: "z", Kind: space.Unchanged}},
		"for (int i = 0; i < n; i++) if (x[i] > 0) y[i] = 1; *z += 1;": nil,
	} {
		p, _ := tellingProblem(t, body)
		got, err := p.Traits().Weak(t.Context(), []uint64{1, 2, 3, 4})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", body, got, err, want)
		}
	}
}
