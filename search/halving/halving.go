// Package halving lets any strategy use the cheap scores of a problem: successive halving over fidelities (Jamieson and Talwalkar
// 2016; Karnin, Koren and Somekh 2013), with local search around the best points.
//
// The search goes in cycles of four parts:
//
//  1. Scouting. The inner strategy asks for points, which are scored at the cheapest fidelity only, and is told these
//     scores. They are all on one scale, and thousands cost no more than a few full ones.
//  2. Narrowing. The best points of scouting, no two of them similar, are scored at the next dearer fidelity; the best
//     of these, one in Config.Keep, at the one after that, and so on up to the full one.
//  3. Refining. Neighbours of the best full scores are narrowed in the same way, from the cheapest fidelity on, batch by
//     batch, until some batches in a row find no better one.
//  4. Climbing, in the longest cycles. A few walks, side by side, look for points with less of the cheapest score, by simulated
//     annealing from near the best full scores. They avoid what fails at the next dearer fidelity. What they find, where it may be
//     better than the best, is refined on an island of its own: what is there does not have to compete with the best of all until it
//     has been refined for as long. An island first adjusts the parameters to which the cheapest score is blind.
//     Where the cheapest score comes with a lower bound and is far below the full one at the best point, walks go by the scores of the
//     next dearer fidelity.
//
// The first cycle is short, and each is longer than the one before, up to a limit. Before the first cycle a few points
// are scored fully, so that even the shortest run has a result.
//
// A point that is far from the best is not promoted. There are two cases: its cost would stay above the best even if it fell as
// far as that of the luckiest recently promoted point; or its cheapest score comes with a lower bound (a metric) that is no
// better than the best.
//
// The cheapest score may be blind to some parameters, as a bound on a program's length is blind to the scheduling order. Points
// that differ only in these share one cheapest score, which is asked for once. Scouting tells nothing about these parameters, so
// their values are grafted: from the best full scores, and at random.
//
// When the inner strategy has asked for all points, those that were not promoted follow at full fidelity, the cheapest first and
// those that failed last, so that every point is asked for in the end. Some of them follow also when a whole cycle has nothing to
// ask for.
package halving

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tune/search"
	"tune/search/internal/code"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Levels int // fidelities below the full one; 0 leaves the strategy as it is
	Keep   int // one in so many points is promoted, and at least one of a batch; default 3, at least 2
	Scouts int // points that the longest scouting asks; default 512
	// Blind names the parameters that do not affect the cheapest score; none by default.
	Blind []string
	// First are points that are scored fully before all others, such as the best of earlier runs.
	First []space.Point
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error {
	switch {
	case c.Levels < 0:
		return fmt.Errorf("halving: levels is %d: want 0 or more", c.Levels)
	case c.Keep < 0 || c.Keep == 1:
		return fmt.Errorf("halving: keep is %d: want 2 or more", c.Keep)
	case c.Scouts < 0:
		return fmt.Errorf("halving: scouts is %d: want 1 or more", c.Scouts)
	}
	return nil
}

// New wraps a strategy for a space.
func New(s *space.Space, seed uint64, inner search.Strategy, c Config) (search.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Levels == 0 {
		return inner, nil
	}
	if c.Keep == 0 {
		c.Keep = 3
	}
	if c.Scouts == 0 {
		c.Scouts = 512
	}
	rng := rand.New(rand.NewPCG(seed, 0x68616c76))
	h := &halving{
		space: s, inner: inner, cfg: c, rng: rng, code: code.New(s, seed, rng, nil, nil), points: search.NewPoints(s),
		quota: min(firstScouts, c.Scouts), falls: make([][]float64, c.Levels+1), best: math.Inf(1), record: math.Inf(1), started: map[int32]bool{},
	}
	h.seen = search.NewIndex(func(x *search.Index, v int) uint64 {
		h.other = h.sight(h.other[:0], h.views.At(v).first)
		return x.Hash(h.other)
	})
	for i, p := range s.Parameters() {
		if slices.Contains(c.Blind, p.Name) {
			h.blind = append(h.blind, i)
		} else {
			h.sighted = append(h.sighted, i)
		}
	}
	if len(h.blind) != len(c.Blind) {
		return nil, fmt.Errorf("halving: blind is %v: want different parameters of the space", c.Blind)
	}
	h.mask = s.PackedMask(h.sighted)
	h.climbLevel, h.climbSees = c.Levels, h.sighted
	return h, nil
}

type halving struct {
	space *space.Space
	inner search.Strategy
	cfg   Config
	rng   *rand.Rand
	code  *code.Code
	// blind are the parameters that do not affect the cheapest score, sighted the others.
	blind, sighted []int

	// What is known of each candidate, by its number among the points.
	points   *search.Points
	viewOf   search.Column[int32]
	costs    search.Column[float64]      // by the objective, at each fidelity but the cheapest: Levels a candidate; +Inf where it was not scored
	statuses search.Column[space.Status] // likewise; unset where it was not scored

	views search.Column[view] // in the order in which they became known
	seen  *search.Index       // of views, by what the cheapest score sees
	mask  []byte              // of a packed point, what the cheapest score sees
	from  []int               // memory of vectors
	ords  []int
	// proposed are the packed points that walks propose, one after the other.
	proposed []byte
	// For addProposed, hashes are theirs, sees is what the cheapest score sees of each, and seenBy are the hashes of that.
	hashes, seenBy []uint64
	sees           []byte
	// Memory of addProposed, admit and kick.
	numbers []candidate
	fresh   []int
	unseen  []uint64
	other   []byte
	changed [1]int
	// waiting are the views that may be shortlisted: their cheapest score is right, and may be enough for a full score below the record.
	waiting []waiting
	// swept is how many of them were left when they were last checked.
	swept int

	stage stage
	batch []space.Trial // of the inner strategy, in its order, while scouting
	// stray is a proposal of the inner strategy that is not of the space. It is handed on as it is, for the run to refuse.
	stray []space.Proposal
	group []candidate // to be scored at level
	level int
	asked []candidate // of group, in the batch that was asked last

	quota, scouted int // points that scouting may ask in this cycle, and has asked
	stale          int // batches of neighbours in a row that found nothing better
	before         float64
	idle           bool // nothing was asked in this cycle

	falls [][]float64 // for each fidelity, how far the costs of recently promoted points fell to the full score
	best  float64     // the least full cost
	elite []candidate // the best full scores, the least first

	// While an island is refined, best and elite are of the island; mainland has the elite of all else. record is the least full
	// cost of all.
	climb    climb
	climbs   int            // that were begun
	climbed  int            // of these in this cycle
	started  map[int32]bool // the views that climbs began with
	mainland []candidate
	island   bool
	settlers []candidate // of an island, which have not failed at the fidelity next to the cheapest, the least first
	bred     int         // generations of these
	record   float64
	// climbLevel is the fidelity of the scores that climbs go by, and climbSees are the parameters that affect these.
	climbLevel int
	climbSees  []int
}

type stage int

const (
	opening   stage = iota // the first points at full fidelity
	scouting               // a batch of the inner strategy at the cheapest fidelity
	narrowing              // a group from level to level
	climbing               // steps of walks at the cheapest fidelity, from near one of the best points
	settling               // an island's first points at the fidelity next to the cheapest, from generation to generation
	emptying               // what is left, at full fidelity
)

// candidate is the number of a point. Of its outcomes only statuses and costs are kept, and of the cheapest one the bound: a
// strategy learns from nothing else.
type candidate int32

// view is what the cheapest score distinguishes: points that differ only in blind parameters share one.
type view struct {
	first  candidate // the first of these points
	number int32     // of the trial that scored it; -1 before
	cost   float64   // by the objective; +Inf before
	bound  float64   // no full score is better; -Inf where that is not known
	status space.Status
	handed bool // whether one of them was scored at another fidelity
}

// waiting is a view, and a number that its cheapest score is not below: that of most says that they are too far from the best.
type waiting struct {
	view  int32
	least float32
}

// notAbove returns the largest float32 that is not above a number.
func notAbove(v float64) float32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// numbered returns the view of a number.
func (h *halving) numbered(v int32) *view { return h.views.At(int(v)) }

// viewAt returns the view of a candidate.
func (h *halving) viewAt(c candidate) *view { return h.numbered(*h.viewOf.At(int(c))) }

// status returns the status of a candidate at a fidelity.
func (h *halving) status(c candidate, level int) space.Status {
	if level == h.cfg.Levels {
		return h.viewAt(c).status
	}
	return *h.statuses.At(int(c)*h.cfg.Levels + level)
}

// cost returns the cost of a candidate at a fidelity, +Inf where it failed or was not scored.
func (h *halving) cost(c candidate, level int) float64 {
	if level == h.cfg.Levels {
		return h.viewAt(c).cost
	}
	return *h.costs.At(int(c)*h.cfg.Levels + level)
}

// point returns the point of a candidate.
func (h *halving) point(c candidate) space.Point { return h.points.At(int(c)) }

// vectors returns the ordinals of a candidate, and a copy to change. The next call overwrites both.
func (h *halving) vectors(c candidate) (from, ords []int) {
	h.from = h.points.AppendOrdinals(h.from[:0], int(c))
	h.ords = append(h.ords[:0], h.from...)
	return h.from, h.ords
}

// The constants that users cannot set. Like the defaults of Config, they were chosen by hand.
const (
	opened      = 2  // points of the inner strategy that are scored fully at the start
	firstScouts = 32 // points of the first scouting
	growth      = 4  // each scouting asks so many times the points of the one before
	narrowed    = 16 // points that scouting passes on
	grafts      = 2  // how often blind parameters are grafted on each of them
	children    = 16 // neighbours in a batch
	elites      = 8  // points whose neighbours are tried
	perPatience = 20 // scouted points for each batch of neighbours that may fail in a row
	rest        = 16 // remaining points that are asked for at once when the inner strategy has no more
	memory      = 32 // promoted points that are remembered
)

// Ask proposes the unscored candidates of the group, or moves on to the next group.
func (h *halving) Ask(p space.Progress) []space.Proposal {
	for {
		h.asked = h.asked[:0]
		for _, c := range h.group {
			if !h.scored(c, h.level) && !(h.level == h.cfg.Levels && slices.ContainsFunc(h.asked, func(o candidate) bool { return h.alike(c, o) })) {
				h.asked = append(h.asked, c)
			}
		}
		if len(h.asked) > 0 {
			h.idle = false
			break
		}
		more := h.next(p)
		if h.stray != nil {
			return h.stray
		}
		if !more {
			return nil
		}
	}
	if p.Evaluations > 0 {
		h.asked = h.asked[:min(len(h.asked), p.Evaluations)]
	}
	out := make([]space.Proposal, len(h.asked))
	for i, c := range h.asked {
		out[i] = space.Proposal{Point: h.point(c), Fidelity: h.level}
	}
	return out
}

// Tell keeps the outcomes.
func (h *halving) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, c := range h.asked[:len(trials)] {
		o, v, cost := &outcomes[i], h.viewAt(c), space.Objective{}.Value(outcomes[i])
		if h.level == h.cfg.Levels {
			v.status, v.cost, v.number, v.bound = o.Status, cost, int32(trials[i].Number), math.Inf(-1)
			if bound, ok := o.Metric(space.MetricBound); ok {
				v.bound = bound
			}
			if o.Status == space.OK && v.bound < h.record {
				h.waiting = append(h.waiting, waiting{*h.viewOf.At(int(c)), notAbove(cost)})
			}
			continue
		}
		at := int(c)*h.cfg.Levels + h.level
		*h.statuses.At(at), *h.costs.At(at) = o.Status, cost
		v.handed = true
		if h.level == 0 && o.Status == space.OK {
			h.finished(c)
		}
	}
}

// next replaces a scored group by the next one. It returns false where no point is left.
func (h *halving) next(p space.Progress) bool {
	switch h.stage {
	case opening:
		if len(h.batch) > 0 {
			h.stage, h.group, h.level = scouting, h.candidates(h.batch), h.cfg.Levels
			return true
		}
		if !h.askInside(p) {
			return false
		}
		h.group, h.level = h.group[:min(opened, len(h.group))], 0
		for _, p := range h.cfg.First {
			if c := h.candidate(p); !slices.Contains(h.group, c) {
				h.group = append(h.group, c)
			}
		}
	case scouting:
		h.tellInside()
		if h.scouted < h.quota && h.askInside(p) {
			return true
		}
		if h.scouted < h.quota { // the inner strategy has no more
			h.stage, h.group = emptying, nil
			return true
		}
		h.stage, h.group, h.level = narrowing, h.shortlist(), h.cfg.Levels-1
		h.stale, h.before = -1, h.best
	case settling:
		if !h.breed() {
			h.stage = narrowing
		}
	case narrowing:
		if h.level > 0 {
			if h.group = h.promoted(); len(h.group) > 0 {
				h.level--
				return true
			}
		}
		if h.stale++; h.best < h.before {
			h.stale, h.before = 0, h.best
		}
		h.group = nil
		if h.stale < h.patience() {
			h.group, h.level = h.neighbours(), h.cfg.Levels
		}
		if len(h.group) > 0 {
			return true
		}
		if h.island {
			h.leave()
		}
		if !h.settle() && !h.begin() {
			h.cycle()
		}
	case climbing:
		if h.climbOn() {
			return true
		}
		h.arrived()
		if !h.settle() && !h.begin() {
			h.cycle()
		}
	case emptying:
		h.group, h.level = h.remaining(), 0
		return len(h.group) > 0
	}
	return true
}

// patience is how many batches of neighbours in a row may find nothing better: on an island fewer, so that there are more of them.
func (h *halving) patience() int {
	if h.island {
		return max(1, h.quota/perPatience/2)
	}
	return max(1, h.quota/perPatience)
}

// cycle begins the next cycle.
func (h *halving) cycle() {
	h.stage, h.group, h.level = scouting, nil, h.cfg.Levels
	h.quota, h.scouted, h.climbed = min(growth*h.quota, h.cfg.Scouts), 0, 0
	if h.idle { // everything promising is known
		h.group, h.level = h.remaining(), 0
	}
	h.idle = true
}

// askInside makes the next batch of the inner strategy the group.
func (h *halving) askInside(p space.Progress) bool {
	h.batch = nil
	// The budget limits what is asked of the batch, not the batch itself: some of its points may be known and cost nothing.
	p.Evaluations = 0
	for _, proposal := range h.inner.Ask(p) {
		if !h.space.Same(proposal.Point.Space()) {
			h.batch, h.stray = nil, []space.Proposal{proposal}
			return false
		}
		h.batch = append(h.batch, space.Trial{Proposal: proposal})
	}
	h.scouted += len(h.batch)
	h.group, h.level = h.candidates(h.batch), h.cfg.Levels
	return len(h.batch) > 0
}

// tellInside tells the inner strategy the cheapest outcomes of its batch, which the group is.
func (h *halving) tellInside() {
	if len(h.batch) == 0 {
		return
	}
	outcomes := make([]space.Outcome, len(h.batch))
	for i, c := range h.group {
		v := h.viewAt(c)
		h.batch[i].Number = int(v.number)
		outcomes[i] = space.Outcome{Status: v.status, Fidelity: h.batch[i].Fidelity}
		if v.status == space.OK {
			outcomes[i].Cost = v.cost
		}
	}
	h.inner.Tell(h.batch, outcomes)
	h.batch = nil
}

func (h *halving) candidates(batch []space.Trial) []candidate {
	out := make([]candidate, len(batch))
	for i, t := range batch {
		out[i] = h.candidate(t.Point)
	}
	return out
}

// candidate returns the candidate of a point, and creates it where the point is new.
func (h *halving) candidate(p space.Point) candidate {
	i, fresh := h.points.Add(p)
	return h.added(candidate(i), fresh)
}

// complete returns the candidate of the point that space.Complete makes of a vector, and false where there is none. from is the vector
// of the candidate of, which it was made from; nil for none.
func (h *halving) complete(ords, from []int, of candidate) (candidate, bool) {
	i, fresh, ok := h.points.AddComplete(ords, from, int(of))
	if !ok {
		return 0, false
	}
	return h.added(candidate(i), fresh), true
}

// added notes what is kept of a candidate where it is new.
func (h *halving) added(c candidate, fresh bool) candidate {
	if fresh {
		h.sees = h.sight(h.sees[:0], c)
		h.admit(c, h.sees, h.seen.Hash(h.sees))
	}
	return c
}

// admit notes what is kept of a new candidate. sight is what the cheapest score sees of it, with its hash.
func (h *halving) admit(c candidate, sight []byte, hash uint64) {
	v, ok := h.seen.Find(hash, func(v int) bool {
		h.other = h.sight(h.other[:0], h.views.At(v).first)
		return bytes.Equal(h.other, sight)
	})
	if !ok {
		v = h.views.Len()
		h.views.Append(view{first: c, number: -1, cost: math.Inf(1), bound: math.Inf(-1)})
		h.seen.Add(hash, v)
	}
	h.viewOf.Append(int32(v))
	for range h.cfg.Levels {
		h.costs.Append(math.Inf(1))
		h.statuses.Append(space.StatusUnset)
	}
}

// addProposed adds the points that are proposed, and returns their candidates. In a long run most of the time would be spent waiting for
// memory: for the place where a point is looked up, for the point that has the same tag, and then for the same of what the cheapest score sees.
// So all of these are read before they are needed, those of all points at once.
func (h *halving) addProposed() []candidate {
	width := len(h.mask)
	h.hashes, h.sees, h.seenBy = h.hashes[:0], h.sees[:0], h.seenBy[:0]
	for at := 0; at < len(h.proposed); at += width {
		h.hashes = append(h.hashes, h.points.Hash(h.proposed[at:at+width]))
		h.sees = h.masked(h.sees, h.proposed[at:at+width])
		h.seenBy = append(h.seenBy, h.seen.Hash(h.sees[at:]))
	}
	h.points.Touch(h.hashes)
	h.seen.Touch(h.seenBy)
	h.points.Fetch(h.hashes)
	h.seen.Fetch(h.seenBy, func(v int) byte { return byte(h.views.At(v).first) })
	h.numbers, h.fresh, h.unseen = h.numbers[:0], h.fresh[:0], h.unseen[:0]
	known := h.points.Len()
	for i, hash := range h.hashes {
		h.numbers = append(h.numbers, candidate(h.points.AddHashed(h.proposed[i*width:(i+1)*width], hash)))
		if h.points.Len() > known+len(h.fresh) {
			h.fresh, h.unseen = append(h.fresh, i), append(h.unseen, h.seenBy[i])
		}
	}
	h.seen.Fetch(h.unseen, func(v int) byte { return h.points.Packed(int(h.views.At(v).first))[0] })
	for _, i := range h.fresh {
		h.admit(h.numbers[i], h.sees[i*width:(i+1)*width], h.seenBy[i])
	}
	return h.numbers
}

// sight appends, as bytes, what the cheapest score sees of a candidate.
func (h *halving) sight(b []byte, c candidate) []byte { return h.masked(b, h.points.Packed(int(c))) }

// masked is sight for a packed point.
func (h *halving) masked(b, packed []byte) []byte {
	from := len(b)
	b = append(b, packed...)
	sees, at := b[from:], 0
	for ; at+8 <= len(sees); at += 8 {
		word := sees[at : at+8]
		binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)&binary.LittleEndian.Uint64(h.mask[at:]))
	}
	for ; at < len(sees); at++ {
		sees[at] &= h.mask[at]
	}
	return b
}

// looksLike reports whether the cheapest score sees the same of two packed points.
func (h *halving) looksLike(a, b []byte) bool {
	for i, m := range h.mask {
		if (a[i]^b[i])&m != 0 {
			return false
		}
	}
	return true
}

func (h *halving) alike(c, o candidate) bool { return *h.viewOf.At(int(c)) == *h.viewOf.At(int(o)) }

func (h *halving) scored(c candidate, level int) bool { return h.status(c, level) != space.StatusUnset }

// right says whether a point has a cost at a fidelity.
func (h *halving) right(c candidate, level int) bool { return h.status(c, level) == space.OK }

// open reports whether a point was scored only at the cheapest fidelity, and did not fail there.
func (h *halving) open(c candidate) bool {
	for level := range h.cfg.Levels {
		if h.scored(c, level) {
			return false
		}
	}
	return h.right(c, h.cfg.Levels) || !h.scored(c, h.cfg.Levels)
}

// sortAt sorts points by their costs at a fidelity and keeps the order of equal ones.
func (h *halving) sortAt(cs []candidate, level int) {
	slices.SortStableFunc(cs, func(a, b candidate) int { return cmp.Compare(h.cost(a, level), h.cost(b, level)) })
}

// shortlist returns the best points of scouting. Of points that differ in only a few parameters it keeps the best.
func (h *halving) shortlist() []candidate {
	if len(h.waiting) > 2*h.swept {
		h.waiting = slices.DeleteFunc(h.waiting, func(w waiting) bool { return !h.waits(h.numbered(w.view)) })
		h.swept = len(h.waiting)
	}
	fall := h.fall(h.cfg.Levels)
	var open []int32
	for _, w := range h.waiting {
		if float64(w.least)-fall > h.best {
			continue
		}
		if v := h.numbered(w.view); v.cost-fall <= h.best && h.waits(v) {
			open = append(open, w.view)
		}
	}
	slices.SortFunc(open, func(a, b int32) int {
		return cmp.Or(cmp.Compare(h.numbered(a).cost, h.numbered(b).cost), cmp.Compare(a, b))
	})
	apart := len(h.sighted) / 6
	var chosen []space.Point
	for _, v := range open {
		if len(chosen) == narrowed {
			break
		}
		p := h.point(h.numbered(v).first)
		if !slices.ContainsFunc(chosen, func(o space.Point) bool { return h.distance(p, o) < apart }) {
			chosen = append(chosen, p)
		}
	}
	return h.grafted(chosen)
}

// waits reports whether a view with a right score may still be shortlisted.
func (h *halving) waits(v *view) bool { return !v.handed && v.bound < h.record }

// grafted returns the candidates of some points: each with its blind parameters grafted a few times, or the point itself where there are none.
func (h *halving) grafted(points []space.Point) []candidate {
	var out []candidate
	for _, p := range points {
		if len(h.blind) == 0 {
			out = append(out, h.candidate(p))
			continue
		}
		for range grafts {
			ords := p.Ordinals()
			h.graft(ords)
			if c, ok := h.complete(ords, nil, 0); ok && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// graft gives the blind parameters of a vector the values of one of the best points, or random ones.
func (h *halving) graft(ords []int) { h.graftFrom(ords, h.elite) }

func (h *halving) graftFrom(ords []int, elite []candidate) {
	if len(elite) > 0 && h.rng.IntN(2) == 0 {
		from := h.point(elite[h.rng.IntN(len(elite))])
		for _, i := range h.blind {
			ords[i] = from.Ordinal(i)
		}
		return
	}
	for _, i := range h.blind {
		ords[i] = h.rng.IntN(h.code.Sizes[i])
	}
}

// distance counts the parameters in which two points differ for the cheapest score.
func (h *halving) distance(a, b space.Point) int {
	n := 0
	for _, i := range h.sighted {
		if a.Ordinal(i) != b.Ordinal(i) {
			n++
		}
	}
	return n
}

// promoted returns the best promising points of the group at this level. It ranks them by an estimate of the full cost: the cost
// at this level minus a randomly drawn recent fall. Where falls differ by more than costs do, costs tell little, and the ranking
// is mostly random.
func (h *halving) promoted() []candidate {
	type forecast struct {
		c    candidate
		cost float64
	}
	var right []forecast
	for _, c := range h.group {
		if !h.right(c, h.level) {
			continue
		}
		cost := h.cost(c, h.level)
		if falls := h.falls[h.level]; len(falls) > 0 {
			cost -= falls[h.rng.IntN(len(falls))]
		}
		right = append(right, forecast{c, cost})
	}
	slices.SortStableFunc(right, func(a, b forecast) int { return cmp.Compare(a.cost, b.cost) })
	var out []candidate
	for _, f := range right[:(len(right)+h.cfg.Keep-1)/h.cfg.Keep] {
		if h.promising(h.viewAt(f.c), h.cost(f.c, h.level), h.level) {
			out = append(out, f.c)
		}
	}
	return out
}

// promising reports whether the full cost of a point may come near the best.
func (h *halving) promising(v *view, cost float64, level int) bool {
	return v.bound < h.record && cost-h.fall(level) <= h.best
}

// fall is the longest of the recent falls from a fidelity; +Inf where there is none.
func (h *halving) fall(level int) float64 {
	if len(h.falls[level]) == 0 {
		return math.Inf(1)
	}
	return slices.Max(h.falls[level])
}

// finished records a full cost.
func (h *halving) finished(c candidate) {
	cost := h.cost(c, 0)
	h.best, h.record = min(h.best, cost), min(h.record, cost)
	for level := 1; level <= h.cfg.Levels; level++ {
		if h.right(c, level) {
			h.falls[level] = append(h.falls[level], h.cost(c, level)-cost)
			h.falls[level] = h.falls[level][max(0, len(h.falls[level])-memory):]
		}
	}
	h.elite = h.ranked(append(h.elite, c))
}

// neighbourTries is how often a neighbour is changed further until it may be promoted.
const neighbourTries = 20

// neighbours returns points near the best ones; the better a point, the nearer its neighbours.
func (h *halving) neighbours() []candidate {
	if len(h.elite) == 0 {
		return nil
	}
	var out []candidate
	for range children {
		near := h.elite[min(h.rng.IntN(len(h.elite)), h.rng.IntN(len(h.elite)))]
		from, ords := h.vectors(near)
		h.vary(ords)
		for range neighbourTries {
			if c, ok := h.complete(ords, from, near); ok && h.open(c) && !slices.Contains(out, c) {
				out = append(out, c)
				break
			}
			h.code.Kick(ords, 1)
		}
	}
	return out
}

// vary changes a few parameters of a vector: any of them, only blind ones, or it grafts the blind ones as well.
func (h *halving) vary(ords []int) {
	few := 1 + h.rng.IntN(3)
	if len(h.blind) > 0 {
		if h.island && h.rng.IntN(2) == 0 {
			h.code.KickAmong(ords, h.blind, few)
			return
		}
		switch h.rng.IntN(4) {
		case 0:
			h.code.KickAmong(ords, h.blind, few)
			return
		case 1:
			h.graft(ords)
		}
	}
	h.code.Kick(ords, few)
}

// remaining returns the best points without a full score.
func (h *halving) remaining() []candidate {
	var open []candidate
	for c := range candidate(h.points.Len()) {
		if !h.scored(c, 0) {
			open = append(open, c)
		}
	}
	h.sortAt(open, h.cfg.Levels)
	return open[:min(rest, len(open))]
}
