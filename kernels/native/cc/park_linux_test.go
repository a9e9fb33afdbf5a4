package cc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPark: compilers leave a reserved core at once, stop for a pause, and go on after it.
func TestPark(t *testing.T) {
	set, ok := allowed()
	if !ok || set.Count() < 2 {
		t.Skip("needs two cores")
	}
	core := 0
	for i := range 1024 {
		if set.IsSet(i) {
			core = i
		}
	}
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
	on := func() bool {
		for _, pid := range pids {
			if set, err := affinity(pid); err == nil && set.IsSet(core) {
				return true
			}
		}
		return false
	}
	if !on() {
		t.Error("a compiler does not use all cores while nothing is timed")
	}
	release := tc.Reserve(core)
	if on() {
		t.Error("a compiler stays on the reserved core")
	}
	release()
	if !on() {
		t.Error("a compiler was not given the core back")
	}
	resume := tc.Pause()
	stopped := func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[len(pids)-1]))
		return err == nil && strings.Contains(string(stat), ") T ")
	}
	await("a compiler runs through a pause", stopped)
	resume()
	await("a compiler does not go on after a pause", func() bool { return !stopped() })
}

// affinity returns the cores that a process may use.
func affinity(pid int) (set unix.CPUSet, err error) {
	err = unix.SchedGetaffinity(pid, &set)
	return set, err
}
