//go:build linux && (amd64 || arm64)

package worker

import (
	"bytes"
	"testing"
)

// TestSoiledMemory: a call of a check finds no zeros in memory that nobody has set, on the stack or on the heap (but for some that
// belong to the allocator), and zeros where the C library promises them.
func TestSoiledMemory(t *testing.T) {
	so := compileText(t, ".c", kernelC(`
	volatile char stack[4096]; // nobody sets it
	size_t zero = 0; for (int i = 0; i < 4096; i++) zero += stack[i] == 0; C[0] = zero < 1024;
	int at = 1;
	for (size_t size = 64; size <= 4 << 20; size *= 256) {
		char *p = malloc(size), *q = calloc(size, 1); need(p && q);
		volatile char *v = p, *w = q; zero = 0; int set = 0;
		for (size_t i = 0; i < size; i++) { zero += v[i] == 0; set += w[i] != 0; }
		C[at++] = zero < size / 2; C[at++] = set == 0; free(p); free(q);
	}`, ""), "-O1")
	w := called(t, so)
	if got := w.Outputs()[1][:7]; !bytes.Equal(got, bytes.Repeat([]byte{1}, 7)) {
		t.Errorf("1 for what should be of the stack, malloc, calloc, …: %v", got)
	}
}
