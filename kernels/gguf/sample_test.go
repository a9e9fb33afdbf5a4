package gguf

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tune/kernels/blocks"
)

// TestSample: a file that ggml wrote (testdata/sample.py) has the values, the tensors and the weights that ggml reads from it.
func TestSample(t *testing.T) {
	file, err := Open("testdata/sample.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := map[string]any{
		"test.u8": uint8(200), "test.i8": int8(-100), "test.u16": uint16(60000), "test.i16": int16(-30000), "test.u32": uint32(4e9), "test.i32": int32(-2e9),
		"test.f32": float32(0.5), "test.bool": true, "test.u64": uint64(1 << 63), "test.i64": int64(-1 << 62), "test.f64": 0.25, "test.str": "sample",
	}
	for key, want := range want {
		if v, ok := file.Value(key); !ok || v.Scalar != want {
			t.Errorf("%s is %v, want %v", key, v.Scalar, want)
		}
	}
	list, _ := file.Value("test.list")
	words, _ := file.Value("test.words")
	if list.Elem != Float32 || list.Len != 3 || words.Elem != String || words.Len != 3 || len(file.Values) != len(want)+2 {
		t.Errorf("%d values, with %+v and %+v", len(file.Values), list, words)
	}
	weights := func(name string) (blocks.Format, []float32) {
		tensor, err := file.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		format, err := tensor.Format()
		if err != nil {
			t.Fatal(err)
		}
		data, err := tensor.Read()
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float32, 256)
		if err := format.Dequantise(values, data); err != nil {
			t.Fatal(err)
		}
		return format, values
	}
	all := append(blocks.Formats(), blocks.Floats()...)
	if n := len(file.Tensors()); n != 2*len(all) {
		t.Errorf("%d tensors", n)
	}
	for _, tensor := range file.Tensors() {
		if strings.HasSuffix(tensor.Name, ".values") {
			continue
		}
		format, got := weights(tensor.Name)
		_, want := weights(tensor.Name + ".values")
		if format.Name != strings.ToLower(tensor.Name) || !slices.Equal(got, want) {
			t.Errorf("%s, of %s, is\n%v\nwant\n%v", tensor.Name, format.Name, got, want)
		}
		if size := math.Abs(float64(slices.Max(got))); size < 0.1 || size > 1 {
			t.Errorf("%s: the largest weight is %v", tensor.Name, size)
		}
	}
}
