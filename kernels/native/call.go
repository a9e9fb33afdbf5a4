package native

import (
	"bytes"
	"context"

	"tune/kernels/native/worker"
)

// Call compiles a source and calls it once on a case, in a process of its own, and returns the buffers after the call. Nothing is
// verified. It is for what a Spec needs of code that it did not write, such as a library that lays out its operands: Cases and Variant
// may call it. The process has the limits of worker.DefaultLimits.
func (h *Host) Call(ctx context.Context, s Source, one Case) ([][]byte, error) {
	tools, err := h.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	so, err := tools.Build(ctx, s.Lang, s.Text, s.Compiler, s.Flags)
	if err != nil {
		return nil, err
	}
	w, err := h.start(ctx, worker.Options{Core: -1, Executable: h.options.Executable})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := mapCase(w, one); err != nil {
		return nil, err
	}
	if err := w.Load(so); err != nil {
		return nil, err
	}
	if err := w.Call(ctx, one.Dims); err != nil {
		return nil, err
	}
	out := w.Outputs()
	for i, b := range out {
		out[i] = bytes.Clone(b)
	}
	return out, nil
}
