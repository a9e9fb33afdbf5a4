package insight

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tune/internal/plain"
	"tune/results"
	"tune/space"
)

// Failure sums up the candidates that failed in one way.
type Failure struct {
	Status space.Status `json:"status"`
	Count  int          `json:"count"`
	// With are the choices, as name=value, name<=value or name>=value, that all of these candidates share and no right one has: what
	// probably made them fail. It is empty where no such condition covers all of them.
	With []string `json:"with,omitempty"`
	// Causes are the conditions that cover them, the one that covers most first. No right candidate meets one of them.
	Causes []Cause `json:"causes,omitempty"`
	// Point is the candidate that was asked for first, and Reason why it failed.
	Point  string `json:"point,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Cause is a condition under which candidates fail.
type Cause struct {
	When  []string `json:"when"`  // the choices that it consists of; all must hold
	Count int      `json:"count"` // of the failures of that kind
}

// String writes the condition: contract=fast and tile>=64.
func (c Cause) String() string { return strings.Join(c.When, " and ") }

// failureWords are the names of some failures of a status.
var failureWords = map[space.Status]string{
	space.Invalid: "invalid point", space.CompileFailed: "compile error", space.WrongAnswer: "wrong answer", space.Timeout: "timeout", space.Crashed: "crash",
}

// String writes the failure in short: 37 wrong answers, all with contract=fast.
func (f Failure) String() string {
	text := plain.Count(f.Count, failureWords[f.Status])
	if f.Status == space.Crashed && f.Count != 1 {
		text = fmt.Sprintf("%d crashes", f.Count)
	}
	if len(f.With) > 0 {
		return text + ", all with " + strings.Join(f.With, " and ")
	}
	for i, c := range f.Causes {
		text += fmt.Sprintf(", %s%d with %s", []string{"of which ", ""}[min(i, 1)], c.Count, c)
	}
	return text
}

const (
	// leastShared is the least number of failures that a condition covers.
	leastShared = 3
	// leastCovered is the least share of the failures of its kind.
	leastCovered = 0.2
	// mostCauses is how many conditions are named of a kind.
	mostCauses = 3
	// chance is the probability, at most, with which as many candidates that fail by chance would meet one of the conditions that are
	// tried.
	chance = 0.05
	// triedTogether is how many conditions are tried in pairs: those that cover the most failures for each right candidate.
	triedTogether = 128
	// mostRows is how many outcomes conditions are sought in. They are then checked against all.
	mostRows = 1 << 15
)

// choice is a parameter with a value, as keys write it.
type choice struct{ name, value string }

// choicesOf splits a key. A key that cannot be split has no choices.
func choicesOf(key string) (out []choice) {
	err := space.SplitKey(key, func(name, value string) { out = append(out, choice{name, value}) })
	if err != nil {
		return nil
	}
	return out
}

// count adds an outcome that is not right.
func (t *Table) count(e *space.Entry) {
	at := slices.IndexFunc(t.failed, func(f failed) bool { return f.Status == e.Outcome.Status })
	if at < 0 {
		at = len(t.failed)
		t.failed = append(t.failed, failed{Failure{Status: e.Outcome.Status, Point: e.Key, Reason: e.Outcome.Reason}, e.Number})
	}
	f := &t.failed[at]
	if f.Count++; e.Number < f.first {
		f.first, f.Point, f.Reason = e.Number, e.Key, e.Outcome.Reason
	}
}

// failed counts the failures of a kind.
type failed struct {
	Failure
	first int // its number
}

// Failures sums up the failures of the history that the table is of, the most frequent kind first. The history is read again where the
// rows are a part of it and say something: that must hold for all.
func (t *Table) Failures(h results.History) ([]Failure, error) {
	var failures []Failure
	for _, f := range t.failed {
		failures = append(failures, f.Failure)
	}
	slices.SortFunc(failures, func(a, b Failure) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Status, b.Status))
	})
	found, some := make([][]rule, len(failures)), false
	for i := range failures {
		found[i] = t.causes(failures[i].Status)
		some = some || len(found[i]) > 0
	}
	if t.Stride > 1 && some {
		if err := t.verify(failures, found, h); err != nil {
			return nil, err
		}
	}
	for i := range failures {
		f := &failures[i]
		for _, r := range found[i] {
			c := Cause{Count: r.covers}
			for _, one := range r.tests {
				c.When = append(c.When, t.text(one))
			}
			f.Causes = append(f.Causes, c)
		}
		if len(f.Causes) == 1 && f.Causes[0].Count == f.Count {
			f.With = f.Causes[0].When
		}
	}
	return failures, nil
}

// verify counts anew what rules cover, and removes those that a right candidate meets. The table has a part of the history.
func (t *Table) verify(failures []Failure, found [][]rule, h results.History) error {
	var tested []int
	for f := range found {
		for k := range found[f] {
			found[f][k].covers = 0
			for _, one := range found[f][k].tests {
				tested = append(tested, one.parameter)
			}
		}
	}
	values := newReader(t, tested)
	for r, err := range results.Parts(h, values.names()) {
		if err != nil {
			return err
		}
		for i := range r.Entries {
			row, status := values.row(r.Entries[i].Key), r.Entries[i].Outcome.Status
			for f := range found {
				if status == space.OK {
					found[f] = slices.DeleteFunc(found[f], func(one rule) bool { return one.holds(row) })
					continue
				}
				for k := range found[f] {
					if one := &found[f][k]; status == failures[f].Status && one.holds(row) {
						one.covers++
					}
				}
			}
		}
	}
	return nil
}

// reader finds the choices that keys have for some parameters of a table.
type reader struct {
	table  *Table
	index  map[int]map[string]int32 // of the values, by parameter
	choice Row                      // of the key that was read last
	// Most keys are much like the one before.
	places []int // the parameters of the names in that
}

func newReader(t *Table, params []int) *reader {
	r := &reader{table: t, index: map[int]map[string]int32{}, choice: Row{Choices: make([]int32, len(t.Parameters))}}
	for _, k := range params {
		r.index[k] = map[string]int32{}
		for c, v := range t.Parameters[k].Values {
			r.index[k][v] = int32(c)
		}
	}
	return r
}

// names are those of the parameters.
func (r *reader) names() (names []string) {
	for k, p := range r.table.Parameters {
		if r.index[k] != nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// row returns a row with the choices of a key, until the next call. A key that cannot be split has none.
func (r *reader) row(key string) *Row {
	none := func() {
		for k := range r.choice.Choices {
			r.choice.Choices[k] = -1
		}
	}
	none()
	place := 0
	err := space.SplitKey(key, func(name, value string) {
		if place == len(r.places) {
			r.places = append(r.places, 0)
		}
		k := r.places[place]
		if r.table.Parameters[k].Name != name {
			if k = slices.IndexFunc(r.table.Parameters, func(p Parameter) bool { return p.Name == name }); k < 0 {
				return
			}
			r.places[place] = k
		}
		place++
		if at, ok := r.index[k][value]; ok {
			r.choice.Choices[k] = at
		} else if numbers := r.table.Parameters[k].Numbers; r.index[k] != nil && numbers != nil {
			if x, err := strconv.ParseFloat(value, 64); err == nil {
				above, _ := slices.BinarySearch(numbers, x)
				r.choice.Choices[k] = between(above)
			}
		}
	})
	if err != nil {
		none()
	}
	return &r.choice
}

// test is a condition on one parameter: that the index of its value is from lo to hi.
type test struct {
	parameter int
	lo, hi    int32
}

func (c test) holds(r *Row) bool {
	at := r.Choice(c.parameter)
	if at >= -1 {
		return at >= c.lo && at <= c.hi
	}
	above := -2 - at
	return c.lo != c.hi && (c.lo == 0 && above <= c.hi || c.lo > 0 && above > c.lo)
}

// between is the choice of a number that no row of the table has. above is the index of the next value that a row has.
func between(above int) int32 { return int32(-2 - above) }

// text writes a condition.
func (t *Table) text(c test) string {
	p := &t.Parameters[c.parameter]
	switch {
	case c.lo == c.hi:
		return p.Name + "=" + p.Values[c.lo]
	case c.lo == 0:
		return p.Name + "<=" + p.Values[c.hi]
	}
	return p.Name + ">=" + p.Values[c.lo]
}

// rule is the conjunction of one or two tests.
type rule struct {
	tests  []test
	covers int // failures
}

func (r *rule) holds(row *Row) bool {
	for _, c := range r.tests {
		if !c.holds(row) {
			return false
		}
	}
	return true
}
