package user

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tune/internal/cpu"
	"tune/kernels"
	"tune/space"
)

// contractC depends on whether products and sums are fused, on the order of additions, and, by way of SCALE, on a value.
const contractC = `
void f(const float *x, const float *y, float *out, int n) {
	for (int i = 0; i < n; i++)
		out[i] = x[i] * y[i] + x[n - 1 - i] * SCALE;
	for (int j = 0; j < 8; j++) {
		float sum = 0;
		for (int i = 0; i < n - 8; i++)
			sum += out[i] * y[i + j];
		out[n + j] = sum;
	}
}
`

// contractYAML takes the values of contract, opt and SCALE, and further fields of the reference.
const contractYAML = `
kernel: {name: contract, shape: {n: 333}}
space: {parameters: [{name: contract, type: enum, values: [%s]}, {name: opt, type: enum, values: [%s]}, {name: SCALE, type: enum, values: [%s]}]}
source:
  file: f.c
  function: f
  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: read}
    - {name: out, type: float, length: n + 8, access: write}
    - {name: n, type: int, value: n}
  reference: {function: f, tolerance: exact%s}
  compilers: [gcc]
  flags: ["{{opt}}", -mfma, "{{contract}}"]
`

// statuses builds and checks all points of a kernel.
func statuses(t *testing.T, text string, files ...string) map[string]space.Status {
	t.Helper()
	k, _ := load(t, append([]string{text}, files...)...)
	p := problem(t, k, "")
	out := map[string]space.Status{}
	for point := range p.Space().All() {
		c, err := p.Build(t.Context(), point)
		if err == nil {
			err = c.Check(t.Context(), 7)
		}
		out[point.Key()] = space.OK
		if r := kernels.AsRejection(err); r != nil {
			out[point.Key()] = r.Status
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	return out
}

// TestOrderOfValues permutes the values of all parameters: the default point, and so the baseline, is another then, and what
// is right is not.
func TestOrderOfValues(t *testing.T) {
	needCompiler(t)
	if !slices.Contains(cpu.Features(), cpu.AVX2) {
		t.Skip("the processor has no fused multiply-add")
	}
	contract, opt, scale := []string{"-ffp-contract=off", "-ffp-contract=fast"}, []string{"-O2", "-Ofast"}, []string{"1.5f", "3.0f"}
	text := func(a, b, c []string, more string) string {
		join := func(s []string) string { return strings.Join(s, ", ") }
		return fmt.Sprintf(contractYAML, join(a), join(b), join(c), more)
	}
	want := map[string]space.Status{}
	for _, a := range contract {
		for _, b := range opt {
			for _, c := range scale {
				// The reference is what the file's own function is with no freedom, and the smallest factor.
				s := space.WrongAnswer
				if a == contract[0] && b == opt[0] && c == scale[0] {
					s = space.OK
				}
				want[fmt.Sprintf("contract=%q opt=%s SCALE=%s", a, b, c)] = s
			}
		}
	}
	masks := []int{0b000, 0b111}
	if stress {
		masks = []int{0b000, 0b011, 0b101, 0b110} // every two orders of two parameters
	}
	for _, mask := range masks {
		turned := [][]string{slices.Clone(contract), slices.Clone(opt), slices.Clone(scale)}
		for i := range turned {
			if mask>>i&1 == 1 {
				slices.Reverse(turned[i])
			}
		}
		if got := statuses(t, text(turned[0], turned[1], turned[2], ""), "f.c", contractC); !maps.Equal(got, want) {
			t.Errorf("%v:\ngot  %v\nwant %v", turned, got, want)
		}
	}
	// What the file states counts, in any order as well.
	for _, a := range [][]string{contract, {contract[1], contract[0]}} {
		for _, stated := range []struct {
			more       string
			opt, scale []string
			right      string
		}{
			{`, parameters: {SCALE: 3.0f}`, opt[:1], scale, `contract="-ffp-contract=off" opt=-O2 SCALE=3.0f`},
			{`, flags: [-O2, -mfma, -ffp-contract=fast]`, opt, scale[:1], `contract="-ffp-contract=fast" opt=-O2 SCALE=1.5f`},
			{`, flags: ["{{opt}}", -mfma, "{{contract}}"], parameters: {opt: -O2}`, opt, scale[:1], `contract="-ffp-contract=fast" opt=-O2 SCALE=1.5f`},
		} {
			more := stated.more
			got := statuses(t, text(a, stated.opt, stated.scale, more), "f.c", contractC)
			if got[stated.right] != space.OK {
				t.Errorf("%s: %v", more, got)
			}
			delete(got, stated.right)
			for key, s := range got {
				if s != space.WrongAnswer {
					t.Errorf("%s: %s is %v", more, key, s)
				}
			}
		}
	}
}

// TestStandard: what the reference is built with depends on no order, no default, and no list of compilers.
func TestStandard(t *testing.T) {
	text := func(values, first, compilers string) string {
		opts := `-O1, "-O1 -g"`
		if strings.HasPrefix(values, "row") {
			opts = `"-O1 -g", -O1`
		}
		return strings.NewReplacer("VALUES", values, "OPTS", opts, "FIRST", first, "COMPILERS", compilers).Replace(`
kernel: {name: k, shape: {n: 8}}
space:
  parameters:
    - {name: TILE, type: pow2, from: 1, to: 8, default: FIRST}
    - {name: way, type: enum, values: [VALUES]}
    - {name: opt, type: enum, values: [OPTS]}
    - {name: big, type: bool, default: true}
    - {name: ratio, type: enum, values: [2, 0.5, 1.0]}
    - {name: rest, type: int, from: 1, to: 9, when: "way == 'row'"}
  constraints: [TILE > 2 or way != 'col', TILE * rest >= 3]
source:
  file: f.c
  function: f
` + argumentsText + `  reference: {function: plain MORE}
  compilers: [COMPILERS]
  flags: ["-DW={{way}}", "-DREST={{rest}}", -march=native]
`)
	}
	standard := func(text string) (standard, error) {
		k, err := read("my.yaml", []byte(text), library)
		if err != nil {
			return standard{}, err
		}
		return k.d.source.standardOf(k.d.space, map[string]int{"n": 8}, k.d.source.compilers)
	}
	const wantPoint = "compiler=gcc TILE=1 way=diagonal opt=-O1 big=false ratio=0.5"
	wantFlags := []string{"-DW=diagonal", "-march=native", "-O2", "-fno-fast-math", "-ffp-contract=off"}
	for _, values := range []string{"row, col, diagonal", "diagonal, row, col", "col, diagonal, row"} {
		for _, first := range []string{"1", "4", "8"} {
			for _, compilers := range []string{"gcc, clang", "clang, gcc"} {
				got, err := standard(strings.Replace(text(values, first, compilers), " MORE", "", 1))
				if err != nil {
					t.Fatal(err)
				}
				if got.point.Key() != wantPoint || !slices.Equal(got.flags, wantFlags) || got.compiler != "gcc" {
					t.Errorf("%s, %s, %s: %s by %s with %q", values, first, compilers, got.point.Key(), got.compiler, got.flags)
				}
				got, err = standard(strings.Replace(text(values, first, compilers), " MORE", ", parameters: {way: row, compiler: clang, ratio: 1}", 1))
				if err != nil {
					t.Fatal(err)
				}
				if key := got.point.Key(); key != "compiler=clang TILE=1 way=row opt=-O1 big=false ratio=1.0 rest=3" || got.compiler != "clang" {
					t.Errorf("%s, %s, %s: %s by %s", values, first, compilers, key, got.compiler)
				}
			}
		}
	}
	_, err := standard(strings.Replace(text("row, col, diagonal", "1", "gcc"), " MORE", ", parameters: {way: col, TILE: 2}", 1))
	if err == nil || err.Error() != "my.yaml:19:44: source.reference.parameters: no point has these values: change one of them, or leave it out" {
		t.Errorf("got %v", err)
	}
}

func TestStrict(t *testing.T) {
	const kept = "-Iinclude -I/x -DN=3 -UN -std=c11 -fopenmp -march=native -mavx2 -lm -L. -include a.h -fwrapv -fsigned-char -Wall -pthread -fno-strict-aliasing -Wl,-z,now @file -Xclang -x"
	const dropped = "-O -O0 -O3 -Ofast -Og -ffast-math -fno-math-errno -funsafe-math-optimizations -fassociative-math -freciprocal-math -ffinite-math-only " +
		"-fno-signed-zeros -fno-trapping-math -ffp-contract=fast -ffp-contract=on -fexcess-precision=fast -fsingle-precision-constant -fcx-limited-range " +
		"-ffp-model=fast -fapprox-func -mfpmath=387 -mrecip -mrecip=all -mdaz-ftz -fno-fast-math -fdenormal-fp-math=preserve-sign -Xclang -menable-no-nans"
	got := strict(slices.Concat(strings.Fields(kept), strings.Fields(dropped)))
	if want := slices.Concat(strings.Fields(kept), strictFlags); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestStrictFlags compiles with what the flags are meant to undo.
func TestStrictFlags(t *testing.T) {
	needCompiler(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/opts", []byte("-Ofast -ffp-contract=fast\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	// A file of options cannot be looked into, so that what comes last has to win.
	text := fmt.Sprintf(contractYAML, "-ffp-contract=off", "-O2", "1.5f", "")
	text = strings.Replace(text, "-mfma,", "-mfma, '@"+dir+"/opts',", 1)
	text = strings.Replace(text, "compilers:", "limits: {}\n  compilers:", 1)
	for key, s := range statuses(t, text, "f.c", contractC) {
		if s != space.WrongAnswer {
			t.Errorf("%s is %v: the reference has fast math too", key, s)
		}
	}
}
