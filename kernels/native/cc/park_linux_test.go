package cc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPause: compilers stop for a pause, none begins in it, and all go on after it.
func TestPause(t *testing.T) {
	tc := toolchain(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := tc.Build(ctx, "c++", hopeless, "", nil)
		ended <- err
	}()
	defer func() { cancel(); <-ended }()
	await := func(what string, f func() bool) {
		t.Helper()
		for range 500 {
			if f() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal(what)
	}
	var pids []int // the driver and the compiler proper
	await("no compiler was started", func() bool {
		tc.park.mu.Lock()
		defer tc.park.mu.Unlock()
		pids = nil
		for pid := range tc.park.running {
			each(pid, func(pid int) { pids = append(pids, pid) })
		}
		return len(pids) > 1 || len(pids) == 1 && tc.compilers[0].Name == "clang"
	})
	resume, again := tc.Pause(), tc.Pause()
	// A driver that has just begun a compiler sleeps until that has loaded its program (D), which a stopped one never does.
	stopped := func() bool {
		for _, pid := range pids {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil || !strings.Contains(string(stat), ") T ") && !strings.Contains(string(stat), ") D ") {
				return false
			}
		}
		return true
	}
	await("a compiler runs through a pause", stopped)
	other := make(chan error)
	go func() {
		_, err := tc.Build(t.Context(), "c", numbered(1), "", nil)
		other <- err
	}()
	resume()
	resume() // again, which changes nothing
	select {
	case err := <-other:
		t.Errorf("a compilation ended in a pause: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if !stopped() {
		t.Error("the end of one of two pauses ended both")
	}
	again()
	await("a compiler does not go on after a pause", func() bool { return !stopped() })
	if err := <-other; err != nil {
		t.Error(err)
	}
}
