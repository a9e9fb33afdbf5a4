package memcurve

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"tune"
	"tune/kernels"
	"tune/results"
	"tune/results/db"
	"tune/search"
)

// million is how many outcomes the runs have that BenchmarkLongRun looks at.
const million = 1_000_000

// BenchmarkLongRun is what one does with the run directory of a million outcomes: the time of each, also of the processor, and the most
// memory that the process has meanwhile. Each is done on one core and on two.
func BenchmarkLongRun(b *testing.B) {
	if testing.Short() {
		b.Skip("it begins with a million evaluations")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // about what the command has with so many points
	cheap, err := newKernel(0)
	if err != nil {
		b.Fatal(err)
	}
	for _, of := range []struct {
		kernel   kernels.Kernel
		strategy string
	}{{cheap, "random"}, {cheap, "evolve"}, {tree{}, "evolve"}} {
		b.Run(fmt.Sprintf("kernel=%s/strategy=%s", of.kernel.Info().Name, of.strategy), func(b *testing.B) {
			root := b.TempDir()
			l := &longRun{root: root, dir: filepath.Join(root, "run"), table: kernels.Table{of.kernel}, outcomes: million}
			if err := l.make(b.Context(), of.kernel, of.strategy); err != nil {
				b.Fatal(err)
			}
			for _, op := range l.operations() {
				for _, cores := range []int{1, 2} {
					b.Run(fmt.Sprintf("op=%s/cores=%d", op.name, cores), func(b *testing.B) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
						most, spent := int64(0), time.Duration(0)
						for b.Loop() {
							rss, cpu := costOf(b, func() error { return op.do(b.Context()) })
							most, spent = max(most, rss), spent+cpu
						}
						b.ReportMetric(float64(most)/(1<<20), "MiB-resident")
						b.ReportMetric(spent.Seconds()/float64(b.N), "CPU-s/op")
					})
				}
			}
		})
	}
}

// longRun is a run directory with many outcomes.
type longRun struct {
	root, dir string
	table     kernels.Table
	outcomes  int
}

func (l *longRun) make(ctx context.Context, k kernels.Kernel, strategy string) error {
	shape, err := kernels.ParseShape(k.Info().Shape, "")
	if err != nil {
		return err
	}
	_, err = tune.Run(ctx, tune.Options{
		Kernel: k, Shape: shape, Strategy: strategy, Seed: 1, Dir: l.dir, Budget: search.Budget{Evaluations: l.outcomes},
	})
	return err
}

// operation is something that one does with a run.
type operation struct {
	name string
	do   func(context.Context) error
}

func (l *longRun) operations() []operation {
	ops := []operation{
		{"resume", l.resume},
		{"replay", func(context.Context) error { _, err := tune.Replay(l.table, l.dir); return err }},
	}
	for _, format := range []string{"csv", "t4", "kerneltuner", "svg"} {
		ops = append(ops, operation{format, func(ctx context.Context) error { return tune.Export(ctx, l.table, l.dir, format, io.Discard) }})
	}
	return append(ops, operation{"runs", l.list}, operation{"index", l.index})
}

// resume evaluates one point more.
func (l *longRun) resume(ctx context.Context) error {
	l.outcomes++
	r, err := tune.Resume(ctx, l.table, l.dir, tune.Changes{Budget: search.Budget{Evaluations: l.outcomes}})
	if err == nil && r.Result.Told != l.outcomes {
		err = fmt.Errorf("%d evaluations, want %d", r.Result.Told, l.outcomes)
	}
	return err
}

func (l *longRun) list(context.Context) error {
	list, err := results.List(l.root)
	if err == nil && (len(list) != 1 || list[0].Err != nil) {
		err = fmt.Errorf("the list is %+v", list)
	}
	return err
}

// index enters the run into an index that does not know it.
func (l *longRun) index(ctx context.Context) error {
	path := filepath.Join(l.root, fmt.Sprintf("index-%d.db", time.Now().UnixNano()))
	index, err := db.Open(ctx, path)
	if err != nil {
		return err
	}
	defer index.Close()
	return index.Add(ctx, l.dir, nil)
}

// costOf returns the most memory that the process has while f runs, and the time that its threads take.
func costOf(b *testing.B, f func() error) (most int64, cpu time.Duration) {
	debug.FreeOSMemory()
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		most := int64(0)
		for {
			now, _ := resident()
			most = max(most, now)
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
			}
		}
	}()
	before := processorTime()
	err := f()
	cpu = processorTime() - before
	close(done)
	most = <-peak
	if err != nil {
		b.Fatal(err)
	}
	return most, cpu
}

// processorTime is what the threads of the process have taken.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
