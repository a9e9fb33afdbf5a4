package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tune/space"
)

// keyValues reads the keys of sample.
func keyValues(key string) ([]string, error) {
	values := make([]string, 2)
	for _, assignment := range strings.Fields(key) {
		name, value, ok := strings.Cut(assignment, "=")
		if !ok {
			return nil, errors.New("no value")
		}
		values[strings.Index("ab", name)] = value
	}
	return values, nil
}

func csvOf(t testing.TB, h space.History, end End, params ...string) string {
	t.Helper()
	var out strings.Builder
	must(t, WriteCSV(&out, h, end, params, keyValues))
	return out.String()
}

func TestWriteCSV(t *testing.T) {
	lines := []string{
		"number,batch,fidelity,status,cost,alu,load,a,b,reason\n",
		"0,0,0,ok,1470.25,3,0.1,1,x,\n",
		"1,0,0,invalid,,,,2,y,\"needs <1700> words & has \"\"1536\"\" or so\"\n",
		"2,0,1,ok,12,,,3,,\n",
		"4,1,0,timeout,,,,4,z,longer than 1s\n",
	}
	h := sample().History
	if got, want := csvOf(t, h, End{}, "a", "b"), strings.Join(lines, ""); got != want {
		t.Errorf("CSV is\n%s\nwant\n%s", got, want)
	}
	// Trials in flight when the target was reached depend on the number of workers.
	if got, want := csvOf(t, h, End{Why: "target", Told: 2}, "a", "b"), strings.Join(lines[:3], ""); got != want {
		t.Errorf("CSV is\n%s\nwant\n%s", got, want)
	}
	if len(h.Entries) != 4 {
		t.Error("writing the CSV has changed the history")
	}
	// Readings of the clock leave no trace.
	later := sample().History
	later.Elapsed = 99
	for number, e := range later.Entries {
		e.Elapsed, e.Outcome.Seconds = 99, 9
		later.Entries[number] = e
	}
	if csvOf(t, later, End{}, "a", "b") != csvOf(t, h, End{}, "a", "b") {
		t.Error("the CSV depends on the clock")
	}
	if got, want := csvOf(t, space.History{}, End{}, "a", "b"), "number,batch,fidelity,status,cost,a,b,reason\n"; got != want {
		t.Errorf("the CSV of nothing is %q, want %q", got, want)
	}
}

// TestLinesAreThoseOfCSV: a line that is written without csv.Writer is the one that it would write.
func TestLinesAreThoseOfCSV(t *testing.T) {
	fields := []string{"", "7", "-O3", "a b", " a", "a ", "a,b", ",", `a"b`, `"`, "a\nb", "a\rb", `\.`, `a\b`, "é", "\x1b[31m", "\x7f", "=1", "'"}
	quick := 0
	for _, first := range fields {
		for _, last := range fields {
			e := space.Entry{Number: 12, Outcome: space.Outcome{Status: space.OK, Cost: 0.25, Reason: last, Metrics: []space.Metric{{Name: "b", Value: 3}}}}
			var want strings.Builder
			w := csv.NewWriter(&want)
			must(t, w.Write(appendRow(nil, "4", &e, []string{"a", "b", "c"}, []string{first, "x"})))
			w.Flush()
			got, ok := appendLine(nil, "4", &e, []string{"a", "b", "c"}, []string{first, "x"})
			if ok && string(got) != want.String() {
				t.Errorf("%q and %q: %q, want %q", first, last, got, want.String())
			}
			if ok {
				quick++
			}
		}
	}
	if quick < 50 {
		t.Errorf("only %d lines were written so", quick)
	}
}

// TestDecimal: a number that is read digit by digit is the nearest float, and what is no number of JSON is not read so.
func TestDecimal(t *testing.T) {
	for _, text := range []string{"0", "7", "0.1", "0.00864", "123456789.012345", "99999999999999", "1e3", "-1", "01", "1.", ".5", "1.2.3", "", "1234567890123456", "0.30000000000000004"} {
		c := cursor{text: []byte(text + ",")}
		v, ok := c.decimal()
		want, err := strconv.ParseFloat(text, 64)
		if ok && (err != nil || v != want || c.peek() != ',' || !isNumber([]byte(text))) || !ok && c.at != 0 {
			t.Errorf("%q: %v, %v, want %v (%v)", text, v, ok, want, err)
		}
		if short := len(text) <= 8 && isNumber([]byte(text)) && !strings.ContainsAny(text, "e-"); short && !ok {
			t.Errorf("%q was not read", text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := formatFloat(float64(rapid.Uint64Range(0, 1e15).Draw(t, "digits")) / powersOfTen[rapid.IntRange(0, 15).Draw(t, "point")])
		c := cursor{text: []byte(text)}
		if v, ok := c.decimal(); ok {
			if want, err := strconv.ParseFloat(text, 64); v != want || err != nil {
				t.Fatalf("%s is %v, want %v", text, v, want)
			}
		}
	})
}

func TestCSVColumnsAreDistinct(t *testing.T) {
	got := columns([]string{"cost", "load", "metric.cost"}, []string{"batch", "load", "reason", "unroll"})
	want := []string{"number", "batch", "fidelity", "status", "cost", "metric.cost", "load", "metric.metric.cost", "param.batch", "param.load", "param.reason", "unroll", "reason"}
	if !slices.Equal(got, want) {
		t.Errorf("columns are %q, want %q", got, want)
	}
}

func TestWriteCSVErrors(t *testing.T) {
	h := sample().History
	bad := func(string) ([]string, error) { return nil, errDisk }
	err := WriteCSV(&strings.Builder{}, h, End{}, []string{"a", "b"}, bad)
	if !errors.Is(err, errDisk) {
		t.Errorf("error is %v", err)
	}
	checkError(t, err, "trial 0: ")
	checkError(t, WriteCSV(&strings.Builder{}, h, End{}, []string{"a"}, keyValues), "trial 0: 2 values for 1 parameters")
	checkError(t, WriteCSV(&flakyWriter{}, h, End{}, []string{"a", "b"}, keyValues), errDisk.Error())
}

type flakyWriter struct{}

func (*flakyWriter) Write([]byte) (int, error) { return 0, errDisk }

func TestFormatFloat(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234567: "1234567", 0.1: "0.1", 1e-6: "0.000001", 1e-7: "1e-07", 1e21: "1e+21", -2.5: "-2.5", 123456789012345680000: "123456789012345680000"} {
		if got := formatFloat(v); got != want {
			t.Errorf("formatFloat(%v) is %s, want %s", v, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		if got, err := strconv.ParseFloat(formatFloat(v), 64); err != nil || math.Float64bits(got) != math.Float64bits(v) {
			t.Fatalf("%v reads back as %v, %v", v, got, err)
		}
	})
}

// history makes a history of one batch from outcomes.
func history(outcomes ...space.Outcome) space.History {
	h := space.History{Batches: []space.Batch{{Count: len(outcomes)}}, Entries: make(map[int]space.Entry)}
	for i, o := range outcomes {
		h.Entries[i] = space.Entry{Number: i, Key: fmt.Sprint("n=", i), Outcome: o}
	}
	return h
}

// summaryOf and stepsOf are Summarise and Convergence of a history that cannot fail.
func summaryOf(h space.History) Summary {
	s, err := Summarise(h)
	if err != nil {
		panic(err)
	}
	return s
}

func stepsOf(h space.History) []space.Entry {
	steps, err := Convergence(h)
	if err != nil {
		panic(err)
	}
	return steps
}

func TestSummarise(t *testing.T) {
	ok := func(cost float64, fidelity int) space.Outcome {
		return space.Outcome{Status: space.OK, Cost: cost, Fidelity: fidelity}
	}
	h := history(space.Fail(space.Invalid, ""), ok(1, 1), ok(9, 0), ok(9, 0), ok(12, 0), ok(7, 0), space.Fail(space.Invalid, ""), ok(7, 0))
	h.Elapsed = 4
	s := summaryOf(h)
	if s.Evaluations != 8 || s.ValidShare != 0.75 || s.Elapsed != 4 || s.Best == nil || s.Best.Number != 5 {
		t.Errorf("summary is %+v", s)
	}
	if got, want := fmt.Sprint(s.Counts), "[{ok 6} {invalid 2} {compile failed 0} {wrong answer 0} {timeout 0} {crashed 0}]"; got != want {
		t.Errorf("counts are %s, want %s", got, want)
	}
	var steps []int
	for _, e := range stepsOf(h) {
		steps = append(steps, e.Number)
	}
	if want := []int{2, 5}; !slices.Equal(steps, want) {
		t.Errorf("the incumbents are %v, want %v", steps, want)
	}

	// A later trial may end first.
	h = history(ok(5, 0), ok(7, 0), ok(5, 0), ok(3, 1))
	for i, seconds := range []float64{9, 1, 4, 2} {
		e := h.Entries[i]
		e.Elapsed = seconds
		h.Entries[i] = e
	}
	steps = nil
	for _, e := range stepsOf(h) {
		steps = append(steps, e.Number)
	}
	if want := []int{1, 2}; !slices.Equal(steps, want) {
		t.Errorf("over time the incumbents are %v, want %v", steps, want)
	}
	if best := summaryOf(h).Best; best == nil || best.Number != 0 {
		t.Errorf("of equals %+v is the best, want the one asked first", best)
	}

	for name, h := range map[string]space.History{"empty": {}, "none right": history(space.Fail(space.Crashed, ""), ok(1, 2))} {
		if s := summaryOf(h); s.Best != nil || len(stepsOf(h)) != 0 || math.IsNaN(s.ValidShare) {
			t.Errorf("%s: summary is %+v", name, s)
		}
	}
}

// The incumbent is the cheapest, whatever the order of the outcomes, and of equals the earliest.
func TestBestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := genLog(t).History
		entries := slices.Collect(maps.Values(h.Entries))
		rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		best := summaryOf(h).Best
		for _, e := range entries {
			if e.Outcome.Status != space.OK || e.Outcome.Fidelity != 0 {
				continue
			}
			if best == nil || e.Outcome.Cost < best.Outcome.Cost || e.Outcome.Cost == best.Outcome.Cost && e.Number < best.Number {
				t.Fatalf("best is %+v, but there is %+v", best, e)
			}
		}
	})
}

// Ranking gives the right outcomes of full fidelity, the cheapest first and of equals the earliest: all of them, so many, and
// those that follow one of them.
func TestRanking(t *testing.T) {
	ok := func(cost float64, fidelity int) space.Outcome {
		return space.Outcome{Status: space.OK, Cost: cost, Fidelity: fidelity}
	}
	h := history(ok(9, 0), ok(7, 0), ok(1, 1), space.Fail(space.Crashed, ""), ok(7, 0), ok(3, 0), ok(9, 0), ok(3, 0), ok(-2, 0))
	all := []int{8, 5, 7, 1, 4, 0, 6}
	numbers := func(after *space.Entry, most int) (n []int) {
		t.Helper()
		ranking, err := Ranking(h, after, most)
		must(t, err)
		for _, e := range ranking {
			n = append(n, e.Number)
		}
		return n
	}
	for most := range len(all) + 2 {
		want := all
		if most > 0 {
			want = all[:min(most, len(all))]
		}
		if got := numbers(nil, most); !slices.Equal(got, want) {
			t.Errorf("the best %d are %v, want %v", most, got, want)
		}
		for i, n := range all {
			after := h.Entries[n]
			want := all[i+1:]
			if most > 0 {
				want = want[:min(most, len(want))]
			}
			if got := numbers(&after, most); !slices.Equal(got, want) {
				t.Errorf("the best %d after trial %d are %v, want %v", most, n, got, want)
			}
		}
	}
	if got := numbers(&space.Entry{Number: 99, Outcome: ok(4, 0)}, 2); !slices.Equal(got, []int{1, 4}) {
		t.Errorf("after an entry that is none of them: %v", got)
	}
}
