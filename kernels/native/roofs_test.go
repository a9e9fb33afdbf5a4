package native

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tune/internal/cpu"
)

// TestRoofs: the roofs are measured once, kept, and make sense beside each other.
func TestRoofs(t *testing.T) {
	dir := t.TempDir()
	h := NewHost(HostOptions{CacheDir: dir})
	defer h.Close()
	told, of := 0, 0
	roofs, err := h.Roofs(t.Context(), false, func(done, total int) { told, of = done, total })
	if err != nil {
		t.Fatal(err)
	}
	if told == 0 || told != of {
		t.Errorf("%d of %d loops were told of", told, of)
	}
	for _, r := range roofs.Roofs {
		t.Logf("%s %s: %.1f %s", r.Kind, r.Level, r.Rate/1e9, r.Unit)
		if r.Rate < 1e8 || r.Rate > 1e14 {
			t.Errorf("%s %s is %g", r.Kind, r.Level, r.Rate)
		}
	}
	rate := func(kind, level string) float64 {
		r, ok := roofs.find(kind, level)
		if !ok {
			t.Errorf("there is no %s %s", kind, level)
		}
		return r.Rate
	}
	// The nearest cache is several times as fast as memory.
	if rate("f32", "") < 1e9 || rate(kindRead, levelL1) < 2*rate(kindRead, levelMemory) || rate(kindCopy, levelL1) < 2*rate(kindCopy, levelMemory) {
		t.Errorf("%+v", roofs)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "roofs-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	again, err := NewHost(HostOptions{CacheDir: dir}).Roofs(t.Context(), false, nil)
	if err != nil || !slices.Equal(again.Roofs, roofs.Roofs) {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if err := os.WriteFile(kept[0], []byte("{\"roofs\": [{"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	measured := false
	if again, err = h.Roofs(ctx, false, func(int, int) { measured = true; cancel() }); !measured || !errors.Is(err, context.Canceled) {
		t.Errorf("after damage they are not measured again: %+v, %v", again, err)
	}
}

// TestYardstick: a kernel is compared with what binds it at the roofs.
func TestYardstick(t *testing.T) {
	h := NewHost(HostOptions{CacheDir: t.TempDir()})
	tools, err := h.Toolchain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := tools.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kept := Roofs{[]Roof{
		{Kind: "f32", Rate: 100e9, Probe: 3}, {Kind: "bf16", Rate: 200e9, Probe: 9}, {Kind: "int8", Rate: 400e9, Probe: 5}, {Kind: "int8 tiles", Rate: 300e9, Probe: 11},
	}}
	for _, level := range []string{levelL1, levelL2, levelL3, levelMemory} {
		kept.raise(Roof{Kind: kindRead, Level: level, Rate: 50e9, Probe: 14})
		kept.raise(Roof{Kind: kindCopy, Level: level, Rate: 40e9, Probe: 16})
	}
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(roofsPath(dir), text, 0o600); err != nil {
		t.Fatal(err)
	}
	much := memoryBytes(cpu.CacheSizes()) // of no cache
	for _, c := range []struct {
		work          Work
		read, written int
		probe         int
		name          string
	}{
		{Work{}, 1, 1, 0, ""},
		{Work{Ops: 1e9}, much, 0, 3, "f32 multiply-add, 512 bits"},
		{Work{Ops: 1e9, Unit: BFloats}, much, 0, 9, "bf16 dot product, 512 bits"},
		{Work{Ops: 1e9, Unit: Halves}, much, 0, 3, "f32 multiply-add, 512 bits"}, // no instruction for halves
		{Work{Ops: 1e9, OpsName: "GOP/s"}, much, 0, 5, "int8 dot product, 512 bits"},
		{Work{Ops: 1e9, Bytes: 4e8}, much, 0, 3, "f32 multiply-add, 512 bits"},
		{Work{Ops: 1e9, Bytes: 6e8}, much, 4096, 14, "read in memory"},
		{Work{Bytes: 1e6}, much, much, 16, "copy in memory"},
		{Work{Bytes: 1e6}, 4096, 4096, 16, "copy in L1"},
		{Work{Bytes: 1e6, Cold: true}, 4096, 4096, 16, "copy in memory"},
	} {
		p := &Problem{host: h, work: c.work, read: c.read, written: c.written}
		y, err := p.yardstick(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.name == "" {
			if y != nil {
				t.Errorf("%+v: %+v", c.work, y)
			}
			continue
		}
		if y == nil || y.name != c.name || y.probe != c.probe || y.each <= 0 || (y.bytes > 0) != (c.probe >= 13) {
			t.Errorf("%+v: %+v, want %s", c.work, y, c.name)
		}
	}
}

// TestIntegers: every processor has a roof of products of bytes. Those that have no instruction for it have the one of the instructions that
// together do the same, which take longer.
func TestIntegers(t *testing.T) {
	h := NewHost(HostOptions{})
	defer h.Close()
	const dots, steps = 1<<4 | 1<<5 | 1<<11, 1<<17 | 1<<18 | 1<<19
	_, err := h.probePeaks(t.Context(), func(_ *Peaks, w runner, mask uint32) error {
		if (mask&dots == 0) != (mask&steps != 0) {
			t.Errorf("the probes of this processor are %#x", mask)
		}
		can := mask | 1<<17
		if mask>>2&1 == 1 {
			can |= 1 << 18
		}
		if cpu.Has("AVX512BW") {
			can |= 1 << 19
		}
		rates := map[int]float64{}
		for _, p := range rateProbes {
			if p.unit != Integers || can>>p.id&1 == 0 {
				continue
			}
			var err error
			if rates[p.id], err = probeRate(t.Context(), w, h.gauge.so, p, glimpseSamples); err != nil {
				return err
			}
			t.Logf("%s: %.1f GOP/s", p.name, rates[p.id]/1e9)
			if rates[p.id] < 1e9 {
				t.Errorf("%s: %g operations a second", p.name, rates[p.id])
			}
		}
		for dot, step := range map[int]int{4: 18, 5: 19} {
			if rates[dot] > 0 && rates[step] > rates[dot] {
				t.Errorf("bytes are multiplied at %g in steps, and at %g at once", rates[step], rates[dot])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
