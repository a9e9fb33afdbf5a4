package user

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// signatureYAML has the arguments in lines of their own. Tests put the source in.
const signatureYAML = `kernel: {name: sig, shape: {n: 16}}
space: {parameters: [{name: T, type: int, from: 1, to: 2}]}
source:
  file: FILE
  function: f
` + argumentsText + `  reference: {function: g}
  flags: [-O1, -msse2]
`

// examine returns what is wrong with the arguments of a kernel.
func examine(t *testing.T, text string, files ...string) string {
	t.Helper()
	k, path := load(t, append([]string{text}, files...)...)
	err := problem(t, k, "").Traits().Examine(t.Context())
	if err == nil {
		return ""
	}
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(err.Error(), path+"/", ""), "\n", " | ")
}

func TestSignature(t *testing.T) {
	needCompiler(t)
	const right = "void g(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = T * x[i]; }\n"
	body := func(head string) string { return right + head + " {\n\t(void)T;\n}\n" }
	const at = "FILE:2): "
	const apart = " by value: take their numbers one by one in the source, or a pointer to a buffer of them"
	for _, test := range []struct{ source, want string }{
		{"void f(const float *x, float *y, int n)", ""},
		{"static inline int f(const float *restrict x, volatile float *restrict y, const int n)", ""},
		{"typedef float real; typedef real *out; typedef const real *in; long f(in x, out y, int n)", ""},
		{"void f(const float x[16], float y[static 16], int n)", ""},
		{"void f(const float x[][4], float (*y)[4], int n)", ""},
		{"void f(const void *x, void *y, long n)", ""},
		{"void f(const float *x, float *y, double n)", ""},
		{"void f(const float *x, float *y, _Bool n)", ""},
		{"void f(x, y, n) const float *x; float *y; int n;", ""},
		{"typedef float m __attribute__((vector_size(16)));\nvoid f(const m *x, m *restrict y, int n)", ""},
		{"void f(const float *x, float *y, long double n)", ""},
		{"enum e { A, B };\nvoid f(const float *x, float *y, enum e n)", ""},
		{"void f(const float *x, float *y, ...)", ""},
		{"static void h(const float *x, float *y, int n) { (void)x; (void)y; (void)n; }\n#define f h\nvoid k(void)", ""},
		{"static void h(const float *x, float *y) { (void)x; (void)y; }\n#define f(x, y, n) h(x, y)\nvoid k(void)", ""},

		{"#include <stdint.h>\nvoid f(const uint16_t *x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const uint16_t * (FILE:3): float is another type; write type: uint16_t`},
		{"void f(const double *x,\n\tint *y,\n\tint n)", `7:23: source.arguments[0].type: argument 1 of function f is const double * (FILE:2): float is another type; write type: double | ` +
			`8:23: source.arguments[1].type: argument 2 of function f is int * (FILE:3): float is another type; write type: int`},
		{"void f(const float **x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const float ** (` + at + `float is another type, which a file has no name for; take another in the source, or void *`},
		{"void f(const _Float16 *x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const _Float16 * (` + at + `float is another type, which a file has no name for; take another in the source, or void *`},
		{"void f(const float _Complex *x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const complex float * (` + at + `float is another type, which a file has no name for; take another in the source, or void *`},
		{"struct v { float a, b; };\nvoid f(const struct v *x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const struct v * (FILE:3): float is another type, which a file has no name for; take another in the source, or void *`},
		{"void f(const float *const *x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const float ** (` + at + `float is another type, which a file has no name for; take another in the source, or void *`},
		{"struct v { float a, b; };\nvoid f(const float *x, struct v y, struct v n)", `8:23: source.arguments[1].type: argument 2 of function f is struct v (FILE:3): a file has no structs, unions and classes` + apart + ` | ` +
			`9:23: source.arguments[2].type: argument 3 of function f is struct v (FILE:3): a file has no structs, unions and classes` + apart},
		{"union u { float a; int b; };\ntypedef union u w;\nvoid f(const float *x, float *y, w n)", `9:23: source.arguments[2].type: argument 3 of function f is w (FILE:4): a file has no structs, unions and classes` + apart},
		{"void f(const float *x, float *y, double _Complex n)", `9:23: source.arguments[2].type: argument 3 of function f is complex double (` + at + `a file has no complex numbers` + apart},
		{"typedef float m __attribute__((vector_size(16)));\nvoid f(const float *x, float *y, m n)", `9:23: source.arguments[2].type: argument 3 of function f is m (FILE:3): a file has no vectors` + apart},
		{"void f(const float *x, float *y, void (*n)(int))", `9:23: source.arguments[2].type: argument 3 of function f is function * (` + at + `a file has no functions as arguments: call the function by its name in the source`},
		{"void f(const float *x, float *y, _Float16 n)", `9:23: source.arguments[2].type: argument 3 of function f is _Float16 (` + at + `it does not hold all values of int, which a file has no name for; take another in the source`},
		{"void f(float *x, float *y, int n)", `7:49: source.arguments[0].access: argument 1 of function f is float * (` + at + `for access: read it has to point to const; write const in the source, or access: update`},
		{"void f(const float *x, const float *y, int n)", `8:49: source.arguments[1].access: argument 2 of function f is const float * (` + at + `it cannot write what is const: access: read`},
		{"void f(float *const x, float *y, int n)", `7:49: source.arguments[0].access: argument 1 of function f is float * (` + at + `for access: read it has to point to const; write const in the source, or access: update`},
		{"void f(const float *x, float *y)", `7:5: source.arguments: function f takes 2 arguments (FILE:2), and here 3 are listed`},
		{"void f(void)", `7:5: source.arguments: function f takes 0 arguments (FILE:2), and here 3 are listed`},
		{"void f()", `7:5: source.arguments: function f takes 0 arguments (FILE:2), and here 3 are listed`},
		{"void f(x, n) const float *x; int n;", `7:5: source.arguments: function f takes 2 arguments (FILE:2), and here 3 are listed`},
		{"void f(const float *x, float *y, int n, int m)", `7:5: source.arguments: function f takes 4 arguments (FILE:2), and here 3 are listed`},
		{"void f(const float *x, int n, float *y)", `8:23: source.arguments[1].type: argument 2 of function f is int (` + at + `a scalar has a value, and no length and access | ` +
			`9:35: source.arguments[2].value: argument 3 of function f is float * (` + at + `a buffer has a length and an access, and no value`},
		{"void f(const float *x, float *y, short n)", `9:23: source.arguments[2].type: argument 3 of function f is short int (` + at + `it does not hold all values of int; write type: int16_t`},
		{"void f(const float *x, float *y, float n)", `9:23: source.arguments[2].type: argument 3 of function f is float (` + at + `it does not hold all values of int; write type: float`},
		{"#include <stddef.h>\nvoid f(const float *x, float *y, size_t n)", `9:23: source.arguments[2].type: argument 3 of function f is size_t (FILE:3): it does not hold all values of int; write type: size_t`},
		{"#if T == 2\n#define E int\n#else\n#define E float\n#endif\nvoid f(const E *x, float *y, int n)", `7:23: source.arguments[0].type: argument 1 of function f is const int * (FILE:7) with T=2: float is another type; write type: int`},
		// What no type says the compiler does. The user's own pointers may be of any type.
		{"static void h(const float *x, float *y) { const int *z = x; (void)z; (void)y; }\n#define f(x, y, n) h(x, y)\nvoid k(void)", ""},
		{"static void h(const float *x, double *y) { (void)x; (void)y; }\n#define f(x, y, n) h(x, y)\nvoid k(void)", `5:13: source.function: it cannot be called with the arguments of this file: gcc: tune_kernel:`},
	} {
		got := examine(t, strings.Replace(signatureYAML, "FILE", "f.c", 1), "f.c", body(test.source))
		got = strings.ReplaceAll(got, "kernel.yaml:", "")
		want := strings.ReplaceAll(test.want, "FILE", "f.c")
		if strings.HasSuffix(want, ":") && strings.HasPrefix(got, want) {
			continue
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.source, got, want)
		}
	}
}

func TestSignatureOfCxx(t *testing.T) {
	needCompiler(t)
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("needs g++")
	}
	const right = "static void g(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = T * x[i]; }\n"
	for _, test := range []struct{ source, function, want string }{
		{"extern \"C\" void f(const float *x, float *y, int n) {}", "f", ""},
		{"namespace a { namespace { void f(const float *__restrict x, float *y, int n) noexcept {} } }", "a::f", ""},
		{"struct s { static void f(const float *x, float *y, int n) {} };", "s::f", ""},
		{"static void f(const double *x, float *y, int n) {} static void f(const float *x, float *y, int n) {}", "f", ""},
		{"template <class E> static void f(const E *x, E *y, int n) {}", "f", ""},
		{"static void f(const float *x, float *y, const int &n) {}", "f", ""},
		{"namespace a { void f(const double *x, float *y, int n) {} }", "a::f", "7:23: source.arguments[0].type: argument 1 of function a::f is const double * (f.cc:2): float is another type; write type: double"},
		{"static void f(float *x, float *y, int n) {}", "f", "7:49: source.arguments[0].access: argument 1 of function f is float * (f.cc:2): for access: read it has to point to const; write const in the source, or access: update"},
		{"static void f(const float *x, float *y) {}", "f", "7:5: source.arguments: function f takes 2 arguments (f.cc:2), and here 3 are listed"},
		{"struct v { float a; virtual void b() {} };\nstatic void f(const float *x, float *y, v n) {}", "f", "9:23: source.arguments[2].type: argument 3 of function f is struct v (f.cc:3): a file has no structs, unions and classes by value: take their numbers one by one in the source, or a pointer to a buffer of them"},
		{"static void f(const float (&x)[16], float *y, int n) {}", "f", "5:13: source.function: it cannot be called with the arguments of this file: gcc: tune_kernel:"},
		{"static void f(const double *x, float *y, int n) {} static void f(const float *x, double *y, int n) {}", "f", "5:13: source.function: it cannot be called with the arguments of this file: gcc: tune_kernel:"},
	} {
		text := strings.NewReplacer("FILE", "f.cc", "function: f\n", "function: "+test.function+"\n").Replace(signatureYAML)
		got := strings.ReplaceAll(examine(t, text, "f.cc", right+test.source+"\n"), "kernel.yaml:", "")
		if got != test.want && !(strings.HasSuffix(test.want, ":") && strings.HasPrefix(got, test.want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", test.source, got, test.want)
		}
	}
}

// TestSignatureOfReference: the reference is examined too, in its own language; a source that does not compile is left to
// those who build it.
func TestSignatureOfReference(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer("FILE", "f.c", "{function: g}", "{function: g, file: g.c}").Replace(signatureYAML)
	const right = "void f(const float *x, float *y, int n) { y[0] = T; }\n"
	for source, want := range map[string]string{
		"void g(const float *x, float *y, int n) { *y = 1; }\n": "",
		"\n\nvoid g(const double *x, double *y, int n) {}\n":    "kernel.yaml:7:23: source.arguments[0].type: argument 1 of function g is const double * (g.c:3): float is another type; write type: double | kernel.yaml:8:23: source.arguments[1].type: argument 2 of function g is double * (g.c:3): float is another type; write type: double",
		"void g(const float *x, float *y) {}\n":                 "kernel.yaml:7:5: source.arguments: function g takes 2 arguments (g.c:1), and here 3 are listed",
		"void g(const float *x, nonsense":                       "",
	} {
		if got := examine(t, text, "f.c", right, "g.c", source); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", source, got, want)
		}
	}
	if got := examine(t, text, "f.c", "void f(const float *x, nonsense", "g.c", "void g(const float *x, float *y, int n) { *y = 1; }\n"); got != "" {
		t.Error(got)
	}
	// What one change of the file mends for both functions is told once, and what the source has to change for each.
	text = strings.NewReplacer("FILE", "f.c").Replace(signatureYAML)
	for head, want := range map[string]string{
		"const double *x, float *y, int n": "kernel.yaml:7:23: source.arguments[0].type: argument 1 of function f is const double * (f.c:1): float is another type; write type: double",
		"const float *x, float *y":         "kernel.yaml:7:5: source.arguments: function f takes 2 arguments (f.c:1), and here 3 are listed",
		"float *x, float *y, int n": "kernel.yaml:7:49: source.arguments[0].access: argument 1 of function f is float * (f.c:1): for access: read it has to point to const; write const in the source, or access: update | " +
			"kernel.yaml:7:49: source.arguments[0].access: argument 1 of function g is float * (f.c:2): for access: read it has to point to const; write const in the source, or access: update",
	} {
		if got := examine(t, text, "f.c", "void f("+head+") { *y = T; }\nvoid g("+head+") { *y = T; }\n"); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", head, got, want)
		}
	}
	// A text in the file itself, and a header of its own line numbers.
	text = strings.NewReplacer("file: FILE", "text: |\n    #include \"h.h\"\n    void f(IN x, float *y, int n) { y[0] = T; }\n    void g(IN x, float *y, int n) { y[0] = T; }", "{function: g}", "{function: g}").Replace(signatureYAML)
	want := "kernel.yaml:10:23: source.arguments[0].type: argument 1 of function f is const double * (kernel.yaml:6): float is another type; write type: double"
	if got := examine(t, strings.Replace(text, `#include "h.h"`, "#define IN const double *", 1)); got != want {
		t.Error(got)
	}
}

// TestMisplaced: arguments whose names the function has at other places are told, which no type shows.
func TestMisplaced(t *testing.T) {
	needCompiler(t)
	const text = `kernel: {name: sig, shape: {n: 16, m: 16}}
space: {parameters: [{name: T, type: int, from: 1, to: 2}]}
source:
  file: f.c
  function: f
  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: z, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: write}
    - {name: m, type: int, value: m}
    - {name: n, type: int, value: n}
  reference: {function: g}
  flags: [-O1]
`
	const right = "void g(const float *x, const float *z, float *y, int m, int n) { for (int i = 0; i < n; i++) y[i] = m * x[i] + z[i]; }\n"
	const remedy = ": list the arguments in the order of the function, or name them as it does"
	for _, test := range []struct{ reference, head, want string }{
		{right, "void f(const float *x, const float *z, float *y, int m, int n)", ""},
		{right, "void f(const float *a, const float *b, float *c, int rows, int columns)", ""},
		{right, "void f(const float *y, const float *z, float *x, int m, int n)", ""}, // const tells them apart
		{right, "void f(const float *n, const float *z, float *y, int m, int x)", ""},
		{right, "void f(const float *x, const float *z, float *y, int n, int m)", "10:14: source.arguments[3].name: function f (f.c:2) has n, m in the place of m, n" + remedy},
		{right, "void f(const float *x, const float *z, float *y, int n, int k)", "11:14: source.arguments[4].name: function f (f.c:2) has k in the place of n" + remedy},
		{right, "void f(const float *z, const float *x, float *y, int m, int n)", "7:14: source.arguments[0].name: function f (f.c:2) has z, x in the place of x, z" + remedy},
		{right, "static inline float f(const float *x, const float *z, float *y, int m, int n)", "5:13: source.function: function f (f.c:2) returns float, which nobody compares: write what it computes to a buffer"},
		{"typedef void nothing;\n" + right, "nothing f(const float *x, const float *z, float *y, int m, int n)", ""},
		{strings.Replace(right, "int m, int n", "int n, int m", 1), "void f(const float *x, const float *z, float *y, int n, int m)",
			"10:14: source.arguments[3].name: function f (f.c:2) has n, m in the place of m, n" + remedy},
		{strings.Replace(right, "int m, int n", "int n, int m", 1), "void f(const float *x, const float *z, float *y, int m, int n)",
			"10:14: source.arguments[3].name: function g (f.c:1) has n, m in the place of m, n" + remedy},
	} {
		k, path := load(t, text, "f.c", test.reference+test.head+" {\n\t(void)T;\n}\n")
		odd, err := problem(t, k, "").(*SourceProblem).Misplaced(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(odd.Error(), path+"/kernel.yaml:", ""); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.head, got, test.want)
		}
	}
}
