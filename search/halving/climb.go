package halving

import (
	"math"
	"slices"
)

// The constants of climbs. They were chosen by hand.
const (
	steps    = 8   // points of a batch of a climb
	perCycle = 4   // climbs of a cycle
	perScout = 4   // points of a climb for each one that is scouted in the same cycle
	near     = 50  // a climb begins where the cheapest score is worse than that of a best point by one in so many at the most
	barren   = 32  // batches in a row without a better point after which a climb ends
	kicked   = 8   // starts near one of the best points
	kicks    = 4   // parameters in which each of these differs from it
	longer   = 0.3 // how often a step changes one parameter more
	settlers = 16  // points of an island that are narrowed first
)

// climb is a descent in the cheapest score: from one of the best points, from such a point with a few parameters changed, or with one
// word or truth value changed. The latter alone often makes a point worse, until other parameters have followed it. So that value
// stays while the climb lasts, and what the climb finds is refined on an island: among its own neighbours, and not against the best
// of all.
type climb struct {
	starts []candidate // where it may begin
	free   []int       // the parameters that it may change
	at     candidate   // the best so far, or -1
	better []candidate // of the last batch, the least first; each has to stand the next dearer fidelity
	asked  int         // points of batches
	stale  int         // batches in a row that found nothing better
}

// begin starts a climb: the places where it may begin are scored. It returns false where there are none.
func (h *halving) begin() bool {
	if len(h.elite) == 0 || h.climbed == perCycle || h.quota < h.cfg.Scouts {
		return false
	}
	h.climbed++
	h.climb = climb{at: -1}
	parent := h.point(h.elite[h.climbs%len(h.elite)])
	from := parent.Ordinals()
	h.climbs++
	h.climb.starts = []candidate{h.candidate(parent)}
	add := func(ords []int) {
		if c, ok := h.complete(ords, from); ok && !slices.Contains(h.climb.starts, c) {
			h.climb.starts = append(h.climb.starts, c)
		}
	}
	for _, i := range h.sighted {
		if parent.Ordinal(i) < 0 || h.code.Ordered[i] {
			continue
		}
		for o := range h.code.Sizes[i] {
			ords := parent.Ordinals()
			ords[i] = o
			add(ords)
		}
	}
	for range kicked {
		ords := parent.Ordinals()
		h.code.KickAmong(ords, h.sighted, kicks)
		add(ords)
	}
	h.stage, h.group, h.level = climbing, h.climb.starts, h.cfg.Levels
	return true
}

// climbOn takes what was scored into account and makes the next batch of the climb the group. It returns false where the climb has
// ended.
func (h *halving) climbOn() bool {
	c := &h.climb
	switch {
	case c.at < 0:
		if !h.depart() {
			return false
		}
	case h.level == h.cfg.Levels:
		for _, o := range h.group {
			if h.right(o, h.level) && h.cost(o, h.level) < h.cost(c.at, h.level) {
				c.better = append(c.better, o)
			}
		}
		h.sortAt(c.better, h.level)
		c.stale++
	case h.stands(c.better[0]):
		c.at, c.better, c.stale = c.better[0], nil, 0
	default:
		c.better = c.better[1:]
	}
	if len(c.better) > 0 && h.cfg.Levels > 1 {
		h.group, h.level = c.better[:1], h.cfg.Levels-1
		return true
	}
	if len(c.better) > 0 {
		c.at, c.better, c.stale = c.better[0], nil, 0
	}
	if c.stale == barren || c.asked >= perScout*h.cfg.Scouts {
		return false
	}
	h.group, h.level = h.stepped(), h.cfg.Levels
	c.asked += len(h.group)
	return len(h.group) > 0
}

// depart chooses where the climb begins: the start with the least score half of the time, the next one a quarter of the time, and
// so on.
func (h *halving) depart() bool {
	c := &h.climb
	limit := h.cost(c.starts[0], h.cfg.Levels)
	limit += math.Abs(limit) / near
	starts := slices.DeleteFunc(slices.Clone(c.starts), func(o candidate) bool {
		return !h.right(o, h.cfg.Levels) || h.cost(o, h.cfg.Levels) > limit || h.started[*h.viewOf.At(int(o))]
	})
	if len(starts) == 0 {
		return false
	}
	h.sortAt(starts, h.cfg.Levels)
	rank := 0
	for rank < len(starts)-1 && h.rng.IntN(2) == 0 {
		rank++
	}
	c.at = starts[rank]
	h.started[*h.viewOf.At(int(c.at))] = true
	from, to := h.point(c.starts[0]), h.point(c.at)
	for _, i := range h.sighted {
		if h.code.Ordered[i] || from.Ordinal(i) == to.Ordinal(i) {
			c.free = append(c.free, i)
		}
	}
	return true
}

// stands says whether a point with a better cheapest score is no worse at the next dearer fidelity than the climb is, but for luck:
// the cheapest score does not see everything that a point may fail for.
func (h *halving) stands(o candidate) bool {
	level := h.cfg.Levels - 1
	if !h.right(o, level) {
		return false
	}
	at := h.climb.at
	return !h.right(at, level) || h.cost(o, level) <= h.cost(at, level)+h.luck(level)
}

// luck is how much the falls from a level differ: the distance of their quartiles.
func (h *halving) luck(level int) float64 {
	falls := slices.Sorted(slices.Values(h.falls[level]))
	if len(falls) == 0 {
		return 0
	}
	return falls[3*len(falls)/4] - falls[len(falls)/4]
}

// stepped returns points one step from where the climb is, now and then two or three, of which no score is known.
func (h *halving) stepped() []candidate {
	var out []candidate
	from, ords := h.vectors(h.climb.at)
	for range steps * neighbourTries {
		if len(out) == steps {
			break
		}
		copy(ords, from)
		n := 1
		for h.rng.Float64() < longer {
			n++
		}
		h.code.KickAmong(ords, h.climb.free, n)
		c, ok := h.complete(ords, from)
		if ok && !h.scored(c, h.cfg.Levels) && !slices.ContainsFunc(out, func(o candidate) bool { return h.alike(c, o) }) {
			out = append(out, c)
		}
	}
	return out
}

// settle makes what a climb has found an island, and grafts of it the group. It returns false where the climb has come no further than
// one of the best points, and where no score there can be better than the best.
func (h *halving) settle() bool {
	c := h.climb.at
	if c < 0 || c == h.climb.starts[0] || h.viewAt(c).bound >= h.record {
		return false
	}
	h.mainland, h.elite, h.best, h.island = h.elite, nil, math.Inf(1), true
	h.group = []candidate{c}
	for range settlers * neighbourTries {
		if len(h.group) == settlers || len(h.blind) == 0 {
			break
		}
		from, ords := h.vectors(c)
		h.graftFrom(ords, h.mainland)
		if c, ok := h.complete(ords, from); ok && !slices.Contains(h.group, c) {
			h.group = append(h.group, c)
		}
	}
	h.stage, h.level = narrowing, h.cfg.Levels-1
	h.stale, h.before = -1, h.best
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
