//go:build stress && linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// Four workers side by side meet hostile and good candidates in random order. No outcome may depend on the company.
func TestStress(t *testing.T) {
	hostile, good := compile(t, "hostile.c"), compile(t, "good.c")
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		w := start(t, Options{Core: -1, Limits: Limits{Wall: 20 * time.Second, CPU: 2 * time.Second, Memory: 64 << 20}})
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for round := range 150 {
				if err := one(t, w, hostile, good, random); err != nil {
					t.Errorf("seed %d, round %d: %v", seed, round, err)
				}
			}
		})
	}
	wg.Wait()
	if left := descendants(os.Getpid(), processes(), nil); len(left) > 8 {
		t.Errorf("%d processes are left of four workers", len(left))
	}
}

func one(t *testing.T, w *Worker, hostile, good string, random *rand.Rand) error {
	c := hostileCases[random.IntN(len(hostileCases))]
	if c.name == "endless sleep" || random.IntN(3) == 0 {
		callGood(t, w, good)
		return nil
	}
	buffers, inputs := hostileBuffers()
	if err := w.Map(buffers, inputs); err != nil {
		return err
	}
	if err := w.Load(hostile); err != nil {
		return err
	}
	err := w.Call(t.Context(), []int64{c.branch, hostileLen})
	if c.status == space.OK {
		return err
	}
	if r := kernels.AsRejection(err); r == nil || r.Status != c.status || !containsOne(r.Reason, c.reason) {
		return fmt.Errorf("%s: got %v, want %v: %s", c.name, err, c.status, c.reason)
	}
	return nil
}
