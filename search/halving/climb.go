package halving

import (
	"bytes"
	"math"
	"slices"
)

// The constants of climbs. They were chosen by hand.
const (
	walkers  = 4   // walks of a climb, side by side
	settled  = 2   // of these, how many are refined
	perCycle = 2   // climbs of a cycle
	perScout = 24  // points of a long climb for each one that is scouted in the same cycle
	short    = 2   // the first climbs, each half as long as the one after it
	misses   = 40  // the cheapest score misleads where that of the best point is too low by more than one in so many
	dearer   = 2   // so many times fewer are the steps of a climb that does without it
	near     = 50  // a walk begins where the cheapest score is worse than that of a best point by one in so many at the most
	kicked   = 8   // starts near one of the best points
	kicks    = 4   // parameters in which each of these differs from it
	longer   = 0.3 // how often a step changes one parameter more
	warm     = 750 // one in so many of the cost is the temperature at which a walk begins
	coolest  = 30  // one in so many of that is the temperature at which it ends
	blamed   = 3   // failures after which a walk leaves a parameter as it is
	settlers = 24  // points of an island that are scored first at the next dearer fidelity
	bred     = 16  // points of each generation after them
	breeds   = 6   // generations
	breeders = 12  // points that these come from
)

// climb is a few walks in the cheapest score, or in the next dearer one, by simulated annealing: from one of the best points, from such a
// point with a few parameters changed, or with one word or truth value changed. What the walks find is refined on islands: among its own
// neighbours, and not against the best of all, whose other parameters have been adjusted to each other for longer.
type climb struct {
	starts []candidate // where walks may begin
	walks  []walk
	steps  int         // that are proposed at most
	asked  int         // steps that were proposed
	group  []candidate // memory of climbOn
	found  []candidate // what is to be refined, the least first
	// cool is what cooling has returned after cooledAt steps; 0 before.
	cool     float64
	cooledAt int
}

// walk is one of the walks of a climb.
type walk struct {
	at    candidate
	least candidate // the least score that has not failed at the next dearer fidelity
	next  candidate // the proposed step; -1 where there is none
	// proposal is the place of the proposed step among those of all walks; -1 where there is none.
	proposal int
	// blame counts, for each parameter, the failures in a row in which it differed from the least point. The cheapest score does not
	// see what a point may fail for, so a walk would come back to such values again and again.
	blame []int
	free  []int // the parameters with several values that are not blamed so often: a step changes these
	// values are ordinals for every parameter, also the inactive ones: the last where it had one, else a random one. So where a step
	// makes parameters active, they do not begin at their defaults, which suit no good point.
	values []int
	from   []int     // the ordinals of the point where it stood at its last step
	stood  candidate // that point
}

// begin starts a climb: the places where it may begin are scored. It returns false where there are none.
func (h *halving) begin() bool {
	if len(h.elite) == 0 || h.climbed == perCycle || h.quota < h.cfg.Scouts {
		return false
	}
	h.climbed++
	parent := h.point(h.elite[h.climbs%len(h.elite)])
	from := parent.Ordinals()
	h.climb = climb{steps: perScout * h.cfg.Scouts >> max(0, short-h.climbs)}
	if h.mistrust() {
		h.climb.steps /= dearer
	}
	h.climbs++
	h.climb.starts = []candidate{h.candidate(parent)}
	add := func(ords []int) {
		if c, ok := h.complete(ords, from, h.climb.starts[0]); ok && !slices.Contains(h.climb.starts, c) {
			h.climb.starts = append(h.climb.starts, c)
		}
	}
	for _, i := range h.sighted {
		if parent.Ordinal(i) < 0 || h.code.Ordered[i] {
			continue
		}
		for o := range h.code.Sizes[i] {
			ords := slices.Clone(from)
			ords[i] = o
			add(ords)
		}
	}
	for range kicked {
		ords := slices.Clone(from)
		h.code.KickAmong(ords, h.sighted, kicks)
		add(ords)
	}
	h.stage, h.group, h.level = climbing, h.climb.starts, h.climbLevel
	return true
}

// mistrust says whether climbs do without the cheapest score. That begins where it comes with a lower bound, so that it is about what
// the full score should be, and yet is far below that of the best point. It does not end: a good point that was found without the
// cheapest score is no reason to trust it again.
func (h *halving) mistrust() bool {
	v := h.viewAt(h.elite[0])
	if h.cfg.Levels > 1 && !math.IsInf(v.bound, -1) && h.record-v.cost > math.Abs(v.cost)/misses {
		h.climbLevel = h.cfg.Levels - 1
		h.climbSees = slices.Sorted(slices.Values(slices.Concat(h.sighted, h.blind)))
	}
	return h.climbLevel < h.cfg.Levels
}

// climbOn takes what was scored into account and makes the next steps of the walks the group. It returns false where the climb has
// ended.
func (h *halving) climbOn() bool {
	c := &h.climb
	switch {
	case c.walks == nil:
		h.depart()
	case h.level == h.climbLevel:
		if h.group = h.arrivals(); len(h.group) > 0 {
			h.level--
			return true
		}
	default:
		for i := range c.walks {
			if w := &c.walks[i]; w.next >= 0 {
				h.try(w)
			}
		}
	}
	if c.asked >= c.steps || len(c.walks) == 0 {
		return false
	}
	c.group = c.group[:0]
	h.proposed = h.proposed[:0]
	for i := range c.walks {
		c.walks[i].proposal = h.step(&c.walks[i])
	}
	numbers := h.addProposed()
	for i := range c.walks {
		w := &c.walks[i]
		if w.next = -1; w.proposal >= 0 {
			w.next = numbers[w.proposal]
			c.group = append(c.group, w.next)
		}
	}
	h.group, h.level = c.group, h.climbLevel
	c.asked += len(h.group)
	return len(h.group) > 0
}

// arrivals moves the walks whose proposed steps are accepted. It returns the steps to scores less than any of the walk: these must not
// fail at the next dearer fidelity. What they cost there is of no account, as the blind parameters suit another point.
func (h *halving) arrivals() []candidate {
	var out []candidate
	level := h.climbLevel
	for i := range h.climb.walks {
		w := &h.climb.walks[i]
		o := w.next
		w.next = -1
		switch {
		case o < 0 || !h.right(o, level) || !h.accepts(h.cost(w.at, level), h.cost(o, level)):
		case h.cost(o, level) >= h.cost(w.least, level):
			w.at = o
		case level == 1:
			w.at, w.least = o, o
		default:
			w.next = o
			out = append(out, o)
		}
	}
	return out
}

// accepts says whether a walk may step from one cheapest score to another: to one that is no worse, or, as in simulated annealing, by
// chance, at a temperature that falls from step to step.
func (h *halving) accepts(at, cost float64) bool {
	hottest := math.Abs(at) / warm
	switch {
	case cost <= at:
		return true
	case hottest == 0:
		return false
	}
	drawn := h.rng.Float64()
	if drawn > 0 && cost-at > hopeless*hottest*h.climb.cooled() {
		return false // as for most steps
	}
	return drawn < math.Exp((at-cost)/(hottest*h.climb.cooling()))
}

// hopeless is how many times the temperature a score is worse where the chance is less than any number above 0 that is drawn: 2⁻⁵³ or more.
const hopeless = 40

// cooled is the factor by which the temperature has fallen at the least.
func (c *climb) cooled() float64 {
	if c.cool == 0 {
		return 1
	}
	return c.cool
}

// cooling is the factor by which the temperature has fallen.
func (c *climb) cooling() float64 {
	if c.cooledAt != c.asked || c.cool == 0 {
		c.cool, c.cooledAt = math.Pow(coolest, -float64(c.asked)/float64(c.steps)), c.asked
	}
	return c.cool
}

// try moves a walk to its proposed step where that has not failed at the next dearer fidelity, else back to the least point.
func (h *halving) try(w *walk) {
	o := w.next
	w.next = -1
	from, to := h.point(w.least), h.point(o)
	stands := h.right(o, h.climbLevel-1)
	for _, i := range h.climbSees {
		switch {
		case from.Ordinal(i) == to.Ordinal(i):
		case stands:
			w.blame[i] = 0
		default:
			w.blame[i]++
		}
	}
	h.release(w)
	w.at = w.least
	if stands {
		w.at, w.least = o, o
	}
}

// release lists the parameters that the steps of a walk may change.
func (h *halving) release(w *walk) {
	w.free = w.free[:0]
	for _, i := range h.climbSees {
		if w.blame[i] < blamed && h.code.Sizes[i] > 1 {
			w.free = append(w.free, i)
		}
	}
}

// depart chooses where the walks begin: each at the start with the least score half of the time, at the next one a quarter of the time,
// and so on, but never where one has begun before.
func (h *halving) depart() {
	c := &h.climb
	limit := h.cost(c.starts[0], h.climbLevel)
	limit += math.Abs(limit) / near
	h.sortAt(c.starts, h.climbLevel)
	c.walks = []walk{}
	for range walkers {
		open := slices.DeleteFunc(slices.Clone(c.starts), func(o candidate) bool {
			return !h.right(o, h.climbLevel) || h.cost(o, h.climbLevel) > limit || h.started[*h.viewOf.At(int(o))]
		})
		if len(open) == 0 {
			return
		}
		rank := 0
		for rank < len(open)-1 && h.rng.IntN(2) == 0 {
			rank++
		}
		at := open[rank]
		h.started[*h.viewOf.At(int(at))] = true
		w := walk{at: at, least: at, next: -1, blame: make([]int, len(h.code.Sizes)), values: make([]int, len(h.code.Sizes))}
		for i, n := range h.code.Sizes {
			w.values[i] = h.rng.IntN(n)
		}
		h.release(&w)
		c.walks = append(c.walks, w)
	}
}

// step proposes a point one step from where a walk is, and returns its place among those that are proposed; -1 where it finds none.
func (h *halving) step(w *walk) int {
	h.stand(w)
	at := h.points.Packed(int(w.at))
	for range neighbourTries {
		changed := h.kick(w)
		if len(changed) == 0 {
			continue // without a change in an active parameter it is the same point
		}
		from, ok := len(h.proposed), false
		if h.proposed, ok = h.points.AppendChanged(h.proposed, int(w.at), h.ords, changed); ok {
			return from / len(at) // these parameters affect the score that the climb goes by
		}
		if h.proposed, ok = h.points.AppendComplete(h.proposed, h.ords, w.from, int(w.at)); !ok {
			continue
		}
		// A point that looks the same is added too, though no walk goes there: a run of this version is replayed by the numbers of points.
		if next := h.proposed[from:]; bytes.Equal(next, at) {
			h.proposed = h.proposed[:from]
		} else if h.climbLevel < h.cfg.Levels || !h.looksLike(next, at) {
			return from / len(at)
		}
	}
	return -1
}

// kick makes h.ords those of a walk, with one parameter changed, now and then two or three. It returns the active ones that differ; where none
// does, it may leave h.ords as it is.
func (h *halving) kick(w *walk) []int {
	n := 1
	for h.rng.Float64() < longer {
		n++
	}
	if n > 1 || len(w.free) == 0 {
		h.ords = append(h.ords[:0], w.values...)
		return slices.DeleteFunc(h.code.KickSome(h.ords, w.free, n), func(i int) bool { return w.from[i] < 0 || h.ords[i] == w.from[i] })
	}
	i, ord := h.code.KickOne(w.values, w.free, w.from)
	if ord < 0 || ord == w.from[i] {
		return nil
	}
	h.ords = append(h.ords[:0], w.values...)
	h.ords[i] = ord
	h.changed[0] = i
	return h.changed[:]
}

// stand brings the ordinals of a walk up to date.
func (h *halving) stand(w *walk) {
	if w.from != nil && w.stood == w.at {
		return
	}
	w.from, w.stood = h.points.AppendOrdinals(w.from[:0], int(w.at)), w.at
	for i, o := range w.from {
		if o >= 0 {
			w.values[i] = o
		}
	}
}

// arrived notes what a climb has found: the best of its walks, the least first, without those that have come no further than where
// they began.
func (h *halving) arrived() {
	c := &h.climb
	for _, w := range c.walks {
		if !slices.ContainsFunc(c.found, func(o candidate) bool { return h.alike(o, w.least) }) && !slices.Contains(c.starts, w.least) {
			c.found = append(c.found, w.least)
		}
	}
	h.sortAt(c.found, h.climbLevel)
	c.found = c.found[:min(settled, len(c.found))]
}

// settle makes the next point that a climb has found an island, and grafts of it the group. It returns false where there is none
// at which a score can be better than the best.
func (h *halving) settle() bool {
	for len(h.climb.found) > 0 && h.viewAt(h.climb.found[0]).bound >= h.record {
		h.climb.found = h.climb.found[1:]
	}
	if len(h.climb.found) == 0 {
		return false
	}
	c := h.climb.found[0]
	h.climb.found = h.climb.found[1:]
	h.mainland, h.elite, h.best, h.island = h.elite, nil, math.Inf(1), true
	h.group = []candidate{c}
	for range settlers * neighbourTries {
		if len(h.group) == settlers || len(h.blind) == 0 {
			break
		}
		from, ords := h.vectors(c)
		h.graftFrom(ords, h.mainland)
		if c, ok := h.complete(ords, from, c); ok && !slices.Contains(h.group, c) {
			h.group = append(h.group, c)
		}
	}
	h.stage, h.level = settling, h.cfg.Levels-1
	h.stale, h.before = -1, h.best
	h.settlers, h.bred = nil, 0
	if len(h.blind) == 0 || h.cfg.Levels == 1 {
		h.stage = narrowing
	}
	return true
}

// breed adjusts the blind parameters to what the climb has found, at the next dearer fidelity: each generation is the group, and comes
// from the best points of all before. It returns false after the last one; the group then is the best of all.
func (h *halving) breed() bool {
	for _, c := range h.group {
		if h.right(c, h.level) {
			h.settlers = append(h.settlers, c)
		}
	}
	h.sortAt(h.settlers, h.level)
	h.group = nil
	if h.bred++; h.bred > breeds || len(h.settlers) == 0 {
		h.group = h.settlers[:min(len(h.settlers), 2*breeders)]
		return false
	}
	best := h.settlers[:min(len(h.settlers), breeders)]
	for range bred * neighbourTries {
		if len(h.group) == bred {
			break
		}
		near := best[min(h.rng.IntN(len(best)), h.rng.IntN(len(best)))]
		from, ords := h.vectors(near)
		h.code.KickAmong(ords, h.blind, 1+h.rng.IntN(2))
		if c, ok := h.complete(ords, from, near); ok && !h.scored(c, h.level) && !slices.Contains(h.group, c) {
			h.group = append(h.group, c)
		}
	}
	return true
}

// leave joins the best points of an island and those of the mainland.
func (h *halving) leave() {
	h.elite = h.ranked(slices.Concat(h.mainland, h.elite))
	h.mainland, h.best, h.island = nil, h.record, false
}

// ranked returns the best of some points with full scores, the least first. Of points with one view the best is enough: the others
// differ by luck only.
func (h *halving) ranked(cs []candidate) []candidate {
	h.sortAt(cs, 0)
	seen := map[*view]bool{}
	cs = slices.DeleteFunc(cs, func(c candidate) bool {
		v := h.viewAt(c)
		again := seen[v]
		seen[v] = true
		return again
	})
	return cs[:min(elites, len(cs))]
}
