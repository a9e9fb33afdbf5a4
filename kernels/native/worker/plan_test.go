//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// planned is a child that plans without a process: its buffers, its pool and its evidence are memory of the test.
type planned struct {
	w                     *child
	arena, pool, evidence []uint64
}

func newPlanned(regions []region, contents, whole, copies, places int) *planned {
	w := &child{regions: regions}
	p := &planned{w: w}
	size, stride := 0, 0
	var offsets []int
	for i, r := range regions {
		at := -1
		if r.Mode != Out {
			at = stride
			stride += roundUp(r.Bytes, alignment)
		}
		offsets = append(offsets, at)
		size += roundUp(r.Bytes, alignment) + i*alignment
	}
	p.arena, p.pool = make([]uint64, copies*places*size/8+1), make([]uint64, contents*stride/8+1)
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range p.pool {
		p.pool[i] = rng.Uint64()
	}
	at := 0
	for range copies * places {
		for i, r := range regions {
			w.arena.sets = append(w.arena.sets, unsafe.Add(unsafe.Pointer(&p.arena[0]), at))
			at += roundUp(r.Bytes, alignment) + i*alignment
		}
	}
	w.arena.copies, w.arena.places, w.arena.variants = copies, places, slices.Repeat([]int{-1}, copies*places)
	w.arena.order = ordered(copies)
	w.arena.parts, w.arena.fresh = map[partsOf]*parted{}, map[partsOf][]int{}
	w.area = newEvidenceArea(regions, 0)
	p.evidence = make([]uint64, w.area.Size/8+1)
	w.evidence = unsafe.Pointer(&p.evidence[0])
	w.poolBase, w.stride, w.whole = unsafe.Pointer(&p.pool[0]), stride, whole
	w.walk = newWalk(contents, whole)
	w.contents, w.offsets = contents, offsets
	return p
}

// place names an address by the memory that it is in.
func (p *planned) place(address uintptr) string {
	for name, memory := range map[string][]uint64{"arena": p.arena, "pool": p.pool, "evidence": p.evidence} {
		first := uintptr(unsafe.Pointer(&memory[0]))
		if address >= first && address < first+uintptr(len(memory)*8) {
			return fmt.Sprint(name, address-first)
		}
	}
	return fmt.Sprint(address)
}

// hash is one of all that a plan says.
func (p *planned) hash(of *planner) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, of.bytes, of.of, of.evidence, of.stretches)
	for _, s := range of.steps {
		fmt.Fprintln(h, (uintptr(s.set)-uintptr(unsafe.Pointer(&p.w.arena.sets[0])))/8, s.end)
	}
	for _, o := range of.operations {
		from := fmt.Sprint(uint64(o.from))
		if o.size < 0 || o.size > 0 && o.size&immediate == 0 {
			from = p.place(o.from)
		}
		fmt.Fprintln(h, p.place(uintptr(o.to)), from, o.size)
	}
	return h.Sum64()
}

// TestPlan: a seed gives the same plan as ever, to each operation. Otherwise costs before and after are of different work.
func TestPlan(t *testing.T) {
	float := func(bytes int, mode Mode) region { return region{Bytes: bytes, Mode: mode, Elem: 4} }
	for _, c := range []struct {
		regions                         []region
		contents, whole, copies, places int
		request                         timeRequest
		want                            uint64
	}{
		{[]region{float(64, In), float(64, Out)}, 3, 3, 1, 1, timeRequest{Calls: 200, Samples: 7, Window: 20, Touch: true}, 0x230f7bae67004c1b},
		{[]region{float(64, In), float(4096, In), float(4096, Out)}, 40, 3, 1, 5, timeRequest{Calls: 200, Samples: 7, Window: 20, Touch: true}, 0x122788b4c6ccbe14},
		{[]region{float(4096, In), {Bytes: 24, Mode: In, Elem: 2}, {Bytes: 6, Mode: In, Elem: 1}, float(36, Out)}, 5, 3, 1, 2, timeRequest{Calls: 300, Samples: 3, Window: 30}, 0xfc76d8624275b076},
		{[]region{{Bytes: 64, Mode: In, Elem: 16}, float(64, Out)}, 3, 3, 1, 1, timeRequest{Calls: 50, Samples: 2, Window: 10}, 0x3d966de1d9757d9f},
		{[]region{float(1<<18, In), float(1<<18, Out)}, 3, 3, 1, 1, timeRequest{Calls: 8, Samples: 4, Window: 1, Sparse: true, Whole: true}, 0xca00611a41515146},
		{[]region{float(1<<16, In), float(1<<16, Out)}, 8, 3, 3, 2, timeRequest{Calls: 20, Samples: 4, Window: 3, Cold: true, Sparse: true}, 0xc9a9d0c84aca44b4},
		{[]region{float(4096, In), float(4096, InOut)}, 6, 3, 8, 2, timeRequest{Calls: 50, Samples: 4, Window: 8, Touch: true}, 0x2f82eb2c02683af3},
		{[]region{float(4096, Out)}, 0, 0, 1, 1, timeRequest{Calls: 50, Samples: 4, Window: 8}, 0xacd0e15380784860},
		{[]region{float(4096, In), float(4096, Out)}, 3, 3, 1, 1, timeRequest{Calls: 1, Samples: 1, Known: true}, 0xda41528cc1885d2c},
	} {
		p := newPlanned(c.regions, c.contents, c.whole, c.copies, c.places)
		h := fnv.New64a()
		for i := range uint64(6) { // the lists grow, and are used again
			request := c.request
			request.Seed = [2]uint64{1, i}
			request.Calls += int(i%3) * request.Calls / 2
			request.Warm = i == 3
			of := p.w.newPlanner(&request)
			of.write()
			p.w.arena.requests++
			fmt.Fprintln(h, p.hash(of))
		}
		if got := h.Sum64(); got != c.want {
			t.Errorf("%+v of %+v: %#x, want %#x", c.request, c.regions, got, c.want)
		}
	}
}

// TestPlanCopies: where there are several copies of the buffers, each call of a stretch has its own, whatever the length that is asked for.
func TestPlanCopies(t *testing.T) {
	regions := []region{{Bytes: 4096, Mode: In, Elem: 4}, {Bytes: 4096, Mode: Out, Elem: 4}}
	p := newPlanned(regions, 40, 3, 3, 2)
	request := timeRequest{Calls: 100, Samples: 4, Window: 20, Seed: [2]uint64{1, 2}}
	of := p.w.newPlanner(&request)
	of.write()
	calls := 0
	for _, s := range of.of {
		if s.calls > 3 {
			t.Errorf("a stretch of %d calls with 3 copies", s.calls)
		}
		if s.sample >= 0 {
			calls += s.calls
		}
	}
	if calls != 400 {
		t.Errorf("the samples have %d calls, want 400", calls)
	}
	at := 0
	for i, s := range of.of {
		seen := map[uintptr]bool{}
		for _, step := range of.steps[at:of.stretches[i].steps] {
			seen[step.set] = true
		}
		if at = int(of.stretches[i].steps); len(seen) != s.calls {
			t.Errorf("%d calls have %d copies", s.calls, len(seen))
		}
	}
}

// TestPlanCold: where operands are cold, nobody can tell which copy a call takes by those before it. But a copy stays untouched until three
// quarters of the others had their turn, and each has turns.
func TestPlanCold(t *testing.T) {
	const copies = 24
	regions := []region{{Bytes: 4096, Mode: In, Elem: 4}, {Bytes: 4096, Mode: Out, Elem: 4}}
	p := newPlanned(regions, 40, 3, copies, 1)
	last, follows := map[uintptr]int{}, map[[2]uintptr]int{}
	call, before := 0, uintptr(0)
	for i := range uint64(20) {
		of := p.w.newPlanner(&timeRequest{Calls: 100, Samples: 2, Window: 40, Cold: true, Sparse: true, Seed: [2]uint64{7, i}})
		of.write()
		p.w.arena.requests++
		for _, s := range of.steps {
			if at, seen := last[s.set]; seen && call-at < copies*3/4 {
				t.Fatalf("call %d takes the copy of call %d", call, at)
			}
			last[s.set] = call
			follows[[2]uintptr{before, s.set}]++
			before = s.set
			call++
		}
	}
	most := 0
	for _, n := range follows {
		most = max(most, n)
	}
	// Each of the copies has some 170 turns. In a fixed order the same one would follow each time.
	if len(last) != copies || most > 50 {
		t.Errorf("%d of %d copies had turns, and one followed another one %d times in %d calls", len(last), copies, most, call)
	}
	known := p.w.newPlanner(&timeRequest{Calls: 1, Samples: 1, Cold: true, Known: true, Seed: [2]uint64{7, 99}})
	held := p.w.arena.variants[p.w.arena.order[p.w.arena.next]]
	if known.write(); known.of[0].variant == held {
		t.Errorf("the call on a known variant works on variant %d, which its copy holds already", held)
	}
}

// copies makes the copies of a list of operations from the pool to the arena.
func (p *planned) copies(list []operation) {
	bytes := func(memory []uint64, address uintptr, size int64) []byte {
		all := unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), 8*len(memory))
		return all[address-uintptr(unsafe.Pointer(&memory[0])):][:size]
	}
	for _, o := range list {
		if o.size > 0 {
			copy(bytes(p.arena, o.to, o.size), bytes(p.pool, o.from, o.size))
		}
	}
}

// TestSparseContents: where a line of each part of an input changes before a stretch, no content comes twice. If all parts took their turns
// in step, the input would have its first content again after as many stretches as two turns have lines.
func TestSparseContents(t *testing.T) {
	for _, bytes := range []int{4096, 5000} {
		p := newPlanned([]region{{Bytes: bytes, Mode: In, Elem: 4}, {Bytes: 4096, Mode: Out, Elem: 4}}, 3, 3, 1, 1)
		seen := map[string]int{}
		for i := range uint64(10) {
			of := p.w.newPlanner(&timeRequest{Calls: 50, Samples: 4, Window: 1, Sparse: true, Seed: [2]uint64{uint64(bytes), i}})
			of.write()
			p.w.arena.requests++
			at := int64(0)
			for k, s := range of.stretches {
				p.copies(of.operations[at:s.before])
				at = s.after
				content := string(unsafe.Slice((*byte)(p.w.arena.buffer(p.w, 0, 0)), bytes))
				if seen[content]++; seen[content] > 1 && of.of[k].variant < 0 {
					t.Fatalf("%d bytes: request %d, stretch %d has a content that came before", bytes, i, k)
				}
			}
		}
		if len(seen) < 2000 {
			t.Errorf("%d bytes: %d contents of 2000 stretches and more", bytes, len(seen))
		}
	}
}

// TestNewAfterMixed: where each call is to have new inputs, one after a call on inputs that were mixed anew finds nothing of these but a few lines. With
// contents whose parts come from five, a fifth would be as it was.
func TestNewAfterMixed(t *testing.T) {
	const bytes = 1 << 16
	for contents := 2; contents <= 8; contents++ {
		for _, mode := range []Mode{In, InOut} {
			p := newPlanned([]region{{Bytes: bytes, Mode: mode, Elem: 4}, {Bytes: 4096, Mode: Out, Elem: 4}}, contents, min(contents, 3), 1, 1)
			input := unsafe.Slice((*byte)(p.w.arena.buffer(p.w, 0, 0)), bytes)
			before, timed := make([]byte, bytes), 0
			for i := range uint64(20) {
				of := p.w.newPlanner(&timeRequest{Calls: 1, Samples: 1, Window: 1, Whole: true, Warm: true, Seed: [2]uint64{uint64(contents), i}})
				of.write()
				p.w.arena.requests++
				at := int64(0)
				for k, s := range of.stretches {
					copy(before, input)
					p.copies(of.operations[at:s.before])
					at = s.after
					same := 0
					for l := 0; l < bytes; l += lineBytes {
						if string(before[l:l+lineBytes]) == string(input[l:l+lineBytes]) {
							same++
						}
					}
					if of.of[k].sample < 0 || i == 0 {
						continue
					}
					if timed++; same > 2*linesFull {
						t.Fatalf("%d contents, mode %v, request %d: %d of %d lines are as they were", contents, mode, i, same, bytes/lineBytes)
					}
				}
			}
			if timed < 10 {
				t.Errorf("%d timed calls", timed)
			}
		}
	}
}
