package native

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tune/internal/cpu"
	"tune/internal/files"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
)

// The kinds of roofs that move bytes; those of arithmetic are the kinds of rateProbes.
const (
	kindRead = "read"
	kindCopy = "copy"
)

// The levels of memory.
const (
	levelL1     = "L1"
	levelL2     = "L2"
	levelL3     = "L3"
	levelMemory = "memory"
)

// Roof is a rate that one core of this machine has reached with nothing else to do.
type Roof struct {
	Kind  string  `json:"kind"`            // "f32", "bf16", "int8 tiles", "read", "copy", …
	Level string  `json:"level,omitempty"` // where the bytes of a read or copy are: "L1", "L2", "L3" or "memory"
	Rate  float64 `json:"rate"`            // operations or bytes a second; a copied byte counts once for its read and once for its write
	Unit  string  `json:"unit"`            // of the rate in billions: "GFLOP/s", "GOP/s" or "GB/s"
	Probe int     `json:"probe"`           // which loop reached it
}

// Roofs are the measured rates of one core. They are measured once, and kept in the cache of compiled kernels for this processor.
type Roofs struct {
	Roofs []Roof `json:"roofs"`
}

// find returns a roof.
func (r Roofs) find(kind, level string) (Roof, bool) {
	i := slices.IndexFunc(r.Roofs, func(f Roof) bool { return f.Kind == kind && f.Level == level })
	if i < 0 {
		return Roof{}, false
	}
	return r.Roofs[i], true
}

// arithmetic returns the probe of the highest rate that operations of a unit can have, with that rate: halves may be multiplied in single
// precision. The probe is nil where there is none.
func (r Roofs) arithmetic(u Unit) (probe *rateProbe, rate float64) {
	for _, f := range r.Roofs {
		i := slices.IndexFunc(rateProbes, func(p rateProbe) bool { return p.id == f.Probe })
		if i < 0 || f.Rate <= rate {
			continue
		}
		if of := rateProbes[i].unit; of == u || of == Floats && (u == Halves || u == BFloats) {
			probe, rate = &rateProbes[i], f.Rate
		}
	}
	return probe, rate
}

// raise enters a rate, if it is higher than the known one.
func (r *Roofs) raise(f Roof) {
	i := slices.IndexFunc(r.Roofs, func(o Roof) bool { return o.Kind == f.Kind && o.Level == f.Level })
	switch {
	case i < 0:
		r.Roofs = append(r.Roofs, f)
	case f.Rate > r.Roofs[i].Rate:
		r.Roofs[i] = f
	}
}

// The loops over a large buffer in probe/peak.c.
var streams = []struct {
	id   int
	kind string
}{{13, kindRead}, {14, kindRead}, {15, kindCopy}, {16, kindCopy}}

// The sizes of buffers that are in memory and no cache.
const (
	leastMemory = 128 << 20
	mostMemory  = 512 << 20
)

// streamUnit is what the sizes of the buffers of streams are multiples of, in bytes: the loops take whole pages, in up to four runs and two
// halves.
const streamUnit = 16 << 10

// levelSize is the size in bytes of a buffer that is in a level.
type levelSize struct {
	level string
	bytes int
}

// levelSizes returns the size of a buffer for each level, the nearest first. L1 has a probe of its own for reading.
func levelSizes(c cpu.Caches) []levelSize {
	units := func(bytes int) int { return max(bytes/streamUnit, 1) * streamUnit }
	sizes := []levelSize{{levelL1, units(c.L1 / 2)}, {levelL2, units(c.L2 / 2)}}
	if c.L3 > 2*c.L2 {
		// A shared cache may be much larger than what one of many users finds of it.
		sizes = append(sizes, levelSize{levelL3, min(max(c.L3/4, 2*c.L2), 16<<20)})
	}
	return append(sizes, levelSize{levelMemory, memoryBytes(c)})
}

func memoryBytes(c cpu.Caches) int { return min(max(4*max(c.L2, c.L3), leastMemory), mostMemory) }

// levelOf returns the level that holds so many bytes.
func levelOf(bytes int, c cpu.Caches) string {
	switch {
	case bytes <= c.L1:
		return levelL1
	case bytes <= c.L2:
		return levelL2
	case bytes <= c.L3:
		return levelL3
	}
	return levelMemory
}

// Roofs returns the roofs of one core: those that were kept, or with again, or where none were, newly measured ones, which takes some
// seconds. Newly measured ones raise those that were kept, because on a shared machine the core may be slow at the moment. observe, if
// not nil, is told how many of the loops are done.
func (h *Host) Roofs(ctx context.Context, again bool, observe func(done, total int)) (Roofs, error) {
	tools, err := h.Toolchain(ctx)
	if err != nil {
		return Roofs{}, err
	}
	dir, err := tools.CacheDir()
	if err != nil {
		return Roofs{}, err
	}
	path := roofsPath(dir)
	known := readRoofs(path)
	if len(known.Roofs) > 0 && !again {
		return known, nil
	}
	if err := h.measureRoofs(ctx, &known, observe); err != nil {
		return Roofs{}, fmt.Errorf("measuring the roofs of this core: %w", err)
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return Roofs{}, err
	}
	// A cache that is read-only is no reason to fail: they are measured again the next time.
	_ = files.Write(path, append(text, '\n'))
	return known, nil
}

// KeptRoofs returns the roofs that were measured before; none where there are none. It measures nothing.
func (h *Host) KeptRoofs(ctx context.Context) Roofs {
	tools, err := h.Toolchain(ctx)
	if err != nil {
		return Roofs{}
	}
	dir, err := tools.CacheDir()
	if err != nil {
		return Roofs{}
	}
	return readRoofs(roofsPath(dir))
}

// readRoofs reads kept roofs. What cannot be read counts as not there, and is measured again.
func readRoofs(path string) (known Roofs) {
	if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &known) != nil {
		return Roofs{}
	}
	return known
}

// roofsVersion changes where the same loops are measured in another way.
const roofsVersion = "2"

// roofsPath is where the roofs of this processor are kept in a cache.
func roofsPath(dir string) string {
	sum := sha256.Sum256([]byte(cpu.Identity() + peakText + roofsVersion))
	return filepath.Join(dir, "roofs-"+hex.EncodeToString(sum[:8])+".json")
}

// measureRoofs measures all probes once.
func (h *Host) measureRoofs(ctx context.Context, roofs *Roofs, observe func(done, total int)) error {
	so, err := h.probe(ctx)
	if err != nil {
		return err
	}
	levels := levelSizes(cpu.CacheSizes())
	done, total := 0, len(rateProbes)+len(levels)*len(streams)
	next := func() {
		if done++; observe != nil {
			observe(done, total)
		}
	}
	return h.timed(ctx, 1, worker.Limits{}, func(o worker.Options) error {
		return h.borrow(ctx, o, alone, func(w runner) error {
			mask, err := supportedProbes(ctx, w, so)
			if err != nil {
				return err
			}
			for _, p := range rateProbes {
				next()
				if mask>>p.id&1 == 0 {
					continue
				}
				rate, err := probeRate(ctx, w, so, p, h.samples(peakSamples))
				if err != nil {
					return err
				}
				f := Roof{Kind: p.kind, Rate: rate, Unit: "GFLOP/s", Probe: p.id}
				switch p.unit {
				case Integers:
					f.Unit = "GOP/s"
				case loads:
					f.Unit, f.Level = "GB/s", levelL1
				}
				roofs.raise(f)
			}
			for _, l := range levels {
				for _, s := range streams {
					next()
					rate, err := streamRate(ctx, w, s.id, l.bytes, h.samples(streamSamples))
					if err != nil {
						return err
					}
					roofs.raise(Roof{Kind: s.kind, Level: l.level, Rate: rate, Unit: "GB/s", Probe: s.id})
				}
			}
			return nil
		})
	})
}

// streamSamples is how many samples a stream takes. They are long, so that fewer than peakSamples will do.
const streamSamples = 6

// streamRate returns the bytes a second of a stream, from n samples, in a worker that has the probes loaded.
func streamRate(ctx context.Context, w runner, id, bytes, n int) (float64, error) {
	m, err := probeMeter(ctx, w, streamDims(id, bytes), timing.SampleSeconds)
	if err != nil {
		return 0, err
	}
	seconds, err := m.fastest(ctx, n)
	return streamed(bytes) / seconds, err
}

// streamCall is about how many bytes a call of a stream moves.
const streamCall = 1 << 20

func streamDims(id, bytes int) []int64 {
	return []int64{int64(id), int64(max(1, streamCall/bytes)), int64(bytes)}
}

// streamed returns the bytes that a call of a stream reads, or reads and writes.
func streamed(bytes int) float64 { return float64(max(1, streamCall/bytes) * bytes) }

// yardstick is a loop that does only what a kernel must do, beside which a result is measured.
type yardstick struct {
	name   string
	probe  int
	bytes  int     // of the buffer of a stream; 0 where it needs none
	each   float64 // operations or bytes of a call of the loop
	of     float64 // those of a call of the kernel
	shared bool    // several threads do not reach several times the rate
}

// dims are the arguments of the loop.
func (y *yardstick) dims() []int64 {
	if y.bytes > 0 {
		return streamDims(y.probe, y.bytes)
	}
	return []int64{int64(y.probe), probeIterations}
}

// yardstick returns the loop that bounds a problem: its arithmetic, or moving its bytes, whichever takes longer at the roofs; nil
// where neither is stated.
func (p *Problem) yardstick(ctx context.Context) (*yardstick, error) {
	if p.work.Ops <= 0 && p.work.Bytes <= 0 {
		return nil, nil
	}
	roofs, err := p.host.Roofs(ctx, false, nil)
	if err != nil {
		return nil, err
	}
	var arithmetic *yardstick
	seconds := 0.0
	if probe, rate := roofs.arithmetic(p.work.unit()); p.work.Ops > 0 && probe != nil {
		arithmetic = &yardstick{name: probe.name, probe: probe.id, each: probe.ops * probeIterations, of: p.work.Ops}
		seconds = p.work.Ops / rate
	}
	if p.work.Bytes <= 0 {
		return arithmetic, nil
	}
	kind, caches := kindRead, cpu.CacheSizes()
	if p.written > p.read/4 {
		kind = kindCopy
	}
	bytes := p.read + p.written
	if p.work.Cold {
		bytes = memoryBytes(caches)
	}
	level := levelOf(bytes, caches)
	roof, ok := roofs.find(kind, level)
	if !ok || bytes == 0 || p.work.Bytes/roof.Rate <= seconds {
		return arithmetic, nil
	}
	if level == levelL1 {
		bytes = min(bytes, caches.L1/2) // Half of it, or some of what the loop reads is elsewhere.
	}
	bytes = min(max(bytes/streamUnit*streamUnit, streamUnit), mostMemory)
	probe := roof.Probe
	if probe < streams[0].id {
		probe = streams[0].id // as L1 is read
	}
	return &yardstick{
		name: kind + " in " + level, probe: probe, bytes: bytes, each: streamed(bytes), of: p.work.Bytes,
		shared: level == levelL3 || level == levelMemory,
	}, nil
}

// unit returns what the operations are counted in.
func (w Work) unit() Unit {
	if w.Unit == ByName && w.OpsName == "GOP/s" {
		return Integers
	}
	return cmp.Or(w.Unit, Floats)
}
