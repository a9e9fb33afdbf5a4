//go:build linux && (amd64 || arm64)

package native

import (
	"errors"
	"testing"

	"tune/kernels/native/worker"
)

// TestOwn: the process of an object is kept for the next call with the same object, and for no other one. It is not kept after a failure, nor
// once the host is closed.
func TestOwn(t *testing.T) {
	h := NewHost(HostOptions{})
	failure := errors.New("the call fails")
	own := func(so string, want error) (got *worker.Worker) {
		t.Helper()
		err := h.Own(t.Context(), so, worker.Limits{}, func(w *worker.Worker) error {
			got = w
			return want
		})
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
		return got
	}
	first := own("a.so", nil)
	if own("a.so", nil) != first {
		t.Error("the process of an object is not kept")
	}
	other := own("b.so", nil)
	if other == first {
		t.Error("two objects share a process")
	}
	if own("b.so", failure) != other {
		t.Error("the process of the second object is not kept")
	}
	if own("b.so", nil) == other {
		t.Error("a process is kept after a failure")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if last := own("b.so", nil); own("b.so", nil) == last {
		t.Error("a process is kept after the host is closed")
	}
}
