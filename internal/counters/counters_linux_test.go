package counters

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tune/space"
)

// powercap makes a folder like that of the system, with two processors and a part of one of them, and returns a function that sets a
// processor's counter.
func powercap(t *testing.T) (root string, set func(processor int, microjoules uint64)) {
	t.Helper()
	root = t.TempDir()
	write := func(zone, file, text string) {
		t.Helper()
		dir := filepath.Join(root, zone)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// The first processor has two zones with the same counter.
	for zone, name := range map[string]string{"intel-rapl:0": "package-0", "intel-rapl:1": "package-1", "intel-rapl:0:0": "core", "intel-rapl": "",
		"intel-rapl-mmio:0": "package-0", "intel-rapl-mmio": ""} {
		if name != "" {
			write(zone, "name", name)
		}
		write(zone, "max_energy_range_uj", "1000000")
		write(zone, "energy_uj", "500")
	}
	return root, func(processor int, microjoules uint64) {
		zones, _ := filepath.Glob(filepath.Join(root, "intel-rapl*:"+strconv.Itoa(processor)))
		for _, zone := range zones {
			write(filepath.Base(zone), "energy_uj", strconv.FormatUint(microjoules, 10))
		}
	}
}

// TestEnergy: the energy of all processors counts, once, also where a counter begins again.
func TestEnergy(t *testing.T) {
	root, set := powercap(t)
	c := Counters{Powercap: root}
	if err := c.Probe(space.MetricEnergy); err != nil {
		t.Fatal(err)
	}
	set(0, 999_000)
	end, err := c.Begin(os.Getpid(), []string{space.MetricEnergy})
	if err != nil {
		t.Fatal(err)
	}
	set(0, 2_000)
	set(1, 1_500)
	got, err := end()
	if err != nil || len(got) != 1 || got[0] != (3_000+1_000)*1e3 {
		t.Errorf("%v nJ, %v", got, err)
	}
	os.WriteFile(filepath.Join(root, "intel-rapl:1", "energy_uj"), []byte("many"), 0o666)
	if err := c.Probe(space.MetricEnergy); err == nil || !strings.Contains(err.Error(), "energy_uj") {
		t.Errorf("a counter that is no number: %v", err)
	}
	if err := (Counters{Powercap: t.TempDir()}).Probe(space.MetricEnergy); err == nil || !strings.Contains(err.Error(), "counts no energy") {
		t.Errorf("without a processor: %v", err)
	}
}

// TestPageFaults: events are counted of all threads, those included that start later, and not of what was before.
func TestPageFaults(t *testing.T) {
	var c Counters
	if err := c.Probe(space.MetricPageFaults); err != nil {
		t.Skip(err)
	}
	const pages = 1000
	touch := func() {
		memory := make([]byte, pages*4096)
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		runtime.KeepAlive(memory)
	}
	count := func(f func()) float64 {
		t.Helper()
		end, err := c.Begin(os.Getpid(), []string{space.MetricPageFaults})
		if err != nil {
			t.Fatal(err)
		}
		f()
		got, err := end()
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	if n := count(func() {}); n > pages/10 {
		t.Errorf("nothing has %v page faults", n)
	}
	// Where the system gives large pages, one fault may be for many of them.
	before := count(touch)
	started := count(func() {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			defer close(done)
			touch()
		}()
		<-done
	})
	if before < 1 || started < 1 {
		t.Errorf("%v and, on another thread, %v page faults", before, started)
	}
}

// TestProbe: whether a counter works is known before it is used, and an unknown one never does.
func TestProbe(t *testing.T) {
	for _, m := range space.Measured() {
		name := m.Name
		if name == space.MetricCodeBytes {
			continue // which is of the file, and not counted
		}
		if _, known := kinds[name]; !known && name != space.MetricEnergy {
			t.Errorf("there is no counter of %s", name)
		}
		err := Counters{}.Probe(name)
		end, begun := Counters{}.Begin(os.Getpid(), []string{name})
		if (err == nil) != (begun == nil) {
			t.Errorf("%s: Probe says %v, and Begin %v", name, err, begun)
		}
		if begun == nil {
			if n, err := end(); err != nil || n[0] < 0 {
				t.Errorf("%s: %v, %v", name, n, err)
			}
		}
	}
	if (Counters{}).Probe("bogus") == nil {
		t.Error("an unknown counter works")
	}
}
