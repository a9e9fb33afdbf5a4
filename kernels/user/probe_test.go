package user

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tune/kernels"
)

const probeYAML = `kernel: {name: probed, shape: {n: 16}}
space: {parameters: [{name: T, type: int, from: 1, to: 2}, {name: WAY, type: enum, values: [7, 3]}]}
source:
  file: f.c
  function: f
  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: write}
    - {name: z, type: int, length: 1, access: update}
    - {name: n, type: int, value: n}
  reference: {function: g}
  compilers: [gcc]
`

// TestProbe: a reference whose results say little is found.
func TestProbe(t *testing.T) {
	needCompiler(t)
	const remedy = ": a candidate that reads nothing may pass for right; change the fills, or what is compared"
	const narrow = "; narrow absolute and relative in reference.tolerance, or in the tolerance of this argument"
	for _, test := range []struct{ old, new, body, want string }{
		{"", "", "y[i] = x[i]; *z += 1", ""},
		{"", "", "y[i] = x[i] > 0 ? x[i] : 0; *z += 1", ""},
		{"access: read}", "access: read, fill: {random: [-2, -1]}}", "y[i] = x[i] > 0 ? x[i] : 0; *z += 1", "8:7: source.arguments[1]: the reference writes 0 to all of y, whatever its inputs are (3 were tried)" + remedy},
		{"access: read}", "access: read, fill: {constant: 2}}", "y[i] = x[i] + i; *z += 1", "8:7: source.arguments[1]: the reference writes the same to y, whatever its inputs are (3 were tried)" + remedy},
		{"", "", "y[i] = x[i] - x[i]; *z += 1", "8:7: source.arguments[1]: the reference writes 0 to all of y, whatever its inputs are (3 were tried)" + remedy},
		{"", "", "y[i] = x[i]; *z = 5", "9:7: source.arguments[2]: the reference writes 5 to all of z, whatever its inputs are (3 were tried)" + remedy},
		{"", "", "y[i] = x[i]", "9:7: source.arguments[2]: the reference leaves z as it is: a candidate that does nothing is right"},
		{"n: 16", "n: 200", "y[i] = i < 2 ? x[i] : i; *z += 1", "8:7: source.arguments[1]: the reference writes the same to 198 of the 200 elements of y, whatever its inputs are (3 were tried): there a candidate that reads nothing is right; change the fills, or what is compared"},
		{"n: 16", "n: 200", "y[i] = i < 3 ? x[i] : i; *z += 1", ""},
		{"access: update}", "access: update, fill: {constant: 2}}", "y[i] = x[i]; *z = 5 + (x[0] > 0)", ""},
		{"", "", "y[i] = x[i] * WAY; *z += 1", "11:25: source.reference.function: function g gives other results with T=2 WAY=7 than with T=1 WAY=3, the values that it is compiled with: state those that are meant in reference.parameters, or take a function that uses no parameter"},
		{"{function: g}", "{function: g, tolerance: {absolute: 20}}", "y[i] = x[i]; *z += 1", "8:7: source.arguments[1]: the tolerance of y is as large as its results: an output of zeros passes" + narrow +
			"\n9:7: source.arguments[2]: the tolerance of z is as large as what the reference changes: a candidate that leaves it as it is passes" + narrow},
		{"{function: g}", "{function: g, tolerance: {relative: 1}}", "y[i] = x[i]; *z -= 1000", "8:7: source.arguments[1]: the tolerance of y is as large as its results: an output of zeros passes" + narrow +
			"\n9:7: source.arguments[2]: the tolerance of z is as large as its results: an output of zeros passes" + narrow},
		{"{function: g}", "{function: g, tolerance: {absolute: 0.5}}", "y[i] = x[i]; *z += 1", "8:7: source.arguments[1]: the tolerance of y is so wide that an output that is 10 % too large everywhere passes" + narrow},
		{"{function: g}", "{function: g, tolerance: {absolute: 0.05}}", "y[i] = x[i]; *z += 1", ""},
		{"length: n, access: write", "length: n, access: write, tolerance: {relative: 0.01}", "y[i] = 1000 + x[i]; *z += 1", "8:7: source.arguments[1]: the tolerance of y is as large as the difference between the results of different inputs (3 were tried): a candidate that gives its first result for ever passes" + narrow},
		{"length: n, access: write", "length: n, access: write, tolerance: {relative: 0.0001}", "y[i] = 1000 + x[i]; *z += 1", ""},
		{"length: n, access: write", "length: n, access: write, tolerance: {absolute: 3.2}", "y[i] = 10 + 3 * x[i]; *z += 1", "8:7: source.arguments[1]: the tolerance of y is so wide that an output of 9.941 everywhere passes" + narrow},
		{"length: n, access: write", "length: n, access: write, tolerance: {relative: 0.1}", "y[i] = (x[i] < 0 ? -1 : 1) * (3 + i * i); *z += 1", "8:7: source.arguments[1]: the tolerance of y is so wide that an output that is 10 % too large everywhere passes" + narrow},
		{"", "", "y[i] = x[i] * 2e-5f + 2e-6f * i; *z += 1", "8:7: source.arguments[1]: the tolerance of y is so wide that an output that is 1 % too large everywhere passes" + narrow},
		{"", "", "y[i] = x[i] * 5e-4f + 1e-4f * i; *z += 1", ""},
		{"length: n, access: write", "length: n, access: write, tolerance: {relative: 0.05}", "y[i] = 10 + x[i] + i * i; *z += 1", ""},
		{"length: n, access: write", "length: n, access: write, tolerance: {absolute: 0.01}", "y[i] = i < 8 ? x[i] : x[15 - i] + 0.001f; *z += 1", "8:7: source.arguments[1]: the tolerance of y is so wide that an output in the opposite order passes" + narrow},
		{"length: n, access: write", "length: n, access: write, tolerance: {absolute: 0.01}", "y[i] = i < 8 ? x[i] : x[15 - i]; *z += 1", ""},
		{"length: n, access: write", "length: n, access: write, tolerance: {absolute: 1}", "y[i] = x[i]; *z += 1", "8:7: source.arguments[1]: the tolerance of y is as large as its results: an output of zeros passes" + narrow},
		{"length: n, access: write", "length: n // T, access: write", "y[i] = x[i]; *z += 1", "8:7: source.arguments[1]: y has 8 elements with T=2 WAY=3, and 16 at the baseline: a call does less work there, and is compared as if it did the same; write a length that no parameter makes shorter"},
		{"length: n, access: write", "length: n + T, access: write", "y[i] = x[i]; if (i == n - 1) y[n] = x[0]; *z += 1", ""},
		{"value: n}", "value: n // T}", "y[i] = x[i]; *z += 1", "10:7: source.arguments[3]: n is 8 with T=2 WAY=3, and 16 at the baseline, and function g gives other results for that: a call does other work there, and is compared as if it did the same; write a value that no parameter changes, or one on which no result depends"},
		{"value: n}", "value: 16 * T}", "if (i < 16) y[i] = x[i]; *z += i < 16", ""},
		{"{function: g}", "{function: g, parameters: {WAY: 7}}", "y[i] = x[i] * WAY; *z += 1", ""},
	} {
		text := strings.Replace(probeYAML, test.old, test.new, 1)
		source := "void g(const float *x, float *y, int *z, int n) { for (int i = 0; i < n; i++) { " + test.body + "; } }\n" +
			"void f(const float *x, float *y, int *z, int n) { g(x, y, z, T * n / T); }\n"
		k, path := load(t, text, "f.c", source)
		odd, err := problem(t, k, "").(*SourceProblem).Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", ""); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.body, got, test.want)
		}
	}
}

// TestProbeFixed: where there is one input, results that are the same say nothing; those that are uniform still do.
func TestProbeFixed(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer("access: read}", "access: read, fill: {constant: 2}}", "access: update}", "access: update, fill: {constant: 2}}").Replace(probeYAML)
	for body, want := range map[string]string{
		"y[i] = x[i] + i; *z = 5": "",
		"y[i] = x[i]; *z = 5":     "8:7: source.arguments[1]: the reference writes 2 to all of y: a candidate that reads nothing may pass for right; change the fills, or what is compared",
	} {
		k, path := load(t, text, "f.c", "void f(const float *x, float *y, int *z, int n) { for (int i = 0; i < n; i++) { "+body+"; } }\nvoid g(const float *x, float *y, int *z, int n) { f(x, y, z, n); }\n")
		p := problem(t, k, "").(*SourceProblem)
		if p.checking() != kernels.FixedInput {
			t.Errorf("checks are on %s", p.checking())
		}
		odd, err := p.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", ""); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// TestProbeLarge: buffers that are too large to be kept several times are left alone, and that is said.
func TestProbeLarge(t *testing.T) {
	needCompiler(t)
	k, path := load(t, strings.Replace(probeYAML, "shape: {n: 16}", "shape: {n: 67108865}", 1), "f.c", "void f(void) {}\nvoid g(void) {}\n")
	odd, err := problem(t, k, "").(*SourceProblem).Probe(t.Context())
	want := path + "/kernel.yaml:11:25: source.reference.function: at this shape it was not seen whether inputs make a difference to its results: a smaller --shape shows it"
	if err != nil || odd.Error() != want {
		t.Errorf("%v, %v", odd, err)
	}
}

// TestProbeEnds: a probe of a slow reference ends when it should.
func TestProbeEnds(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, probeYAML, "f.c", "void f(const float *x, float *y, int *z, int n) {}\nvoid g(const float *x, float *y, int *z, int n) { for (volatile int i = 0;; i++); }\n")
	ctx, cancel := context.WithTimeout(t.Context(), 300e6)
	defer cancel()
	if _, err := problem(t, k, "").(*SourceProblem).Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestGlanceEnds: where the time ends during a call, the calls before it are what a reference is judged by.
func TestGlanceEnds(t *testing.T) {
	needCompiler(t)
	const source = "#include <unistd.h>\nvoid f(const float *x, float *y, int *z, int n) { for (int i = 0; i < n; i++) y[i] = x[i] > 9; *z += T / T * WAY; }\n" +
		"void g(const float *x, float *y, int *z, int n) { static int calls; if (++calls > 2) sleep(60); f(x, y, z, n); }\n"
	k, path := load(t, strings.Replace(probeYAML, "access: read}", "access: read, fill: {random: [1, 2]}}", 1), "f.c", source)
	p := problem(t, k, "").(*SourceProblem)
	if err := p.Telling(t.Context()); err != nil { // which compiles it
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	if end(); p.Telling(ended) != nil {
		t.Error("what it has found nothing about is called again")
	}
	odd, err := p.Glance(t.Context(), 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", ""); !strings.Contains(got, "the reference writes 0 to all of y, whatever its inputs are (2 were tried)") {
		t.Errorf("got %s", got)
	}
}

// TestGlance: what a run shows is what a check does, but for large buffers and the parameters of the reference. A slow reference is judged by
// one input.
func TestGlance(t *testing.T) {
	needCompiler(t)
	const source = "void g(const float *x, float *y, int *z, int n) { for (int i = 0; i < n; i++) y[i] = 0 * x[i] * WAY; *z += WAY; }\n" +
		"void f(const float *x, float *y, int *z, int n) { g(x, y, z, T * n / T); }\n"
	const remedy = ": a candidate that reads nothing may pass for right; change the fills, or what is compared"
	for _, test := range []struct {
		shape  string
		within time.Duration
		want   string
	}{
		{"", time.Hour, "8:7: source.arguments[1]: the reference writes 0 to all of y, whatever its inputs are (3 were tried)" + remedy},
		{"", time.Nanosecond, "8:7: source.arguments[1]: the reference writes 0 to all of y" + remedy},
		{"n=2097152", time.Hour, ""},
	} {
		k, path := load(t, strings.Replace(probeYAML, "access: read}", "access: read, fill: {random: [1, 2]}}", 1), "f.c", source)
		odd, err := problem(t, k, test.shape).(*SourceProblem).Glance(t.Context(), test.within)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", ""); got != test.want {
			t.Errorf("%s, %v:\ngot  %s\nwant %s", test.shape, test.within, got, test.want)
		}
	}
}

// TestProbeVariation: a reference that gives up on contents other than those of the file is found by its time, and one whose time
// depends on nothing is left alone.
func TestProbeVariation(t *testing.T) {
	needCompiler(t)
	const text = `kernel: {name: checked, shape: {n: 4}}
space: {parameters: [{name: T, type: int, from: 1, to: 2}]}
source:
  file: f.c
  function: f
  arguments:
    - {name: x, type: u8, length: n, access: read, fill: {file: x.txt}VARY}
    - {name: y, type: int, length: 1, access: write}
  reference: {function: f}
  compilers: [gcc]
`
	const source = "#include <stdint.h>\nvoid f(const uint8_t *x, int *y) { int s = T - T, right = CHECK; if (right) for (volatile int i = 0; i < 5000000; i++) s++; *y = s + x[0]; }\n"
	const found = "differs from the numbers of the file: it takes another way there, perhaps that of an error; write vary: false if other numbers do not occur"
	for _, test := range []struct {
		check, vary string
		found       bool
	}{
		{"x[0] == 3 && x[1] == 1 && x[2] == 4 && x[3] == 200", "", true},
		{"!(x[0] == 3 && x[1] == 1 && x[2] == 4 && x[3] == 200)", "", true},
		{"x[0] == 3 && x[1] == 1 && x[2] == 4 && x[3] == 200", ", vary: false", false},
		{"1", "", false},
	} {
		k, path := load(t, strings.Replace(text, "VARY", test.vary, 1), "x.txt", "3 1 4 200", "f.c", strings.Replace(source, "CHECK", test.check, 1))
		odd, err := problem(t, k, "").(*SourceProblem).Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", "")
		warned := strings.Contains(got, "7:7: source.arguments[0]: a call of the reference takes ") && strings.HasSuffix(got, found)
		if warned != test.found || strings.Contains(got, "takes") != test.found {
			t.Errorf("%s%s: %q", test.check, test.vary, got)
		}
	}
}

// TestProbeKept: a reference that keeps something between calls is found, by the check of a file and by a run, and one that keeps what says
// nothing of its inputs is left alone.
func TestProbeKept(t *testing.T) {
	needCompiler(t)
	const found = "11:25: source.reference.function: function g does not always give the same result on the same inputs: in a process of its own y["
	for body, warned := range map[string]bool{
		"static float first; static int known; if (!known) { first = x[0]; known = 1; } y[i] = first + x[i]": true,
		"static float last; y[i] = x[i] + last; last = x[i]":                                                 true,
		"y[i] = x[i] + rand() / (float)RAND_MAX":                                                             true,
		"static float table[16]; table[i] = i; y[i] = x[i] + table[i]":                                       false,
		"static int calls; calls++; y[i] = x[i] + 1e-9f * (calls / n)":                                       false, // within the tolerance
	} {
		source := "#include <stdlib.h>\nvoid g(const float *x, float *y, int *z, int n) { *z += 1; for (int i = 0; i < n; i++) { " + body + "; } }\n" +
			"void f(const float *x, float *y, int *z, int n) { g(x, y, z, T * n / T * WAY / WAY); }\n"
		k, path := load(t, probeYAML, "f.c", source)
		p := problem(t, k, "").(*SourceProblem)
		for i, try := range []func() (Faults, error){
			func() (Faults, error) { return p.Probe(t.Context()) },
			func() (Faults, error) { return p.Glance(t.Context(), time.Hour) },
		} {
			odd, err := try()
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", "")
			if strings.HasPrefix(got, found) != warned || strings.HasSuffix(got, ": let it compute everything from its arguments") != warned || strings.Contains(got, "\n") || !warned && got != "" {
				t.Errorf("%s, %d: %q", body, i, got)
			}
		}
	}
}
