package power

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// load makes the machine busy until the function that it returns is called: one thread more than there are cores, each of which works
// and rests for a while in turns, every other one through more memory than the caches hold.
func load(seed uint64) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	threads := runtime.NumCPU() + 1
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + threads) // so that what is measured waits for cores alone, as beside other programs
	for i := range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				if !work(done, i%2 == 1, time.Duration(500*r.ExpFloat64())*time.Millisecond) {
					return
				}
				select {
				case <-done:
					return
				case <-time.After(time.Duration(400*r.ExpFloat64()) * time.Millisecond):
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
		runtime.GOMAXPROCS(before)
	})
}

// occupy keeps every core busy with one process of its own, without a rest, until the function that it returns is called.
func occupy() (stop func(), err error) {
	var all []*exec.Cmd
	stop = func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for range runtime.NumCPU() {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("power: keeping a core busy: %w", err)
		}
		all = append(all, c)
	}
	return stop, nil
}

// work is busy for a while, and reports whether there is more to do.
func work(done <-chan struct{}, memory bool, while time.Duration) bool {
	const words = 8 << 20
	var block []float64
	if memory {
		block = make([]float64, words)
	}
	x := 1.0
	for end := time.Now().Add(while); time.Now().Before(end); {
		select {
		case <-done:
			return false
		default:
		}
		for i := range 1 << 14 {
			if memory {
				x += block[(i*1031)%words]
			}
			x = math.Sqrt(x + 1)
		}
	}
	return x > 0 // it always is, and nobody else knows
}
