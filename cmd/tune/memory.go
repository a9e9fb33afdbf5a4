package main

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// limitMemory makes the garbage collector work harder when tune's memory comes near a limit: a quarter of the machine's memory,
// or three quarters of what the control group allows if that is less, because compilers and workers need memory too. GOMEMLIMIT
// and GOGC override it.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := memoryLimit(os.DirFS("/")); limit > 0 {
			debug.SetMemoryLimit(limit)
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent(0))
		go paceCollector()
	}
}

// garbageRoom is how many bytes of garbage may accumulate when the heap is large.
const garbageRoom = 192 << 20

// gcPercent is how much garbage may accumulate before the collector runs, as a share of the live heap. Every candidate makes a
// few megabytes of garbage: collecting less often nearly doubles the rate of candidates, and costs little while the heap is
// small.
func gcPercent(live uint64) int {
	if live == 0 {
		return 400
	}
	return int(min(max(100*garbageRoom/live, 50), 400))
}

// paceCollector fits the collector to the heap while it grows.
func paceCollector() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := gcPercent(0); ; time.Sleep(time.Second) {
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindUint64 {
			return
		}
		// Each change stops the world for a moment, so that small ones are left out.
		if want := gcPercent(sample[0].Value.Uint64()); want < set*9/10 || want > set*11/10 {
			debug.SetGCPercent(want)
			set = want
		}
	}
}

// memoryLimit returns the soft limit in bytes; 0 where nothing is known. root is the root of the file system.
func memoryLimit(root fs.FS) int64 {
	limit := int64(math.MaxInt64)
	if total, ok := memTotal(root); ok {
		limit = total / 4
	}
	if group, ok := cgroupLimit(root); ok {
		limit = min(limit, group/4*3)
	}
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// memTotal returns the machine's memory in bytes.
func memTotal(root fs.FS) (int64, bool) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if f := strings.Fields(string(line)); len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb * 1024, err == nil && kb > 0
		}
	}
	return 0, false
}

// cgroupLimit returns the least memory, in bytes, that the control groups of this process allow: of version 2, of
// version 1, or of both. A limit of one holds for those inside it.
func cgroupLimit(root fs.FS) (int64, bool) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	least := int64(math.MaxInt64)
	for line := range bytes.Lines(text) {
		// hierarchy-ID:controllers:path, where version 2 has the ID 0 and no controllers.
		f := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(f) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if f[0] != "0" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if !strings.Contains(","+f[1]+",", ",memory,") {
				continue
			}
		}
		// The path may be that outside of a container, whose own group is then at the mount itself.
		for dir := path.Join("/", f[2]); ; dir = path.Dir(dir) {
			if limit, ok := readLimit(root, path.Join(mount, dir, file)); ok {
				least = min(least, limit)
			}
			if dir == "/" {
				break
			}
		}
	}
	// Version 1 writes no limit as a number next to the largest.
	return least, least < math.MaxInt64/2
}

// readLimit reads a file with a number of bytes; "max" is none.
func readLimit(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0
}
