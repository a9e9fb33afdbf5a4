package user

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"tune/kernels"
	"tune/space"
)

// TestPartOfNumber: a pattern that finds a part of a number finds nothing, unless it matches the rest too.
func TestPartOfNumber(t *testing.T) {
	for _, c := range []struct {
		pattern, output string
		want            float64
		reason          string
	}{
		{`took ([0-9.]+)`, "took 9.5", 9.5, ""},
		{`took ([0-9.]+)`, "took 9.53e-05 s", 0, `takes 9.53 out of "9.53e-05": let it match the number as a whole, as ([0-9.e-]+) does, and have it printed without separators`},
		{`took ([0-9.e-]+)`, "took 9.53e-05 s", 9.53e-05, ""},
		{`([0-9]+) instructions`, " 1,234,567 instructions", 0, `takes 567 out of "1,234,567"`},
		{`([0-9]+),[^,]*,instructions`, "1234,,instructions:u,100", 1234, ""},
		{`([0-9]+)`, "took 1.5", 0, `takes 5 out of "1.5"`},
		{`took ([0-9]+)`, "took 1.5", 0, `takes 1 out of "1.5"`},
		{`took ([0-9]+)`, "took 1,5 s", 0, `takes 1 out of "1,5"`},
		{`took ([0-9]+)\.`, "took 1.5", 1, ""},
		{`([0-9]{2})$`, "took 150", 0, `takes 50 out of "150"`},
		{`([0-9.]+)$`, "elapsed 1:02.25", 0, `takes 02.25 out of "1:02.25"`},
		{`m:ss\): ([0-9.]+)$`, "Elapsed (h:mm:ss or m:ss): 2.25", 2.25, ""},
		{`([0-9]+)`, "took 15, or 15. And: 12", 12, ""},
		{`([0-9]+)`, "a pass of 12.", 12, ""},
		{`t=([0-9]+)`, "t=3e", 3, ""},
		{`t=([0-9]+)`, "t=3, t=4, u=5", 4, ""},
		{`x([0-9]+)`, "7x5", 5, ""},
		{`([0-9.]+) s`, "took 1.5e+02 s", 0, `takes 02 out of "1.5e+02"`},
		{`([0-9]+)`, "took 1e5", 0, `takes 5 out of "1e5"`},
		{`([0-9]+)`, "took .5", 0, `takes 5 out of ".5"`},
		{`([0-9.]+)`, "loss: -5", 0, `takes 5 out of "-5"`},
		{`([0-9.]+)`, "loss=−5.5", 0, `takes 5.5 out of "−5.5"`},
		{`-([0-9.]+)`, "loss: -5", 5, ""},
		{`([0-9]+)`, "on 2026-05-17: run-3", 3, ""},
		{`took ([0-9]+)`, "took 1'234'567", 0, `takes 1 out of "1'234'567"`},
		{`([0-9]+)`, "1_234", 0, `takes 234 out of "1_234"`},
		{`([0-9]+) instructions`, "1\u202f234 instructions", 0, `takes 234 out of "1\u202f234"`},
		{`([0-9]+)`, "case_1_2, '5'", 5, ""},
		{`([0-9]+)`, "size 0x1f", 0, `takes 1 out of "0x1"`},
		{`size ([0-9]+)`, "size 0x1f", 0, `takes 0 out of "0x1f"`},
		{`size 0x([0-9]+)`, "size 0x10", 10, ""},
		{`([0-9]+)`, "of 10x20", 20, ""},
		{`([0-9]+)`, "case_1_2", 2, ""},
		{`([0-9.]+)s`, "took 1m2.5s", 0, `takes 2.5 out of a time that begins with "1m": have the command print it in one unit`},
		{`([0-9.]+) s`, "took 1 min 2.5 s", 0, `takes 2.5 out of a time that begins with "1 min"`},
		{`([0-9.]+)s`, "real 0m2.5s", 2.5, ""},
		{`([0-9.]+)s`, "step 1: 2.5s", 2.5, ""},
		{`m([0-9.]+)s`, "took 1m2.5s", 2.5, ""},
	} {
		v, _, err := metric{from: fromOutput, pattern: regexp.MustCompile(c.pattern)}.read(c.output)
		if v != c.want || (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s in %q: %v, %v", c.pattern, c.output, v, err)
		}
	}
}

// TestPatternOfLines: $ stands before the end of the last line too, and a pattern that would match another line says how.
func TestPatternOfLines(t *testing.T) {
	const hint = ": in it, ^ and $ stand for the beginning and the end of all that is printed; begin it with (?m), and they stand for those of a line"
	for _, c := range []struct {
		pattern, output string
		want            float64
		reason          string
	}{
		{`took ([0-9.]+)$`, "took 9.5\n", 9.5, ""},
		{`took ([0-9.]+)$`, "took 9.5\r\n\n", 9.5, ""},
		{`took ([0-9.]+)\n$`, "took 9.5\n", 9.5, ""},
		{`took ([0-9.]+)$`, "took 9.5\ndone\n", 0, hint},
		{`^took ([0-9.]+)`, "begun\ntook 9.5\n", 0, hint},
		{`(?m)^took ([0-9.]+)$`, "begun\ntook 9.5\ndone\n", 9.5, ""},
		{`took ([0-9.]+) s$`, "took 9.5\n", 0, "in what the command printed: took 9.5"},
	} {
		v, _, err := metric{from: fromOutput, pattern: regexp.MustCompile(c.pattern)}.read(c.output)
		if v != c.want || (err == nil) != (c.reason == "") || err != nil && !strings.HasSuffix(err.Error(), c.reason) {
			t.Errorf("%s in %q: %v, %v", c.pattern, c.output, v, err)
		}
	}
}

// TestScaled: units differ where one is a multiple of the other, and only there.
func TestScaled(t *testing.T) {
	for _, c := range []struct {
		first, later string
		want         bool
	}{
		{" ms", " s", true}, {"ms", "µs", true}, {" s", " seconds", false}, {" sec", "s", false}, {" milliseconds", " second", true}, {"s", " min", true}, {"m", "s", true},
		{" h", " hours", false}, {" nsec", " usec", true}, {"us", " µs", false}, {" ms,", " ms)", false}, {" MB", " KiB", true}, {" MB", " MiB", false}, {" GB/s", " MB/s", true},
		{" GFLOP/s", " MFLOP/s", true}, {" req/s", " Kreq/s", true}, {" messages/s", " Mmessages/s", true}, {" kHz", " MHz", true}, {"k", "", true}, {"1", "k ops", true},
		{" ops", "M ops", true}, {" ops", " kops", true}, {"k", "k", false}, {" M", "", false},
		{" fast", " slow", false}, {" node", " mode", false}, {" max", " map", false}, {" min", " max", false}, {" iterations", " iteration", false}, {"", " points", false}, {"", "", false},
		{" ms", " points", false}, {" ms", "", false}, {" B/s", " s", false},
	} {
		a, b := unitAfter(c.first), unitAfter(c.later)
		if a.scaled(b) != c.want || b.scaled(a) != c.want {
			t.Errorf("%q and %q: %v, %v", c.first, c.later, a.scaled(b), b.scaled(a))
		}
	}
}

// TestUnitsOfACommand: a number in another unit than that of the first point, or of the file, has no place beside it.
func TestUnitsOfACommand(t *testing.T) {
	const file = `
space: {parameters: [{name: n, type: int, from: 1, to: 3}]}
command:
  run: "case {{n}} in 1) echo took 950.2 ms, 5 MB;; 2) echo took 1.1 s, 5 MB;; 3) echo took 951 ms, 1 GB;; esac"
  metric: {pattern: 'took ([0-9.]+)', unit: UNIT}
  metrics: {size: {pattern: '([0-9.]+) .B'}}
`
	for _, c := range []struct {
		unit string
		want [3]string // the reason of each point, "" where it is right
	}{
		{"points", [3]string{"", "s follows the number that the field pattern finds, and ms the first one of the run: have the command print one unit, because the numbers alone are compared",
			"command.metrics.size: GB follows the number that the field pattern finds, and MB the first one of the run"}},
		{"s", [3]string{"the number is in ms, and the field unit says s: have the command print one unit, and name that", "", "the number is in ms"}},
	} {
		k, _ := load(t, strings.Replace(file, "UNIT", c.unit, 1))
		p := problem(t, k, "")
		for i, key := range []string{"n=1", "n=2", "n=3"} {
			out := evaluate(t, p, key)
			if (out.Status == space.OK) != (c.want[i] == "") || !strings.Contains(out.Reason, c.want[i]) {
				t.Errorf("unit %s, %s: %v: %s", c.unit, key, out.Status, out.Reason)
			}
		}
	}
}

// TestCompareVersions: candidates of two versions of a kernel are compared although one reports more than the other, and only where both print
// one unit.
func TestCompareVersions(t *testing.T) {
	const file = `
kernel: {name: k}
space: {parameters: [{name: n, type: int, from: 1, to: 2}]}
command:
  run: "echo took {{n}}50 UNIT, 5 MB"
  metric: {pattern: 'took ([0-9.]+)'WITHIN}
`
	const more = "  metrics: {size: {pattern: '([0-9.]+) MB'}}\n"
	for _, within := range []string{"", ", within: 1%"} {
		var all []kernels.Candidate
		for _, text := range []string{strings.Replace(file, "UNIT", "ms", 1) + more, strings.Replace(file, "UNIT", "ms", 1), strings.Replace(file, "UNIT", "s", 1)} {
			k, _ := load(t, strings.Replace(text, "WITHIN", within, 1))
			p := problem(t, k, "")
			c, err := p.Build(t.Context(), p.Presets()[0].Point)
			if err == nil {
				err = c.Check(t.Context(), 7)
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		compare := func(a, b kernels.Candidate) (kernels.Final, error) {
			return a.(*commandCandidate).p.Traits().Compare(t.Context(), a, []kernels.Candidate{b}, kernels.Series{Limit: 300 * time.Millisecond})
		}
		f, err := compare(all[0], all[1])
		if err != nil || f.Comparisons[0].Err != nil || f.Comparisons[0].Ratio != 1 {
			t.Errorf("within %q: one that reports less: %+v, %v", within, f, err)
		} else if _, has := space.FindMetric(f.Comparisons[0].Metrics, "size"); has {
			t.Errorf("within %q: it has the metric of the other: %v", within, f.Comparisons[0].Metrics)
		}
		if f, err = compare(all[1], all[0]); err != nil || f.Comparisons[0].Err != nil {
			t.Errorf("within %q: one that reports more: %+v, %v", within, f, err)
		} else if size, _ := space.FindMetric(f.Comparisons[0].Metrics, "size"); size != 5 {
			t.Errorf("within %q: it lacks its own metric: %v", within, f.Comparisons[0].Metrics)
		}
		timed, _ := load(t, strings.Replace(strings.Replace(file, "pattern: 'took ([0-9.]+)'WITHIN", "from: time", 1), "UNIT", "ms", 1))
		c, err := problem(t, timed, "").Build(t.Context(), problem(t, timed, "").Presets()[0].Point)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compare(all[0], c); err == nil || err.Error() != "the field metric.from is output in one version of the kernel, and time in the other: have both take one number" {
			t.Errorf("within %q: another clock: %v", within, err)
		}
		if _, err := compare(all[0], all[2]); err == nil || !strings.HasPrefix(err.Error(), "ms follows the number that the field pattern finds in one version of the kernel, and s in the other") {
			t.Errorf("within %q: another unit: %v", within, err)
		}
	}
}
