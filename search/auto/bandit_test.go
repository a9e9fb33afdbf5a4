package auto

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tune/space"
)

// stub is an arm that asks nothing, and notes what it hears.
type stub struct{ told, learned int }

func (s *stub) Ask(space.Progress) []space.Proposal      { return nil }
func (s *stub) Tell(t []space.Trial, _ []space.Outcome)  { s.told += len(t) }
func (s *stub) Learn(t []space.Trial, _ []space.Outcome) { s.learned += len(t) }
func costing(c float64) space.Outcome                    { return space.Outcome{Status: space.OK, Cost: c} }
func batchOf(outcomes ...space.Outcome) []space.Outcome  { return outcomes }
func trialsOf(n int) []space.Trial                       { return make([]space.Trial, n) }
func (a *auto) heard(arm int, outcomes ...space.Outcome) {
	a.current = arm
	a.Tell(trialsOf(len(outcomes)), outcomes)
}

// bandit returns a portfolio of so many stubs with the default settings.
func bandit(arms int, c Config) *auto {
	Constants().Fill(&c)
	a := &auto{cfg: c, best: math.Inf(1)}
	for range arms {
		a.arms = append(a.arms, &stub{})
	}
	return a
}

// usesOf reads a history of batches, the oldest first: "0+" is a batch of arm 0 that brought a better point, "1-" one of arm
// 1 that did not.
func usesOf(t *testing.T, text string) (uses []use) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		if len(word) != 2 || word[1] != '+' && word[1] != '-' {
			t.Fatalf("%q is no use", word)
		}
		uses = append(uses, use{int(word[0] - '0'), word[1] == '+'})
	}
	return uses
}

// TestChoose: which arm a history of rewards leads to.
func TestChoose(t *testing.T) {
	// lost is a history in which arm 0 was used nine times without success, arm 1 once with none.
	lost := strings.Repeat("0- ", 9) + "1-"
	for _, c := range []struct {
		name  string
		arms  int
		told  int
		model int // batches since the model's last
		c     Config
		uses  string
		want  int
	}{
		{"the model leads", 2, 149, 0, Config{}, "1+ 1+ 1+ 0- 0- 0-", 0},
		{"the lead ends", 2, 150, 0, Config{}, "1+ 1+ 1+ 0- 0- 0-", 1},
		{"a lead of one's own", 2, 19, 0, Config{Lead: 20}, "1+ 0-", 0},
		{"nothing is used: the first", 2, 150, 0, Config{}, "", 0},
		{"what was never used comes first", 2, 150, 0, Config{}, "0+", 1},
		{"the first of those that were never used", 3, 150, 0, Config{}, "0+ 0+", 1},
		{"what brings better points is used", 2, 150, 0, Config{}, "0+ 1- 0+ 1- 0+ 1-", 0},
		{"whichever arm it is", 2, 150, 0, Config{}, "0- 1+ 0- 1+ 0- 1+", 1},
		{"of three", 3, 150, 0, Config{}, "0- 1- 2+ 0- 1- 2+", 2},
		// One success each of two uses, and the later one counts twice the earlier: 1/3 and 2/3.
		{"recent ones count more", 2, 150, 0, Config{}, "0+ 1- 0- 1+", 1},
		{"recent ones count more, the other way round", 2, 150, 0, Config{}, "1+ 0- 1- 0+", 0},
		// One late success is worth two early ones: both have 3 of 1 + 2 + 3, and the first wins the tie.
		{"the credit is a share of the weights", 2, 150, 0, Config{}, "0- 1+ 0- 1+ 0+ 1-", 0},
		{"of equal ones the first", 3, 150, 0, Config{}, "2+ 1+ 0+", 0},
		// Credits 0 and 0; the bonus is for what was used little.
		{"what was used little has a bonus", 2, 150, 0, Config{}, lost, 1},
		// 1 + 0.2·√(2·ln 10/9) = 1.143 and 0.2·√(2·ln 10) = 0.429; with a weight of 2, 2.431 and 4.292.
		{"the bonus is less than a credit", 2, 150, 0, Config{}, strings.ReplaceAll(lost, "0-", "0+"), 0},
		{"but for the weight that it has", 2, 150, 0, Config{Exploration: 2}, strings.ReplaceAll(lost, "0-", "0+"), 1},
		{"no use is forgotten within the window", 2, 150, 0, Config{}, "1- " + strings.Repeat("0+ ", 58), 0},
		{"below 2000 evaluations the model has no fixed share", 2, 1999, 0, Config{}, "0+ 1-", 0},
		{"from 2000 on it rests after its batch", 2, 2000, 0, Config{}, "0+ 1-", 1},
		{"for eight batches", 2, 2000, 7, Config{}, "0+ 1-", 1},
		{"and may then be chosen again", 2, 2000, 8, Config{}, "0+ 1-", 0},
		{"if it has the credit", 2, 2000, 8, Config{}, "0- 1+", 1},
		{"while it rests the best of the others is chosen", 3, 2000, 3, Config{}, "0+ 1- 2+ 0+ 1- 2+", 2},
		{"a model without others never rests", 1, 5000, 0, Config{}, "0- 0-", 0},
	} {
		a := bandit(c.arms, c.c)
		a.told, a.model, a.uses = c.told, c.model, usesOf(t, c.uses)
		if got := a.choose(); got != c.want {
			t.Errorf("%s: after %q and %d evaluations arm %d is chosen, not %d", c.name, c.uses, c.told, got, c.want)
		}
	}
}

// TestCredit: how outcomes become credit.
func TestCredit(t *testing.T) {
	a := bandit(2, Config{Lead: 4, Window: 5})
	uses := func() string {
		var out []string
		for _, u := range a.uses {
			out = append(out, fmt.Sprintf("%d%c", u.arm, map[bool]byte{true: '+', false: '-'}[u.better]))
		}
		return strings.Join(out, " ")
	}
	for i, step := range []struct {
		arm      int
		outcomes []space.Outcome
		want     string
		best     float64
		told     int
	}{
		{0, batchOf(costing(9), costing(7)), "", 7, 2},                                  // the lead earns no credit
		{0, batchOf(costing(8), costing(6)), "", 6, 4},                                  // though its best counts
		{1, batchOf(costing(6)), "1-", 6, 5},                                            // as good is not better
		{1, batchOf(costing(5.5), costing(50)), "1- 1+", 5.5, 7},                        // one of a batch is enough
		{0, batchOf(space.Outcome{Status: space.Crashed, Cost: 1}), "1- 1+ 0-", 5.5, 8}, // what failed has no cost
		{0, batchOf(costing(5), costing(4)), "1- 1+ 0- 0+", 4, 10},                      // two better ones are one success
		{1, batchOf(costing(4.5)), "1- 1+ 0- 0+ 1-", 4, 11},                             // the best of all arms counts
		{1, batchOf(costing(3)), "1+ 0- 0+ 1- 1+", 3, 12},                               // the window moves on
		{0, batchOf(costing(-1)), "0- 0+ 1- 1+ 0+", -1, 13},
	} {
		a.heard(step.arm, step.outcomes...)
		if uses() != step.want || a.best != step.best || a.told != step.told {
			t.Fatalf("step %d: the uses are %q, the best %v of %d; want %q, %v of %d", i, uses(), a.best, a.told, step.want, step.best, step.told)
		}
	}
	for k, want := range []stub{{told: 8, learned: 5}, {told: 5, learned: 8}} {
		if got := *a.arms[k].(*stub); got != want {
			t.Errorf("arm %d was told %d and learned %d, want %d and %d", k, got.told, got.learned, want.told, want.learned)
		}
	}
}

// TestModelShare: the model alone brings better points; it has nearly all batches, until its share is bounded.
func TestModelShare(t *testing.T) {
	a := bandit(2, Config{})
	cost := 0.0
	batches := func(n int) (of []int) {
		of = make([]int, len(a.arms))
		for range n {
			k := a.choose()
			of[k]++
			if cost--; k > 0 {
				a.heard(k, costing(math.Abs(cost)))
				continue
			}
			a.heard(k, costing(cost))
		}
		return of
	}
	if of := batches(150); !slices.Equal(of, []int{150, 0}) {
		t.Errorf("the lead has the batches %v", of)
	}
	if of := batches(500); of[1] < 5 || of[1] > 50 {
		t.Errorf("an arm that brings nothing has %d batches of 500", of[1])
	}
	batches(1999 - a.told)
	a.model = 0
	batches(1)
	// From 2000 evaluations on, eight batches of others lie between two of the model.
	if of := batches(900); !slices.Equal(of, []int{100, 800}) {
		t.Errorf("where its share is bounded, the batches are %v", of)
	}
}

// TestRewardIsFollowed: the arm that brings better points gets the batches, whichever it is, and another one when the
// rewards change.
func TestRewardIsFollowed(t *testing.T) {
	a := bandit(3, Config{Lead: 1})
	a.heard(0, costing(0))
	cost := 0.0
	reward := func(paying, n int) (of []int) {
		of = make([]int, 3)
		for range n {
			k := a.choose()
			of[k]++
			if k == paying {
				cost--
				a.heard(k, costing(cost))
			} else {
				a.heard(k, costing(1e9))
			}
		}
		return of
	}
	for _, paying := range []int{1, 2, 0} {
		reward(paying, 60) // the window has nothing else by then
		if of := reward(paying, 60); of[paying] < 45 {
			t.Errorf("arm %d alone brings better points, and the batches are %v", paying, of)
		}
	}
}
