package user

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// TestTradeIntegers: copies differ from the original and from one another, hold its elements, and stay in order where it is.
func TestTradeIntegers(t *testing.T) {
	bytesOf := func(elem native.Elem, numbers ...float64) (data []byte) {
		for _, x := range numbers {
			data = encode(data, x, elem)
		}
		return data
	}
	many := make([]float64, 4000)
	for i := range many {
		many[i] = float64(i * 7919 % 251)
	}
	mask := make([]float64, 4000)
	mask[17] = 1
	for name, test := range map[string]struct {
		elem    native.Elem
		numbers []float64
		ordered bool
	}{
		"bytes":   {native.U8, many, false},
		"wider":   {native.I32, many, false},
		"mask":    {native.I8, mask, false},
		"rising":  {native.I32, []float64{0, 3, 3, 9, 20, 21, 40, 41, 50}, true},
		"falling": {native.I8, []float64{90, 7, 3, 0, -4, -9, -9, -100}, true},
	} {
		data := bytesOf(test.elem, test.numbers...)
		before := bytes.Clone(data)
		rng := rand.New(rand.NewPCG(3, 4))
		a, b := tradeIntegers(data, test.elem, rng), tradeIntegers(data, test.elem, rng)
		if bytes.Equal(a, data) || bytes.Equal(a, b) || !bytes.Equal(data, before) {
			t.Errorf("%s: the copies do not differ, or the original does", name)
		}
		if again := tradeIntegers(data, test.elem, rand.New(rand.NewPCG(3, 4))); !bytes.Equal(a, again) {
			t.Errorf("%s: the same seed gives another copy", name)
		}
		size := test.elem.Size()
		var got []float64
		moved := 0
		for i, x := range test.numbers {
			got = append(got, decode(a[i*size:(i+1)*size], test.elem))
			if got[i] != x {
				moved++
			}
			if !slices.Contains(test.numbers, got[i]) {
				t.Fatalf("%s: %v is new", name, got[i])
			}
		}
		if name != "mask" && len(got) > 100 && (moved < len(got)/6 || moved > len(got)/3) {
			t.Errorf("%s: %d of %d elements moved", name, moved, len(got))
		}
		if !test.ordered {
			want := slices.Sorted(slices.Values(test.numbers))
			if !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Errorf("%s: it holds other elements", name)
			}
			continue
		}
		for mix := range 1 << len(got) {
			order := orderOf(len(got), func(i int) float64 {
				from := [2][]byte{a, b}[mix>>i&1]
				return decode(from[i*size:(i+1)*size], test.elem)
			})
			if want := orderOf(len(got), func(i int) float64 { return test.numbers[i] }); order != want {
				t.Fatalf("%s: mix %b has order %d", name, mix, order)
			}
		}
	}
}

// varyText is a file with the arguments and further lines of a source.
func varyText(arguments, more string) string {
	return fmt.Sprintf(`kernel: {name: demo, shape: {n: 4}}
space: {parameters: [{name: TILE, type: int, from: 1, to: 2}]}
source:
  file: f.c
  function: f
  arguments:
%s    - {name: y, type: float, length: n, access: write}
  reference: {function: plain}
%s`, arguments, more)
}

const varyC = "void f(const float *x, float *y) { (void)TILE; }\nvoid plain(const float *x, float *y) {}\n"

var varyShelf = shelf{"f.c": varyC, "four.txt": "3 1 4 1", "alike.txt": "5 5 5 5", "zero.txt": "0 0 0 0"}

// TestVariation: what varies in timed calls, by the type, the fill and what the file says.
func TestVariation(t *testing.T) {
	arg := func(name, kind, rest string) string {
		return fmt.Sprintf("    - {name: %s, type: %s, length: n, access: read%s}\n", name, kind, rest)
	}
	const random = "    - {name: r, type: float, length: n, access: read}\n"
	const from = ", fill: {file: four.txt}"
	for _, test := range []struct {
		arguments, more string
		varied          string
	}{
		{arg("a", "float", from) + arg("b", "i8", from) + arg("c", "u8", from) + arg("d", "i16", from), "", "a b c"},
		{arg("a", "float", from) + arg("b", "i8", from) + arg("c", "int", from) + random, "  vary: false\n", ""},
		{arg("a", "float", from+", vary: false") + arg("b", "i8", from+", vary: false") + arg("c", "int", from+", vary: true") + random, "", "c"},
		{arg("a", "float", from) + arg("b", "long", from+", vary: true") + arg("c", "u8", from+", vary: true"), "  vary: false\n", "b c"},
		{arg("a", "float", ", fill: {constant: 2}") + random, "", "a"},
		{random + arg("a", "i8", ""), "", ""},
		{random + arg("a", "float", ", fill: {constant: 0}") + arg("b", "u8", ", fill: {file: alike.txt}"), "", ""},
	} {
		k, err := read("my.yaml", []byte(varyText(test.arguments, test.more)), varyShelf)
		if err != nil {
			t.Fatal(err)
		}
		s := k.d.source
		sp, err := k.d.space.make(map[string]int{"n": 4})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.shapeCase(sp.Default(), map[string]int{"n": 4})
		if err != nil {
			t.Fatal(err)
		}
		draw := func(seed uint64) ([][]byte, []string) {
			inputs, err := s.inputs(c, seed, true)
			if err != nil {
				t.Fatal(err)
			}
			return inputs, s.varyInputs(c, inputs, seed)
		}
		first, varied := draw(1)
		if got := strings.Join(varied, " "); got != test.varied {
			t.Errorf("%s%s: %q varies, want %q", test.arguments, test.more, got, test.varied)
		}
		again, _ := draw(1)
		for i, b := range c.buffers {
			differs := slices.Contains(varied, b.Name) || s.arguments[c.index[i]].fill.kind == fillRandom && b.Mode == native.In
			if s.differs(c, i) != differs {
				t.Errorf("%s: %s differs: %v", test.arguments, b.Name, !differs)
			}
			other := false
			for seed := range uint64(20) {
				inputs, _ := draw(seed)
				other = other || !bytes.Equal(inputs[i], first[i])
			}
			if !bytes.Equal(first[i], again[i]) || other != differs {
				t.Errorf("%s: %s differs between seeds: %v", test.arguments, b.Name, other)
			}
		}
	}
}

// TestVaryFaults: vary where it makes no sense, and files of which nothing varies.
func TestVaryFaults(t *testing.T) {
	const x = "    - {name: x, type: %s, length: n, access: read%s}\n"
	one := func(kind, rest string) string { return fmt.Sprintf(x, kind, rest) }
	const refused = "my.yaml:7:5: source.arguments: " + unvariedText
	const accepted = "warning my.yaml:7:5: source.arguments: all checks and all timed calls are on one input, as the file accepts: a candidate that always gives its result is right, and one that remembers it is scored as fast"
	const fixed = "warning my.yaml:7:5: source.arguments: no buffer is filled with random numbers, so that all checks are on one input, and a kernel that always gives its result is right"
	packed := func(line int, name string) string {
		return fmt.Sprintf("warning my.yaml:%d:7: source.arguments[%d]: %s is the same in all timed calls: a candidate that keeps what it makes of it (packs it once) is scored without that work. At this argument vary: true lets elements trade places, and vary: false accepts it", line, line-7, name)
	}
	const random = "    - {name: r, type: float, length: n, access: read}\n"
	for _, test := range []struct{ arguments, more, want string }{
		{one("int", ", fill: {file: four.txt}, vary: perhaps"), "", "my.yaml:7:83: source.arguments[0].vary: want true or false"},
		{one("int", ", vary: true"), "", "my.yaml:7:59: source.arguments[0].vary: random numbers differ between timed calls anyway: leave it out, or fill the buffer with a file or a constant"},
		{one("float", ", fill: {random: [0, 1]}, vary: false"), "", "my.yaml:7:85: source.arguments[0].vary: random numbers differ between timed calls anyway: leave it out, or fill the buffer with a file or a constant"},
		{random + "    - {name: z, type: int, length: n, access: write, vary: true}\n", "", "my.yaml:8:60: source.arguments[1].vary: what a buffer holds that is only written has no meaning, and does not vary: leave it out"},
		{random + "    - {name: z, type: int, value: n, vary: false}\n", "", "my.yaml:8:44: source.arguments[1].vary: a scalar has a value and no vary: leave it out"},
		{one("int", ", fill: {constant: 3}, vary: true"), "", "my.yaml:7:80: source.arguments[0].vary: integers vary by trading places, and those of a constant are all the same: leave it out, or fill the buffer at random or with a file"},

		{one("int", ", fill: {file: four.txt}"), "", refused},
		{one("u8", ", fill: {file: alike.txt}"), "", refused},
		{one("i8", ", fill: {constant: 3}"), "", refused},
		{one("float", ", fill: {constant: 0}"), "", refused},
		{one("float", ", fill: {file: zero.txt}, vary: true"), "", refused},
		{one("int", ", fill: {random: [n, 4]}"), "", refused},
		{one("int", ", fill: {file: four.txt}, vary: false") + "    - {name: z, type: int, length: n, access: update, fill: {constant: 0}}\n", "", refused},
		{one("int", ", fill: {file: four.txt}, vary: false") + "    - {name: z, type: int, length: n, access: update, fill: {constant: 0}, vary: false}\n", "", accepted},
		{one("int", ", fill: {file: four.txt}"), "  vary: false\n", accepted},
		{one("int", ", fill: {file: four.txt}"), "  trusted: fast\n", accepted},
		{one("int", ", fill: {file: four.txt}, vary: true"), "", fixed},
		{one("u8", ", fill: {file: four.txt}"), "", fixed},
		{one("float", ", fill: {file: four.txt}"), "", fixed},
		{"", "", refused},
		{"", "  vary: false\n", accepted},
		{"", "  trusted: fast\n", accepted},
		{random + "    - {name: z, type: int, value: n}\n", "", ""},

		{random + one("int", ", fill: {file: four.txt}"), "", packed(8, "x")},
		{one("i16", ", fill: {file: four.txt}") + random, "", packed(7, "x")},
		{random + one("int", ", fill: {file: four.txt}, vary: true"), "", ""},
		{random + one("int", ", fill: {file: four.txt}, vary: false"), "", ""},
		{random + one("int", ", fill: {file: four.txt}"), "  vary: false\n", ""},
		{random + one("int", ", fill: {constant: 3}"), "", ""},
		{random + one("i8", ", fill: {file: four.txt}"), "", ""},
	} {
		k, err := read("my.yaml", []byte(varyText(test.arguments, test.more)), varyShelf)
		got := ""
		if err != nil {
			got = err.Error()
		} else if len(k.Warnings()) > 0 {
			got = "warning " + Faults(k.Warnings()).Error()
		}
		if got != test.want {
			t.Errorf("%s%s\ngot  %s\nwant %s", test.arguments, test.more, got, test.want)
		}
	}
}

// TestVariedOutputs: files of outputs are for inputs that do not differ between timed calls.
func TestVariedOutputs(t *testing.T) {
	one := func(kind, rest string) string {
		return fmt.Sprintf("    - {name: x, type: %s, length: n, access: read, fill: {file: four.txt}%s}\n", kind, rest)
	}
	const refused = "my.yaml:7:5: source.arguments: x differs between timed calls, and the files of outputs are right only for exactly these numbers, so that no timed call could be verified: write vary: false in source, or compare with a reference function"
	for _, test := range []struct{ arguments, more, want string }{
		{one("float", ""), "", refused},
		{one("u8", ""), "", refused},
		{one("float", ""), "  trusted: fast\n", refused},
		{one("int", ", vary: true"), "  vary: false\n", refused},
		{one("int", ""), "", "my.yaml:7:5: source.arguments: " + unvariedText},
		{one("float", ""), "  vary: false\n", ""},
		{one("float", ", vary: false"), "", ""},
	} {
		text := strings.Replace(varyText(test.arguments, test.more), "{function: plain}", "{outputs: {y: four.txt}}", 1)
		_, err := read("my.yaml", []byte(text), varyShelf)
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%s%s\ngot  %v\nwant %s", test.arguments, test.more, err, test.want)
		}
	}
}

// TestUnvariedCopy: the kernel of a run that exists is read although nothing of it varies, so that the run can be looked at.
func TestUnvariedCopy(t *testing.T) {
	text := varyText("    - {name: x, type: int, length: n, access: read, fill: {file: four.txt}}\n", "")
	w := &copies{known: map[string]loaded{}}
	for name, data := range varyShelf {
		w.known[name] = loaded{name: name, data: []byte(data)}
	}
	k, err := read("my.yaml", []byte(text), w)
	if err != nil {
		t.Fatal(err)
	}
	if got := Faults(k.Warnings()).Error(); got != "my.yaml:7:5: source.arguments: no input differs between timed calls: a candidate that remembers its result is scored as fast" {
		t.Error(got)
	}
	text = strings.NewReplacer("type: int, length: n, access: read", "type: float, length: n, access: read", "{function: plain}", "{outputs: {y: four.txt}}").Replace(text)
	if k, err = read("my.yaml", []byte(text), w); err != nil {
		t.Fatal(err)
	}
	if got := k.Warnings()[0].Text; got != "the files of outputs say nothing about inputs that differ between timed calls, of which none is verified" {
		t.Error(got)
	}
}

// TestUnvariedShape: a kernel of which nothing varies at the asked shape is refused there.
func TestUnvariedShape(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, varyText("    - {name: x, type: int, length: n, access: read, fill: {random: [3, n]}}\n", ""), "f.c", varyC)
	shape, err := kernels.ParseShape(k.Info().Shape, "n=3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Problem(shape); err == nil || err.Error() != "at the shape n=3: source.arguments: "+unvariedText {
		t.Errorf("got %v", err)
	}
}

const packC = `
#include <stdint.h>
static void pack(int *c, const TYPE *w, long m) { for (long i = 0; i < m; i++) { int v = w[i]; for (int k = 0; k < 20; k++) v = (v * 3 + w[i]) & 1023; c[i] = v; } }
void plain(const TYPE *w, const int *d, int *y, long m, long n) {
	static int c[1 << 12];
	pack(c, w, m);
	for (long i = 0; i < n; i++) y[i] = c[i % m] * d[i];
}
void lazy(const TYPE *w, const int *d, int *y, long m, long n) {
	static int c[1 << 12];
	static const TYPE *have;
	if (!LAZY || have != w) { pack(c, w, m); have = w; }
	for (long i = 0; i < n; i++) y[i] = c[i % m] * d[i];
}
`

const packYAML = `
kernel: {name: lazy, shape: {m: 500, n: 500}}
space: {parameters: [{name: LAZY, type: enum, values: [0, 1]}]}
source:
  file: lazy.c
  function: lazy
  arguments:
    - {name: w, type: KIND, length: m, access: read, fill: {file: w.txt}VARY}
    - {name: d, type: int, length: n, access: read, fill: INPUT}
    - {name: y, type: int, length: n, access: write}
    - {name: m, type: long, value: m}
    - {name: n, type: long, value: n}
  reference: {function: plain}
  compilers: [gcc]
  flags: [-O2, -DTYPE=KIND]
  trusted: fast
`

// TestPackedIntegers: a candidate that packs the weights of a file once is wrong in timed calls where they vary, and no other is.
func TestPackedIntegers(t *testing.T) {
	needCompiler(t)
	var weights strings.Builder
	for i := range 500 {
		fmt.Fprintln(&weights, i*7919%101)
	}
	const random, file = "{random: [0, 100]}", "{file: w.txt}"
	for _, test := range []struct {
		kind, vary, input string
		lazy              space.Status
	}{
		{"int8_t", "", random, space.WrongAnswer},
		{"uint8_t", "", file, space.WrongAnswer},
		{"int8_t", ", vary: false", random, space.OK},
		{"int16_t", "", random, space.OK},
		{"int16_t", ", vary: true", random, space.WrongAnswer},
		{"int32_t", ", vary: true", file, space.WrongAnswer},
	} {
		text := strings.NewReplacer("KIND", test.kind, "VARY", test.vary, "INPUT", test.input).Replace(packYAML)
		k, _ := load(t, text, "lazy.c", packC, "w.txt", weights.String())
		p := whole(t, k, "")
		if out := evaluate(t, p, "LAZY=1"); out.Status != test.lazy {
			t.Errorf("%+v: %v: %s", test, out.Status, out.Reason)
		}
		if test.lazy == space.OK {
			continue // and so are honest ones
		}
		if out := evaluate(t, brief(p), "LAZY=0"); out.Status != space.OK {
			t.Errorf("%+v: honest: %v: %s", test, out.Status, out.Reason)
		}
	}
}

// TestVaryRemedy: a function that is right for exactly the numbers of the file is told what helps.
func TestVaryRemedy(t *testing.T) {
	needCompiler(t)
	for _, test := range []struct{ vary, input, want string }{
		{"", "{random: [0, 100]}", ". In timed calls input w differs from the numbers of the file: write vary: false if the function is right only for exactly these numbers"},
		{", vary: false", "{random: [0, 100]}", ""},
		{"", "{file: w.txt}, vary: true", ". In timed calls inputs w and d differ from the numbers of the file: write vary: false if the function is right only for exactly these numbers"},
	} {
		text := strings.NewReplacer("KIND", "int8_t", "VARY", test.vary, "INPUT", test.input, "m: 500, n: 500", "m: 4, n: 4").Replace(packYAML)
		k, _ := load(t, text, "lazy.c", packC, "w.txt", "3 1 4 1")
		p := problem(t, k, "").(*SourceProblem)
		c, err := p.spec.Variant(t.Context(), p.Space().Default(), 1)
		if err != nil {
			t.Fatal(err)
		}
		wrong := make([][]byte, len(c.Buffers))
		wrong[2] = bytes.Repeat([]byte{0xff}, c.Buffers[2].Bytes())
		_, err = c.Verify(wrong)
		r := kernels.AsRejection(err)
		if r == nil || r.Status != space.WrongAnswer || !strings.HasPrefix(r.Reason, "y[") || !strings.HasSuffix(r.Reason, "4 of 4 elements are wrong"+test.want) {
			t.Errorf("%q: %v, want …%q", test.vary, err, test.want)
		}
	}
}

// TestVariantsAtOnce: several variants are those that are made one by one, each with the results of its own inputs.
func TestVariantsAtOnce(t *testing.T) {
	needCompiler(t)
	k, _ := load(t, probeYAML, "f.c", "void g(const float *x, float *y, int *z, int n) { for (int i = 0; i < n; i++) y[i] = x[i]; *z += 1; }\n"+
		"void f(const float *x, float *y, int *z, int n) { g(x, y, z, n); }\n")
	p := problem(t, k, "").(*SourceProblem)
	point := p.Space().Default()
	seeds := []uint64{5, 6, 5}
	all, err := p.spec.Variants(t.Context(), point, seeds)
	if err != nil || len(all) != len(seeds) {
		t.Fatalf("%d variants, %v", len(all), err)
	}
	result := func(k int) [][]byte {
		z := bytes.Clone(all[k].Inputs[2])
		binary.NativeEndian.PutUint32(z, binary.NativeEndian.Uint32(z)+1)
		return [][]byte{all[k].Inputs[0], all[k].Inputs[0], z}
	}
	for i, one := range all {
		alone, err := p.spec.Variant(t.Context(), point, seeds[i])
		if err != nil || !slices.EqualFunc(alone.Inputs, one.Inputs, bytes.Equal) || !one.Tolerant || one.Agree == nil {
			t.Errorf("variant %d is %+v, alone %+v, %v", i, one, alone, err)
		}
		for k := range all {
			if _, err := one.Verify(result(k)); (err == nil) != (seeds[i] == seeds[k]) {
				t.Errorf("the results of seed %d on the inputs of seed %d: %v", seeds[k], seeds[i], err)
			}
		}
	}
}

// TestNarrowInputs: random inputs come closer to the number of their range that is nearest to 0, and others stay as they are.
func TestNarrowInputs(t *testing.T) {
	needCompiler(t)
	const text = `
kernel: {name: scale, shape: {n: 2000}}
space: {parameters: [{name: KEEP, type: bool}]}
source:
  file: scale.c
  function: scaleVARY
  arguments:
    - {name: y, type: float, length: n, access: write}
    - {name: x, type: float, length: n, access: read, fill: {random: [-3, 3]}}
    - {name: z, type: int16_t, length: n, access: read, fill: {random: [10, 90]}}
    - {name: w, type: float, length: n, access: read, fill: {constant: 2}}
    - {name: n, type: int, value: n}
  reference: {function: plain, tolerance: {absolute: 1.0e-2, relative: 1.0e-2}}
`
	const source = `
#include <math.h>
#include <stdint.h>
void plain(float *y, const float *x, const int16_t *z, const float *w, int n)
{
	float most = 0;
	for (int i = 0; i < n; i++)
		most = fmaxf(most, fabsf(x[i]));
	for (int i = 0; i < n; i++)
		y[i] = x[i] / most * z[i] * w[i];
}
void scale(float *y, const float *x, const int16_t *z, const float *w, int n)
{
	static float most;
	float now = 0;
	for (int i = 0; i < n && !(KEEP && most > 0); i++)
		now = fmaxf(now, fabsf(x[i]));
	if (!KEEP || most == 0)
		most = now;
	for (int i = 0; i < n; i++)
		y[i] = x[i] / most * z[i] * w[i];
}
`
	k, _ := load(t, strings.Replace(text, "VARY", "", 1), "scale.c", source)
	p := whole(t, k, "")
	one, ok, err := p.(*SourceProblem).spec.Narrowed(t.Context(), p.Space().Default(), 7)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	x, z := one.Inputs[1], one.Inputs[2]
	var mostX, mostZ float64
	for i := range 500 {
		mostX = max(mostX, math.Abs(decode(x[4*i:4*i+4], native.F32)))
		at := decode(z[2*i:2*i+2], native.I16)
		if mostZ = max(mostZ, at); at < 10 {
			t.Fatalf("z[%d] is %v", i, at)
		}
	}
	if mostX < 1.3 || mostX > 2.3 || mostZ < 45 || mostZ > 75 {
		t.Errorf("the largest of x is %v, of z %v", mostX, mostZ)
	}
	out := evaluate(t, p, "KEEP=true")
	if out.Status != space.WrongAnswer || !strings.Contains(out.Reason, "after calls on other inputs") || !strings.Contains(out.Reason, "inputs x and z come from a part of the range") {
		t.Errorf("what keeps its scale: %v: %s", out.Status, out.Reason)
	}
	if out := evaluate(t, brief(p), "KEEP=false"); out.Status != space.OK {
		t.Errorf("honest: %v: %s", out.Status, out.Reason)
	}
	k, _ = load(t, strings.Replace(text, "VARY", "\n  vary: false", 1), "scale.c", source)
	p = whole(t, k, "")
	if _, ok, err := p.(*SourceProblem).spec.Narrowed(t.Context(), p.Space().Default(), 7); ok || err != nil {
		t.Errorf("with vary: false: %v, %v", ok, err)
	}
}

// TestWith: the reference says what is right for inputs that were put together, where the function can take them.
func TestWith(t *testing.T) {
	needCompiler(t)
	const double = "static void set(const TYPE *x, float *y) { for (int i = 0; i < 4; i++) y[i] = 2 * x[i]; }\n" +
		"void f(const TYPE *x, float *y) { (void)TILE; set(x, y); }\nvoid plain(const TYPE *x, float *y) { set(x, y); }\n"
	for _, test := range []struct {
		argument    string
		ctype       string
		elem        native.Elem
		loose, says bool // whether elements trade places, and that an input differs from the numbers of the file
	}{
		{"{name: x, type: float, length: n, access: read}", "float", native.F32, false, false},
		{"{name: x, type: float, length: n, access: read, fill: {file: four.txt}}", "float", native.F32, false, true},
		{"{name: x, type: i8, length: n, access: read, fill: {file: four.txt}}", "signed char", native.I8, true, true},
	} {
		k, _ := load(t, varyText("    - "+test.argument+"\n", ""), "f.c", strings.ReplaceAll(double, "TYPE", test.ctype), "four.txt", "3 1 4 1")
		spec, err := newSpec(k, map[string]int{"n": 4})
		if err != nil {
			t.Fatal(err)
		}
		one, err := spec.Variant(t.Context(), spec.space.Default(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if one.With == nil || one.Loose != test.loose {
			t.Fatalf("%s: other inputs can be judged: %v, %v", test.argument, one.With != nil, one.Loose)
		}
		numbers := func(elem native.Elem, of ...float64) (data []byte) {
			for _, x := range of {
				data = encode(data, x, elem)
			}
			return data
		}
		in := numbers(test.elem, 1, 2, 3, 4)
		other, err := one.With(t.Context(), [][]byte{in, nil})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Verify([][]byte{in, numbers(native.F32, 2, 4, 6, 8)}); err != nil {
			t.Errorf("%s: a right result: %v", test.argument, err)
		}
		_, err = other.Verify([][]byte{in, numbers(native.F32, 2, 4, 6, 9)})
		if r := kernels.AsRejection(err); r == nil || strings.Contains(r.Reason, "differs from the numbers of the file") != test.says {
			t.Errorf("%s: a wrong result: %v", test.argument, err)
		}
	}
}

// TestNarrowedOutlier: of the numbers from a part of their range one is farther away, and within the range.
func TestNarrowedOutlier(t *testing.T) {
	needCompiler(t)
	const n = 200
	for fill, ends := range map[string][2]float64{"[-3, 2]": {-3, 2}, "[5, 9]": {5, 9}, "[-8, -1]": {-8, -1}} {
		k, _ := load(t, strings.ReplaceAll(varyText("    - {name: x, type: float, length: n, access: read, fill: {random: "+fill+"}}\n", ""), "n: 4", "n: 200"), "f.c", varyC)
		spec, err := newSpec(k, map[string]int{"n": n})
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.s.shapeCase(spec.space.Default(), spec.constants)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(50) {
			inputs, _, err := spec.draw(c, seed)
			if err != nil {
				t.Fatal(err)
			}
			if names := spec.s.narrowInputs(c, inputs, seed); !slices.Equal(names, []string{"x"}) {
				t.Fatalf("%s: %v are narrowed", fill, names)
			}
			centre := min(max(ends[0], 0), ends[1])
			var far []float64
			for i := range n {
				x := elementsOf(inputs[0], native.F32)(i)
				if x < ends[0] || x > ends[1] {
					t.Errorf("%s: %g is out of the range", fill, x)
				}
				far = append(far, math.Abs(x-centre))
			}
			slices.Sort(far)
			all := max(ends[1]-centre, centre-ends[0])
			if far[n-1] < 1.04*far[n-2] || far[n-1] > 0.95*all {
				t.Errorf("%s: the outlier is at %g, the next one at %g, and the range ends at %g", fill, far[n-1], far[n-2], all)
			}
		}
	}
}
