package insight_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tune/results"
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
			if f.Point == "" || f.Reason != "because of "+f.Point {
				t.Errorf("%s: the reason %q is not that of the point %q", name, f.Reason, f.Point)
			}
		}
		if !reflect.DeepEqual(words, c.want) {
			t.Errorf("%s: %q, want %q", name, words, c.want)
		}
	}
}

// backwards is a history whose outcomes came in the reverse of the order in which they were asked for.
type backwards struct{ space.History }

func (b backwards) Rounds() iter.Seq2[space.Round, error] {
	return func(yield func(space.Round, error) bool) {
		for r, err := range b.History.Rounds() {
			slices.Reverse(r.Entries)
			if !yield(r, err) {
				return
			}
		}
	}
}

// The point and the reason of a failure are those of the candidate that was asked for first, and not of the one that failed first.
func TestFirstFailure(t *testing.T) {
	h := backwards{history(failing(func(int, string) space.Status { return space.Crashed }))}
	table, err := insight.Collect(h, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := table.Failures(h)
	if err != nil || len(got) != 1 || got[0].Point != "a=0 b=x c=1" || got[0].Reason != "because of a=0 b=x c=1" {
		t.Errorf("%+v, %v", got, err)
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

// contradicted checks that a condition is claimed for all failures, or none where a right point contradicts it.
func contradicted(t *testing.T, entries []space.Entry, want string, right bool) {
	t.Helper()
	got, err := failuresOf(entries)
	if err != nil {
		t.Fatal(err)
	}
	if inJournal := failuresInJournal(t, entries); !reflect.DeepEqual(inJournal, got) {
		t.Errorf("the failures of the journal are %+v, want %+v", inJournal, got)
	}
	if right {
		if len(got[0].Causes) > 0 {
			t.Errorf("%v is claimed, and a right point contradicts it", got[0])
		}
	} else if len(got[0].With) != 1 || got[0].With[0] != want || got[0].Causes[0].Count != got[0].Count {
		t.Errorf("%v, want all with %s", got[0], want)
	}
}

// A condition on a number covers also the numbers that no searched row has.
func TestFailuresBetweenRows(t *testing.T) {
	const n, values, from, late = 40_000, 100, 40, 33_000
	for _, right := range []int{-1, 35_061} {
		var entries []space.Entry
		for i := range n {
			a := i % values
			if i < late {
				a &^= 1 // odd values come late, in outcomes of odd numbers: these are not among the rows
			}
			e := space.Entry{Number: i, Key: fmt.Sprintf("a=%d", a), Outcome: space.Outcome{Status: space.OK, Cost: 1}}
			if a >= from && i != right {
				e.Outcome = space.Fail(space.WrongAnswer, "")
			}
			entries = append(entries, e)
		}
		contradicted(t, entries, fmt.Sprintf("a>=%d", from), right >= 0)
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
		contradicted(t, entries, "b=3", right >= 0)
	}
}

// failuresInJournal sums up the failures of entries that are written to a journal, of which not all is read each time.
func failuresInJournal(t *testing.T, entries []space.Entry) []insight.Failure {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	run, err := results.Create(dir, results.Settings{Kernel: "toy", Strategy: "grid"})
	if err == nil {
		err = run.Journal.Batch(space.Batch{Count: len(entries)})
	}
	for i := 0; i < len(entries) && err == nil; i++ {
		err = run.Journal.Record(entries[i])
	}
	if err == nil {
		err = run.Close()
	}
	if err == nil {
		run, err = results.Look(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	table, err := insight.Collect(run, 0)
	if err != nil {
		t.Fatal(err)
	}
	failures, err := table.Failures(run)
	if err != nil {
		t.Fatal(err)
	}
	return failures
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
	losses := in.Losses(insight.Reference{Defaults: "a=2 b=y c=0"})
	if len(losses) != 2 || losses[0].Parameter != "a" || losses[0].Loss != 2 || losses[0].Count != 2 || losses[0].Chosen != "1" ||
		losses[1].Parameter != "b" || math.Abs(losses[1].Loss-0.2) > 1e-12 {
		t.Errorf("losses are %+v", losses)
	}
	if unknown := in.Losses(insight.Reference{Defaults: "a=8 b=x c=0"}); len(unknown) != 1 || unknown[0].Count != 0 || unknown[0].Loss != 0 {
		t.Errorf("a default that was never right has the loss %+v", unknown)
	}
	if !losses[0].Known {
		t.Errorf("of costs above 0 the loss is not known: %+v", losses[0])
	}
	// No share of a cost of 0 or less says what a default loses, and none is a number where the costs are too far apart.
	for _, best := range []float64{0, -3, 1e-320} {
		some := []space.Entry{{Key: "a=1 b=1", Outcome: space.Outcome{Status: space.OK, Cost: best}}, {Number: 1, Key: "a=2 b=1", Outcome: space.Outcome{Status: space.OK, Cost: 5}}, {Number: 2, Key: "a=1 b=2", Outcome: space.Outcome{Status: space.OK, Cost: 50}}}
		if got := table(t, some, 10).Losses(insight.Reference{Defaults: "a=2 b=2"}); len(got) != 2 || got[0].Parameter != "b" || got[0].Known || got[0].Loss != 0 || got[1].Known || got[1].Loss != 0 {
			t.Errorf("with the best cost %v the losses are %+v", best, got)
		}
	}
	// The best candidate has no d: what d=1 loses is what b=y does.
	add("a=1 b=y c=0 d=1", space.OK, 50)
	add("a=1 b=y c=0 d=2", space.OK, 60)
	if losses = table(t, entries, 100).Losses(insight.Reference{Defaults: "a=1 b=y c=0 d=1"}); len(losses) != 1 || losses[0].Parameter != "b" {
		t.Errorf("losses are %+v", losses)
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
		if i%5 == 0 {
			key += fmt.Sprintf(` text="%d blanks and x=1" z=%s`, i%4, strings.Repeat("y", i%3))
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
	// The best one is a row too, of equal ones the first, in whatever order they come.
	entries[501].Outcome.Cost, entries[503].Outcome.Cost = -1, -1
	reversed := slices.Clone(entries)
	slices.Reverse(reversed)
	for _, all := range [][]space.Entry{entries, reversed} {
		in := table(t, all, 300)
		if best := in.Best(); len(in.Rows) != 251 || best == nil || best.Number != 501 || in.Key(best) != entries[501].Key {
			t.Errorf("of %d rows the best is %+v", len(in.Rows), best)
		}
	}
	damaged := table(t, []space.Entry{{Key: "no pair"}, {Number: 1, Key: ""}}, 10)
	if len(damaged.Rows) != 2 || damaged.Best() != nil {
		t.Errorf("%+v", damaged)
	}
	if empty := table(t, nil, 10); empty.Best() != nil || empty.Effects() != nil || empty.Losses(insight.Reference{Defaults: "a=1"}) != nil || empty.Look(nil, insight.Reference{}, nil).String() != "" {
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
		in, err := insight.Look(history(entries), c.space, insight.Reference{Defaults: entries[0].Key}, c.learn)
		if err != nil {
			t.Fatal(err)
		}
		if want := "a 100 %; 64 wrong answers, all with contract=fast"; in.String() != want {
			t.Errorf("%q, want %q", in, want)
		}
	}
}

// TestLess: rows rank as their outcomes do.
func TestLess(t *testing.T) {
	outcomes := []space.Outcome{
		{Status: space.OK, Cost: 5}, {Status: space.OK, Cost: -3}, {Status: space.OK, Cost: -4, Fidelity: 2}, space.Fail(space.Crashed, "boom"), {Status: space.OK, Cost: 5},
	}
	var entries []space.Entry
	for i, o := range outcomes {
		entries = append(entries, space.Entry{Number: i, Key: fmt.Sprint("a=", i), Outcome: o})
	}
	table, err := insight.Collect(history(entries), 0)
	if err != nil || len(table.Rows) != len(outcomes) {
		t.Fatalf("%d rows, %v", len(table.Rows), err)
	}
	for i, a := range outcomes {
		for j, b := range outcomes {
			if got, want := table.Rows[i].Less(&table.Rows[j]), (space.Objective{}).Less(a, b); got != want {
				t.Errorf("%+v is better than %+v: %t", a, b, got)
			}
		}
	}
}

// TestPortions: without a model, parameters that vary together have one part of the variance between them, and all parts add up to 1 at most.
// What only a pair explains is a part too.
func TestPortions(t *testing.T) {
	of := func(cost func(i int) float64, key func(i int) string) string {
		t.Helper()
		var entries []space.Entry
		for i := range 96 {
			entries = append(entries, space.Entry{Number: i, Key: key(i), Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(cost(i))}})
		}
		in, err := insight.Look(history(entries), nil, insight.Reference{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return in.String()
	}
	a, b, c := func(i int) int { return i % 4 }, func(i int) int { return i / 4 % 4 }, func(i int) int { return i / 16 % 2 }
	for want, of := range map[string]string{
		"a or like 82 %, b 17 %": of(func(i int) float64 { return 4*float64(a(i)) + 1.8*float64(b(i)) + 0.5*float64(c(i)) }, func(i int) string {
			return fmt.Sprintf("a=%d b=%d c=%d like=%d", a(i), b(i), c(i), 3-a(i))
		}),
		"a × b 100 %": of(func(i int) float64 { return float64((a(i) + b(i)) % 2) }, func(i int) string {
			return fmt.Sprintf("a=%d b=%d c=%d", a(i), b(i), c(i))
		}),
	} {
		if of != want {
			t.Errorf("%q, want %q", of, want)
		}
	}
	// Where two vary together and have opposite effects, to take off one brings back some of the other.
	tile := func(i int) int { return i % 12 }
	unroll := func(i int) int {
		if i%2 == 0 {
			return i * 7 / 2 % 12
		}
		return tile(i)
	}
	text := of(func(i int) float64 { return float64(tile(i)) - float64(unroll(i)) }, func(i int) string { return fmt.Sprintf("tile=%d unroll=%d", tile(i), unroll(i)) })
	for _, name := range []string{"tile", "unroll"} {
		if n := len(regexp.MustCompile(`\b`+name+` \d+ %`).FindAllString(text, -1)); n != 1 {
			t.Errorf("%s has %d parts of its own: %s", name, n, text)
		}
	}
}

// The baseline counts among what has the defaults, and the best is what was exported: the search need not ask for either.
func TestLossesBesideTheBaseline(t *testing.T) {
	const baseline = "tag=plain n=1"
	var entries []space.Entry
	for i, o := range []struct {
		key  string
		cost float64
	}{{"tag=fancy n=1", 15}, {"tag=plain n=4", 45}, {"tag=fancy n=2", 25}} {
		entries = append(entries, space.Entry{Number: i, Key: o.key, Outcome: space.Outcome{Status: space.OK, Cost: o.cost}})
	}
	in := table(t, entries, 100)
	for _, c := range []struct {
		from insight.Reference
		want string
	}{
		{insight.Reference{Defaults: baseline}, "[{tag plain 1 45 2 true fancy}]"},
		{insight.Reference{Defaults: baseline, Cost: 30, Measured: true}, "[{tag plain 2 30 1 true fancy}]"},
		// What is no better than the baseline is no gain, and the baseline has all defaults.
		{insight.Reference{Defaults: baseline, Cost: 15, Measured: true}, "[]"},
		{insight.Reference{Defaults: baseline, Cost: 60, Measured: true, Exported: baseline}, "[]"},
		// The final measurement chose another point than the least of the search.
		{insight.Reference{Defaults: baseline, Cost: 30, Measured: true, Exported: "tag=fancy n=2"}, "[{tag plain 2 30 1 true fancy} {n 1 2 15 0 true 2}]"},
		// Only the baseline has the value.
		{insight.Reference{Defaults: "tag=naive n=1", Cost: 60, Measured: true}, "[{tag naive 1 60 3 true fancy}]"},
	} {
		if got := fmt.Sprint(in.Losses(c.from)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.from, got, c.want)
		}
	}
	// An outcome of the baseline counts once.
	entries = append(entries, space.Entry{Number: 3, Key: baseline, Outcome: space.Outcome{Status: space.OK, Cost: 30}})
	if got := table(t, entries, 100).Losses(insight.Reference{Defaults: baseline, Cost: 30, Measured: true}); got[0].Count != 2 {
		t.Errorf("%+v, want a count of 2", got)
	}
	from := insight.Exported(&results.Schedule{Key: "tag=fancy n=1", Baseline: results.Baseline{Key: baseline, Cost: 29}, Search: &results.Seen{Cost: 15, Baseline: 30}})
	if want := (insight.Reference{Defaults: baseline, Cost: 30, Measured: true, Exported: "tag=fancy n=1"}); from != want {
		t.Errorf("%+v, want %+v", from, want)
	}
}

// mattering are the shares that a line says, by its words.
var mattering = regexp.MustCompile(`(\d+) %`)

// What a line says of parameters that constraints tie to each other counts each part of the variance once: it adds up to 100 % at most, in a space
// whose points are all asked for, and in one that is summed through its diagram.
func TestOverlap(t *testing.T) {
	vector := []space.Parameter{
		space.Enum("isa", "sse", "avx2", "avx512"), space.Enum("vec", "16", "32", "64"), space.Range("mr", 0, 7), space.Range("nr", 0, 7),
	}
	// A vector is as long as the instructions have it, but for one odd combination.
	tied := []string{"isa != 'sse' || vec == '16'", "isa != 'avx512' || vec == '64'", "isa != 'avx2' || vec != '64'"}
	large := append(slices.Clone(vector), space.Range("x", 0, 63), space.Range("y", 0, 63))
	for name, s := range map[string]*space.Space{"small": newSpace(t, vector, tied...), "large": newSpace(t, large, tied...)} {
		rng := rand.New(rand.NewPCG(1, 2))
		var entries []space.Entry
		for len(entries) < 60 {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			isa := map[string]float64{"sse": 0, "avx2": 1, "avx512": 2}[p.Str("isa")]
			cost := math.Exp(-2*isa + 0.2*float64(p.Int("mr")))
			entries = append(entries, space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: cost}})
		}
		in, err := insight.Look(history(entries), s, insight.Reference{}, learn)
		if err != nil {
			t.Fatal(err)
		}
		shares := named(*in.Learned)
		if !in.Learned.Overlap || shares["isa"]+shares["vec"] < 1.2 {
			t.Errorf("%s: isa and vec do not overlap: %+v", name, in.Learned)
		}
		sum, text := 0, in.String()
		for _, of := range mattering.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(of[1])
			sum += n
		}
		if sum < 80 || sum > 100 || !strings.Contains(text, "isa") || !strings.Contains(text, "mr") {
			t.Errorf("%s: %s adds up to %d %%", name, text, sum)
		}
	}
}

// nothing is the word on costs that depend on no parameter.
const nothing = "nothing stood out: the parameters explain "

// ignorant is a model that explains nothing.
type ignorant struct{}

func (ignorant) Predict(space.Point) float64 { return 0 }
func (ignorant) Explained() (float64, int)   { return 0, 100 }
func (ignorant) learn(*space.Space, []space.Observation, bool) (insight.Model, bool) {
	return ignorant{}, true
}

// TestMeasuredWhereNothingIsLearned: where a model explains no more than chance, what was measured has the word, if it is more than chance gives.
func TestMeasuredWhereNothingIsLearned(t *testing.T) {
	s := newSpace(t, []space.Parameter{space.Range("a", 1, 8), space.Range("b", 1, 8), space.Range("c", 1, 8)})
	for name, test := range map[string]struct {
		cost func(p space.Point, noise float64) float64
		want string
	}{
		"one decides": {func(p space.Point, noise float64) float64 { return float64(p.Int("a")) + noise/4 }, "a 9"},
		"a pair decides": {func(p space.Point, noise float64) float64 {
			return float64((p.Int("b")+p.Int("c"))%2) + noise/8
		}, "b × c 9"},
		"noise": {func(_ space.Point, noise float64) float64 { return noise }, nothing},
		"a few are slow": {func(_ space.Point, noise float64) float64 {
			if noise > 2.2 {
				return 5
			}
			return noise / 100
		}, nothing},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		var entries []space.Entry
		for len(entries) < 400 {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(test.cost(p, rng.NormFloat64()))}})
		}
		in, err := insight.Look(history(entries), s, insight.Reference{}, ignorant{}.learn)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(in.String(), test.want) {
			t.Errorf("%s: %s, want %s…", name, in, test.want)
		}
	}
}

// Of costs that depend on nothing no parameter is named, neither by the model nor by what was measured, in at least 99 of 100 runs. Where a parameter
// decides, it is named, and its share is one of the differences in cost: with as much noise, half.
func TestNothingStoodOut(t *testing.T) {
	s := newSpace(t, []space.Parameter{space.Range("a", 1, 8), space.Range("b", 1, 8), space.Enum("c", "x", "y", "z"), space.Bool("d"), space.Range("e", 1, 8)})
	rng := rand.New(rand.NewPCG(9, 10))
	look := func(n int, cost func(p space.Point) float64) *insight.Insight {
		t.Helper()
		var entries []space.Entry
		for len(entries) < n {
			p, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, space.Entry{Number: len(entries), Key: p.Key(), Outcome: space.Outcome{Status: space.OK, Cost: math.Exp(cost(p))}})
		}
		in, err := insight.Look(history(entries), s, insight.Reference{}, learn)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	const runs = 120
	claims := 0
	for i := range runs {
		in := look([]int{16, 30, 60}[i%3], func(space.Point) float64 { return rng.NormFloat64() })
		silent := strings.HasPrefix(in.String(), nothing) || in.String() == "" // of the few outcomes
		if in.Explained == nil || silent && !in.Explained.Nothing() || in.Explained.Nothing() != (in.Learned == nil) {
			t.Fatalf("%+v: %s", in.Explained, in)
		}
		if !silent {
			claims++
		}
	}
	if claims > runs/100 {
		t.Errorf("parameters of noise are named in %d of %d runs", claims, runs)
	}
	// The steps of a have the variance 21/4.
	in := look(200, func(p space.Point) float64 { return float64(p.Int("a")) + math.Sqrt(21./4)*rng.NormFloat64() })
	if share := named(*in.Learned)["a"]; math.Abs(share-0.5) > 0.12 || !strings.HasPrefix(in.String(), "a ") {
		t.Errorf("with as much noise a has the share %v: %s", share, in)
	}
	if in = look(60, func(p space.Point) float64 { return float64(p.Int("a")) }); named(*in.Learned)["a"] < 0.95 || in.Explained.Share > 1 {
		t.Errorf("without noise: %+v, %s", in.Explained, in)
	}
}
