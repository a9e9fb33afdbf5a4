package native

import (
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
	return callOnce(ctx, w, so, one)
}

// callOnce loads an object in a worker, calls it once on a case, and returns copies of the buffers after the call.
func callOnce(ctx context.Context, w runner, so string, one Case) ([][]byte, error) {
	if err := mapCase(w, one); err != nil {
		return nil, err
	}
	if err := w.Load(so); err != nil {
		return nil, err
	}
	if err := w.Call(ctx, one.Dims); err != nil {
		return nil, err
	}
	return cloneAll(w.Outputs()), nil
}

// owned is a worker in whose process only one object has run, and has ended.
type owned struct {
	so     string
	limits worker.Limits
	w      *worker.Worker // nil where there is none
}

// Own calls f with a worker for code that is no candidate's, such as a reference. f may load only so, in whose process no other object has
// run. A worker that is left clean is kept for the next call with the same object, because to start one takes longer than most calls.
func (h *Host) Own(ctx context.Context, so string, limits worker.Limits, f func(*worker.Worker) error) error {
	w, err := h.takeOwned(ctx, so, limits)
	if err != nil {
		return err
	}
	if err = f(w); err == nil {
		w.Unload()
		err = w.Map(nil, nil) // its buffers may be large
	}
	if err != nil {
		_ = w.Close()
		return err
	}
	return h.keepOwned(owned{so, limits, w})
}

// takeOwned returns the worker that is kept for an object, or a new one.
func (h *Host) takeOwned(ctx context.Context, so string, limits worker.Limits) (*worker.Worker, error) {
	h.mu.Lock()
	kept := h.owned
	found := kept.w != nil && kept.so == so && kept.limits == limits
	if found {
		h.owned = owned{}
	}
	h.mu.Unlock()
	if found {
		return kept.w, nil
	}
	// The worker may outlive the call that starts it, and so must its context.
	return worker.Start(context.WithoutCancel(ctx), worker.Options{Core: -1, Limits: limits, Executable: h.options.Executable})
}

// keepOwned keeps a worker in place of the last one, which it ends. After Close nothing is kept.
func (h *Host) keepOwned(o owned) error {
	h.mu.Lock()
	if !h.done {
		o, h.owned = h.owned, o
	}
	h.mu.Unlock()
	if o.w == nil {
		return nil
	}
	return o.w.Close()
}
