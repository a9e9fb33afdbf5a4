package gguf

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tune/kernels/blocks"
)

// TestTensors: tensors of every format, in files of both versions and several alignments, come back as they were written.
func TestTensors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 18))
	for i, version := range []uint32{2, 3, 3, 3} {
		w := written{version: version}
		if i > 1 {
			w.alignment = []int{1, 4096}[i-2]
			w.values = []pair{{"general.alignment", le(uint32(Uint32), uint32(w.alignment))}}
		}
		for _, f := range append(blocks.Formats(), blocks.Floats()...) {
			const k, rows = 512, 3
			x := make([]float32, k*rows)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			n, err := f.RowBytes(k)
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, rows*n)
			if err := f.Quantise(data, x); err != nil {
				t.Fatal(err)
			}
			w.tensors = append(w.tensors, entry{name: "blk.0." + f.Name, dims: []uint64{k, rows}, typ: f.Type, data: data})
		}
		w.tensors = append(w.tensors, entry{name: "none", dims: []uint64{0, 5}}, entry{name: "scalar", data: le(float32(1))})
		file := opened(t, w.bytes())
		if file.Version != int(version) || len(file.Tensors()) != len(w.tensors) {
			t.Errorf("version %d and %d tensors, want %d and %d", file.Version, len(file.Tensors()), version, len(w.tensors))
		}
		for _, want := range w.tensors {
			got, err := file.Tensor(want.name)
			if err != nil {
				t.Fatal(err)
			}
			data, err := got.Read()
			if err != nil {
				t.Fatal(err)
			}
			format, err := got.Format()
			if err != nil || format.Type != want.typ || got.Type.String() != format.Name {
				t.Errorf("%s is of %v, %v: want type %d, %v", want.name, format, got.Type, want.typ, err)
			}
			if !slices.Equal(got.Dims, want.dims) || !bytes.Equal(data, want.data) || got.Bytes != int64(len(data)) || got.Offset%file.Alignment != 0 {
				t.Errorf("version %d: %s, of %d, has %d bytes at %d: want %d, %d bytes", version, want.name, got.Dims, len(data), got.Offset, want.dims, len(want.data))
			}
		}
	}
}

// TestOtherTypes: a file with types that package blocks does not have can be opened, and the error says what it has.
func TestOtherTypes(t *testing.T) {
	file := opened(t, written{version: 3, tensors: []entry{
		{name: "small", dims: []uint64{256}, typ: 10, data: make([]byte, 84)},
		{name: "strange", dims: []uint64{7}, typ: 1000, data: make([]byte, 3)},
		{name: "good", dims: []uint64{2}, typ: 1, data: []byte{1, 2, 3, 4}},
	}}.bytes())
	small, _ := file.Tensor("small")
	if data, err := small.Read(); err != nil || len(data) != 84 {
		t.Errorf("q2_k: %d bytes, %v", len(data), err)
	}
	strange, _ := file.Tensor("strange")
	_, errSmall := small.Format()
	_, errStrange := strange.Read()
	good, err := file.Tensor("good")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := good.Read(); err != nil || !bytes.Equal(data, []byte{1, 2, 3, 4}) {
		t.Errorf("%x, %v", data, err)
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{errSmall, `byte 24: the tensor "small" is of q2_k, which tune does not know: want one of q4_0, `},
		{errStrange, `byte 61: the tensor "strange" is of type 1000, which tune does not know: want one of q4_0, q4_1, `},
	} {
		if test.err == nil || !strings.HasPrefix(test.err.Error(), file.Path+": "+test.want) {
			t.Errorf("%v, want %s", test.err, test.want)
		}
	}
}

// TestOtherSizes: the sizes of types that are listed twice would be two truths.
func TestOtherSizes(t *testing.T) {
	for n := range others {
		if f, ok := blocks.ByType(uint32(n)); ok {
			t.Errorf("type %d is that of %s too", n, f.Name)
		}
	}
}

// TestValues: values of all types.
func TestValues(t *testing.T) {
	array := func(elem ValueType, n int, data ...any) []byte {
		return append(le(uint32(Array), uint32(elem), uint64(n)), le(data...)...)
	}
	inner := le(uint32(Uint8), uint64(2), uint8(1), uint8(2))
	w := written{version: 3, values: []pair{
		{"u8", le(uint32(Uint8), uint8(200))}, {"i8", le(uint32(Int8), int8(-2))}, {"u16", le(uint32(Uint16), uint16(60000))},
		{"i16", le(uint32(Int16), int16(-3))}, {"u32", le(uint32(Uint32), uint32(4e9))}, {"i32", le(uint32(Int32), int32(-4))},
		{"f32", le(uint32(Float32), float32(0.5))}, {"bool", le(uint32(Bool), true)}, {"text", le(uint32(String), "llama")},
		{"u64", le(uint32(Uint64), uint64(1<<63))}, {"i64", le(uint32(Int64), int64(-5))}, {"f64", le(uint32(Float64), 0.25)},
		{"no elements", array(String, 0)}, {"words", array(String, 3, "a", "", "ccc")}, {"flags", array(Bool, 2, true, false)},
		{"halves", array(Uint16, 3, uint16(1), uint16(2), uint16(3))}, {"lists", array(Array, 2, inner, inner)}, {"", le(uint32(Uint8), uint8(1))},
	}, tensors: []entry{{name: "after", dims: []uint64{1}, data: le(float32(3))}}}
	file := opened(t, w.bytes())
	want := map[string]any{
		"u8": uint8(200), "i8": int8(-2), "u16": uint16(60000), "i16": int16(-3), "u32": uint32(4e9), "i32": int32(-4), "f32": float32(0.5), "bool": true,
		"text": "llama", "u64": uint64(1 << 63), "i64": int64(-5), "f64": 0.25, "": uint8(1),
		"no elements": [2]int{int(String), 0}, "words": [2]int{int(String), 3}, "flags": [2]int{int(Bool), 2}, "halves": [2]int{int(Uint16), 3}, "lists": [2]int{int(Array), 2},
	}
	if len(file.Values) != len(want) {
		t.Errorf("%d values, want %d", len(file.Values), len(want))
	}
	for key, want := range want {
		v, ok := file.Value(key)
		got := v.Scalar
		if v.Type == Array {
			got = [2]int{int(v.Elem), int(v.Len)}
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v of type %v, want %v", key, got, v.Type, want)
		}
	}
	if _, ok := file.Value("none"); ok {
		t.Error("there is a value that the file lacks")
	}
	after, err := file.Tensor("after")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := after.Read(); err != nil || !bytes.Equal(data, le(float32(3))) {
		t.Errorf("the tensor after the values: %x, %v", data, err)
	}
}

func TestUnknownName(t *testing.T) {
	var w written
	w.version = 3
	for i := range 12 {
		w.tensors = append(w.tensors, entry{name: fmt.Sprintf("blk.%d.attn_q.weight", i), dims: []uint64{1}, data: make([]byte, 4)})
	}
	file := opened(t, w.bytes())
	for _, test := range []struct{ name, want string }{
		{"blk.3.attn_qweight", `: the closest names are "blk.3.attn_q.weight", "blk.`},
		{"blk.111.attn_q.weigh", `: the closest names are`},
		{"other", ` has no tensor "other", but 12 others, such as "blk.0.attn_q.weight"`},
		{"\x1b[31m" + strings.Repeat("x", 1000), ` has no tensor "\x1b[31m` + strings.Repeat("x", 75) + `…", but`},
	} {
		if _, err := file.Tensor(test.name); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), file.Path) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	if _, err := opened(t, written{version: 3}.bytes()).Tensor("x"); err == nil || !strings.Contains(err.Error(), "has no tensors") {
		t.Errorf("a file without tensors: %v", err)
	}
}

// one is a tensor of four floats.
func one(name string) entry {
	return entry{name: name, dims: []uint64{4}, data: make([]byte, 16)}
}

// TestHostile: files that lie about themselves are refused with the byte where they do, and take no memory.
func TestHostile(t *testing.T) {
	value := func(data ...any) written {
		return written{version: 3, values: []pair{{"k", le(data...)}}, tensors: []entry{one("t")}}
	}
	tensors := func(list ...entry) written { return written{version: 3, tensors: list} }
	with := func(change func(e *entry)) written {
		e := one("t")
		change(&e)
		return tensors(e)
	}
	deep := le(uint32(Array))
	for range 100 {
		deep = append(deep, le(uint32(Array), uint64(1))...)
	}
	aligned := func(data ...any) written {
		return written{version: 3, values: []pair{{"general.alignment", le(data...)}}, tensors: []entry{one("t")}}
	}
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, `byte 0: want 4 bytes for "GGUF", which begins the file, but the file has only 0 more`},
		{"magic", []byte("GGML\x03\x00\x00\x00"), `byte 0: the file begins with "GGML": want "GGUF"`},
		{"version", written{version: 1}.bytes(), "byte 4: version 1: want 2 or 3"},
		{"big-endian", written{version: 3 << 24}.bytes(), "byte 4: version 3: the file is big-endian: want a little-endian one"},
		{"tensors", written{version: 3, counts: [2]uint64{1 << 60, 0}}.bytes(), "byte 8: 1152921504606846976 tensors take at least 1152921504606846976·24 bytes, but the file has only 16 more"},
		{"values", written{version: 3, counts: [2]uint64{0, 5}}.bytes(), "byte 16: 5 values take at least 65 bytes, but the file has only 8 more"},
		{"many", append(written{version: 3, counts: [2]uint64{0, 1 << 17}}.bytes(), make([]byte, 2<<20)...), "byte 16: 131072 values: want at most 65536"},
		{"long key", append(written{version: 3, counts: [2]uint64{0, 1}}.bytes()[:24], le(uint64(1<<60), make([]byte, 64))...), "byte 32: want 1152921504606846976 bytes for a key, but the file has only 64 more"},
		{"long text", value(uint32(String), uint64(1<<63)).bytes(), `byte 45: want 9223372036854775808 bytes for the value of "k", but the file has only`},
		{"type", value(uint32(13), uint8(0)).bytes(), `byte 33: the value of "k" is of type 13: want 0 to 12`},
		{"bool", value(uint32(Bool), uint8(2)).bytes(), `byte 37: the value of "k" is the bool 2: want 0 or 1`},
		{"element type", value(uint32(Array), uint32(99), uint64(0)).bytes(), `byte 37: an element of the value of "k" is of type 99`},
		{"long array", value(uint32(Array), uint32(Float64), uint64(1<<61)).bytes(), `byte 49: want 2305843009213693952·8 bytes for the 2305843009213693952 elements of the value of "k"`},
		{"long list", value(uint32(Array), uint32(String), uint64(1<<40)).bytes(), `byte 49: want 8796093022208 bytes for the 1099511627776 elements`},
		{"many arrays", value(uint32(Array), uint32(Array), uint64(1000)).bytes(), `byte 49: want 12000 bytes for the 1000 elements`},
		{"many bools", value(uint32(Array), uint32(Bool), uint64(1000)).bytes(), `byte 49: want 1000 bytes for the 1000 elements`},
		{"bad bools", value(uint32(Array), uint32(Bool), uint64(2), uint8(1), uint8(7)).bytes(), `byte 50: an element of the value of "k" is the bool 7`},
		{"long word", value(uint32(Array), uint32(String), uint64(1), uint64(1<<62)).bytes(), `byte 57: want 4611686018427387904 bytes for an element`},
		{"deep", value(deep).bytes(), `has arrays in arrays, deeper than 4`},
		{"key twice", written{version: 3, values: []pair{{"k", le(uint32(Bool), false)}, {"k", le(uint32(Bool), false)}}}.bytes(), `byte 38: the key "k" is a second time in the file: first at byte 24`},
		{"no alignment", aligned(uint32(Uint32), uint32(0)).bytes(), "byte 24: general.alignment is 0: want a power of two"},
		{"alignment", aligned(uint32(Uint32), uint32(48)).bytes(), "byte 24: general.alignment is 48: want a power of two"},
		{"alignment's type", aligned(uint32(Uint64), uint64(32)).bytes(), "byte 24: general.alignment is of type uint64: want a uint32"},
		{"huge alignment", aligned(uint32(Uint32), uint32(1<<31)).bytes(), `which begins at byte 2147483648 of the file: want it to end within`},
		{"long name", append(written{version: 3, counts: [2]uint64{1, 0}}.bytes()[:24], le(uint64(1<<63), make([]byte, 64))...), "byte 32: want 9223372036854775808 bytes for the name of a tensor"},
		{"name twice", tensors(one("t"), one("t")).bytes(), `byte 57: the tensor "t" is a second time in the file: first at byte 24`},
		{"dimensions", with(func(e *entry) { e.dims = []uint64{1, 1, 1, 1, 1} }).bytes(), `byte 33: 5 dimensions of the tensor "t": want at most 4`},
		{"overflow", with(func(e *entry) { e.dims = []uint64{1 << 32, 1 << 32} }).bytes(), `the tensor "t" has the dimensions [4294967296 4294967296]: want fewer than 2^63 elements`},
		{"overflow by zero", with(func(e *entry) { e.dims = []uint64{1 << 40, 1 << 40, 0} }).bytes(), `want fewer than 2^63 elements`},
		{"overflow of bytes", with(func(e *entry) { e.dims = []uint64{1 << 62} }).bytes(), `the tensor "t" has the dimensions [4611686018427387904] of f32: want fewer than 2^63 bytes`},
		{"rows", with(func(e *entry) { e.dims, e.typ = []uint64{48, 2}, 2 }).bytes(), `byte 33: the tensor "t" has rows of 48 elements: want a multiple of 32, the block of q4_0`},
		{"offset", with(func(e *entry) { e.offset = 8 }).bytes(), `byte 49: the offset of the tensor "t" is 8: want a multiple of the alignment, 32`},
		{"far offset", with(func(e *entry) { e.offset = 1 << 63 }).bytes(), `byte 49: the offset of the tensor "t" is 9223372036854775808: want it within the file's 80 bytes`},
		{"outside", with(func(e *entry) { e.offset = 32 }).bytes(), `byte 24: the tensor "t" has 16 bytes, from byte 32 of the data on, which begins at byte 64 of the file: want it to end within the file's 80 bytes`},
		{"too large", with(func(e *entry) { e.dims = []uint64{5} }).bytes(), `byte 24: the tensor "t" has 20 bytes, from byte 0 of`},
		{"overlap", tensors(one("a"), entry{name: "b", dims: []uint64{12}, data: make([]byte, 48)}, entry{name: "c", dims: []uint64{1}, data: make([]byte, 4), offset: 64}).bytes(),
			`byte 90: the tensor "c" begins at byte 192, within "b", which ends at byte 208`},
	} {
		path := saved(t, test.file)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(path)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), path+": byte ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s took %d bytes of memory", test.name, took)
		}
	}
}

// TestTruncated: wherever a file ends too early, that is an error which names a byte of it.
func TestTruncated(t *testing.T) {
	whole := written{version: 3, values: []pair{{"name", le(uint32(String), "x")}, {"list", le(uint32(Array), uint32(String), uint64(2), "a", "b")}},
		tensors: []entry{{name: "q", dims: []uint64{32, 2}, typ: 2, data: make([]byte, 36)}, one("t")}}.bytes()
	for n := range whole {
		_, err := open("cut", data(whole[:n]), int64(n))
		var at int
		if err == nil {
			t.Fatalf("%d of %d bytes are no error", n, len(whole))
		}
		if _, scan := fmt.Sscanf(err.Error(), "cut: byte %d: ", &at); scan != nil || at > n {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := open("whole", data(whole), int64(len(whole))); err != nil {
		t.Error(err)
	}
}

// content is a file in memory.
type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

func data(b []byte) content { return content{bytes.NewReader(b)} }

// TestNoFile: what is not a regular file is not read.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/dev/zero":               "/dev/zero is not a regular file",
		dir:                       dir + " is not a regular file, but a directory",
		fifo:                      fifo + " is not a regular file",
		filepath.Join(dir, "not"): "no such file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLimits: a header and a tensor are read up to a limit, whatever the file has.
func TestLimits(t *testing.T) {
	sparse := func(w written, size int64) string {
		path := saved(t, w.bytes())
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := sparse(written{version: 3, values: []pair{{"k", le(uint32(Array), uint32(Uint8), uint64(1<<27))}}}, 1<<30)
	want := path + `: byte 49: the 134217728 elements of the value of "k" would make the header larger than 64 MiB, the most that is read of one`
	if _, err := Open(path); err == nil || err.Error() != want {
		t.Errorf("a large header: %v", err)
	}
	path = sparse(written{version: 3, tensors: []entry{{name: "t", dims: []uint64{1 << 20, 1 << 10}}}}, 5<<30)
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tensor, err := file.Tensor("t")
	if err != nil {
		t.Fatal(err)
	}
	want = path + `: byte 24: the tensor "t" has 4294967296 bytes, more than 1 GiB, the most that is read of one`
	if _, err := tensor.Read(); err == nil || err.Error() != want {
		t.Errorf("a large tensor: %v", err)
	}
}

// TestChanged: a file that became shorter since it was opened is an error, and so is one that was closed.
func TestChanged(t *testing.T) {
	path := saved(t, written{version: 3, tensors: []entry{one("t")}}.bytes())
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := file.Tensor("t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 70); err != nil {
		t.Fatal(err)
	}
	want := path + `: byte 70: cannot read the tensor "t", which ends at byte 80: unexpected EOF`
	if _, err := tensor.Read(); err == nil || err.Error() != want {
		t.Errorf("a shorter file: %v, want %s", err, want)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.Read(); err == nil || !strings.Contains(err.Error(), "file already closed") {
		t.Errorf("a closed file: %v", err)
	}
}

// FuzzOpen: no file makes the reader crash or take memory that it does not have; what is accepted can be read.
func FuzzOpen(f *testing.F) {
	f.Add(written{version: 3}.bytes())
	f.Add(written{version: 2, tensors: []entry{one("a"), one("b")}}.bytes())
	f.Add(written{version: 3, values: []pair{
		{"general.alignment", le(uint32(Uint32), uint32(64))}, {"a", le(uint32(Array), uint32(Array), uint64(1), uint32(String), uint64(1), "x")},
	}, tensors: []entry{{name: "q", dims: []uint64{256, 1}, typ: 14, data: make([]byte, 210)}}, alignment: 64}.bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := open("model", data(raw), int64(len(raw)))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "model: byte ") {
				t.Fatalf("the error does not say where: %v", err)
			}
			return
		}
		total := 0
		for _, tensor := range file.Tensors() {
			b, err := tensor.Read()
			if (err == nil) != (tensor.Bytes >= 0) || err == nil && int64(len(b)) != tensor.Bytes {
				t.Fatalf("%+v: %d bytes, %v", tensor, len(b), err)
			}
			total += len(b)
			if format, err := tensor.Format(); err == nil {
				if err := format.Dequantise(make([]float32, len(b)/format.Bytes*format.Weights), b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if total > len(raw) {
			t.Fatalf("tensors of %d bytes in a file of %d", total, len(raw))
		}
	})
}
