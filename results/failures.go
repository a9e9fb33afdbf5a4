package results

import (
	"cmp"
	"fmt"
	"slices"

	"tune/internal/plain"
	"tune/space"
)

// Failure sums up the candidates that failed in one way.
type Failure struct {
	Status space.Status `json:"status"`
	Count  int          `json:"count"`
	// With are the choices, as name=value, that all of these candidates share and most of the others have not: what probably made
	// them fail. It is empty where nothing of that kind shows.
	With []string `json:"with,omitempty"`
	// Reason is that of the candidate that was asked for first.
	Reason string `json:"reason,omitempty"`
}

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
	for i, choice := range f.With {
		text += []string{", all with ", " and "}[min(i, 1)] + choice
	}
	return text
}

const (
	// leastShared is the least number of failures for which what they share says something.
	leastShared = 3
	// mostOthers is the largest share of the other candidates that may have a choice which is named as a cause.
	mostOthers = 0.5
	// mostChoices is how many choices are named at most.
	mostChoices = 2
	// keptKeys is how many candidates of a status stand for all of them when their choices are compared.
	keptKeys = 512
)

// choice is a parameter with a value, as keys write it.
type choice struct{ name, value string }

// FailureTally sums up failures while outcomes are added. It keeps some keys, not all of them, so that its size is bounded. The zero
// value is ready to use.
type FailureTally struct {
	kinds []*ofStatus
}

// ofStatus is what is known about the candidates of one status.
type ofStatus struct {
	Failure
	shared map[choice]bool // by all of them
	first  []space.Entry   // some of them, by their numbers
}

// SumFailures sums up the failures of a history.
func SumFailures(h History) ([]Failure, error) {
	var t FailureTally
	for r, err := range h.Rounds() {
		if err != nil {
			return nil, err
		}
		for i := range r.Entries {
			t.Add(&r.Entries[i])
		}
	}
	return t.Failures(), nil
}

// Add adds the outcome of a candidate.
func (t *FailureTally) Add(e *space.Entry) {
	status := e.Outcome.Status
	at := slices.IndexFunc(t.kinds, func(k *ofStatus) bool { return k.Status == status })
	if at < 0 {
		at = len(t.kinds)
		t.kinds = append(t.kinds, &ofStatus{Failure: Failure{Status: status}})
	}
	k := t.kinds[at]
	k.Count++
	k.keep(e)
	if status == space.OK || k.Count > 1 && len(k.shared) == 0 {
		return
	}
	shared := map[choice]bool{}
	for _, c := range choicesOf(e.Key) {
		if k.Count == 1 || k.shared[c] {
			shared[c] = true
		}
	}
	k.shared = shared
}

// keep keeps an entry if it is one of the first. Entries are added in the order in which they end, which depends on the workers; those
// that are kept do not.
func (k *ofStatus) keep(e *space.Entry) {
	at, _ := slices.BinarySearchFunc(k.first, e.Number, func(one space.Entry, number int) int { return cmp.Compare(one.Number, number) })
	if at < keptKeys {
		k.first = slices.Insert(k.first, at, space.Entry{Number: e.Number, Key: e.Key, Outcome: space.Outcome{Reason: e.Outcome.Reason}})
		k.first = k.first[:min(len(k.first), keptKeys)]
	}
}

// choicesOf splits a key. A key that cannot be split has no choices.
func choicesOf(key string) (out []choice) {
	err := space.SplitKey(key, func(name, value string) { out = append(out, choice{name, value}) })
	if err != nil {
		return nil
	}
	return out
}

// Failures returns what was added, the most frequent kind of failure first.
func (t *FailureTally) Failures() []Failure {
	var failures []Failure
	for _, k := range t.kinds {
		if k.Status != space.OK {
			f := k.Failure
			f.Reason, f.With = k.first[0].Outcome.Reason, t.causes(k)
			failures = append(failures, f)
		}
	}
	slices.SortStableFunc(failures, func(a, b Failure) int { return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.Status, b.Status)) })
	return failures
}

// causes returns those choices shared by all failures of a kind that are rare among the other candidates, the rarest first.
func (t *FailureTally) causes(of *ofStatus) []string {
	if of.Count < leastShared || len(of.shared) == 0 {
		return nil
	}
	count, others := map[choice]int{}, 0
	for _, k := range t.kinds {
		if k == of {
			continue
		}
		others += len(k.first)
		for _, e := range k.first {
			for _, c := range choicesOf(e.Key) {
				if of.shared[c] {
					count[c]++
				}
			}
		}
	}
	var rare []choice
	for c := range of.shared {
		if others > 0 && float64(count[c]) <= mostOthers*float64(others) {
			rare = append(rare, c)
		}
	}
	slices.SortFunc(rare, func(a, b choice) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a.name, b.name)) })
	var with []string
	for _, c := range rare {
		if len(with) == mostChoices || count[c] > count[rare[0]] {
			break // the first ones say more
		}
		with = append(with, c.name+"="+c.value)
	}
	return with
}
