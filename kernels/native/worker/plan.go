//go:build linux && (amd64 || arm64)

package worker

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"unsafe"
)

// A plan says what a timing does. The calls of a sample come in stretches, each of which is timed as one. Before a
// stretch the buffers change at the same addresses: inputs take the content of another variant, or parts of it, and
// outputs are damaged in places. Between the calls of a stretch single words change in the same way. So no result of an
// earlier call is right in a later one, and an output that a call does not write is wrong.
//
//   - A whole stretch works on exactly one variant, whose reference the caller knows. It counts for no sample.
//   - A mixed stretch works on parts of several variants, drawn at random, so that a content hardly ever occurs
//     twice. It counts.
//
// After stretches that are drawn at random, the inputs and outputs of one of their calls are kept as evidence.
type plan struct {
	samples  int
	bytes    int         // copied or read besides the calls, the plan itself included
	of       []stretchOf // by stretch
	evidence []evidenceOf
}

// stretchOf describes a stretch.
type stretchOf struct {
	sample  int // the sample that it counts for; -1 for none
	place   int
	variant int // the variant that it works on; -1 where it is mixed
	calls   int
	anew    bool // whether its inputs are mixed anew, part by part, so that no call before had nearly the same
	fill    bool // whether all copies get new content before it, and not only those that it calls on
}

// The amount of changes.
const (
	lineBytes    = 64      // the unit that is copied from another variant
	wordBytes    = 8       // the unit between calls
	fewBytes     = 512     // up to this size an input is mixed by its elements, because a few lines would be all of it
	linesFull    = 4       // of each input that is completely new
	linesCold    = 3       // of each input that is to stay out of the caches, or where there are many inputs
	damagedWords = 4       // of each output
	mixedBytes   = 1024    // the least part of an input that is mixed anew, or of which a line changes
	mostParts    = 16384   // of such an input
	freshParts   = 16      // of an input that is put together from many contents, at least
	freshBytes   = 8 << 10 // of such a part at most
	tinyParts    = 4       // of one that is mixed by its elements
	manyContents = 32      // from so many on, no content of a whole stretch is used in others
	leastMixed   = 4       // from so many on, contents are put together from parts of others
	nearBytes    = 8 << 20 // of contents that the words of a request come from
	refill       = 1 << 41 // marks the size of an operation that fills memory with the value in place of its address
	immediate    = 1 << 40 // marks the size of an operation that has the value itself in place of its address
	wholeEach    = 8       // one in so many stretches is followed by a whole one
)

// planner writes a plan for the harness.
type planner struct {
	plan
	w       *child
	t       *timeRequest
	rng     *rand.Rand
	inputs  []int // the buffers that are read
	outputs []int // the buffers that are only written
	inPlace bool  // whether one is read and written

	stretches  []stretch
	steps      []step
	operations []operation
	given      []change // the inputs of the last call of a stretch with evidence
	keeps      bool     // whether the stretch has evidence
	covered    []bool   // by buffer, whether given has all of it

	near, nearby int // the contents that words are taken from
}

// change is a part of an input that took its value from a variant.
type change struct {
	buffer, at, size int
	from             unsafe.Pointer
}

// newPlanner returns a planner for a request. It reuses the memory of earlier lists: if there were garbage to collect, other
// threads of the worker would work while the candidate is timed.
func (w *child) newPlanner(t *timeRequest) *planner {
	p := &w.planner
	*p = planner{
		w: w, t: t, rng: rand.New(rand.NewPCG(t.Seed[0], t.Seed[1])), inputs: p.inputs[:0], outputs: p.outputs[:0],
		stretches: p.stretches[:0], steps: p.steps[:0], operations: p.operations[:0], given: p.given[:0], covered: slices.Grow(p.covered[:0], len(w.regions))[:len(w.regions)], plan: plan{of: p.of[:0]},
	}
	p.samples = t.Samples
	for j, r := range w.regions {
		switch {
		case r.Bytes == 0:
		case r.Mode == Out:
			p.outputs = append(p.outputs, j)
		default:
			p.inputs = append(p.inputs, j)
			p.inPlace = p.inPlace || r.Mode == InOut
		}
	}
	if n := w.contents; n > 0 {
		p.nearby = max(1, min(n, nearBytes/max(w.stride, 1)))
		p.near = p.rng.IntN(n - p.nearby + 1)
	}
	return p
}

// memory returns the size of the lists in bytes.
func (p *planner) memory() [4]int {
	return [...]int{cap(p.of), cap(p.stretches), cap(p.steps), cap(p.operations)}
}

// write writes the plan.
func (p *planner) write() {
	p.draw()
	p.reserve()
	slots := p.drawEvidence()
	for i, of := range p.of {
		p.stretch(of, slots[i])
	}
}

// reserve makes room for what the calls of the stretches need, so that long lists are not copied while they grow.
func (p *planner) reserve() {
	steps, operations := 0, 0
	for _, of := range p.of {
		steps += of.calls
		sets := min(of.calls, p.w.arena.copies)
		if of.fill {
			sets = p.w.arena.copies
		}
		operations += sets * p.renewal(of)
		if p.w.arena.copies > 1 {
			continue
		}
		if p.mixes(of) {
			operations += (of.calls - 1) * len(p.inputs)
		}
		if len(p.outputs) > 0 {
			operations += of.calls - 1
		}
	}
	p.stretches = room(p.stretches, len(p.of))
	p.steps = room(p.steps, steps)
	p.operations = room(p.operations, operations+operations/8)
}

// room returns an empty list for n elements: list, or where it is too short, one for a little more, so that the next request, of other
// lengths, hardly ever needs a longer one. Unlike slices.Grow it does not copy the elements of the request before.
func room[E any](list []E, n int) []E {
	if n <= cap(list) {
		return list[:0]
	}
	return make([]E, 0, n+n/8)
}

// renewal returns how many operations give a set of buffers new content before a stretch, roughly.
func (p *planner) renewal(of stretchOf) int {
	n := len(p.outputs) * damagedWords
	for _, j := range p.inputs {
		r := p.w.regions[j]
		switch {
		case of.anew, p.t.Whole && of.variant < 0, p.t.Sparse && of.variant < 0 && r.Mode != InOut:
			n += r.Bytes/max(mixedBytes, r.Bytes/mostParts) + 1
		case of.variant < 0 && p.mixesParts():
			n += r.Bytes/r.freshPart() + 1 + linesFull
		default:
			n += 1 + linesFull
		}
	}
	return n
}

// mixes reports whether inputs change between the calls of a stretch.
func (p *planner) mixes(of stretchOf) bool { return of.variant < 0 && p.w.contents > 1 }

// draw draws the stretches at random.
func (p *planner) draw() {
	t, a := p.t, &p.w.arena
	if t.Known {
		p.of = append(p.of, stretchOf{place: a.place, variant: p.another(a.variants[a.place*a.copies+a.order[a.next]]), calls: 1})
		return
	}
	window := max(min(t.Window, t.Calls), (t.Calls*t.Samples+MostStretches-1)/MostStretches, 1)
	if p.inPlace || a.copies > 1 {
		window = min(window, a.copies-p.choice()+1) // each call finds its own input
	}
	place := (a.place + 1) % a.places
	if !t.Warm {
		// One call on each copy brings it into the caches, and allocates the candidate's own pages.
		first := stretchOf{sample: -1, place: place, variant: p.variant(), calls: a.copies}
		if t.Cold {
			// Nothing is to be in the caches, so that one call is enough. Copies that have no content get it now, because what was just
			// written may be in the caches.
			first.calls, first.fill = 1, slices.Contains(a.variants, -1)
		}
		p.of = append(p.of, first)
	}
	forced := -1 // the sample that has a whole stretch in any case
	if t.Whole && p.w.contents > 1 {
		forced = p.rng.IntN(t.Samples)
	}
	for s := range t.Samples {
		if s > 0 {
			place = (place + 1) % a.places
		}
		if s > 0 && settles(a.places, t.Calls) {
			p.of = append(p.of, stretchOf{sample: -1, place: place, variant: -1, calls: 1})
		}
		for left := t.Calls; left > 0; {
			n := 1 + p.rng.IntN(window) // any length, so that every call may be the last
			n = min(n, left)
			left -= n
			p.of = append(p.of, stretchOf{sample: s, place: place, variant: -1, calls: n})
			often := p.w.contents > 1 && t.Calls*t.Samples > window
			if s == forced {
				forced = -1
				p.of = append(p.of, stretchOf{sample: -1, place: place, variant: -1, calls: n, anew: true})
			} else if often && p.rng.IntN(wholeEach) == 0 {
				p.of = append(p.of, stretchOf{sample: -1, place: place, variant: p.variant(), calls: n})
			}
		}
	}
	a.place = place
}

// choice returns among how many copies the next one is drawn. Where the operands are cold, it is a quarter of all: if the copies came in a fixed
// order, a call could load those of the next one into the caches. The call of a request for a known variant has no choice, because the
// variant depends on what its copy holds.
func (p *planner) choice() int {
	if !p.t.Cold || p.t.Known {
		return 1
	}
	return p.w.arena.copies/4 + 1
}

// settles reports whether there is a call before each sample to warm up the place. It is not needed where a sample is one long
// call.
func settles(places, calls int) bool { return places > 1 && calls > 1 }

// drawEvidence draws the stretches to take evidence of, and returns the slot of each; -1 for none. Each sample has one as long as
// there are slots, so that no fast sample goes unchecked.
func (p *planner) drawEvidence() []int {
	slots := slices.Repeat([]int{-1}, len(p.of))
	n := min(p.w.slots(), len(p.of))
	take := func(i int) {
		if slots[i] < 0 && len(p.evidence) < n {
			slots[i] = len(p.evidence)
			p.evidence = append(p.evidence, evidenceOf{Slot: slots[i], Variant: p.of[i].variant, Sample: p.of[i].sample})
		}
	}
	if n > 0 && !p.t.Warm && (n > 1 || p.w.arena.requests%2 == 0) {
		take(0) // a whole stretch, whose reference is known
	}
	chosen, seen := make([]int, p.samples), make([]int, p.samples)
	for i, of := range p.of {
		if of.sample < 0 {
			continue
		}
		if seen[of.sample]++; p.rng.IntN(seen[of.sample]) == 0 {
			chosen[of.sample] = i
		}
	}
	if n > 1 {
		first := p.rng.IntN(p.samples)
		for s := range min(n, p.samples) {
			take(chosen[(first+s)%p.samples])
		}
	}
	for len(p.evidence) < n {
		take(p.rng.IntN(len(p.of)))
	}
	return slots
}

// variant draws a variant for a whole stretch, -1 where there are no inputs.
func (p *planner) variant() int {
	if p.w.contents == 0 {
		return -1
	}
	return p.rng.IntN(p.w.whole)
}

// another draws a variant for a whole stretch that is not v, as far as there is one; -1 where there are no inputs.
func (p *planner) another(v int) int {
	n := p.w.whole
	switch {
	case p.w.contents == 0:
		return -1
	case v < 0 || v >= n || n < 2:
		return p.rng.IntN(n)
	}
	return (v + 1 + p.rng.IntN(n-1)) % n
}

// other draws a variant that is not v; v where there is no other.
func (p *planner) other(v int) int {
	n := p.w.contents
	if n < 2 {
		return max(v, 0)
	}
	if v < 0 {
		return p.rng.IntN(n)
	}
	return (v + 1 + p.rng.IntN(n-1)) % n
}

// operate copies bytes, or reads them where size is negative. Memory moves by lines: a few bytes from somewhere in the pool take as long as
// the line that they are in, and so do those that they replace.
func (p *planner) operate(to, from unsafe.Pointer, size int) {
	p.bytes += max(size, -size, 2*lineBytes) + int(unsafe.Sizeof(operation{}))
	p.operations = append(p.operations, operation{uintptr(to), uintptr(from), int64(size)})
}

// stretch writes one stretch, with evidence in a slot where that is not negative. The steps before the calls are the same with
// and without evidence, so that a candidate cannot tell by looking at the clock.
func (p *planner) stretch(of stretchOf, slot int) {
	a := &p.w.arena
	first := of.place * a.copies
	sets := make([]int, 0, 1)
	if a.copies == 1 {
		sets = append(sets, first)
	} else {
		for range min(of.calls, a.copies) {
			sets = append(sets, first+a.draw(p.choice(), p.rng))
		}
	}
	last := sets[(of.calls-1)%len(sets)]
	if of.calls <= len(sets) {
		last = sets[p.rng.IntN(of.calls)] // each call has its own buffers, so that any of them can be examined
	}
	touch := false
	renewed := sets
	if of.fill {
		renewed = nil
		for i := range a.copies {
			renewed = append(renewed, first+i)
		}
	}
	for _, set := range renewed {
		if set != last {
			touch = p.renew(of, set, len(renewed)) || touch
		}
	}
	p.given, p.keeps = p.given[:0], slot >= 0
	clear(p.covered)
	touch = p.renew(of, last, len(renewed)) || touch
	if touch && p.t.Touch {
		for _, set := range sets {
			p.touch(set)
		}
	}
	s := stretch{before: int64(len(p.operations))}
	p.call(of, sets)
	p.fetch(p.operations[s.before:])
	s.steps = int64(len(p.steps))
	if slot >= 0 {
		p.keep(slot, last)
	}
	if p.t.Refill {
		for _, set := range sets {
			p.refill(set)
		}
	}
	s.after = int64(len(p.operations))
	p.stretches = append(p.stretches, s)
}

// renew gives a set of buffers new content, and reports whether much of it is new.
func (p *planner) renew(of stretchOf, set, sets int) (much bool) {
	known := p.w.arena.variants[set] >= 0
	if of.anew {
		p.mix(set)
		much = true
	} else {
		much = p.change(of, set, sets)
	}
	for _, j := range p.outputs {
		to := p.w.arena.buffer(p.w, set, j)
		if !known {
			fill(unsafe.Slice((*byte)(to), p.w.regions[j].Bytes), poison)
		}
		for range damagedWords {
			p.damage(to, p.w.regions[j].Bytes)
		}
	}
	return much
}

// change gives the inputs of a set another content, or parts of one, and reports whether it is another one.
func (p *planner) change(of stretchOf, set, sets int) (much bool) {
	a := &p.w.arena
	full := of.variant >= 0 || !p.t.Sparse || a.variants[set] < 0
	switch {
	case of.variant >= 0:
		a.variants[set] = of.variant
	case full && p.mixesParts():
		a.variants[set] = p.w.walk.next(p.rng)
	case full:
		a.variants[set] = p.other(a.variants[set]) // never the same twice in a row
	}
	lines := linesFull
	if p.t.Cold || sets > 1 {
		lines = linesCold
	}
	for _, j := range p.inputs {
		r := p.w.regions[j]
		to := a.buffer(p.w, set, j)
		if full || r.Mode == InOut {
			much = true
			whole := a.parts[partsOf{set, j}]
			if whole != nil && whole.known && of.variant < 0 {
				p.mixInput(set, j, true) // its parts are of many contents, so that any other content would have some of them in the same place
				continue
			}
			if whole != nil {
				whole.known = false
			}
			p.replace(of, set, j)
		}
		if of.variant >= 0 || p.w.contents < 2 {
			continue
		}
		if !full && r.Mode != InOut {
			p.changeLines(set, j)
			continue
		}
		unit := r.unit(lineBytes)
		parts := (r.Bytes + unit - 1) / unit
		for range min(lines, parts) {
			at := p.rng.IntN(parts) * unit
			p.give(to, change{j, at, min(unit, r.Bytes-at), unsafe.Add(p.w.variant(p.other(a.variants[set]), j), at)})
		}
	}
	return much
}

// mixesParts reports whether there are so many contents that new ones are put together from parts of them.
func (p *planner) mixesParts() bool { return p.w.contents >= leastMixed }

// replace gives all of an input another content: a variant, or where there are many contents a new one. The latter has each part from another
// content than the one before. So no content comes twice, and a part comes again when all contents have had their turn at its place.
func (p *planner) replace(of stretchOf, set, j int) {
	a, r := &p.w.arena, p.w.regions[j]
	v, to := a.variants[set], a.buffer(p.w, set, j)
	p.covered[j] = true
	if !p.mixesParts() {
		p.give(to, change{j, 0, r.Bytes, p.w.variant(v, j)})
		return
	}
	size := r.freshPart()
	now := a.fresh[partsOf{set, j}]
	if now == nil {
		now = make([]int, (r.Bytes+size-1)/size)
		for i := range now {
			now[i] = -1
		}
		a.fresh[partsOf{set, j}] = now
	}
	if of.variant >= 0 {
		for i := range now {
			now[i] = v
		}
		p.give(to, change{j, 0, r.Bytes, p.w.variant(v, j)})
		return
	}
	for i, old := range now {
		if now[i] = p.w.walk.of(v, j, i); now[i] == old {
			now[i] = p.w.walk.after(old)
		}
		at := i * size
		p.give(to, change{j, at, min(size, r.Bytes-at), unsafe.Add(p.w.variant(now[i], j), at)})
	}
}

// freshPart returns the size of the parts of an input that is put together from many contents.
func (r region) freshPart() int {
	parts, unit := freshParts, r.unit(lineBytes)
	if r.Bytes <= fewBytes {
		parts = tinyParts
	}
	return max(roundUp(min((r.Bytes+parts-1)/parts, freshBytes), unit), unit)
}

// walk goes through the contents without a reference in a random order, in which each comes once. Then it takes another order. A candidate
// that keeps what it has seen of all contents but a few finds nothing of use until it has seen them all.
type walk struct {
	first, count int    // the contents
	at, step     int    // the last one, and how far it is to the next
	seed         uint64 // of how far the parts of the inputs of a call are from one another
	left         int    // of this order
}

// next returns the next content.
func (k *walk) next(rng *rand.Rand) int {
	if k.left == 0 {
		k.left, k.at, k.step = k.count, rng.IntN(k.count), 1+rng.IntN(k.count-1)
		for gcd(k.step, k.count) > 1 {
			k.step = 1 + rng.IntN(k.count-1)
		}
		k.seed = rng.Uint64()
	}
	k.left--
	k.at = (k.at + k.step) % k.count
	return k.first + k.at
}

// of returns the content of which a part of an input is, in a call whose first part is of content v.
func (k *walk) of(v, input, part int) int {
	// splitmix64; see native.variantSeed
	z := k.seed + uint64(input<<32+part+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return k.first + (v-k.first+int((z^z>>31)%uint64(k.count)))%k.count
}

// after returns another content than v.
func (k *walk) after(v int) int { return k.first + (v-k.first+1)%k.count }

// newWalk returns a walk through the contents of a pool: those of whole stretches have no part in it where there are many.
func newWalk(count, whole int) walk {
	if count-whole >= manyContents {
		return walk{first: whole, count: count - whole}
	}
	return walk{count: count}
}

// part is a part of an input. At each turn one of its lines, drawn at random, takes the other one of two variants. So the contents of the
// parts do not come back together, as they would if each went through its lines in some order, and mix knows the variants that it must
// not take.
type part struct {
	variant, other int
	others         []uint64 // the lines that have the content of the other variant, as bits
	count          int      // of these lines
	last           int      // the line that changed last; -1 for none
}

// parted is an input in parts. It stays when the input gets other content as a whole, so that there is no garbage.
type parted struct {
	parts []part
	size  int  // of each part
	known bool // whether the parts are those of the content
}

// partsOf returns the parts of an input of a set, and their size.
func (p *planner) partsOf(set, j int) (parts []part, size int) {
	a, r := &p.w.arena, p.w.regions[j]
	of := a.parts[partsOf{set, j}]
	if of == nil {
		of = newParted(r)
		a.parts[partsOf{set, j}] = of
	}
	if !of.known {
		of.known = true
		fresh := a.fresh[partsOf{set, j}]
		for i := range of.parts {
			v := a.variants[set]
			if fresh != nil {
				v = fresh[i*of.size/r.freshPart()]
			}
			of.parts[i].become(v, p.other(v))
		}
	}
	return of.parts, of.size
}

// newParted divides an input.
func newParted(r region) *parted {
	size := max(mixedBytes, roundUp(r.Bytes/mostParts, lineBytes))
	of := &parted{size: size, parts: make([]part, (r.Bytes+size-1)/size)}
	words := (size/r.unit(lineBytes) + 63) / 64
	bits := make([]uint64, len(of.parts)*words)
	for i := range of.parts {
		of.parts[i].others, of.parts[i].last = bits[i*words:(i+1)*words], -1
	}
	return of
}

// changeLines changes a line of each part of an input, so that whoever computes only what has changed gains little, whatever the size
// of its blocks.
func (p *planner) changeLines(set, j int) {
	r, to := p.w.regions[j], p.w.arena.buffer(p.w, set, j)
	unit := r.unit(lineBytes)
	parts, size := p.partsOf(set, j)
	for i := range parts {
		at := i * size
		line, variant := p.nextLine(&parts[i], (min(size, r.Bytes-at)+unit-1)/unit)
		at += line * unit
		p.give(to, change{j, at, min(unit, r.Bytes-at), unsafe.Add(p.w.variant(variant, j), at)})
	}
}

// nextLine returns which line of a part changes next, and the variant that it takes. It is never the line that changed last, which would
// bring back the content before. When all lines have one content, the next one is drawn anew.
func (p *planner) nextLine(t *part, lines int) (line, variant int) {
	if t.last < 0 || lines == 1 {
		line = p.rng.IntN(lines)
	} else {
		line = (t.last + 1 + p.rng.IntN(lines-1)) % lines
	}
	t.last = line
	word, bit := &t.others[line/64], uint64(1)<<(line%64)
	*word ^= bit
	if *word&bit != 0 {
		variant = t.other
		t.count++
	} else {
		variant = t.variant
		t.count--
	}
	if t.count == 0 || t.count == lines {
		t.become(variant, p.other(variant))
	}
	return line, variant
}

// become says that all lines of a part have the content of a variant, and which one they take next.
func (t *part) become(variant, other int) {
	t.variant, t.other, t.count = variant, other, 0
	clear(t.others)
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// mix gives all inputs of a set new content, in parts that are drawn from all variants.
func (p *planner) mix(set int) {
	for _, j := range p.inputs {
		p.mixInput(set, j, false)
	}
}

// mixInput gives an input of a set new content, in parts, each from another variant than any of its lines has now. Of two variants that would make a whole
// one of them the other one, so that they are drawn at random; mixed says that the input is of parts of both, which change places then.
func (p *planner) mixInput(set, j int, mixed bool) {
	n, r, to := p.w.contents, p.w.regions[j], p.w.arena.buffer(p.w, set, j)
	p.covered[j] = true
	parts, size := p.partsOf(set, j)
	for i, old := range parts {
		now := p.rng.IntN(n)
		for n > 2 && (now == old.variant || now == old.other && old.count > 0) || n == 2 && mixed && now == old.variant {
			now = p.rng.IntN(n)
		}
		parts[i].become(now, p.other(now))
		at := i * size
		p.give(to, change{j, at, min(size, r.Bytes-at), unsafe.Add(p.w.variant(now, j), at)})
	}
}

// unit returns the size of the parts of an input that take another content: the usual one, or an element of a small input.
func (r region) unit(usual int) int {
	if r.Bytes > fewBytes {
		return usual
	}
	return min(r.Elem, usual)
}

// give changes a buffer, and records the change.
func (p *planner) give(to unsafe.Pointer, c change) {
	p.operate(unsafe.Add(to, c.at), c.from, c.size)
	p.note(c)
}

// note records a change, where it is needed for evidence.
func (p *planner) note(c change) {
	if p.keeps {
		p.given = append(p.given, c)
	}
}

// put changes a word of a buffer, or an element, between two calls. Its new value stands in the operation itself, so that the timing loop does not
// wait for the memory of the pool. Before fetch it is the place of the value in the pool.
func (p *planner) put(to unsafe.Pointer, c change) {
	switch c.size {
	case 8, 4, 2, 1:
	default:
		p.give(to, c)
		return
	}
	p.note(c)
	p.bytes += c.size + int(unsafe.Sizeof(operation{}))
	p.operations = append(p.operations, operation{uintptr(to) + uintptr(c.at), uintptr(c.from) - uintptr(p.w.poolBase), int64(c.size) | immediate})
}

// fetch reads the values that put has left in the pool. Hardly any is in a cache: in a loop that does nothing else, the processor waits for many
// of them at one time.
func (p *planner) fetch(operations []operation) {
	for i := range operations {
		o := &operations[i]
		if o.size&immediate == 0 {
			continue
		}
		switch from := unsafe.Add(p.w.poolBase, o.from); o.size &^ immediate {
		case 8:
			o.from = uintptr(*(*uint64)(from))
		case 4:
			o.from = uintptr(*(*uint32)(from))
		case 2:
			o.from = uintptr(*(*uint16)(from))
		case 1:
			o.from = uintptr(*(*uint8)(from))
		}
	}
}

// wordOf draws the content of a word for an input that holds content v. Where there are many contents, the words of a request come from a
// part of the pool that the caches hold while the plan is written.
func (p *planner) wordOf(v int) int {
	if !p.mixesParts() {
		return p.other(v)
	}
	return p.near + p.rng.IntN(p.nearby)
}

// touch reads a set of buffers, so that the caches hold it as after a call.
func (p *planner) touch(set int) {
	for j, r := range p.w.regions {
		if r.Bytes > 0 {
			p.operate(p.w.arena.buffer(p.w, set, j), nil, -r.Bytes)
		}
	}
}

// damage flips unpredictable bits in a word of an output.
func (p *planner) damage(to unsafe.Pointer, bytes int) {
	at := p.rng.IntN((bytes+7)/8) * 8
	p.bytes += wordBytes + int(unsafe.Sizeof(operation{}))
	p.operations = append(p.operations, operation{uintptr(to) + uintptr(at), uintptr(p.rng.Uint64() | 1<<30 | 1<<62), 0})
}

// call writes the calls of a stretch.
func (p *planner) call(of stretchOf, sets []int) {
	a := &p.w.arena
	add := func(set int) {
		s := step{end: int64(len(p.operations))}
		if len(p.w.regions) > 0 {
			s.set = uintptr(unsafe.Pointer(&a.sets[set*len(p.w.regions)]))
		}
		p.bytes += int(unsafe.Sizeof(s))
		p.steps = append(p.steps, s)
	}
	mixed := p.mixes(of)
	for i := range of.calls {
		if i > 0 && a.copies == 1 {
			p.betweenCalls(mixed, sets[0])
		}
		add(sets[i%len(sets)])
	}
}

// betweenCalls changes one word of each input, in a mixed stretch, and damages one of an output. If an input stayed as it was, what a
// candidate prepares of it could be kept.
func (p *planner) betweenCalls(mixed bool, set int) {
	a := &p.w.arena
	if mixed {
		for _, j := range p.inputs {
			bytes := p.w.regions[j].Bytes
			c := change{buffer: j, size: min(p.w.regions[j].unit(wordBytes), bytes)}
			c.at = p.rng.IntN(bytes/c.size) * c.size
			c.from = unsafe.Add(p.w.variant(p.wordOf(a.variants[set]), j), c.at)
			p.put(a.buffer(p.w, set, j), c)
		}
	}
	if len(p.outputs) > 0 {
		j := p.outputs[p.rng.IntN(len(p.outputs))]
		p.damage(a.buffer(p.w, set, j), p.w.regions[j].Bytes)
	}
}

// keep copies the inputs and outputs of the last call of a stretch. Inputs that were completely new are taken from the pool: what
// the candidate did to its own copy does not matter.
func (p *planner) keep(slot, set int) {
	for _, j := range p.inputs {
		if !p.covered[j] {
			p.operate(p.w.evidenceOf(slot, j, false), p.w.arena.buffer(p.w, set, j), p.w.regions[j].Bytes)
		}
	}
	for _, c := range p.given {
		p.operate(unsafe.Add(p.w.evidenceOf(slot, c.buffer, false), c.at), c.from, c.size)
	}
	for j, r := range p.w.regions {
		if r.Mode != In && r.Bytes > 0 {
			p.operate(p.w.evidenceOf(slot, j, true), p.w.arena.buffer(p.w, set, j), r.Bytes)
		}
	}
}

// refill gives the outputs of a set what they hold before any call. Inputs out of the caches change in a few lines only, so that a call would
// find nearly its own result there, and need not write it.
func (p *planner) refill(set int) {
	value := uintptr(binary.NativeEndian.Uint64(slices.Concat(poison, poison)))
	for _, j := range p.outputs {
		size := roundUp(p.w.regions[j].Bytes, wordBytes)
		p.bytes += size + int(unsafe.Sizeof(operation{}))
		p.operations = append(p.operations, operation{uintptr(p.w.arena.buffer(p.w, set, j)), value, int64(size) | refill})
	}
}

// result summarises what the harness measured.
func (p *plan) result(run *harnessRun, out []stretch) reply {
	r := reply{Seconds: make([]float64, p.samples), Bytes: p.bytes, Stretches: len(out), Spent: float64(run.end-run.begin) / 1e9, Evidence: p.evidence}
	r.Wall, r.Waits = float64(run.wall[1]-run.wall[0])/1e9, int(run.waits)
	calls := make([]int, p.samples)
	var long, short []lasting
	var whole, anew []float64 // seconds a call
	most := 1
	for _, of := range p.of {
		if of.sample >= 0 {
			most = max(most, of.calls)
		}
	}
	for i, of := range p.of {
		took := float64(out[i].end-out[i].begin-run.overhead) / 1e9
		each := took / float64(of.calls)
		r.Timed += took
		r.Calls += of.calls
		switch {
		case of.sample < 0:
			switch {
			case of.anew:
				anew = append(anew, each)
			case i > 0 && of.variant >= 0:
				whole = append(whole, each)
			}
			continue
		case of.calls <= (most+7)/8 && most > 1:
			short = append(short, lasting{took, of.calls})
		case of.calls > most/2:
			long = append(long, lasting{took, of.calls})
		}
		r.Seconds[of.sample] += took
		calls[of.sample] += of.calls
	}
	for i, n := range calls {
		r.Seconds[i] = max(r.Seconds[i]/float64(n), leastSeconds)
	}
	if len(long) >= 3 && len(short) >= 3 {
		r.First, r.Each = firstAndEach(short, long)
	}
	if r.Whole = median(whole); len(anew) > 0 {
		r.Whole = median(anew) // a candidate may know the variants
	}
	return r
}

// lasting is a stretch: the seconds that it took, and its calls.
type lasting struct {
	seconds float64
	calls   int
}

// firstAndEach returns how many seconds the first call of a stretch takes, and each call after it: the medians that fit one another, the
// first by short stretches and the others by long ones.
func firstAndEach(short, long []lasting) (first, each float64) {
	const rounds = 4 // each brings them nearer by the ratio of the lengths
	times := make([]float64, 0, max(len(short), len(long)))
	of := func(all []lasting, seconds func(s lasting) float64) float64 {
		times = times[:0]
		for _, s := range all {
			times = append(times, seconds(s))
		}
		return median(times)
	}
	for range rounds {
		first = of(short, func(s lasting) float64 { return s.seconds - float64(s.calls-1)*each })
		each = of(long, func(s lasting) float64 { return (s.seconds - first) / float64(max(s.calls-1, 1)) })
	}
	return first, each
}

// median sorts times and returns their median, the upper one of two; 0 where there is none, or where it is below that.
func median(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return max(times[len(times)/2], 0)
}

// leastSeconds stands for a call that is too short to be distinguished from reading the clock.
const leastSeconds = 1e-10
