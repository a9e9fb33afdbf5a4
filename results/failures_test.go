package results

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"tune/space"
)

// failing makes outcomes of the points a = 0 … 9, b = x or y, where status decides how each ends.
func failing(status func(a int, b string) space.Status) []space.Entry {
	var out []space.Entry
	for a := range 10 {
		for _, b := range []string{"x", "y"} {
			e := space.Entry{Number: len(out), Key: fmt.Sprintf("a=%d b=%s c=1", a, b)}
			if e.Outcome.Status = status(a, b); e.Outcome.Status != space.OK {
				e.Outcome.Reason = "because of " + e.Key
			}
			out = append(out, e)
		}
	}
	return out
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		status func(a int, b string) space.Status
		want   []string
	}{
		"none": {func(int, string) space.Status { return space.OK }, nil},
		"all":  {func(int, string) space.Status { return space.Crashed }, []string{"20 crashes"}},
		"one choice": {func(_ int, b string) space.Status {
			if b == "y" {
				return space.WrongAnswer
			}
			return space.OK
		}, []string{"10 wrong answers, all with b=y"}},
		"too few to tell": {func(a int, b string) space.Status {
			if a == 3 {
				return space.Timeout
			}
			return space.OK
		}, []string{"2 timeouts"}},
		"no common choice": {func(a int, b string) space.Status {
			if (a%2 == 0) == (b == "x") {
				return space.CompileFailed
			}
			return space.OK
		}, []string{"10 compile errors"}},
		"two kinds": {func(a int, b string) space.Status {
			switch {
			case b == "y" && a < 3:
				return space.Invalid
			case b == "y":
				return space.Crashed
			}
			return space.OK
		}, []string{"7 crashes, all with b=y", "3 invalid points, all with b=y"}},
	} {
		entries := failing(c.status)
		var first []Failure
		for seed := range uint64(3) { // in any order
			var tally FailureTally
			for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(entries)) {
				tally.Add(&entries[i])
			}
			got := tally.Failures()
			var words []string
			for _, f := range got {
				words = append(words, f.String())
			}
			if !reflect.DeepEqual(words, c.want) {
				t.Errorf("%s: %q, want %q", name, words, c.want)
			}
			if seed == 0 {
				first = got
			} else if !reflect.DeepEqual(got, first) {
				t.Errorf("%s: %v in another order, %v before", name, got, first)
			}
		}
	}
}

// The tally does not grow with the run.
func TestFailuresBounded(t *testing.T) {
	var tally FailureTally
	for i := range 100_000 {
		tally.Add(&space.Entry{Number: i, Key: fmt.Sprintf("a=%d b=2", i), Outcome: space.Outcome{Status: space.WrongAnswer}})
	}
	if n := len(tally.kinds[0].first); n != keptKeys {
		t.Errorf("%d keys are kept", n)
	}
	if f := tally.Failures(); len(f) != 1 || f[0].Count != 100_000 || f[0].With != nil {
		t.Errorf("%v", f)
	}
}
