//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"tune/kernels"
)

// Whatever runs in the candidate's process can be reached by the candidate: the times of the timing loop, its list of what follows a call, and
// the evidence itself. Blind calls trust nothing of that:
//
//   - Each call works on buffers of its own. All of them get their contents before the first call. A random sequence decides the contents, and tune
//     draws that sequence once more in its own process, so that it knows what each call was given.
//   - After the last call, the results of all are copied to memory that tune shares. Then tune draws the calls that are looked at, and tells nobody. So the
//     candidate has to do the work of all of them.
//   - The time is what the system says of the threads of the candidate, from before the contents are written until the results were read. With several
//     threads it is the lesser of their mean and the wall clock.

// blindRequest asks a worker to prepare blind calls.
type blindRequest struct {
	Dims  []int64
	Calls int
	Wall  bool
	Cold  bool
	Away  bool `json:",omitempty"`
	Whole bool `json:",omitempty"`
	Idle  bool `json:",omitempty"`
	Seed  [2]uint64
}

// known returns on how many variants calls of the request work, of so many whose references are known.
func (q *blindRequest) known(whole int) int {
	if !q.Whole {
		return 0
	}
	return whole
}

// blindWhole is the least number of calls of which one works on a variant, whose reference is known.
const blindWhole = 8

// blindVariants draws which of the calls work on one variant; -1 stands for parts of several. No variant comes twice. With 0 for whole, none does, unless all
// contents are the same.
func blindVariants(seed [2]uint64, calls, contents, whole int) []int {
	list := slices.Repeat([]int{-1}, calls)
	if contents == 0 {
		return list
	}
	if contents == 1 {
		clear(list)
		return list
	}
	rng := rand.New(rand.NewPCG(seed[0], seed[1]))
	n := min(calls/blindWhole, whole)
	if n == 0 && whole > 0 && rng.IntN(2) == 0 {
		n = 1
	}
	calledOn, of := rng.Perm(calls), rng.Perm(whole)
	for i := range n {
		list[calledOn[i]] = of[i]
	}
	return list
}

// blindParts draws the contents that the inputs of a call consist of, part by part, and passes the place of each to use.
func blindParts(seed [2]uint64, call, variant int, regions []region, contents int, use func(buffer, at, size, content int)) {
	rng := rand.New(rand.NewPCG(seed[0]+1, seed[1]+uint64(call)))
	for j, r := range regions {
		if r.Mode == Out || r.Bytes == 0 {
			continue
		}
		if variant >= 0 {
			use(j, 0, r.Bytes, variant)
			continue
		}
		size := r.freshPart()
		for at := 0; at < r.Bytes; at += size {
			use(j, at, min(size, r.Bytes-at), rng.IntN(contents))
		}
	}
}

// prepareBlind writes the contents of all calls, and the plan of the timing loop.
func (w *child) prepareBlind(q *blindRequest) error {
	if w.harness == 0 {
		return errors.New("the worker was started without the harness")
	}
	if q.Calls > w.area.Blind && len(w.regions) > 0 {
		return fmt.Errorf("there is room for the results of %d blind calls, and not of %d", w.area.Blind, q.Calls)
	}
	if err := w.allocate(q.Calls, 1); err != nil {
		return err
	}
	a, p := &w.arena, &w.planner
	p.stretches, p.steps, p.operations = p.stretches[:0], p.steps[:0], p.operations[:0]
	variants := blindVariants(q.Seed, q.Calls, w.contents, q.known(w.whole))
	for set, v := range variants {
		w.shareFixed(set)
		blindParts(q.Seed, set, v, w.regions, w.contents, func(buffer, at, size, content int) {
			if set > 0 && w.fixed[buffer] {
				return
			}
			copy(bytesAt(unsafe.Add(a.buffer(w, set, buffer), at), size), bytesAt(unsafe.Add(w.variant(content, buffer), at), size))
		})
		for j, r := range w.regions {
			to := a.buffer(w, set, j)
			switch {
			case r.Bytes == 0:
				continue
			case r.Mode == Out:
				fill(bytesAt(to, r.Bytes), poison)
			}
			if q.Cold || q.Away && r.Mode == Out {
				flush(to, r.Bytes)
			} else {
				p.operations = append(p.operations, operation{to: uintptr(to), size: int64(-r.Bytes)})
			}
		}
		s := step{end: int64(len(p.operations))}
		if len(w.regions) > 0 {
			s.set = uintptr(unsafe.Pointer(&a.sets[set*len(w.regions)]))
		}
		p.steps = append(p.steps, s)
	}
	a.variants = nil // the next timing places its copies anew
	p.stretches = append(p.stretches, stretch{steps: int64(q.Calls), after: int64(len(p.operations))})
	run, out, err := w.loadPlan(p)
	if err == nil {
		err = w.limitMemory()
	}
	if err != nil {
		return err
	}
	w.aim(run, q.Dims, q.Idle, q.Wall)
	_ = limitCPU(2 * w.order.Limits.CPU)
	w.prepared = &prepared{run: run, out: out, blind: q.Calls}
	return nil
}

// shareFixed gives a call the inputs that never vary in the buffers of the first call: a candidate may keep what it made of them, by their address.
func (w *child) shareFixed(set int) {
	for j, fixed := range w.fixed {
		if fixed {
			w.arena.sets[set*len(w.regions)+j] = w.arena.buffer(w, 0, j)
		}
	}
}

// keepBlind copies what all blind calls wrote. If it were asked for some of them, the candidate could find the request in the memory of the
// worker, and do no others.
func (w *child) keepBlind() error {
	p := w.prepared
	if p == nil || !p.sampled || p.blind == 0 {
		return errors.New("no blind calls were made")
	}
	w.prepared = nil
	for call := range p.blind {
		for j, r := range w.regions {
			if r.Mode != In && r.Bytes > 0 {
				copy(bytesAt(unsafe.Add(w.evidence, w.area.atBlind(w.regions, call, j)), r.Bytes), bytesAt(w.arena.buffer(w, call, j), r.Bytes))
			}
		}
	}
	return nil
}

// bytesAt returns memory as bytes.
func bytesAt(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

// Blind makes blind calls of the candidate, and reads some of their results. Its time does not depend on anything that the candidate can change.
func (w *Worker) Blind(ctx context.Context, t BlindRequest) (Blind, error) {
	if err := t.Validate(); err != nil {
		return Blind{}, err
	}
	defer w.halt()
	if err := w.ready(ctx, t.Threads); err != nil {
		return Blind{}, err
	}
	if w.memory != nil {
		w.memory.forgetEvidence()
	}
	wall, cpu := 2*t.Limit+patience, t.Limit*time.Duration(max(t.Threads, 1))
	q := blindRequest{Dims: t.Dims, Calls: t.Calls, Wall: t.Clock == Wall, Cold: t.Cold, Away: t.Away, Whole: t.Whole, Idle: t.Idle,
		Seed: [2]uint64{kernels.FreshSeed(), kernels.FreshSeed()}}
	before := w.running.look()
	r, err := w.ask(ctx, request{Blind: &q}, nil, wall, cpu)
	if err != nil {
		return Blind{}, err
	}
	w.running.arena = r.Arena
	began := time.Now()
	if _, err = w.ask(ctx, request{Sample: true}, nil, wall, cpu); err != nil {
		return Blind{}, err
	}
	took := time.Since(began)
	if _, err = w.ask(ctx, request{Keep: true}, nil, wall, cpu); err != nil {
		return Blind{}, err
	}
	var out Blind
	if out.Evidence, err = w.blindEvidence(q, w.drawBlind(t)); err != nil {
		return Blind{}, err
	}
	used := w.running.look().since(before)
	used.ours = w.running.ours()
	caller, known := used.threads[used.caller]
	switch {
	case t.Clock == Wall && t.Idle:
		out.Seconds = 0 // of the least of two clocks, each without what is beside the calls
	case t.Clock == Wall:
		// Where others use the cores, the wall clock goes on, and the threads' own does not.
		out.Seconds = min(took.Seconds(), used.candidates()/float64(max(t.Threads, 1)))
	case t.Idle && known:
		out.Seconds = caller.Seconds() // whatever others do then is no reason to subtract more
	default:
		out.Seconds = used.candidates()
	}
	out.Own = used.own().Seconds()
	if w.memory != nil {
		err = w.memory.check()
	}
	return out, err
}

// candidates returns how much CPU time the threads of a candidate used, the caller and all others.
func (u usage) candidates() float64 {
	caller, known := u.threads[u.caller]
	if !known || len(u.ours) == 0 {
		return u.process.Seconds()
	}
	return caller.Seconds() + max(u.beside(), 0)
}

// drawBlind draws the calls that are looked at.
func (w *Worker) drawBlind(t BlindRequest) []int {
	if w.memory == nil || t.Idle {
		return []int{}
	}
	rng := rand.New(rand.NewPCG(kernels.FreshSeed(), kernels.FreshSeed()))
	calls := rng.Perm(t.Calls)
	return calls[:min(t.Look, t.Calls)]
}

// blindEvidence returns what blind calls were given and what they wrote.
func (w *Worker) blindEvidence(q blindRequest, calls []int) (list []Evidence, err error) {
	m := w.memory
	if m == nil {
		return nil, nil
	}
	pool := &w.pool.request
	variants := blindVariants(q.Seed, q.Calls, pool.Count, q.known(pool.Whole))
	for _, call := range calls {
		one := Evidence{Variant: variants[call], Sample: -1, Given: make([][]byte, len(m.buffers)), Wrote: make([][]byte, len(m.buffers))}
		for j, r := range m.regions {
			if r.Mode != Out {
				one.Given[j] = make([]byte, r.Bytes)
			}
			if r.Mode != In {
				one.Wrote[j] = slices.Clone(m.data[m.evidence.Offset+m.evidence.atBlind(m.regions, call, j):][:r.Bytes])
			}
		}
		blindParts(q.Seed, call, variants[call], m.regions, pool.Count, func(buffer, at, size, content int) {
			if e := w.pool.read(one.Given[buffer][at:at+size], content, buffer, at); e != nil {
				err = e
			}
		})
		list = append(list, one)
	}
	return list, err
}
