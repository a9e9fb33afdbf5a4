package library

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tune/kernels/gemm"
	"tune/kernels/library/choice"
	"tune/kernels/native"
)

// predicting is the library of product with predicted costs in place of its tree: of what each of its variants does, at random prices.
func predicting(t *testing.T) Library {
	t.Helper()
	l, r := product(t, "demo"), rand.New(rand.NewPCG(1, 2))
	p := &choice.Predictor{Fields: []string{"m", "n", "k"}, Known: []choice.Known{{Fields: []int64{5, 6, 7}, Variant: 2}, {Fields: []int64{500, 6, 7}, Variant: 0}}}
	m := native.Machine{ISAs: []string{"generic", "avx2", "avx512"}, Compilers: []string{"gcc"}}
	for i, v := range l.Functions[0].Variants {
		d := l.Functions[0].Shapes[i]
		s, err := gemm.NewSpec(m, gemm.LayoutNN, gemm.Dims{M: int(d[0]), N: int(d[1]), K: int(d[2])}, 2)
		if err != nil {
			t.Fatal(err)
		}
		point, err := s.Space().Parse(v.Point)
		if err != nil {
			t.Fatal(err)
		}
		amounts, err := choice.ParseAmounts(s.Amounts(point))
		if err != nil {
			t.Fatal(err)
		}
		one := choice.Prediction{Variant: i}
		for _, a := range amounts {
			one.Terms = append(one.Terms, choice.Term{Weight: 1e-9 * r.Float64() / float64(1+5*i), Amount: a})
		}
		p.Predictions = append(p.Predictions, one)
	}
	p.Predictions[1].Terms = append(p.Predictions[1].Terms, choice.Term{Weight: 3e-8})
	p.Predictions[2].Terms = append(p.Predictions[2].Terms, choice.Term{Weight: 3e-6})
	l.Functions[0].Tree = &choice.Tree{Features: choice.Features(3), Root: &choice.Node{Variant: -1, Predictor: p}}
	return l
}

// TestPredictor: a dispatcher by predicted costs chooses as Go does, again where it has kept the choice, and where shapes are too large to be
// kept. The self-test of the library holds.
func TestPredictor(t *testing.T) {
	l, dir := predicting(t), t.TempDir()
	write(t, l, dir)
	shapes := [][]int64{{5, 6, 7}, {500, 6, 7}, {1 << 22, 3, 5}, {7, 1 << 33, 1 << 20}, {1 << 20, 1 << 21, 1 << 19}}
	for r := rand.New(rand.NewPCG(3, 4)); len(shapes) < 3000; {
		shapes = append(shapes, []int64{1 + r.Int64N(1<<r.IntN(11)), 1 + r.Int64N(1<<r.IntN(11)), 1 + r.Int64N(1<<r.IntN(11))})
	}
	var program strings.Builder
	program.WriteString("#include <stdio.h>\n#include <stdint.h>\n#include \"demo.h\"\nstatic const int64_t shapes[][3] = {\n")
	for _, s := range shapes {
		fmt.Fprintf(&program, "\t{ INT64_C(%d), INT64_C(%d), INT64_C(%d) },\n", s[0], s[1], s[2])
	}
	program.WriteString(`};
int main(void)
{
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
			printf("%d\n", demo_gemm_choice(shapes[i][0], shapes[i][1], shapes[i][2]));
	return 0;
}
`)
	if err := os.WriteFile(filepath.Join(dir, "choices.c"), []byte(program.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "make")
	run(t, dir, "gcc", "-Iinclude", "-o", "choices", "choices.c", "libdemo.a", "-lpthread")
	lines, count := strings.Fields(run(t, dir, "./choices")), map[string]int{}
	for i, got := range lines {
		want := fmt.Sprint(l.Functions[0].Tree.At(shapes[i%len(shapes)]))
		if got != want && got != "-1" { // the processor lacks what the variant needs
			t.Fatalf("the dispatcher takes %s for %v, in round %d, and Go %s", got, shapes[i%len(shapes)], 1+i/len(shapes), want)
		}
		count[want]++
	}
	if len(lines) != 2*len(shapes) || len(count) != 3 {
		t.Errorf("%d choices, of %v", len(lines), count)
	}
	out := run(t, dir, "make", "check")
	if !strings.Contains(out, "\nall right\n") {
		t.Errorf("no %q in:\n%s", "all right", out)
	}
	strict := []string{"-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "src/dispatch.c"}
	run(t, dir, "gcc", strict...)
}

// TestPredictorEmpty: where a dimension may be 0, the plain form takes such calls, and no cost is predicted.
func TestPredictorEmpty(t *testing.T) {
	l, dir := foreign(), t.TempDir()
	f := &l.Functions[0]
	f.Linkage.Dims[0].Least, f.Shapes = 0, nil
	p := &choice.Predictor{Fields: []string{"n", "m"}}
	for i := range f.Variants {
		amounts, err := choice.ParseAmounts([][]string{{"n"}})
		if err != nil {
			t.Fatal(err)
		}
		p.Predictions = append(p.Predictions, choice.Prediction{Variant: i, Terms: []choice.Term{{Weight: float64(1 + i), Amount: amounts[0]}}})
	}
	f.Tree = &choice.Tree{Features: choice.Features(2), Root: &choice.Node{Variant: -1, Predictor: p}}
	write(t, l, dir)
	const program = `#include <stdio.h>
#include "demo.h"
int main(void)
{
	printf("%d %d %d %d", demo_gather_choice(0, 5), demo_gather_choice(1, 5), demo_gather_choice(100, 5), demo_gather_choice(101, 5));
	return 0;
}
`
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "make", "libdemo.a", "CFLAGS=-fsanitize=undefined -fno-sanitize-recover=undefined")
	run(t, dir, "gcc", "-Iinclude", "-fsanitize=undefined", "-o", "program", "program.c", "libdemo.a")
	if got, want := run(t, dir, "./program"), "-1 0 0 -1"; got != want {
		t.Errorf("the choices are %s, want %s", got, want)
	}
}

// TestPredictorFaults: a predictor that C cannot have is refused.
func TestPredictorFaults(t *testing.T) {
	power, err := choice.ParseAmounts([][]string{{"m ** k"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(p *choice.Predictor)
	}{
		{"the predicted costs are of variant 3 of 3", func(p *choice.Predictor) { p.Predictions[0].Variant = 3 }},
		{"the known shape [5 6] takes variant 2: want 3 dimensions, and a variant of which a cost is predicted", func(p *choice.Predictor) { p.Known[0].Fields = []int64{5, 6} }},
		{"the known shape [5 6 7] takes variant 7: want 3 dimensions", func(p *choice.Predictor) { p.Known[0].Variant = 7 }},
		{"the predicted cost of variant 0: m ** k", func(p *choice.Predictor) { p.Predictions[0].Terms = []choice.Term{{Weight: 1, Amount: power[0]}} }},
	} {
		l := predicting(t)
		p := l.Functions[0].Tree.Root.Predictor
		p.Known = slices.Clone(p.Known)
		c.change(p)
		if _, err := l.Files(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
