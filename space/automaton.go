package space

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
)

// residue stands for what a constraint still requires of the unbound parameters. Two assignments with the same residue have the
// same completions as far as the constraint is concerned.
type residue = int32

const (
	// dead: no completion passes.
	dead residue = -1
	// passed: all completions pass; for a condition, it is true.
	passed residue = 0
	// inactive: the condition is not true.
	inactive residue = 1
	// firstOpen is the residue of a check with nothing bound; other open residues follow. Each level numbers its own.
	firstOpen residue = 2
)

// interner numbers vectors of one length in order of arrival.
type interner[T int32 | uint64] struct {
	width int
	keys  []T
	slots []int32 // number+1 of a vector that hashes to this slot or to one just before it; 0 where the slot is free
	count int
}

// find returns the number of the vector.
func (t *interner[T]) find(key []T) (number int, found bool) {
	if 2*t.count >= len(t.slots) {
		t.enlarge()
	}
	at := t.slot(key)
	if t.slots[at] != 0 {
		return int(t.slots[at]) - 1, true
	}
	t.keys = append(t.keys, key...)
	t.count++
	t.slots[at] = int32(t.count)
	return t.count - 1, false
}

// slot returns the slot of the vector, or the free slot where it belongs.
func (t *interner[T]) slot(key []T) uint64 {
	h := uint64(0)
	for _, k := range key {
		h = (h ^ uint64(k)) * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: Knuth's multiplicative hashing
		h ^= h >> 29
	}
	mask := uint64(len(t.slots) - 1)
	at := h & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		n := (int(t.slots[at]) - 1) * t.width
		if slices.Equal(t.keys[n:n+t.width], key) {
			break
		}
	}
	return at
}

func (t *interner[T]) enlarge() {
	t.slots = make([]int32, max(16, 4*len(t.slots)))
	for i := range t.count {
		t.slots[t.slot(t.keys[i*t.width:(i+1)*t.width])] = int32(i) + 1
	}
}

// step is the residue that follows when a parameter takes one of the n ordinals lo, lo+1, …
type step struct {
	lo, n int
	to    residue
}

// row gives the next residue for every value of the next parameter: steps in ascending order, without those that are dead. Off is
// the next residue where the parameter is inactive.
type row struct {
	steps []step
	off   residue
}

// level has the residues of a check after a certain number of its parameters are bound.
type level struct {
	probes   []probe
	known    interner[uint64] // the values of the probes, numbered
	residues []residue        // by that number
	// prefixes has, for each open residue, the ordinals of one assignment that leads to it.
	prefixes []int32
	rows     []*row
	// forms has, for the last level, the residue of every distinct row.
	forms map[string]residue
}

// probe computes the value of a part of an expression that reads only bound parameters.
type probe func(ords []int) (bits uint64, state truth)

// automaton is a check as a state machine. It reads ordinals in the order of the parameters, and its state is what remains of the
// check. Residues and rows are computed when they are first needed.
type automaton struct {
	*check
	bounds *bounds
	// offable says which parameters may be inactive.
	offable []bool
	levels  []*level // one for each parameter read
	// work counts what has been done, in evaluations of the check or of parts of it. Beyond limit the automaton gives up and sets
	// failed; its residues are then invalid.
	work, limit int
	failed      bool
	// wide is the number of values from which on the rows of a parameter are limited to wideSteps.
	wide int
	ords []int
	seen []uint64
	form []byte
}

func newAutomaton(c *check, b *bounds, offable []bool) *automaton {
	a := &automaton{check: c, bounds: b, offable: offable, levels: make([]*level, len(c.reads)), ords: make([]int, len(offable))}
	a.levels[0] = &level{rows: make([]*row, 1)}
	return a
}

// at returns the level whose next parameter is the j-th that the check reads.
func (a *automaton) at(j int) *level {
	if a.levels[j] == nil {
		l := &level{}
		bound := a.reads[j-1]
		a.probe(l, a.root, bound)
		l.known.width = len(l.probes) + (len(l.probes)+31)/32
		a.levels[j] = l
	}
	return a.levels[j]
}

// probe adds the largest parts of n that read only parameters up to bound. It leaves out constant parts.
func (a *automaton) probe(l *level, n *node, bound int) {
	a.work++
	first, last := n.first, n.last
	switch {
	case last < 0 || first > bound:
		return
	case last <= bound:
		if p := a.compileProbe(n); p != nil {
			l.probes = append(l.probes, p)
			return
		}
	}
	for _, kid := range n.kids {
		a.probe(l, kid, bound)
	}
}

// compileProbe returns nil for a part that is not a number.
func (a *automaton) compileProbe(n *node) probe {
	if n.op == opName {
		i := n.param
		return func(ords []int) (uint64, truth) { return uint64(ords[i]), fine }
	}
	k := &compiler{src: a.src, scope: a.scope}
	switch n.typ {
	case typeBool:
		f := k.bool(n)
		return func(ords []int) (uint64, truth) { return uint64(f(ords)), fine }
	case typeInt:
		f := k.int(n)
		return func(ords []int) (uint64, truth) {
			v, state := f(ords)
			return uint64(v), state
		}
	case typeFloat:
		f := k.float(n)
		return func(ords []int) (uint64, truth) {
			v, state := f(ords)
			return math.Float64bits(v), state
		}
	}
	return nil
}

// decide turns the result of a fully bound check into a residue.
func (a *automaton) decide(t truth) residue {
	switch {
	case a.owner >= 0 && t == isTrue:
		return passed
	case a.owner >= 0:
		return inactive
	case t == isTrue || t == isUnknown:
		return passed
	}
	return dead
}

// settle is decide for a set of possible results; it returns open where the check is undecided.
func (a *automaton) settle(s states, open residue) residue {
	switch {
	case a.owner >= 0 && s == canTrue:
		return passed
	case a.owner >= 0 && s&canTrue == 0:
		return inactive
	case a.owner < 0 && s&(canFalse|canFault) == 0:
		return passed
	case a.owner < 0 && s&(canTrue|canUnknown) == 0:
		return dead
	}
	return open
}

// enclose bounds the results of the check with its first j parameters fixed in ords, the next one in the span, and the rest open.
func (a *automaton) enclose(j int, next span) states {
	a.work++
	for i, q := range a.reads {
		switch {
		case i < j:
			a.bounds.box[q] = fixed(a.ords[q])
		case i == j:
			a.bounds.box[q] = next
		default:
			a.bounds.box[q] = a.open(q)
		}
	}
	return a.bounds.truth(a.root)
}

// open is the span of a parameter that may be anything.
func (a *automaton) open(q int) span { return span{0, a.scope.params[q].Len() - 1, a.offable[q]} }

// arrive returns the residue for the first j ordinals, given in ords.
func (a *automaton) arrive(j int) residue {
	a.work++
	if j == len(a.reads) {
		return a.decide(a.eval(a.ords))
	}
	l := a.at(j)
	a.seen = a.seen[:0]
	states := uint64(0)
	for i, p := range l.probes {
		bits, state := p(a.ords)
		if state != fine {
			bits = 0
		}
		a.seen = append(a.seen, bits)
		// Two bits encode a state; a word has those of 32 probes.
		states = states<<2 | uint64(state)
		if i%32 == 31 || i == len(l.probes)-1 {
			a.seen = append(a.seen, states)
			states = 0
		}
	}
	number, found := l.known.find(a.seen)
	if found {
		return l.residues[number]
	}
	t := a.settle(a.enclose(j, a.open(a.reads[j])), firstOpen)
	if t >= firstOpen {
		t = a.add(l, j)
	}
	l.residues = append(l.residues, t)
	return t
}

// add creates an open residue of level j. On the last level it computes the row, so that assignments which allow the same values
// of the last parameter share one residue, even if the underlying numbers differ.
func (a *automaton) add(l *level, j int) residue {
	t := firstOpen + residue(len(l.rows))
	var r *row
	if j == len(a.reads)-1 {
		r = a.follow(j)
		if settled, ok := a.uniform(r, j); ok {
			return settled
		}
		a.form = binary.LittleEndian.AppendUint32(a.form[:0], uint32(r.off))
		for _, s := range r.steps {
			a.form = binary.AppendUvarint(a.form, uint64(s.lo))
			a.form = binary.AppendUvarint(a.form, uint64(s.n))
			a.form = append(a.form, byte(s.to))
		}
		if same, ok := l.forms[string(a.form)]; ok {
			return same
		}
		if l.forms == nil {
			l.forms = map[string]residue{}
		}
		l.forms[string(a.form)] = t
	}
	l.rows = append(l.rows, r)
	for _, q := range a.reads[:j] {
		l.prefixes = append(l.prefixes, int32(a.ords[q]))
	}
	return t
}

// uniform returns the residue of a row that leads to the same residue for every value.
func (a *automaton) uniform(r *row, j int) (residue, bool) {
	q := a.reads[j]
	switch {
	case len(r.steps) == 0 && r.off == dead:
		return dead, true
	case len(r.steps) != 1 || r.steps[0].n != a.scope.params[q].Len() || a.offable[q] && r.off != r.steps[0].to:
		return 0, false
	}
	return r.steps[0].to, true
}

// row returns the row of an open residue of level j.
func (a *automaton) row(j int, t residue) *row {
	l := a.at(j)
	k := int(t - firstOpen)
	if l.rows[k] == nil {
		for i, o := range l.prefixes[k*j : (k+1)*j] {
			a.ords[a.reads[i]] = int(o)
		}
		l.rows[k] = a.follow(j)
	}
	return l.rows[k]
}

// follow computes the row of the residue of the assignment in ords.
func (a *automaton) follow(j int) *row {
	r, q := &row{off: dead}, a.reads[j]
	if a.offable[q] {
		a.ords[q] = -1
		r.off = a.arrive(j + 1)
	}
	size := a.scope.params[q].Len()
	if candidates, ok := a.candidates(j); ok {
		for _, o := range candidates {
			a.try(r, j, o)
		}
		return r
	}
	a.split(r, j, 0, size)
	return r
}

// fewValues is up to how many values are tried one by one, without bounds first.
const fewValues = 16

// wideSteps limits the steps in the row of a very wide parameter. Its values cannot be tried one by one, and a row of many steps
// probably has nearly as many as there are values; giving up early keeps that cheap.
const wideSteps = 1 << 10

// split adds the steps for the ordinals lo … hi-1. It halves a range until all of it passes or all of it fails, so that a
// comparison costs the logarithm of the domain.
func (a *automaton) split(r *row, j, lo, hi int) {
	if a.work > a.limit || len(r.steps) > wideSteps && a.scope.params[a.reads[j]].Len() > a.wide {
		a.failed = true
	}
	if a.failed {
		return
	}
	if hi-lo <= fewValues {
		for o := lo; o < hi; o++ {
			a.try(r, j, o)
		}
		return
	}
	switch t := a.settle(a.enclose(j, span{lo, hi - 1, false}), firstOpen); t {
	case firstOpen:
		middle := lo + (hi-lo)/2
		a.split(r, j, lo, middle)
		a.split(r, j, middle, hi)
	case dead:
	default:
		r.add(lo, hi-lo, t)
	}
}

// try adds the step for one ordinal.
func (a *automaton) try(r *row, j, o int) {
	a.ords[a.reads[j]] = o
	if t := a.arrive(j + 1); t != dead {
		r.add(o, 1, t)
	}
}

// add appends a step, or extends the last one.
func (r *row) add(lo, n int, to residue) {
	if k := len(r.steps) - 1; k >= 0 && r.steps[k].to == to && r.steps[k].lo+r.steps[k].n == lo {
		r.steps[k].n += n
		return
	}
	r.steps = append(r.steps, step{lo, n, to})
}

// candidates lists the ordinals of the last parameter that can pass a divisibility check, x % e == 0 or e % x == 0, where they
// can be found without trying all: the multiples or the divisors of e.
func (a *automaton) candidates(j int) ([]int, bool) {
	q := a.reads[j]
	p := &a.scope.params[q]
	n := a.root
	if j != len(a.reads)-1 || a.owner >= 0 || p.Type != TypeInt || p.Len() <= 4*fewValues ||
		n.op != opChain || len(n.kids) != 2 || n.cmp[0] != "==" || n.kids[1].op != opInt || n.kids[1].num != 0 || n.kids[0].op != opMod {
		return nil, false
	}
	x, e := n.kids[0].kids[0], n.kids[0].kids[1]
	flipped := x.op != opName || x.param != q
	if flipped {
		x, e = e, x
	}
	if x.op != opName || x.param != q || e.typ != typeInt || e.last >= q {
		return nil, false
	}
	for _, q := range a.reads[:j] {
		a.bounds.box[q] = fixed(a.ords[q])
	}
	b := a.bounds.int(e)
	a.work++
	if b.states != canValue || b.lo != b.hi || b.lo == 0 || b.lo == math.MinInt64 {
		return nil, false
	}
	value := max(b.lo, -b.lo)
	var out []int
	if flipped {
		if value > 1<<32 || value > int64(p.Len())*int64(p.Len()) {
			return nil, false
		}
		for d := int64(1); d*d <= value; d++ {
			if value%d != 0 {
				continue
			}
			for _, v := range []int64{d, -d, value / d, -value / d} {
				if o, ok := p.Ordinal(IntValue(v)); ok {
					out = append(out, o)
				}
			}
		}
		slices.Sort(out)
		return slices.Compact(out), true
	}
	first, period, ok := multiples(p.From, p.Step, value)
	if !ok {
		return nil, true
	}
	if p.Len()/period > 1<<16 {
		return nil, false
	}
	for o := first; o < p.Len(); o += period {
		out = append(out, o)
	}
	return out, true
}

// multiples solves from + o*step = 0 modulo value: the solutions are first, first + period, … ok is false where there is none.
func multiples(from, step, value int64) (first, period int, ok bool) {
	f, s, v := big.NewInt(from), big.NewInt(step), big.NewInt(value)
	g := new(big.Int).GCD(nil, nil, s, v)
	if new(big.Int).Rem(f, g).Sign() != 0 {
		return 0, 0, false
	}
	v.Div(v, g)
	f.Div(f, g)
	// After division by their greatest common divisor, step is invertible modulo value; modulo 1 the inverse is 0.
	inverse := new(big.Int).ModInverse(s.Div(s, g), v)
	if inverse == nil {
		inverse = new(big.Int)
	}
	o := f.Mul(f.Neg(f), inverse)
	return int(o.Mod(o, v).Int64()), int(v.Int64()), true
}
