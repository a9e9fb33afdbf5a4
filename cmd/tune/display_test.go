package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"tune"
	"tune/internal/plain"
	"tune/kernels"
	"tune/results"
	"tune/search"
	"tune/space"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 147734: "147,734", 1234567: "1,234,567", -1000: "-1,000", -999: "-999", -123456: "-123,456",
		1.5: "1.5", 12345.678: "12345.7", 999999.4: "999999", 30622199.6: "30,622,200", 1e300: "1e+300", 1 << 53: "9.0072e+15",
	} {
		if got := plain.Number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{{"2.5× best", 4, "2.5×"}, {"best", 4, "best"}, {"best", 9, "best"}, {"best", 0, ""}, {"best", -1, ""}} {
		if got := clip(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func searchEventOf(known, valid int, best float64) search.Event {
	e := search.Event{Known: known, Valid: valid}
	if best > 0 {
		e.Best.Outcome = space.Outcome{Status: space.OK, Cost: best}
	}
	return e
}

func startOf(wall time.Duration, evaluations, resumed int, elapsed time.Duration) tune.Start {
	return tune.Start{
		Dir: "d", Settings: results.Settings{Kernel: "k", Shape: "a=1", Strategy: "s", Seed: 7, Unit: "cycles"},
		Baseline: results.Baseline{Preset: "baseline", Cost: 3000}, Budget: search.Budget{Wall: wall, Evaluations: evaluations},
		Resumed: resumed, Elapsed: elapsed,
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		start tune.Start
		spent time.Duration
		event search.Event
		want  string
	}{
		{"nothing yet", startOf(time.Minute, 0, 0, 0), 0, search.Event{}, "best none yet · 0 evaluated, 0.0/s · 0% valid · 1m0s left"},
		{"none valid", startOf(time.Minute, 0, 0, 0), 2 * time.Second, searchEventOf(10, 0, 0), "best none yet · 10 evaluated, 5.0/s · 0% valid · 58s left"},
		{"best", startOf(time.Minute, 0, 0, 0), 2 * time.Second, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 5.0/s · 90% valid · 58s left"},
		{"evaluations", startOf(0, 50, 0, 0), time.Second, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 10/s · 90% valid · 40 to go"},
		{"both", startOf(time.Minute, 50, 0, 0), time.Second, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 10/s · 90% valid · 40 to go · about 4s left"},
		{"both, time first", startOf(3*time.Second, 50, 0, 0), time.Second, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 10/s · 90% valid · 40 to go · 2s left"},
		{"both, nothing to go", startOf(time.Minute, 10, 0, 0), time.Second, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 10/s · 90% valid · 0 to go"},
		{"both, and all of it resumed", startOf(time.Minute, 10, 10, 0), time.Second, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 0.0/s · 90% valid · 0 to go"},
		{"no budget", startOf(0, 0, 0, 0), time.Second, searchEventOf(10, 10, 6000), "best seen 6,000 cycles (0.50× as fast) · 10 evaluated, 10/s · 100% valid"},
		// What earlier sittings evaluated counts, but not for the rate; their time counts for what is left.
		{"resumed", startOf(time.Minute, 0, 100, 20*time.Second), 10 * time.Second, searchEventOf(150, 75, 1500), "best 1,500 cycles (2.00× as fast) · 150 evaluated, 5.0/s · 50% valid · 30s left"},
		{"thousands", startOf(0, 12000, 0, 0), 100 * time.Second, searchEventOf(3506, 3506, 1500), "best 1,500 cycles (2.00× as fast) · 3,506 evaluated, 35/s · 100% valid · 8,494 to go"},
		{"over", startOf(time.Second, 5, 0, 0), time.Minute, searchEventOf(10, 9, 1500), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 0.2/s · 90% valid · 0 to go"},
		{"a cost of nothing", startOf(0, 0, 0, 0), time.Second, search.Event{Known: 1, Valid: 1, Best: search.Best{Outcome: space.Outcome{Status: space.OK}}}, "best 0 cycles · 1 evaluated, 1.0/s · 100% valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &clock{now: time.Unix(1e9, 0)}
			d := newDisplay(&bytes.Buffer{}, nil, true, clock.read())
			d.now = clock.read
			d.start(c.start)
			defer d.end()
			clock.add(c.spent)
			d.observe(c.event)
			if got := d.line().String(); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestNarrow: on a narrow terminal the line leaves out what matters least, and keeps the best and the time left, also while the finalists
// are measured.
func TestNarrow(t *testing.T) {
	clock := &clock{now: time.Unix(1e9, 0)}
	d := newDisplay(&bytes.Buffer{}, nil, true, clock.read())
	d.now = clock.read
	d.start(startOf(time.Minute, 0, 0, 0))
	defer d.end()
	clock.add(2 * time.Second)
	d.observe(searchEventOf(10, 9, 1500))
	for columns, want := range map[int]string{
		120: "best 1,500 cycles (2.00× as fast) · 10 evaluated, 5.0/s · 90% valid · 58s left",
		62:  "best 1,500 cycles (2.00× as fast) · 10 evaluated · 58s left",
		50:  "best 1,500 cycles (2.00× as fast) · 58s left",
		39:  "best 1,500 cycles · 58s left",
		20:  "best 1,500 cycles",
	} {
		if got := d.line().fit(columns); got != want {
			t.Errorf("in %d columns: %q, want %q", columns, got, want)
		}
	}
	d.measuring(kernels.ContestProgress{Finalists: 5, Pair: 1, Of: 21})
	clock.add(4 * time.Second)
	d.measuring(kernels.ContestProgress{Finalists: 5, Pair: 3, Of: 21})
	for columns, want := range map[int]string{
		70: "measuring 5 finalists, pair 3 of up to 21 · up to 38s left · 6s in all",
		58: "measuring 5 finalists, pair 3 of up to 21 · up to 38s left",
		39: "measuring 5 finalists · up to 38s left",
		30: "measuring 5 f · up to 38s left",
	} {
		if got := d.line().fit(columns); got != want {
			t.Errorf("in %d columns: %q, want %q", columns, got, want)
		}
	}
	d.prefix = "2 of 4, about 3m0s · "
	for columns, want := range map[int]string{
		80: "2 of 4, about 3m0s · measuring 5 finalists, pair 3 of up to 21 · up to 38s left",
		39: "measuring 5 finalists · up to 38s left",
	} {
		if got := d.line().fit(columns); got != want {
			t.Errorf("of several, in %d columns: %q, want %q", columns, got, want)
		}
	}
}

// TestTimeOfEvaluations: where only evaluations are limited, a live line estimates how long the rest of them takes.
func TestTimeOfEvaluations(t *testing.T) {
	clock := &clock{now: time.Unix(1e9, 0)}
	d := newDisplay(&bytes.Buffer{}, func() int { return 120 }, true, clock.read())
	d.now = clock.read
	d.start(startOf(0, 50, 0, 0))
	defer d.end()
	clock.add(2 * time.Second)
	d.observe(searchEventOf(10, 9, 1500))
	if got, want := d.line().fit(120), "best 1,500 cycles (2.00× as fast) · 10 evaluated, 5.0/s · 90% valid · 40 to go · about 8s left"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestPlain: without a terminal a line for every new incumbent, and one every so often; none for what a resumed
// run is led through.
func TestPlain(t *testing.T) {
	clock := &clock{now: time.Unix(1e9, 0)}
	var out bytes.Buffer
	d := newDisplay(&out, nil, false, clock.read())
	d.now = clock.read
	d.start(startOf(0, 100, 2, time.Second))
	clock.add(time.Second)
	d.observe(searchEventOf(1, 1, 2000)) // from the journal
	d.observe(searchEventOf(2, 1, 2000)) // from the journal
	d.observe(searchEventOf(3, 2, 1500)) // better
	d.observe(searchEventOf(4, 3, 1500))
	clock.add(plainPeriod)
	d.observe(searchEventOf(5, 4, 1500)) // time for a line
	d.observe(searchEventOf(6, 4, 1500))
	d.end()
	want := `k a=1, strategy s, seed 7, in d
resuming after 2 outcomes
baseline: 3,000 cycles
best 1,500 cycles (2.00× as fast) · 3 evaluated, 1.0/s · 67% valid · 97 to go
best 1,500 cycles (2.00× as fast) · 5 evaluated, 0.3/s · 80% valid · 95 to go
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Where there are too few pairs for an interval, nothing is said to be the same.
func TestTooFewPairs(t *testing.T) {
	few := &results.Schedule{Verdict: space.Unverified, Search: &results.Seen{}, Key: "a=2", Ratio: 22.764, Pairs: 4, IndistinctFrom: []string{"a=1"}}
	few.Baseline.Key, few.Baseline.Preset = "a=1", "baseline"
	var out bytes.Buffer
	printMeasured(&out, few)
	if text := out.String(); !strings.Contains(text, "\n          too few pairs to tell it from the baseline\n") || strings.Contains(text, "distinguishable") {
		t.Errorf("it says:\n%s", text)
	}
	out.Reset()
	few.IndistinctFrom, few.TooFewPairs = []string{"a=3"}, []string{"a=1"}
	if printMeasured(&out, few); !strings.Contains(out.String(), "\n          not distinguishable from a=3\n          too few pairs to tell it from the baseline\n") {
		t.Errorf("it says:\n%s", out.String())
	}
	few.Pairs = 1
	out.Reset()
	if printMeasured(&out, few); !strings.Contains(out.String(), "measured  22.764× in 1 pair, too few for an interval\n") {
		t.Errorf("it says:\n%s", out.String())
	}
	few.By = "ada"
	out.Reset()
	if printMeasured(&out, few); !strings.Contains(out.String(), "unverified: repeat the measurement on a quiet machine with 'tune measure DIR --workers URL'\n") {
		t.Errorf("it says:\n%s", out.String())
	}
	few.By, few.Verdict, few.RatioInterval, few.IndistinctFrom, few.TooFewPairs = "", space.Faster, &[2]float64{1.9, 2.1}, []string{"a=3"}, []string{"a=4"}
	out.Reset()
	if printMeasured(&out, few); !strings.Contains(out.String(), "\n          not distinguishable from a=3\n          too few pairs to tell it from a=4\n          'tune measure DIR' repeats the measurement") {
		t.Errorf("it says:\n%s", out.String())
	}
	few.Verdict, few.IndistinctFrom, few.TooFewPairs = space.Unverified, []string{"a=1"}, nil
	few.RatioInterval = &[2]float64{0.9, 1.1}
	out.Reset()
	if printMeasured(&out, few); !strings.Contains(out.String(), "          not distinguishable from the baseline\n") {
		t.Errorf("it says:\n%s", out.String())
	}
}

// TestLive: on a terminal the line is drawn again and again while outcomes come from several goroutines, and
// removed in the end.
func TestLive(t *testing.T) {
	var out bytes.Buffer
	d := newDisplay(&out, func() int { return 40 }, false, time.Now())
	d.start(startOf(time.Minute, 0, 0, 0))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() { d.observe(searchEventOf(i+1, i, 1500)) })
	}
	group.Wait()
	time.Sleep(livePeriod * 5 / 2)
	d.end()
	_, live, _ := strings.Cut(out.String(), "baseline: 3,000 cycles\n")
	frames := strings.Split(live, "\r\x1b[K")
	if len(frames) < 3 || frames[0] != "" || frames[len(frames)-1] != "" || strings.Contains(live, "\n") {
		t.Fatalf("frames %q", frames)
	}
	for _, f := range frames[1 : len(frames)-1] {
		if len([]rune(f)) > 39 || !strings.HasPrefix(f, "best 1,500 cycles · ") || !strings.HasSuffix(f, " left") {
			t.Errorf("frame %q", f)
		}
	}
}

// TestPanic: a panic of tune itself is reported in a line.
func TestPanic(t *testing.T) {
	a, _, stderr := testApp()
	a.environ = []string{"no variable"}
	a.table = append(a.table, nil)
	if code := a.run(t.Context(), []string{"list"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if text := stderr.String(); !strings.HasPrefix(text, "tune: this is a bug in tune, please report it: ") ||
		!strings.Contains(text, ".go:") || strings.Count(text, "\n") != 1 {
		t.Errorf("stderr %q", text)
	}
}
