package user

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// numbersOf returns the elements of a buffer.
func numbersOf(data []byte, elem native.Elem) (out []float64) {
	at := elementsOf(data, elem)
	for i := range len(data) / elem.Size() {
		out = append(out, at(i))
	}
	return out
}

// statistics returns what numbers have in common: the mean, the greatest absolute value, the norm, the ratio of the greatest absolute value
// to the mean of them, and the share of numbers above the middle of a range.
func statistics(numbers []float64, middle float64) []float64 {
	var sum, most, squares, sizes, above float64
	for _, x := range numbers {
		sum += x
		most = max(most, math.Abs(x))
		squares += x * x
		sizes += math.Abs(x)
		if x > middle {
			above++
		}
	}
	n := float64(len(numbers))
	return []float64{sum / n, most, math.Sqrt(squares / n), most * n / sizes, above / n}
}

const reshapeYAML = `
kernel: {name: demo, shape: {n: 5000}}
space: {parameters: [{name: TILE, type: int, from: 1, to: 2}]}
source:
  file: f.c
  function: f
  arguments:
    - {name: y, type: float, length: n, access: write}
    - {name: around, type: float, length: n, access: read, fill: {random: [-3, 3]}}
    - {name: above, type: double, length: n, access: update, fill: {random: [0, 1]}}
    - {name: bits, type: int, length: n, access: read, fill: {random: [0, 1]}}
    - {name: bytes, type: u8, length: n, access: read, fill: {random: [0, 255]}}
    - {name: weights, type: float, length: n, access: read, fill: {file: weights.txt}}
    - {name: codes, type: i8, length: n, access: read, fill: {file: codes.txt}}
    - {name: table, type: float, length: n, access: read, fill: {file: table.txt}}
    - {name: offsets, type: int, length: n, access: read, fill: {file: table.txt}, vary: true}
    - {name: indices, type: int, length: n, access: read, fill: {file: codes.txt}}
    - {name: kept, type: float, length: n, access: read, fill: {file: weights.txt}, vary: false}
    - {name: gain, type: float, length: 1, access: read, fill: {constant: 2}}
  reference: {function: f}
`

// TestReshapeInputs: reshaped inputs differ in what many numbers have in common, stay in their range or among the elements of the file,
// and in order.
func TestReshapeInputs(t *testing.T) {
	const n = 5000
	list := func(of func(i int) int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintln(&b, of(i))
		}
		return b.String()
	}
	k, err := read("my.yaml", []byte(reshapeYAML), shelf{
		"f.c":         "void f(void) { (void)TILE; }\n",
		"weights.txt": list(func(i int) int { return i*7919%2001 - 1000 }),
		"codes.txt":   list(func(i int) int { return i*7919%201 - 100 }),
		"table.txt":   list(func(i int) int { return 10 * i }),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := k.d.source
	shape := map[string]int{"n": n}
	sp, err := k.d.space.make(shape)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.shapeCase(sp.Default(), shape)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(10) {
		inputs, err := s.inputs(c, seed, true)
		if err != nil {
			t.Fatal(err)
		}
		s.varyInputs(c, inputs, seed)
		var before [][]byte
		for _, in := range inputs {
			before = append(before, bytes.Clone(in))
		}
		out, names := s.reshapeInputs(c, inputs, seed)
		again, _ := s.reshapeInputs(c, inputs, seed)
		if got := strings.Join(names, " "); got != "around above bits bytes weights codes table offsets" {
			t.Fatalf("reshaped are %q", got)
		}
		if !slices.EqualFunc(inputs, before, bytes.Equal) || !slices.EqualFunc(out, again, bytes.Equal) {
			t.Fatal("the inputs have changed, or the same seed gives others")
		}
		for i, b := range c.buffers[1:9] {
			was, is := numbersOf(inputs[i+1], b.Elem), numbersOf(out[i+1], b.Elem)
			low, high := slices.Min(was), slices.Max(was)
			if slices.Min(is) < low || slices.Max(is) > high {
				t.Errorf("%s goes from %v to %v, and did from %v to %v", b.Name, slices.Min(is), slices.Max(is), low, high)
			}
			if order := orderOf(n, elementsOf(out[i+1], b.Elem)); (b.Name == "table" || b.Name == "offsets") != (order == 1) {
				t.Errorf("%s has order %d", b.Name, order)
			}
			if strings.Contains("weights codes offsets", b.Name) {
				slices.Sort(was)
				for _, x := range is {
					if _, found := slices.BinarySearch(was, x); !found {
						t.Fatalf("%s: %v is new", b.Name, x)
					}
				}
			}
			least := 0.1
			if b.Name == "bits" {
				least = 0.02
			}
			middle := (low + high) / 2
			old := statistics(was, middle)
			for j, x := range statistics(is, middle) {
				fixed := j == 1 && (b.Name == "bits" || b.Name == "table" || b.Name == "offsets") // the first and the last stay
				if !fixed && math.Abs(x-old[j]) < least*max(math.Abs(old[j]), (high-low)/1e6) {
					t.Errorf("seed %d: statistic %d of %s is %.4g, and was %.4g", seed, j, b.Name, x, old[j])
				}
			}
		}
	}
}

// TestReshape: a candidate is refused that keeps what the numbers of its first input have in common, and is right in all timed calls.
func TestReshape(t *testing.T) {
	needCompiler(t)
	const text = `
kernel: {name: above, shape: {n: 4000}}
space: {parameters: [{name: KEEP, type: enum, values: [0, 1, 2]}]}
source:
  file: above.c
  function: above_ofVARY
  arguments:
    - {name: y, type: float, length: n, access: write}
    - {name: x, type: float, length: n, access: read, fill: {random: [-3, 3]}}
    - {name: w, type: float, length: n, access: read, fill: {file: w.txt}}
    - {name: n, type: int, value: n}
  reference: {function: plain, tolerance: {absolute: 5.0e-2, relative: 5.0e-2}}
`
	const source = `
#include <math.h>
static float above(const float *x, int n)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += x[i] > 0;
	return (float)count / n;
}
static float norm(const float *w, int n)
{
	float sum = 0;
	for (int i = 0; i < n; i++)
		sum += w[i] * w[i];
	return sqrtf(sum);
}
static void divide(float *y, const float *x, int n, float by)
{
	for (int i = 0; i < n; i++)
		y[i] = x[i] * by;
}
void plain(float *y, const float *x, const float *w, int n) { divide(y, x, n, 1e3f * above(x, n) / norm(w, n)); }
void above_of(float *y, const float *x, const float *w, int n)
{
	static float of_x, of_w;
	if (KEEP != 1 || of_x == 0)
		of_x = above(x, n);
	if (KEEP != 2 || of_w == 0)
		of_w = norm(w, n);
	divide(y, x, n, 1e3f * of_x / of_w);
}
`
	var w strings.Builder
	for i := range 4000 {
		fmt.Fprintln(&w, i*7919%101)
	}
	problemWith := func(vary string) kernels.Problem {
		k, _ := load(t, strings.Replace(text, "VARY", vary, 1), "above.c", source, "w.txt", w.String())
		return brief(whole(t, k, ""))
	}
	p := problemWith("")
	for keep, status := range []space.Status{space.OK, space.WrongAnswer, space.WrongAnswer} {
		out := evaluate(t, p, fmt.Sprintf("KEEP=%d", keep))
		if out.Status != status || status != space.OK && !strings.Contains(out.Reason, "In this call inputs x and w have another distribution: write vary: false") {
			t.Errorf("KEEP=%d: %v: %s", keep, out.Status, out.Reason)
		}
	}
	if out := evaluate(t, problemWith("\n  vary: false"), "KEEP=1"); out.Status != space.OK {
		t.Errorf("with vary: false: %v: %s", out.Status, out.Reason)
	}
}
