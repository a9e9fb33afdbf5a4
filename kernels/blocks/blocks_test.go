package blocks

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// format returns a format by its name.
func format(t testing.TB, name string) Format {
	t.Helper()
	f, err := ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// quantised returns the blocks of some weights, and their values.
func quantised(t testing.TB, f Format, x []float32) ([]byte, []float32) {
	t.Helper()
	n, err := f.RowBytes(len(x))
	if err != nil {
		t.Fatal(err)
	}
	b, values := make([]byte, n), make([]float32, len(x))
	if err := f.Quantise(b, x); err != nil {
		t.Fatal(err)
	}
	if err := f.Dequantise(values, b); err != nil {
		t.Fatal(err)
	}
	return b, values
}

// squares returns the squared error of values.
func squares(x, values []float32) (e float64) {
	for i := range x {
		d := float64(x[i]) - float64(values[i])
		e += d * d
	}
	return e
}

func TestTable(t *testing.T) {
	want := map[string][3]int{ // GGUF's number, weights and bytes of a block
		"f32": {0, 1, 4}, "f16": {1, 1, 2}, "bf16": {30, 1, 2}, "q4_0": {2, 32, 18}, "q4_1": {3, 32, 20}, "q5_0": {6, 32, 22}, "q5_1": {7, 32, 24},
		"q8_0": {8, 32, 34}, "q4_k": {12, 256, 144}, "q5_k": {13, 256, 176}, "q6_k": {14, 256, 210}, "q8_k": {15, 256, 292},
	}
	all := append(Formats(), Floats()...)
	if len(all) != len(want) {
		t.Errorf("%d formats, want %d", len(all), len(want))
	}
	for _, f := range all {
		if got := [3]int{int(f.Type), f.Weights, f.Bytes}; got != want[f.Name] {
			t.Errorf("%s: %v, want %v", f.Name, got, want[f.Name])
		}
		byName := format(t, strings.ToUpper(f.Name))
		byType, ok := ByType(f.Type)
		if byName != f || byType != f || !ok {
			t.Errorf("%s: its name leads to %v, its number to %v", f.Name, byName, byType)
		}
	}
	if _, ok := ByType(4); ok {
		t.Error("there is a format 4")
	}
}

// TestErrors: what cannot be done is refused by name.
func TestErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	row := func(n int, special ...float32) []float32 { return append(make([]float32, n-len(special)), special...) }
	quantise := func(name string, x []float32) error {
		f := format(t, name)
		return f.Quantise(make([]byte, len(x)/f.Weights*f.Bytes), x)
	}
	rowBytes := func(name string, k int) error {
		_, err := format(t, name).RowBytes(k)
		return err
	}
	split := func(name string, n int) error {
		_, err := format(t, name).Split(make([]byte, n))
		return err
	}
	join := func(name string, p Parts) error {
		f := format(t, name)
		return f.Join(make([]byte, f.Bytes), p)
	}
	_, unknown := ByName("q4k")
	for _, test := range []struct {
		err  error
		want string
	}{
		{unknown, `unknown format "q4k": want one of q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k, q8_k, f32, f16, bf16 (did you mean "q4_k"?)`},
		{rowBytes("q4_0", 100), "k=100 is not a multiple of 32, the block of q4_0: want a multiple, such as 96 or 128"},
		{rowBytes("q6_k", 32), "k=32 is not a multiple of 256, the block of q6_k: want a multiple, such as 256"},
		{rowBytes("q6_k", -256), "k=-256 is negative"},
		{rowBytes("q8_0", math.MaxInt-31), "k=9223372036854775776 is too large: a row of q8_0 would have more bytes than an int can count"},
		{format(t, "q4_0").Quantise(make([]byte, 18), make([]float32, 64)), "q4_0: 64 weights take 36 bytes, but there is room for 18"},
		{format(t, "q4_0").Dequantise(make([]float32, 64), make([]byte, 37)), "q4_0: 37 bytes are not whole blocks of 18 bytes"},
		{format(t, "q4_0").Dequantise(make([]float32, 63), make([]byte, 36)), "q4_0: 36 bytes are 2 blocks of 32 weights, but there is room for 63 weights"},
		{quantise("q4_k", row(512, nan)), "q4_k: element 511 is NaN: only finite values can be quantised"},
		{quantise("q8_0", row(64, inf, 0)), "q8_0: element 62 is -Inf: only finite values can be quantised"},
		{quantise("q4_0", row(64, -1e6)), "q4_0: elements 32 to 63, of up to 1e+06, need a scale beyond 65504, the largest of the format"},
		{quantise("q4_1", row(32, -1e5)), "q4_1: elements 0 to 31, of up to 100000, need a scale beyond 65504, the largest of the format"},
		{quantise("q5_1", row(32, 3e6)), "q5_1: elements 0 to 31, of up to 3e+06, need a scale"},
		{quantise("q8_0", row(32, 1e7)), "q8_0: elements 0 to 31, of up to 1e+07, need a scale"},
		{quantise("q4_k", row(256, 1e8)), "q4_k: elements 0 to 255, of up to 1e+08, need a scale"},
		{quantise("q5_k", row(256, -1e7)), "q5_k: elements 0 to 255, of up to 1e+07, need a scale"},
		{quantise("q6_k", row(256, 1e9)), "q6_k: elements 0 to 255, of up to 1e+09, need a scale"},
		{quantise("q8_k", row(256, math.MaxFloat32)), "q8_k: elements 0 to 255, of up to 3.4028235e+38, need a scale beyond 2.6793887e+36, the largest of the format"},
		{split("q4_0", 17), "q4_0: a block has 18 bytes, not 17"},
		{split("bf16", 2), "bf16 is a float type: it has no scales and integers"},
		{join("f32", Parts{}), "f32 is a float type"},
		{join("q4_0", Parts{Scales: [16]int8{1}, Quants: [256]int8{3: 8}}), "q4_0: quant 3 is 8: want -8 to 7"},
		{join("q4_0", Parts{Scales: [16]int8{1}, Quants: [256]int8{32: 1}}), "q4_0: quant 32 is 1: want 0 to 0"},
		{join("q4_0", Parts{}), "q4_0: scale 0 is 0: want 1 to 1"},
		{join("q5_k", Parts{Scales: [16]int8{7: 64}}), "q5_k: scale 7 is 64: want 0 to 63"},
		{join("q5_k", Parts{Mins: [16]uint8{8: 1}}), "q5_k: minimum 8 is 1: want 0 to 0"},
		{join("q6_k", Parts{Mins: [16]uint8{1}}), "q6_k: minimum 0 is 1: want 0 to 0"},
	} {
		if test.err == nil || !strings.HasPrefix(test.err.Error(), test.want) {
			t.Errorf("%v, want %s", test.err, test.want)
		}
	}
}

// TestFloatsTakeAll: the float types have NaN and infinities, and round beyond their largest value to these.
func TestFloatsTakeAll(t *testing.T) {
	inf := float32(math.Inf(1))
	x := []float32{0, -1.5, 1e6, inf, -inf, float32(math.NaN()), 1e-30}
	for _, test := range []struct {
		name string
		want []float32
	}{
		{"f32", x},
		{"f16", []float32{0, -1.5, inf, inf, -inf, x[5], 0}},
		{"bf16", []float32{0, -1.5, 999424, inf, -inf, x[5], 9.984021e-31}},
	} {
		_, got := quantised(t, format(t, test.name), x)
		for i := range got {
			if near := math.Abs(float64(got[i]-test.want[i])) < 1e-34; !same(got[i], test.want[i]) && !near {
				t.Errorf("%s of %v: %v, want %v", test.name, x[i], got[i], test.want[i])
			}
		}
	}
}

// TestSixBits: scales and minima of six bits survive packing in both directions, and lie where the definition says.
func TestSixBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b, again [12]byte
		copy(b[:], rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "bytes"))
		var scales [16]int8
		var mins [16]uint8
		unpack6(b[:], &scales, &mins)
		for i := range 8 { // as the table of the formats writes it
			sc, m := b[i]&63, b[(4+i)%12]&63
			if i >= 4 {
				sc, m = b[4+i]&15|b[i-4]>>6<<4, b[4+i]>>4|b[i]>>6<<4
			}
			if byte(scales[i]) != sc || mins[i] != m {
				t.Fatalf("sub-block %d: %d and %d, want %d and %d", i, scales[i], mins[i], sc, m)
			}
		}
		pack6(again[:], &scales, &mins)
		if again != b {
			t.Fatalf("%x, and again %x", b, again)
		}
	})
}

// randomParts draws parts within the limits of a format, with finite scales.
func randomParts(t *rapid.T, f Format) (p Parts) {
	half := rapid.Custom(func(t *rapid.T) float32 {
		return FromF16(rapid.Uint16Range(0, 0x7bff).Draw(t, "bits") | rapid.SampledFrom([]uint16{0, 0x8000}).Draw(t, "sign"))
	})
	p.D = half.Draw(t, "D")
	if f.code.mins.high > 0 {
		p.Min = half.Draw(t, "Min")
	}
	whole := func(l limits) int { return rapid.IntRange(l.low, l.high).Draw(t, "part") }
	for i := range f.Weights {
		p.Quants[i] = int8(whole(f.code.quants))
	}
	for s := range f.Weights / f.Sub {
		p.Scales[s], p.Mins[s] = int8(whole(f.code.scales)), uint8(whole(f.code.mins))
	}
	if f.Name == "q8_k" {
		for i := range p.Sums {
			p.Sums[i] = rapid.Int16().Draw(t, "sum")
		}
	}
	return p
}

// TestParts: parts survive being put together and taken apart, and their values are those that Parts says.
func TestParts(t *testing.T) {
	for _, f := range Formats() {
		t.Run(f.Name, rapid.MakeCheck(func(t *rapid.T) {
			p := randomParts(t, f)
			b, values := make([]byte, f.Bytes), make([]float32, f.Weights)
			if err := f.Join(b, p); err != nil {
				t.Fatal(err)
			}
			if again, err := f.Split(b); err != nil || again != p {
				t.Fatalf("%v, and again %v, %v", p, again, err)
			}
			if err := f.Dequantise(values, b); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				s := i / f.Sub
				if want := float64(p.D)*float64(p.Scales[s])*float64(p.Quants[i]) - float64(p.Min)*float64(p.Mins[s]); v != float32(want) {
					t.Fatalf("weight %d: %v, want %v rounded", i, v, want)
				}
			}
		}))
	}
}

// TestRepresentable: values that came from a format, and use all of its range, come back exactly.
func TestRepresentable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 18))
	between := func(l limits) int { return l.low + rng.IntN(l.high-l.low+1) }
	for _, f := range Formats() {
		for range 100 {
			var p Parts
			p.D = FromF16(uint16(0x1400 + rng.IntN(0x2000))) // 2⁻¹⁰ to 2⁻²
			if f.code.quants.low == -128 {
				p.Quants[0] = 127 // by definition
			}
			for s := range f.Weights / f.Sub {
				p.Scales[s], p.Mins[s] = int8(between(f.code.scales)), uint8(between(f.code.mins))
				for i := range f.Sub {
					if i := s*f.Sub + i; p.Quants[i] == 0 {
						p.Quants[i] = int8(max(between(f.code.quants), -127))
					}
				}
				if f.Sub < 256 && f.code.quants.low != -128 {
					p.Quants[s*f.Sub+rng.IntN(f.Sub/2)] = int8(f.code.quants.low)
					p.Quants[s*f.Sub+f.Sub/2+rng.IntN(f.Sub/2)] = int8(f.code.quants.high)
				}
			}
			some := rng.IntN(f.Weights / f.Sub)
			if f.code.mins.high > 0 {
				p.Min = p.D * float32(1+rng.IntN(8))
			}
			switch { // the largest scales are in use
			case f.code.scales.low < 0:
				p.Scales[some] = int8(f.code.scales.low)
			case f.code.scales.high > 1:
				p.Scales[some], p.Mins[some] = 63, 63
			}
			b, x := make([]byte, f.Bytes), make([]float32, f.Weights)
			if err := f.Join(b, p); err != nil {
				t.Fatal(err)
			}
			if err := f.Dequantise(x, b); err != nil {
				t.Fatal(err)
			}
			if _, got := quantised(t, f, x); !slices.Equal(got, x) {
				t.Fatalf("%s: values of %+v\n%v come back as\n%v", f.Name, p, x, got)
			}
		}
	}
}

// TestPlainBlocks: zeros, constants, single weights and tiny ones need no special care.
func TestPlainBlocks(t *testing.T) {
	for _, f := range Formats() {
		x := make([]float32, f.Weights)
		if _, got := quantised(t, f, x); !slices.Equal(got, x) {
			t.Errorf("%s: zeros become %v", f.Name, got)
		}
		for _, c := range []float32{1, -1, 0.3, -7e-3, 1234.5, 6e4, -6e4} {
			for i := range x {
				x[i] = c
			}
			check := func(what string) {
				_, got := quantised(t, f, x)
				for i := range x {
					// The scale is an fp16, and in q6_k the last level is 31 of 32, or 127 of 128, of the largest.
					if math.Abs(float64(got[i]-x[i])) > math.Abs(float64(c))*0x1p-7 {
						t.Fatalf("%s: %s of %v: weight %d becomes %v", f.Name, what, c, i, got[i])
					}
				}
			}
			check("a constant block")
			clear(x)
			x[f.Weights/2+3] = c
			check("a single weight")
		}
		// Below what the scales reach, values become zero or the least that there is; nothing grows.
		for _, tiny := range []float32{1e-45, 1e-40, -1e-20, 3e-8, -5e-7} {
			for i := range x {
				x[i] = tiny * float32(i%5-2)
			}
			_, got := quantised(t, f, x)
			for i := range x {
				if math.Abs(float64(got[i]-x[i])) > 2*math.Abs(float64(tiny)) {
					t.Fatalf("%s: %v becomes %v in a block of up to %v", f.Name, x[i], got[i], 2*tiny)
				}
			}
		}
	}
}

// naive quantises in the obvious way: scales from the largest weights, rounded, and no search.
func naive(f Format, x []float32) []float32 {
	var p Parts
	clip := func(v float64, l limits) float64 {
		return min(max(math.RoundToEven(v), float64(l.low)), float64(l.high))
	}
	half := func(v float64) float64 { return float64(FromF16(ToF16(float32(v)))) }
	subs := f.Weights / f.Sub
	s, b := make([]float64, subs), make([]float64, subs)
	var most, deepest float64
	for j := range subs {
		part := x[j*f.Sub:][:f.Sub]
		low, high := float64(slices.Min(part)), float64(slices.Max(part))
		if f.code.mins.high == 0 {
			far := high
			if -low > high {
				far = low
			}
			s[j] = far / float64(f.code.quants.low)
		} else {
			if f.code.mins.high > 1 {
				low = min(low, 0)
			}
			s[j], b[j] = (high-low)/float64(f.code.quants.high), -low
		}
		if math.Abs(s[j]) > math.Abs(most) {
			most = s[j]
		}
		deepest = max(deepest, b[j])
	}
	divide := float64(f.code.scales.high)
	if f.code.scales.low < 0 {
		divide = float64(f.code.scales.low)
	}
	d, m := half(most/divide), 0.0
	if f.code.mins.high == 1 {
		m = half(b[0])
	} else if f.code.mins.high > 1 {
		m = half(deepest / 63)
	}
	p.D, p.Min = float32(d), float32(m)
	for j := range subs {
		p.Scales[j] = int8(clip(s[j]/d, f.code.scales))
		if m != 0 {
			p.Mins[j] = uint8(clip(b[j]/m, f.code.mins))
		}
		for i := range f.Sub {
			if scale := d * float64(p.Scales[j]); scale != 0 {
				p.Quants[j*f.Sub+i] = int8(clip((float64(x[j*f.Sub+i])+m*float64(p.Mins[j]))/scale, f.code.quants))
			}
		}
	}
	if f.code.mins.high == 1 {
		p.Mins[0] = 1
	}
	block, values := make([]byte, f.Bytes), make([]float32, f.Weights)
	if err := f.Join(block, p); err != nil {
		panic(err)
	}
	if err := f.Dequantise(values, block); err != nil {
		panic(err)
	}
	return values
}

// samples returns weights of some distributions, as rows of 256.
func samples(rng *rand.Rand) [][]float32 {
	var rows [][]float32
	add := func(next func(i int) float64) {
		x := make([]float32, 256)
		for i := range x {
			x[i] = float32(next(i))
		}
		rows = append(rows, x)
	}
	for range 20 {
		size := math.Exp(rng.Float64()*12 - 8)
		add(func(int) float64 { return size * rng.NormFloat64() })
		add(func(int) float64 { return size * (rng.Float64()*2 - 1) })
		add(func(int) float64 { return size * rng.ExpFloat64() })
		add(func(int) float64 { return size * (1 + 0.01*rng.NormFloat64()) })
		add(func(i int) float64 { return size * (1 + float64(i/32)) * rng.NormFloat64() })
		add(func(i int) float64 { // an outlier in each sub-block
			if i%32 == 7 {
				return size * 20
			}
			return size * rng.NormFloat64()
		})
	}
	return rows
}

// TestRoundTripErrors: every weight is within what the levels allow, the search is worth its time, and the errors of normal weights
// are what they were when the quantisers were written.
func TestRoundTripErrors(t *testing.T) {
	// Of normal weights: the most of the error's root mean square relative to that of the weights.
	most := map[string]float64{
		"q4_0": 0.0803, "q4_1": 0.0698, "q5_0": 0.0401, "q5_1": 0.0332, "q8_0": 0.00531,
		"q4_k": 0.0696, "q5_k": 0.0340, "q6_k": 0.0166, "q8_k": 0.00681,
	}
	for _, f := range Formats() {
		rng := rand.New(rand.NewPCG(2, 18))
		for _, x := range samples(rng) {
			_, got := quantised(t, f, x)
			plain := make([]float32, 0, len(x))
			for i := 0; i < len(x); i += f.Weights {
				plain = append(plain, naive(f, x[i:i+f.Weights])...)
			}
			if ours, theirs := squares(x, got), squares(x, plain); f.code.quants.low != -128 && ours > theirs*(1+1e-6) {
				t.Errorf("%s: the error is %g, that of an obvious quantiser %g, of %v", f.Name, ours, theirs, x)
			}
		}
		x := make([]float32, 1<<14)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		b, got := quantised(t, f, x)
		rms := math.Sqrt(squares(x, got) / squares(x, make([]float32, len(x))))
		if rms > most[f.Name] {
			t.Errorf("%s: the error of normal weights is %.5f of their size, want at most %.5f", f.Name, rms, most[f.Name])
		}
		again, _ := quantised(t, f, x)
		if !bytes.Equal(b, again) {
			t.Errorf("%s: the same weights give other blocks", f.Name)
		}
	}
}

// FuzzDequantise: whatever the lengths, there are values or an error, and blocks that can be read can be taken apart and put together.
func FuzzDequantise(f *testing.F) {
	f.Add(uint8(0), 32, make([]byte, 18))
	f.Add(uint8(7), 255, make([]byte, 210))
	f.Add(uint8(8), 512, make([]byte, 584))
	f.Add(uint8(11), 3, make([]byte, 6))
	f.Fuzz(func(t *testing.T, which uint8, n int, raw []byte) {
		all := append(Formats(), Floats()...)
		f := all[int(which)%len(all)]
		n = min(max(n, 0), 1<<16)
		values := make([]float32, n)
		err := f.Dequantise(values, raw)
		if size, bad := f.RowBytes(n); (err == nil) != (bad == nil && size == len(raw)) {
			t.Fatalf("%s: %d bytes as %d weights: %v", f.Name, len(raw), n, err)
		}
		if err != nil || f.code.split == nil {
			return
		}
		for ; len(raw) > 0; raw = raw[f.Bytes:] {
			p, err := f.Split(raw[:f.Bytes])
			if err != nil {
				t.Fatal(err)
			}
			again := make([]byte, f.Bytes)
			if err := f.Join(again, p); err != nil {
				t.Fatalf("%s: %x cannot be put together again: %v", f.Name, raw[:f.Bytes], err)
			}
			q, err := f.Split(again)
			if err != nil || p != q && p.D == p.D && p.Min == p.Min {
				t.Fatalf("%s: %+v, and again %+v, %v", f.Name, p, q, err)
			}
		}
	})
}

// FuzzQuantise: whatever the weights, there are blocks of finite values near them, or an error.
func FuzzQuantise(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 128, 63, 0, 0, 128, 191})
	f.Add(uint8(5), []byte{255, 255, 127, 127, 1, 0, 0, 0})
	f.Add(uint8(7), []byte{0, 0, 192, 127})
	f.Add(uint8(8), []byte{255, 255, 127, 127})
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		all := Formats()
		f := all[int(which)%len(all)]
		some := float32s(raw[:len(raw)/4*4])
		x := make([]float32, f.Weights)
		copy(x, some)
		b := make([]byte, f.Bytes)
		if err := f.Quantise(b, x); err != nil {
			return
		}
		values := make([]float32, f.Weights)
		if err := f.Dequantise(values, b); err != nil {
			t.Fatal(err)
		}
		reach := 1.2*float64(largest(x)) + 0x1p-20
		for i, v := range values {
			if off := math.Abs(float64(v) - float64(x[i])); !(off <= reach) {
				t.Fatalf("%s: %v becomes %v in %v", f.Name, x[i], v, x)
			}
		}
	})
}
