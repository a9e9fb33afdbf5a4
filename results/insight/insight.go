package insight

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/internal/guard"
	"tune/results"
	"tune/space"
)

// Insight is what a run found out about its parameters.
type Insight struct {
	// Learned are the shares of a model of all points; nil where there was no space or too little to learn from.
	Learned *Shares `json:"learned,omitempty"`
	// Explained is how much of the differences in cost the model explains: of those between the outcomes that it learned, each left out in turn. It is nil
	// where nothing was learned. The shares of the model are parts of it.
	Explained *Explained `json:"explained,omitempty"`
	// Measured are the shares of the right outcomes. A search asks for good points mostly, so that they are no fair sample.
	Measured Shares    `json:"measured"`
	Losses   []Loss    `json:"losses,omitempty"`
	Failures []Failure `json:"failures,omitempty"`

	portions []portion // that are worth a word: of what was learned, else of the variance of the right outcomes
}

// Explained is how much of the variance of some costs a model explains.
type Explained struct {
	Share float64 `json:"share"` // from 0 to 1
	// Chance is what a model explains of costs that depend on nothing, in one of a hundred runs with as many outcomes.
	Chance float64 `json:"by_chance"`
}

// Nothing reports whether chance explains as much: then no parameter stands out, and the shares of the model say nothing.
func (e Explained) Nothing() bool { return e.Share <= e.Chance }

// String says that nothing stood out.
func (e Explained) String() string {
	return fmt.Sprintf("nothing stood out: the parameters explain %.0f %% of the differences in cost, and chance alone up to %.0f %%", 100*e.Share, 100*e.Chance)
}

// chanceOf is what a model explains by chance of values that depend on nothing, in one of a hundred cases. Models were learned of random costs at random
// points of spaces of 3, 8 and 16 parameters; docs/design/insight.md has the figures. chanceScale over the root of their number is about the largest.
func chanceOf(values int) float64 { return min(chanceScale/math.Sqrt(float64(values)), 1) }

const chanceScale = 3.4

// fewTold is what chance explains where outcomes are too few for a word: 18 or fewer.
const fewTold = 0.8

// crossed is a model that was tried on values that it had not seen; see surrogate.Model.
type crossed interface {
	Explained() (share float64, values int)
}

// Learner makes a model from right outcomes, or from the logarithms of their costs; ok is false where they are too few.
type Learner func(s *space.Space, right []space.Observation, log bool) (m Model, ok bool)

const (
	// leastMattering is the least share that is worth a word.
	leastMattering = 0.05
	// mostMattering is how many shares are.
	mostMattering = 3
	// leastMeasured is the least number of right outcomes whose shares say something.
	leastMeasured = 16
	// taught is how many right outcomes a model is given at most: half of them the best.
	taught = 1024
)

// Look finds out what a history says. The space may be nil where it is not known, and then nothing is learned.
func Look(h results.History, s *space.Space, from Reference, learn Learner) (*Insight, error) {
	t, err := Collect(h, 0)
	if err != nil {
		return nil, err
	}
	return t.LookIn(h, s, from, learn)
}

// LookIn is Look for the history that the table was collected from. It reads the history only where Failures has to.
func (t *Table) LookIn(h results.History, s *space.Space, from Reference, learn Learner) (in *Insight, err error) {
	in = t.Look(s, from, learn)
	in.Failures, err = t.Failures(h)
	return in, err
}

// Look is the function of that name for outcomes that were collected, apart from the failures.
func (t *Table) Look(s *space.Space, from Reference, learn Learner) *Insight {
	in := &Insight{Losses: t.Losses(from)}
	log := t.logs()
	var columns []column
	var y []float64
	measured := guard.Aside(func() { columns, y, in.Measured = t.measured(s) })
	if s != nil && learn != nil {
		if m, ok := learn(s, t.lesson(s), log); ok {
			whole, _ := t.whole(s)
			in.learned(s, m, log, s.Listed() && !whole)
		}
	}
	measured()
	if in.Learned == nil && len(y) >= leastMeasured {
		whole, _ := t.whole(s)
		in.portions = explained(columns, y, in.Measured.Pairs, whole, !whole)
	}
	return in
}

// learned takes the shares of a model, as parts of the differences in cost. A model that explains no more than chance does has none. sampled says that
// the points of the space are a list that may be a sample.
func (in *Insight) learned(s *space.Space, m Model, log, sampled bool) {
	part := 1.0
	if tried, ok := m.(crossed); ok {
		share, values := tried.Explained()
		in.Explained = &Explained{min(max(share, 0), 1), chanceOf(values)}
		if part = in.Explained.Share; in.Explained.Nothing() {
			return
		}
	}
	expected := expect(s, m, log)
	if sampled && expected.points != nil {
		all := expected.All
		expected.Shares = believable(columnsOf(s, expected.points), expected.y)
		expected.Log, expected.All = log, all
	}
	in.portions = expected.portions(s, m, part)
	expected.scale(part)
	in.Learned = &expected.Shares
}

// logs reports whether the logarithms of the costs are analysed; see Shares.
func (t *Table) logs() bool {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Counts() && r.Cost <= 0 {
			return false
		}
	}
	return true
}

// measured returns the columns of the rows that count, their costs or the logarithms of these, and the shares of them. The order of the
// parameters of a space names pairs alike, however the outcomes came.
func (t *Table) measured(s *space.Space) (columns []column, y []float64, out Shares) {
	columns, costs := t.columns()
	if s != nil {
		order := map[string]int{}
		for k, p := range s.Parameters() {
			order[p.Name] = k
		}
		slices.SortStableFunc(columns, func(a, b column) int { return cmp.Compare(order[a.name], order[b.name]) })
	}
	y, log := logs(costs)
	whole, all := t.whole(s)
	switch {
	case len(y) < leastMeasured:
	case s != nil && s.Listed() && !whole && len(y) <= mostTested:
		out = believable(columns, y)
	default:
		out = analyse(columns, y, whole)
	}
	out.Log, out.Points, out.All = log, len(y), all
	return columns, y, out
}

// whole reports whether the rows leave nothing to chance: they are all points of the space, or a grid of all combinations of the values that
// occur. all says that they are all points of the space. A space of rows is a list of what somebody measured, which may be a sample of a grid:
// the list alone proves nothing.
func (t *Table) whole(s *space.Space) (whole, all bool) {
	if t.Stride > 1 || len(t.Rows) == 0 {
		return false, false
	}
	used := make([][]bool, len(t.Parameters))
	for k, p := range t.Parameters {
		used[k] = make([]bool, 1+len(p.Values)) // the first for no value
	}
	for i := range t.Rows {
		for k := range used {
			used[k][1+t.Rows[i].Choice(k)] = true
		}
	}
	grid := 1
	for _, of := range used {
		n := 0
		for _, is := range of {
			if is {
				n++
			}
		}
		if grid *= n; grid > len(t.Rows) {
			break
		}
	}
	points := math.MaxInt
	if s != nil {
		if n, ok := s.Len(); ok && n < math.MaxInt {
			points = int(n)
		}
	}
	if min(grid, points) > len(t.Rows) {
		return false, false
	}
	keys := map[string]bool{}
	for i := range t.Rows {
		if r := &t.Rows[i]; !r.Reduced {
			key := t.Key(r)
			if keys[key] {
				return false, false // points that were measured again tell what chance gives
			}
			keys[key] = true
		}
	}
	all = len(keys) == points
	return len(keys) == grid || all && !s.Listed(), all
}

// lesson returns the right outcomes as observations of a space: all, or half the best and half others at even steps.
func (t *Table) lesson(s *space.Space) (out []space.Observation) {
	var rows []*Row
	for i := range t.Rows {
		if t.Rows[i].Counts() {
			rows = append(rows, &t.Rows[i])
		}
	}
	if len(rows) > taught {
		slices.SortFunc(rows, func(a, b *Row) int { return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Number, b.Number)) })
		rest := rows[taught/2:]
		for i := range taught / 2 {
			rest[i] = rest[i*len(rest)/(taught/2)]
		}
		rows = rows[:taught]
	}
	for _, r := range rows {
		if p, err := s.Parse(t.Key(r)); err == nil {
			out = append(out, space.Observation{Point: p, Outcome: r.outcome()})
		}
	}
	return out
}

// matter returns the shares that matter most, of parameters and of pairs, the largest first: parts of what was learned, else of what was
// measured. They add up to 1 at most.
func (in *Insight) matter() (words []string) {
	for _, p := range in.portions[:min(len(in.portions), mostMattering)] {
		words = append(words, p.String())
	}
	return words
}

// String says in a line what mattered: isa 61 %, mr × nr 22 %; 37 wrong answers, all with contract=fast. It is empty where nothing is
// known.
func (in *Insight) String() string {
	var parts []string
	if shares := in.matter(); len(shares) > 0 {
		parts = append(parts, strings.Join(shares, ", "))
	} else if in.Explained != nil && in.Explained.Nothing() && in.Explained.Chance < fewTold {
		parts = append(parts, in.Explained.String())
	}
	for _, f := range in.Failures {
		if len(f.Causes) > 0 {
			parts = append(parts, f.String())
		}
	}
	return strings.Join(parts, "; ")
}
