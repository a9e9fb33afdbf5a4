package user

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tune/kernels/native"
)

const blurC = `
#ifndef STEP
#define STEP 1
#endif
int calls;
void blur(double scale, const float *x, float *y, int rows, int cols) {
	calls++;
	for (int i = 0; i < rows; i++)
		for (int j0 = 0; j0 < cols; j0 += STEP)
			for (int j = j0; j < j0 + STEP && j < cols; j++)
				y[i * cols + j] += (float)scale * x[i * (cols + WIDE) + j];
}
void plain(double scale, const float *x, float *y, int rows, int cols) {
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++)
			y[i * cols + j] += (float)scale * x[i * (cols + WIDE) + j];
}
`

const blurYAML = `
kernel: {name: blur, shape: {rows: {default: 8, to: 100000}, cols: 40, wide: 2, half: 1}}
space:
  parameters:
    - {name: STEP, type: pow2, from: 1, to: 64}
    - {name: opt, type: enum, values: [-O1, -O3], when: cols > 16}
    - {name: DEEP, type: int, from: 1, to: 3, when: STEP > 4}
  constraints: [STEP <= cols, "cols % STEP == 0 or rows > 4", DEEP < 3]
source:
  file: blur.c
  function: blur
  arguments:
    - {name: scale, type: double, value: 0.5 * half}
    - {name: x, type: float, length: rows * (cols + wide), access: read}
    - {name: y, type: float, length: rows * cols, access: update, fill: {random: [0, cols], integers: true}}
    - {name: rows, type: int, value: rows}
    - {name: cols, type: int, value: cols}
  reference: {function: plain}
  compilers: [gcc]
  flags: ["{{opt}}", "-DWIDE={{wide}}", -march=native]
`

// linked loads a kernel, and returns the problem whose code programs call.
func linked(t *testing.T, yaml, shape string) (*native.Problem, native.Linkage, error) {
	t.Helper()
	k, _ := load(t, yaml, "blur.c", blurC, "plain.c", blurC, "numbers.txt", strings.Repeat("1 ", 8*42), "sums.txt", strings.Repeat("1 ", 8*40))
	p, ok := problem(t, k, shape).(*SourceProblem)
	if !ok {
		t.Fatal("it is no source")
	}
	n, l, _, err := p.Linked()
	return n, l, err
}

// TestLinked: fields that arguments carry are dimensions, the others are compiled in, and the code is right at other shapes than that
// which it was generated for.
func TestLinked(t *testing.T) {
	needCompiler(t)
	p, l, err := linked(t, blurYAML, "rows=8,cols=64")
	if err != nil {
		t.Fatal(err)
	}
	var dims []string
	for _, d := range l.Dims {
		dims = append(dims, fmt.Sprintf("%s %d %d", d.Name, d.Least, d.Most))
	}
	if got, want := strings.Join(dims, ", "), "rows 1 100000, cols 1 2147483647, half 1 1099511627776"; got != want {
		t.Errorf("dimensions %s, want %s", got, want)
	}
	if want := []native.FixedField{{Name: "wide", Why: "the compiler flags name wide"}}; !slices.Equal(l.Fixed, want) {
		t.Errorf("fixed: %v, want %v", l.Fixed, want)
	}
	if got := l.Extents[0].Length; got != "(int64_t)(rows * (cols + 2))" || l.Extents[0].Count([]int64{3, 5, 1}) != 21 {
		t.Errorf("x has %s elements, and %d at 3x5", got, l.Extents[0].Count([]int64{3, 5, 1}))
	}
	if c := l.Contents[1]; c.Low != "0" || c.High != "cols" || !c.Whole || !c.Updated {
		t.Errorf("y holds %+v", c)
	}
	if slices.ContainsFunc(l.Plain.Flags, func(f string) bool { return strings.HasPrefix(f, "-m") }) {
		t.Errorf("the plain form has the flags %v", l.Plain.Flags)
	}
	point, err := p.Space().Parse("STEP=8 opt=-O3 DEEP=1")
	if err != nil {
		t.Fatal(err)
	}
	source, err := p.Source(point)
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"-march=native", "#line"} {
		if strings.Contains(strings.Join(source.Flags, " ")+source.Text, unwanted) {
			t.Errorf("linked code has %s", unwanted)
		}
	}
	if got, err := p.Symbols(t.Context(), source); err != nil || !slices.Equal(got, []string{"blur", "calls", "plain"}) {
		t.Errorf("symbols %v: %v", got, err)
	}
	for _, shape := range []string{"rows=5,cols=23", "rows=1,cols=64", "rows=8,cols=64,half=3"} {
		other, _, err := linked(t, blurYAML, shape)
		if err != nil {
			t.Fatal(err)
		}
		at, err := other.Space().Parse("STEP=8 opt=-O3 DEEP=1")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []native.Source{source, l.Plain} {
			if err := other.Adopt(s, at).Check(t.Context(), 7); err != nil {
				t.Errorf("%s: %v", shape, err)
			}
		}
	}
	short := source
	short.Text = strings.Replace(short.Text, "j < cols;", "j < cols - 1;", 1)
	if err := p.Adopt(short, point).Check(t.Context(), 7); err == nil {
		t.Error("code that leaves out a column passes")
	}
	wide := source
	wide.Text = strings.Replace(wide.Text, "i < rows;", "i <= rows;", 1)
	if err := p.Adopt(wide, point).Check(t.Context(), 7); err == nil || !strings.Contains(err.Error(), "past the end") {
		t.Errorf("code that writes a row too many: %v", err)
	}
}

// TestLinkedCPlusPlus: a source in C++ and a reference in either language are linked, and no names are told of them. Code that would run by
// itself on every processor is refused.
func TestLinkedCPlusPlus(t *testing.T) {
	needCompiler(t)
	text := strings.NewReplacer("file: blur.c", "file: blur.c\n  language: c++", "reference: {function: plain}", "reference: {function: plain, file: plain.c}").Replace(blurYAML)
	p, l, err := linked(t, text, "rows=5,cols=23")
	if err != nil {
		t.Fatal(err)
	}
	point := p.Presets()[0].Point
	source, err := p.Source(point)
	if err != nil {
		t.Fatal(err)
	}
	if source.Lang != "c++" || l.Plain.Lang != "c" {
		t.Errorf("the code is in %s, the plain form in %s", source.Lang, l.Plain.Lang)
	}
	for _, s := range []native.Source{source, l.Plain} {
		if err := p.Adopt(s, point).Check(t.Context(), 7); err != nil {
			t.Error(err)
		}
	}
	if names, err := p.Symbols(t.Context(), source); err != nil || names != nil {
		t.Errorf("symbols %v: %v", names, err)
	}
	source.Text += "int made();\nint early = made();\nint made() { return calls; }\n"
	source.Flags = append(source.Flags, "-mavx2")
	if _, err := p.Symbols(t.Context(), source); err == nil || !strings.Contains(err.Error(), "code runs by itself when a program starts") {
		t.Errorf("a constructor: %v", err)
	}
}

// TestLinkedConditions: the condition in C holds exactly at those shapes at which the point is one of the kernel.
func TestLinkedConditions(t *testing.T) {
	needCompiler(t)
	var c, want strings.Builder
	c.WriteString("#include <stdint.h>\n#include <stdio.h>\nint main(void)\n{\n")
	r := rand.New(rand.NewPCG(1, 2))
	var points []string
	for _, shape := range []string{"rows=8,cols=64", "rows=2,cols=48", "rows=9,cols=7"} {
		p, _, err := linked(t, blurYAML, shape)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			point, err := p.Space().Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			source, err := p.Source(point)
			if err != nil {
				t.Fatal(err)
			}
			points = append(points, point.Key()+"\x00"+source.Takes)
		}
	}
	k, _ := load(t, blurYAML, "blur.c", blurC)
	for range 25 {
		rows, cols := 1+r.IntN(9), 1+r.IntN(70)
		s := problem(t, k, fmt.Sprintf("rows=%d,cols=%d", rows, cols)).Space()
		fmt.Fprintf(&c, "\t{ const int64_t rows = %d, cols = %d, half = 1; (void)rows, (void)cols, (void)half;\n", rows, cols)
		for _, pair := range points {
			key, takes, _ := strings.Cut(pair, "\x00")
			if takes == "" {
				takes = "1"
			}
			_, err := s.Parse(key)
			fmt.Fprintf(&c, "\tprintf(\"%%d\\n\", %s);\n", takes)
			fmt.Fprintf(&want, "%d\n", map[bool]int{true: 1, false: 0}[err == nil])
		}
		c.WriteString("\t}\n")
	}
	c.WriteString("\treturn 0;\n}\n")
	dir := t.TempDir()
	path := filepath.Join(dir, "takes.c")
	if err := os.WriteFile(path, []byte(c.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-o", filepath.Join(dir, "takes"), path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := exec.Command(filepath.Join(dir, "takes")).Output()
	if err != nil || string(got) != want.String() {
		t.Errorf("C and the spaces do not agree: %v\n%s\n%v", err, c.String(), points)
	}
	if n := strings.Count(want.String(), "1"); n == 0 || n == strings.Count(want.String(), "\n") {
		t.Error("the shapes do not tell the points apart")
	}
}

// TestUnlinkable: what stands against a library is named, with its place and the remedy.
func TestUnlinkable(t *testing.T) {
	needCompiler(t)
	for _, test := range []struct{ old, new, want string }{
		{"value: 0.5 * half", "value: STEP", ":13:42: source.arguments[0].value: STEP names the parameter STEP, so that two variants would be called differently: name fields of the shape only"},
		{"length: rows * cols,", "length: rows * cols * STEP,", "source.arguments[2].length: rows * cols * STEP names the parameter STEP"},
		{"length: rows * cols,", "length: rows * cols ** 2,", "source.arguments[2].length: rows * cols ** 2: a power of a field of the shape has no form in C: write a product"},
		{"fill: {random: [0, cols], integers: true}", "fill: {random: [0, STEP]}", "source.arguments[2].fill: STEP names the parameter STEP"},
		{"flags: [", "flags: [\"-Dr={{rows}}\", \"-Dc={{cols}}\", \"-Dh={{half}}\", ", "no field of the shape is one that a call can give: of rows, the compiler flags name rows. Give the function the sizes as scalar arguments"},
		{"length: rows * (cols + wide), access: read", "length: rows * (cols + wide), access: read, fill: {file: numbers.txt}", "source.arguments[1].fill: the file numbers.txt has one length, and the self-test draws other shapes: fill it at random"},
	} {
		text := strings.Replace(blurYAML, test.old, test.new, 1)
		if text == blurYAML {
			t.Fatalf("no %q", test.old)
		}
		_, _, err := linked(t, text, "")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", test.new, err, test.want)
		}
	}
	outputs := strings.NewReplacer("access: read}", "access: read, fill: {constant: 1}}", "fill: {random: [0, cols], integers: true}", "fill: {constant: 1}",
		"reference: {function: plain}", "reference: {outputs: {y: sums.txt}}\n  vary: false").Replace(blurYAML)
	if _, _, err := linked(t, outputs, ""); err == nil || !strings.Contains(err.Error(), "source.reference: a library needs a form of the function that is right at every shape: compare with a function instead of files of outputs") {
		t.Errorf("files of outputs: %v", err)
	}
	// A condition that C does not have is told with the constraint.
	text := strings.Replace(blurYAML, "DEEP < 3]", "DEEP < 3, rows ** 2 > STEP]", 1)
	p, _, err := linked(t, text, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Source(p.Presets()[0].Point); err == nil || !strings.Contains(err.Error(), "space.constraints: rows ** 2 > STEP: a power") {
		t.Errorf("a power in a constraint: %v", err)
	}
}
