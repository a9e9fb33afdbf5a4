package user

import (
	"strings"
	"testing"

	"tune/kernels"
	"tune/space"
)

const unwrittenYAML = `
kernel: {name: parts, shape: {n: 2048}}
space: {parameters: [{name: WAY, type: int, from: 0, to: 3}]}
source:
  file: f.c
  function: f
  arguments:
    - {name: out, type: TYPE, length: 2 * n, access: write}
    - {name: count, type: int, length: 1, access: write}
    - {name: in, type: TYPE, length: n, access: read, fill: {random: [0, 100]}}
    - {name: n, type: int, value: n}
  reference: {function: g}
  compilers: [gcc]
  flags: [-O2]
`

// compactC keeps the numbers below 50. WAY 1 forgets one of them, WAY 2 all that were kept before, once it has kept others, and
// WAY 3 also writes beyond the count.
const compactC = `
#include <stdint.h>
void g(TYPE *out, int *count, const TYPE *in, int n) {
	int k = 0;
	for (int i = 0; i < n; i++)
		if (in[i] < 50)
			out[k++] = in[i];
	*count = k;
}
void f(TYPE *out, int *count, const TYPE *in, int n) {
	static int calls;
	int k = 0;
	for (int i = 0; i < n; i++) {
		if (in[i] < 50) {
			if (!(WAY == 1 && k == 7) && !(WAY == 2 && calls > 8 && k < 100))
				out[k] = in[i];
			k++;
		} else if (WAY == 3) {
			out[k] = in[i];
		}
	}
	calls++;
	*count = k;
}
`

// stereoC writes every other element. WAY 1 forgets one, WAY 2 one quarter, once it has written it, and WAY 3 writes the others
// too.
const stereoC = `
#include <stdint.h>
void g(TYPE *out, int *count, const TYPE *in, int n) {
	for (int i = 0; i < n; i++)
		out[2 * i] = (TYPE)(in[i] + 1);
	*count = (int)in[0];
}
void f(TYPE *out, int *count, const TYPE *in, int n) {
	static int calls;
	for (int i = WAY == 2 && calls > 8 ? n / 4 : 0; i < n; i++) {
		if (WAY != 1 || i != 77)
			out[2 * i] = (TYPE)(in[i] + 1);
		if (WAY == 3)
			out[2 * i + 1] = 1;
	}
	calls++;
	*count = (int)in[0];
}
`

// TestUnwrittenElements: what the reference leaves unwritten is not compared, in checks and in timed calls, and everything else is.
func TestUnwrittenElements(t *testing.T) {
	needCompiler(t)
	for _, test := range []struct {
		name, kind, source string
		timed              bool // else those that are right are checked only: timed calls differ by the width of elements alone
		further            bool // of another type than those before, but of the same width
	}{
		{"compaction", "int32_t", compactC, false, true},
		{"compaction", "float", compactC, true, false},
		{"compaction", "uint8_t", compactC, true, false},
		{"compaction", "double", compactC, false, false},
		{"channels", "int16_t", stereoC, true, false},
		{"channels", "uint8_t", stereoC, false, true},
		{"channels", "float", stereoC, false, true},
	} {
		if test.further && !stress {
			continue
		}
		k, _ := load(t, strings.ReplaceAll(unwrittenYAML, "TYPE", test.kind), "f.c", strings.ReplaceAll(test.source, "TYPE", test.kind))
		p := whole(t, k, "")
		for i, way := range []string{"WAY=1", "WAY=2", "WAY=0", "WAY=3"} {
			want := space.WrongAnswer
			if i >= 2 {
				want = space.OK
				brief(p)
			}
			if want == space.OK && !test.timed {
				point, err := p.Space().Parse(way)
				if err == nil {
					_, err = (&kernels.Opened{Problem: p}).Build(t.Context(), point, []uint64{7})
				}
				if err != nil {
					t.Errorf("%s of %s, %s: %v", test.name, test.kind, way, err)
				}
				continue
			}
			if out := evaluate(t, p, way); out.Status != want {
				t.Errorf("%s of %s, %s: %v: %s, want %v", test.name, test.kind, way, out.Status, out.Reason, want)
			}
		}
	}
}

// TestUnwrittenNote: it is said how many elements of an output the reference does not write, and of which it writes nothing.
func TestUnwrittenNote(t *testing.T) {
	needCompiler(t)
	for body, want := range map[string]string{
		"if (i) y[i] = x[i]; *z += 1":                           "8:7: source.arguments[1]: the reference leaves 1 of the 16 elements of y unwritten: there nothing is compared",
		"if (i && x[i] < 9) y[i] = i; *z += 1":                  "8:7: source.arguments[1]: the reference writes the same to y, whatever its inputs are (3 were tried): a candidate that reads nothing may pass for right; change the fills, or what is compared\n8:7: source.arguments[1]: the reference leaves 1 of the 16 elements of y unwritten: there nothing is compared",
		"if (x[i] > 9) y[i] = x[i]; *z += 1":                    "8:7: source.arguments[1]: the reference writes nothing to y (inputs tried: 3): nothing of it is compared, and a candidate that leaves it out is right",
		"y[i] = i ? x[i] : 0.0f / 0.0f; *z += 1":                "8:7: source.arguments[1]: the reference writes NaN to 1 of the 16 elements of y: a candidate that does the same is right there",
		"if (i % 2) y[i] = x[i]; *z += 1":                       "8:7: source.arguments[1]: the reference leaves 8 of the 16 elements of y unwritten: there nothing is compared",
		"if (i % 2) y[i] = x[i] > 0; else y[i] = x[i]; *z += 1": "",
	} {
		source := "void g(const float *x, float *y, int *z, int n) { for (int i = 0; i < n; i++) { " + body + "; } }\n" +
			"void f(const float *x, float *y, int *z, int n) { g(x, y, z, T * n / T * (WAY / WAY)); }\n"
		k, path := load(t, probeYAML, "f.c", source)
		odd, err := problem(t, k, "").(*SourceProblem).Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", ""); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// TestUnwrittenMessage: what a buffer holds before a call is not shown as if somebody wanted it.
func TestUnwrittenMessage(t *testing.T) {
	needCompiler(t)
	for kind, want := range map[string]string{
		"int32_t": "out[2] is 7, and nobody writes it: 1 of 4096 elements are wrong",
		"float":   "out[2] is 1e-44, and nobody writes it: 1 of 4096 elements are wrong",
		"double":  "out[2] is 3.5e-323, and nobody writes it: 1 of 4096 elements are wrong",
	} {
		k, _ := load(t, strings.ReplaceAll(unwrittenYAML, "TYPE", kind), "f.c", strings.ReplaceAll(compactC, "TYPE", kind))
		p := problem(t, k, "").(*SourceProblem)
		one, err := p.spec.Variant(t.Context(), p.Space().Default(), 1)
		if err != nil {
			t.Fatal(err)
		}
		got, afresh := make([][]byte, len(one.Buffers)), make([][]byte, len(one.Buffers))
		for i, b := range one.Buffers {
			got[i], afresh[i] = make([]byte, b.Bytes()), make([]byte, b.Bytes())
		}
		size := one.Buffers[0].Elem.Size()
		got[0][2*size] = 7
		copy(afresh[0][2*size:], strings.Repeat("\xa7\xff", size/2))
		if err := one.Agree(1, got, afresh); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}
