// Package ils is iterated local search: descend to a point that no neighbour improves on, leave it by a random change, and
// descend again (Lourenço, Martin and Stützle, "Iterated local search", Handbook of Metaheuristics, 2003).
//
// A descent goes through neighbourhoods of growing size, as in variable neighbourhood search (Mladenović and Hansen 1997): first
// one parameter takes an adjacent value, then any value, then two parameters change at once. Points that were asked for are not
// asked for again; the descent moves to a known better neighbour without an evaluation.
package ils

import (
	"math"
	"math/rand/v2"

	"tune/search"
	"tune/search/constant"
	"tune/search/internal/code"
	"tune/space"
)

// Config holds the hyper-parameters. Zero values take the defaults.
type Config struct {
	Batch    int // points in a batch, all neighbours of one point; default 6
	Pairs    int // changes of two parameters that a descent tries before it gives up; default 12
	Kick     int // parameters that change where a descent ended; default 3
	Patience int // descents without a better point before the next starts at a random one; default 5
	// Start are points that the first descents begin with.
	Start []space.Point
	// Fresh holds the points that were not asked for yet, where several strategies share it; nil for one of its own.
	Fresh *search.Fresh
}

// Constants are the hyper-parameters that users may set, with their defaults and ranges.
func Constants() constant.Table[Config] {
	return constant.Table[Config]{
		constant.NewInt("batch", "points in a batch, all neighbours of one point", 6, 1, 1000, func(c *Config) *int { return &c.Batch }),
		constant.NewInt("pairs", "changes of two parameters that a descent tries before it gives up", 12, 1, 10000, func(c *Config) *int { return &c.Pairs }),
		constant.NewInt("kick", "parameters that change where a descent ended", 3, 1, 1000, func(c *Config) *int { return &c.Kick }),
		constant.NewInt("patience", "descents without a better point before the next one begins at a random point", 5, 1, 100000, func(c *Config) *int { return &c.Patience }),
	}
}

// Validate reports hyper-parameters that make no sense.
func (c Config) Validate() error { return Constants().Settle("ils", &c) }

// New returns the strategy for a space.
func New(s *space.Space, seed uint64, c Config) (*Strategy, error) {
	if err := Constants().Settle("ils", &c); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x696C73))
	return &Strategy{
		cfg: c, rng: rng, code: code.New(s, seed, rng, c.Start, c.Fresh),
		cost: math.Inf(1), home: math.Inf(1), best: math.Inf(1),
	}, nil
}

// Strategy is the search. It also learns from points that others asked for.
type Strategy struct {
	cfg  Config
	rng  *rand.Rand
	code *code.Code

	at    space.Point // of the descent; zero where a new one begins
	cost  float64
	hood  []space.Point // neighbours of at that are left to look at, the next one last
	level int           // the neighbourhood that hood is, of those below
	pairs int           // changes of two parameters tried at this point

	homeAt space.Point // where the last descents ended best
	home   float64
	best   float64 // of all that is known
	stale  int     // descents since home got better
}

// The neighbourhoods.
const (
	adjacent = iota
	anyValue
	twoValues
)

// Ask looks at the next neighbours.
func (l *Strategy) Ask(p space.Progress) []space.Proposal {
	begins := l.at.IsZero()
	return search.Take(l.cfg.Batch, p, func() (space.Point, bool) {
		if begins {
			return l.begin()
		}
		return l.next()
	})
}

// begin returns a first point of a descent.
func (l *Strategy) begin() (space.Point, bool) {
	if l.homeAt.IsZero() {
		return l.code.Newcomer()
	}
	ords := l.homeAt.Ordinals()
	l.code.Kick(ords, l.cfg.Kick)
	return l.code.Unseen(ords)
}

// next returns the next unseen neighbour. It moves to known ones that are better, and kicks where there are none.
func (l *Strategy) next() (space.Point, bool) {
	for {
		if n := len(l.hood); n > 0 {
			p := l.hood[n-1]
			l.hood = l.hood[:n-1]
			if cost, known := l.code.Known(p); known {
				if cost < l.cost {
					l.move(p, cost)
				}
				continue
			}
			if l.code.Fresh.Mark(p) {
				return p, true
			}
			continue
		}
		switch {
		case l.level < twoValues:
			l.level++
			if l.level < twoValues {
				l.surround(space.AnyValue)
			}
		case l.pairs < l.cfg.Pairs:
			l.pairs++
			if p, ok := l.pair(); ok {
				l.hood = append(l.hood, p)
			}
		default:
			l.end()
			return l.begin()
		}
	}
}

// pairTries is how many neighbours pair draws in search of an unknown one. It was chosen by hand.
const pairTries = 8

// pair returns a neighbour that differs in more than one parameter, where a few tries find one.
func (l *Strategy) pair() (space.Point, bool) {
	for range pairTries {
		p, ok := l.code.Neighbour(l.at)
		if !ok {
			return p, false
		}
		if _, known := l.code.Known(p); !known {
			return p, true
		}
	}
	return space.Point{}, false
}

// move continues the descent at p.
func (l *Strategy) move(p space.Point, cost float64) {
	l.at, l.cost, l.level, l.pairs = p, cost, adjacent, 0
	l.surround(space.Adjacent)
}

// surround lists the neighbours in random order.
func (l *Strategy) surround(kind space.Neighbourhood) {
	l.hood = l.code.Space.Neighbours(l.at, kind)
	l.rng.Shuffle(len(l.hood), func(i, j int) { l.hood[i], l.hood[j] = l.hood[j], l.hood[i] })
}

// end keeps the point where the descent ended, unless it is worse than where it started, and begins another descent.
func (l *Strategy) end() {
	switch {
	case l.cost < l.home || l.homeAt.IsZero():
		l.stale = 0
		l.homeAt, l.home = l.at, l.cost
	case l.stale+1 >= l.cfg.Patience:
		l.stale = 0
		l.homeAt, l.home = space.Point{}, math.Inf(1)
	default:
		l.stale++
	}
	l.at, l.cost, l.hood = space.Point{}, math.Inf(1), nil
}

// Tell moves to the best point of the batch where it improves on the current one.
func (l *Strategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	l.hear(trials, outcomes, false)
}

// Learn learns from outcomes that another strategy asked for. It continues from one that is the best of all.
func (l *Strategy) Learn(trials []space.Trial, outcomes []space.Outcome) {
	l.hear(trials, outcomes, true)
}

func (l *Strategy) hear(trials []space.Trial, outcomes []space.Outcome, foreign bool) {
	best, least := -1, math.Inf(1)
	for i, t := range trials {
		cost := space.Objective{}.Value(outcomes[i])
		l.code.Learn(t.Point, cost)
		if best < 0 || cost < least {
			best, least = i, cost
		}
	}
	if best >= 0 && (!foreign && l.at.IsZero() || least < l.cost && (!foreign || least < l.best)) {
		l.move(trials[best].Point, least)
	}
	l.best = min(l.best, least)
}
