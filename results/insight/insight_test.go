package insight_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tune/results/insight"
	"tune/space"
)

// history makes one of entries, with the numbers that they have.
func history(entries []space.Entry) space.History {
	h := space.History{Entries: map[int]space.Entry{}, Batches: []space.Batch{{Count: len(entries)}}}
	for _, e := range entries {
		h.Entries[e.Number] = e
	}
	return h
}

// failuresOf sums up the failures of entries.
func failuresOf(entries []space.Entry) ([]insight.Failure, error) {
	h := history(entries)
	table, err := insight.Collect(h, 0)
	if err != nil {
		return nil, err
	}
	return table.Failures(h)
}

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
		"a threshold": {func(a int, _ string) space.Status {
			if a >= 6 {
				return space.Crashed
			}
			return space.OK
		}, []string{"8 crashes, all with a>=6"}},
		"two conditions together": {func(a int, b string) space.Status {
			if a >= 4 && b == "y" {
				return space.Crashed
			}
			return space.OK
		}, []string{"6 crashes, all with a>=4 and b=y"}},
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
		"a right point contradicts": {func(a int, b string) space.Status {
			if b == "y" && a != 5 {
				return space.WrongAnswer
			}
			return space.OK
		}, []string{"9 wrong answers"}},
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
		got, err := failuresOf(entries)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, f := range got {
			words = append(words, f.String())
			if f.Reason == "" {
				t.Errorf("%s: no reason", name)
			}
		}
		if !reflect.DeepEqual(words, c.want) {
			t.Errorf("%s: %q, want %q", name, words, c.want)
		}
	}
}

// Where candidates fail at random, no condition is claimed, but seldom.
func TestFailuresAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	claimed := 0
	const runs = 40
	for range runs {
		var entries []space.Entry
		for n := range 150 {
			e := space.Entry{Number: n, Outcome: space.Outcome{Status: space.OK, Cost: 1}}
			for k := range 6 {
				e.Key += fmt.Sprintf("p%d=%d ", k, rng.IntN(6))
			}
			e.Key = e.Key[:len(e.Key)-1]
			if rng.IntN(5) == 0 {
				e.Outcome = space.Fail(space.Crashed, "by chance")
			}
			entries = append(entries, e)
		}
		failures, err := failuresOf(entries)
		if err != nil {
			t.Fatal(err)
		}
		claimed += len(failures[0].Causes)
	}
	if claimed > runs/10 {
		t.Errorf("%d causes are claimed in %d runs that have none", claimed, runs)
	}
}

// Of a long run a part is searched for conditions; the whole decides which of them are claimed.
func TestFailuresOfLongRun(t *testing.T) {
	const n = 34_000
	for _, right := range []int{-1, n - 1} { // an odd number, which is not among the rows
		var entries []space.Entry
		for i := range n {
			b := i / 5 % 4
			e := space.Entry{Number: i, Key: fmt.Sprintf("a=%d b=%d", i, b), Outcome: space.Outcome{Status: space.OK, Cost: 1}}
			if b == 3 {
				e.Outcome = space.Fail(space.WrongAnswer, "")
			}
			if i == right {
				e.Key = fmt.Sprintf("a=%d b=3", i)
				e.Outcome = space.Outcome{Status: space.OK, Cost: 1}
			}
			entries = append(entries, e)
		}
		got, err := failuresOf(entries)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%d wrong answers, all with b=3", got[0].Count)
		if right >= 0 {
			if len(got[0].Causes) > 0 {
				t.Errorf("%v is claimed, and a right point contradicts it", got[0])
			}
		} else if got[0].With == nil || len(got[0].With) != 1 || got[0].With[0] != "b=3" || got[0].Causes[0].Count != got[0].Count {
			t.Errorf("%v, want %s", got[0].Causes, want)
		}
	}
}

func table(t *testing.T, entries []space.Entry, most int) *insight.Table {
	t.Helper()
	out, err := insight.Collect(history(entries), most)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEffectsAndLosses(t *testing.T) {
	var entries []space.Entry
	add := func(key string, status space.Status, cost float64) {
		entries = append(entries, space.Entry{Number: len(entries), Key: key, Outcome: space.Outcome{Status: status, Cost: cost}})
	}
	add("a=1 b=x c=0", space.OK, 10)
	add("a=2 b=x c=0", space.OK, 40)
	add("a=16 b=x c=0", space.OK, 80)
	add("a=1 b=y c=0", space.OK, 12)
	add("a=2 b=y c=0", space.OK, 30)
	add("a=8 b=y c=0", space.WrongAnswer, 0)
	in := table(t, entries, 100)
	got := in.Effects()
	// c has one value, and 8 of a only a wrong answer.
	var words []string
	for _, e := range got {
		for _, v := range e.Values {
			words = append(words, fmt.Sprintln(e.Parameter, v.Value, v.Count, v.Best, v.Quartiles, v.Order()))
		}
	}
	want := []string{
		"a 1 2 10 [10.5 11 11.5] 0\n", "a 2 2 30 [32.5 35 37.5] 1\n", "a 16 1 80 [80 80 80] 3\n",
		"b x 3 10 [25 40 60] 0\n", "b y 2 12 [16.5 21 25.5] 1\n",
	}
	if !slices.Equal(words, want) {
		t.Errorf("effects are %q, want %q", words, want)
	}
	losses := in.Losses("a=2 b=y c=0")
	if len(losses) != 2 || losses[0].Parameter != "a" || losses[0].Loss != 2 || losses[0].Count != 2 || losses[0].Chosen != "1" ||
		losses[1].Parameter != "b" || math.Abs(losses[1].Loss-0.2) > 1e-12 {
		t.Errorf("losses are %+v", losses)
	}
	if unknown := in.Losses("a=8 b=x c=0"); len(unknown) != 1 || unknown[0].Count != 0 || unknown[0].Loss != 0 {
		t.Errorf("a default that was never right has the loss %+v", unknown)
	}
}

// A table has every n-th outcome of a long run, in whatever order they came.
func TestCollect(t *testing.T) {
	var entries []space.Entry
	for i := range 1000 {
		key := fmt.Sprintf("x=%d", i%7)
		if i%2 == 0 {
			key += " late=yes"
		}
		if i%3 == 0 {
			key = "early=yes " + key
		}
		entries = append(entries, space.Entry{Number: i, Key: key, Outcome: space.Outcome{Status: space.OK, Cost: float64(i)}})
	}
	in := table(t, entries, 300)
	if in.Seen != 1000 || in.Stride != 4 || len(in.Rows) != 250 {
		t.Fatalf("%d rows with stride %d of %d", len(in.Rows), in.Stride, in.Seen)
	}
	for i := range in.Rows {
		if r := &in.Rows[i]; in.Key(r) != entries[r.Number].Key || r.Number != 4*i {
			t.Errorf("row %d is %s, number %d", i, in.Key(r), r.Number)
		}
	}
	damaged := table(t, []space.Entry{{Key: "no pair"}, {Number: 1, Key: ""}}, 10)
	if len(damaged.Rows) != 2 || damaged.Best() != nil {
		t.Errorf("%+v", damaged)
	}
	if empty := table(t, nil, 10); empty.Best() != nil || empty.Effects() != nil || empty.Losses("a=1") != nil || empty.Look(nil, "", nil).String() != "" {
		t.Errorf("%+v", empty)
	}
}

// What is said of a run in a line.
func TestLook(t *testing.T) {
	s := newSpace(t, []space.Parameter{space.Range("a", 0, 7), space.Range("b", 0, 7), space.Enum("contract", "off", "fast")})
	var entries []space.Entry
	for p := range s.All() {
		e := space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(float64(p.Int("a")))}}
		if p.Str("contract") == "fast" {
			e.Outcome = space.Fail(space.WrongAnswer, "off by one")
		}
		entries = append(entries, e)
	}
	truth := func(*space.Space, []space.Observation, bool) (insight.Model, bool) {
		return expected(func(p space.Point) float64 { return float64(p.Int("a")) }), true
	}
	for _, c := range []struct {
		space *space.Space
		learn insight.Learner
	}{{s, truth}, {nil, nil}} {
		in, err := insight.Look(history(entries), c.space, entries[0].Key, c.learn)
		if err != nil {
			t.Fatal(err)
		}
		if want := "a 100 %; 64 wrong answers, all with contract=fast"; in.String() != want {
			t.Errorf("%q, want %q", in, want)
		}
	}
}
