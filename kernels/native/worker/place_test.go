//go:build linux && (amd64 || arm64)

package worker

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMapOwn: what the worker itself maps follows each other in its range. It is elsewhere where the range is taken.
func TestMapOwn(t *testing.T) {
	w := &child{}
	mapIt := func() uintptr {
		p, err := w.mapOwn(-1, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.MunmapPtr(p, 4096) })
		return uintptr(p)
	}
	first := mapIt()
	if first != ownFirst {
		t.Skipf("this system has no memory at %#x", uint64(ownFirst))
	}
	if second := mapIt(); second < first+4096+ownSpread || second >= ownEnd {
		t.Errorf("the second is at %#x", second)
	}
	w.free = ownEnd - 4095
	if third := mapIt(); third >= ownFirst && third < ownEnd {
		t.Errorf("the third is at %#x, where the first one is", third)
	}
}

// TestMissing: a hole in what candidates of a worker share is found, where nothing prevents it.
func TestMissing(t *testing.T) {
	w := &child{regions: []region{{Size: 0x2000, Mode: In}, {Size: 0x1000, Mode: Out}}, addresses: []unsafe.Pointer{unsafe.Add(nil, 0x20000), unsafe.Add(nil, 0x30000)}}
	w.arena.base, w.arena.size = unsafe.Add(nil, 0x40000), 0x3000
	for _, c := range []struct{ maps, want string }{
		{"20000-22000 r--s x\n30000-31000 rw-s x\n40000-43000 rw-p x\n", ""},
		{"20000-21000 r--s x\n21000-22000 r--s x\n30000-31000 rw-s x\n40000-43000 rw-p x\n", ""},
		{"20000-21000 r--s x\n30000-31000 rw-s x\n40000-43000 rw-p x\n", "a hole in its buffers"},
		{"20000-22000 r--s x\n30000-31000 r--s x\n40000-43000 rw-p x\n", "a hole in its buffers"},
		{"20000-22000 r--s x\n30000-31000 rw-s x\n40000-41000 rw-p x\n42000-43000 rw-p x\n", "a hole in the memory that it was timed on"},
	} {
		if got := w.missing(parseMaps([]byte(c.maps))); got != c.want {
			t.Errorf("%q: %q, want %q", c.maps, got, c.want)
		}
	}
}

// TestPagesStay: a candidate cannot take the memory of timed calls from its large pages, in any way, so that it is the same for the next one.
func TestPagesStay(t *testing.T) {
	so := compileText(t, ".c", kernelC(`static char *last; if (dims[0]) last = (char *)((uintptr_t)C & ~4095ul);
	if (last) {
		need(madvise(last, 4096, MADV_NOHUGEPAGE) == -1 && errno == EPERM); need(madvise(last, 4096, MADV_DONTNEED) == -1); need(mlock(last, 4096) == -1);
		need(mprotect(last, 4096, PROT_NONE) == -1); need(munmap(last, 4096) == -1); need(mremap(last, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
		need(mmap(last, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
	}`, ""))
	w := startTimer(t, Options{Core: -1})
	mapIsolation(t, w)
	if err := w.Load(so); err != nil {
		t.Fatal(err)
	}
	request := TimeRequest{Calls: 1, Samples: 2, Clock: CPU, Dims: []int64{0}, Places: 4}
	if _, err := w.Time(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if w.running.arena[0] < ownFirst || w.running.arena[1] > ownEnd {
		t.Skipf("this system has no memory at %#x", uint64(ownFirst))
	}
	before := flagsOf(t, w.running.pid, w.running.arena[0])
	request.Dims[0] = 1
	if _, err := w.Time(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if after := flagsOf(t, w.running.pid, w.running.arena[0]); after != before || !strings.HasPrefix(after, fmt.Sprintf("%x-%x ", w.running.arena[0], w.running.arena[1])) {
		t.Errorf("before %s, after %s", before, after)
	}
}

// flagsOf returns the bounds and the flags of the mapping that begins at an address of a process.
func flagsOf(t *testing.T, pid int, begin uint64) string {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	found := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if strings.HasPrefix(line, fmt.Sprintf("%x-", begin)) {
			found, _, _ = strings.Cut(line, " ")
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && found != "" {
			return found + " " + flags
		}
	}
	t.Fatalf("process %d has nothing at %#x", pid, begin)
	return ""
}
