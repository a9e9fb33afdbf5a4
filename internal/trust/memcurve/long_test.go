package memcurve

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"tune"
	"tune/kernels"
	"tune/results"
	"tune/search"
)

// million is the run that BenchmarkLongRun looks at.
const million = 1_000_000

// BenchmarkLongRun is what one does with the run directory of a million outcomes: the time of each, and the most memory
// that the process has meanwhile.
func BenchmarkLongRun(b *testing.B) {
	if testing.Short() {
		b.Skip("it begins with a million evaluations")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command has it
	k, err := newKernel(0)
	if err != nil {
		b.Fatal(err)
	}
	for _, strategy := range []string{"random", "evolve"} {
		root := b.TempDir()
		dir := filepath.Join(root, "run")
		_, err := tune.Run(b.Context(), tune.Options{Kernel: k, Strategy: strategy, Seed: 1, Dir: dir, Budget: search.Budget{Evaluations: million}})
		if err != nil {
			b.Fatal(err)
		}
		table := kernels.Table{k}
		export := func(format string) func(context.Context) error {
			return func(ctx context.Context) error { return tune.Export(ctx, table, dir, format, io.Discard) }
		}
		more := million
		for _, op := range []struct {
			name string
			do   func(context.Context) error
		}{
			{"resume", func(ctx context.Context) error {
				more++
				r, err := tune.Resume(ctx, table, dir, tune.Changes{Budget: search.Budget{Evaluations: more}})
				if err == nil && r.Result.Told != more {
					err = fmt.Errorf("%d evaluations, want %d", r.Result.Told, more)
				}
				return err
			}},
			{"replay", func(context.Context) error { _, err := tune.Replay(table, dir); return err }},
			{"csv", export("csv")},
			{"t4", export("t4")},
			{"kerneltuner", export("kerneltuner")},
			{"svg", export("svg")},
			{"runs", func(context.Context) error {
				list, err := results.List(root)
				if err == nil && (len(list) != 1 || list[0].Err != nil) {
					err = fmt.Errorf("the list is %+v", list)
				}
				return err
			}},
		} {
			b.Run(fmt.Sprintf("op=%s/strategy=%s/outcomes=%d", op.name, strategy, million), func(b *testing.B) {
				most := int64(0)
				for b.Loop() {
					most = max(most, mostWhile(b, func() error { return op.do(b.Context()) }))
				}
				b.ReportMetric(float64(most)/(1<<20), "MiB-resident")
			})
		}
	}
}

// mostWhile returns the most memory that the process has while f runs.
func mostWhile(b *testing.B, f func() error) int64 {
	debug.FreeOSMemory()
	done, most := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		peak := int64(0)
		for {
			now, _ := resident()
			peak = max(peak, now)
			select {
			case <-done:
				most <- peak
				return
			case <-tick.C:
			}
		}
	}()
	err := f()
	close(done)
	peak := <-most
	if err != nil {
		b.Fatal(err)
	}
	return peak
}
