//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// TestUnwritten: of elements of every size, those that a call writes are told from those that it does not, even where it writes
// what the buffer held before.
func TestUnwritten(t *testing.T) {
	so := compileText(t, ".c", fmt.Sprintf(`
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	static const unsigned char before[] = {0x%x, 0x%x, 0x%x, 0x%x};
	unsigned char *out = args[0];
	int64_t size = dims[0];
	for (int64_t i = 0; i < 8 * size; i++)
		if (i / size %% 3 == 1)
			out[i] = before[i %% 4];
		else if (i / size %% 3 == 2)
			out[i] = 5;
}`, poison[0], poison[1], poison[2], poison[3]))
	for _, size := range []int{1, 2, 4, 8} {
		w := start(t, Options{})
		if err := w.Map([]Buffer{{Name: "out", Bytes: 8 * size, Mode: Out}}, [][]byte{nil}); err != nil {
			t.Fatal(err)
		}
		if err := w.Load(so); err != nil {
			t.Fatal(err)
		}
		if err := w.Call(t.Context(), []int64{int64(size)}); err != nil {
			t.Fatal(err)
		}
		after := bytes.Clone(w.Outputs()[0])
		if err := w.CallAgain(t.Context(), []int64{int64(size)}); err != nil {
			t.Fatal(err)
		}
		if !MayBeUnwritten(after, size) {
			t.Errorf("elements of %d bytes: none seems to be unwritten", size)
		}
		want := []bool{true, false, false, true, false, false, true, false}
		if got := Unwritten(after, w.Outputs()[0], size); !slices.Equal(got, want) {
			t.Errorf("elements of %d bytes: %v, want %v", size, got, want)
		}
		five := bytes.Repeat([]byte{5}, 8*size)
		if MayBeUnwritten(five, size) || Unwritten(five, five, size) != nil {
			t.Errorf("elements of %d bytes: some seem to be unwritten", size)
		}
	}
}
