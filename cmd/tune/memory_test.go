package main

import (
	"testing"
	"testing/fstest"
)

func TestMemoryLimit(t *testing.T) {
	const gib = 1 << 30
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	machine := file("MemTotal:       16777216 kB\nMemFree:         100 kB\n") // 16 GiB
	for _, test := range []struct {
		name string
		root fstest.MapFS
		want int64
	}{
		{"nothing known", fstest.MapFS{}, 0},
		{"no group", fstest.MapFS{"proc/meminfo": machine}, 4 * gib},
		{"no limit", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, 4 * gib},
		{"version 2", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("2147483648\n")}, 2 * gib / 4 * 3},
		{"version 2, of a group around it", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/memory.max": file("1073741824\n"), "sys/fs/cgroup/a/b/memory.max": file("2147483648\n")}, gib / 4 * 3},
		{"version 2, in a container", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/docker/x\n"), "sys/fs/cgroup/memory.max": file("1073741824\n")}, gib / 4 * 3},
		{"version 2, a large one", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("17179869184\n")}, 4 * gib},
		{"version 1", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("5:cpu,memory:/x\n4:pids:/x\n"), "sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1073741824\n")}, gib / 4 * 3},
		{"version 1, no limit", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("5:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 4 * gib},
		{"both", fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("5:memory:/\n0::/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("1073741824\n"), "sys/fs/cgroup/memory.max": file("max")}, gib / 4 * 3},
		{"nonsense", fstest.MapFS{"proc/meminfo": file("MemTotal: much kB\n"), "proc/self/cgroup": file("what\n:::\n0::/\n"), "sys/fs/cgroup/memory.max": file("-5")}, 0},
	} {
		if got := memoryLimit(test.root); got != test.want {
			t.Errorf("%s: the limit is %d, want %d", test.name, got, test.want)
		}
	}
}

// A small heap is seldom collected, and the garbage of a large one is bounded.
func TestGCPercent(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int
	}{{0, 400}, {1, 400}, {48 << 20, 400}, {96 << 20, 200}, {192 << 20, 100}, {4 << 30, 50}, {1 << 50, 50}} {
		if got := gcPercent(test.live); got != test.want {
			t.Errorf("with %d bytes alive it is %d, want %d", test.live, got, test.want)
		}
	}
}
