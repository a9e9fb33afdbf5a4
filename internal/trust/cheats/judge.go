package cheats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tune/internal/trust/corpus"
	"tune/space"
)

// Line is one line of the table.
type Line struct {
	Name    string       `json:"name"`
	Does    string       `json:"does"`
	Class   corpus.Class `json:"class"`
	Mistake bool         `json:"mistake"`
	Status  string       `json:"status"` // of the kernel on trial
	Reason  string       `json:"reason,omitempty"`
	// Claimed is how many times as fast as the honest code it was scored, 0 where it was refused. It cannot be faster than
	// True, which allows for what a measurement may be off.
	Claimed float64  `json:"claimed,omitempty"`
	True    float64  `json:"true_at_most,omitempty"`
	Before  string   `json:"before,omitempty"` // what became of it without the checks
	Costs   []string `json:"costs_ns"`         // of the honest points
	Faults  []string `json:"faults"`           // what should not be; empty where all is right
	// noisy says that the faults are all of a kind that a busy machine has too: costs of honest code that differ.
	noisy bool
}

// String returns the line in short.
func (l Line) String() string {
	verdict := "pass"
	if len(l.Faults) > 0 {
		verdict = "FAIL: " + cell(strings.Join(l.Faults, "; "))
	}
	if l.Reason != "" {
		return fmt.Sprintf("%s (%s), %s", l.Status, cell(l.Reason), verdict)
	}
	return fmt.Sprintf("%s, %.2f×, %s", l.Status, l.Claimed, verdict)
}

// exportSlack is by how much an exported ratio of honest code to the same honest code may differ from 1.
const exportSlack = 1.33

// defaultSpread is Entry.Spread where it is 0.
const defaultSpread = 1.35

// judge says whether what came of an entry is as it should be.
func judge(e corpus.Entry, f found) Line {
	l := Line{Name: e.Name, Does: e.Does, Class: e.Class, Mistake: e.Mistake, Before: e.Before, Status: "none", Faults: []string{}}
	plain := 0 // faults that no other measurement mends
	noise := func(format string, args ...any) { l.Faults = append(l.Faults, fmt.Sprintf(format, args...)) }
	fault := func(format string, args ...any) { noise(format, args...); plain++ }
	if e.FileRefused != "" {
		if !f.FileRefused || !strings.Contains(f.Err, e.FileRefused) {
			fault("its file was not refused for %q", e.FileRefused)
			return l
		}
		l.Status, l.Reason = "file refused", f.Err
		return l
	}
	if f.Err != "" {
		fault("the run ended: %s", f.Err)
	}
	for _, harm := range f.Harm {
		fault("it %s", harm)
	}
	truth := judgeHonest(e, f, &l, fault, noise)
	spread := cmp.Or(e.Spread, defaultSpread)
	l.True = 1 / e.TrueShare()
	if e.Class == corpus.Honest || e.Class == corpus.HarmsOthers {
		l.True = spread // it does what the others do
	}
	o, ok := f.Outcomes[onTrial]
	switch {
	case !ok && f.Err == "":
		fault("it was not evaluated")
	case !ok:
	case o.Status == space.OK:
		l.Status = o.Status.String()
		if truth > 0 {
			l.Claimed = truth / o.Cost
		}
		if refused, reason := refusal(f, onTrial); refused {
			l.Status, l.Reason = "ok, then refused at the export", reason
		}
		switch {
		case e.Wrong:
			fault("it was scored, and its results are wrong")
		case l.Claimed > l.True:
			report := fault
			// The honest code may have been measured badly as well, or is all that there is.
			if l.Claimed < spread && l.Status == "ok" || disturbed(f) || e.Class == corpus.Honest || e.Class == corpus.HarmsOthers {
				report = noise
			}
			report("it was scored %.2f times as fast as the honest code, and is not faster", l.Claimed)
		case e.Class == corpus.Honest && l.Claimed < 1/spread:
			noise("it was scored %.2f times as fast as the same code", l.Claimed)
		}
	default:
		l.Status, l.Reason = o.Status.String(), o.Reason
		switch {
		case e.Class == corpus.Honest:
			fault("it was refused")
		case !slices.Contains(e.Statuses(), o.Status):
			fault("it was refused for another reason")
		}
	}
	judgeExport(e, f, &l, fault, noise)
	l.noisy = len(l.Faults) > 0 && plain == 0
	return l
}

// disturbed reports whether tune itself says of an honest point that others used the machine when it was scored.
func disturbed(f found) bool {
	for v, o := range f.Outcomes {
		if unverified, _ := o.Metric(space.MetricUnverified); v != onTrial && unverified > 0 {
			return true
		}
	}
	return false
}

// judgeHonest looks at the honest points, and returns what the honest code costs: the least of the points before the one on
// trial, because what others do on the machine only adds to it.
func judgeHonest(e corpus.Entry, f found, l *Line, fault, noise func(string, ...any)) float64 {
	spread := cmp.Or(e.Spread, defaultSpread)
	cost, least, most := 0.0, 0.0, 0.0
	for _, v := range variants {
		if v == onTrial {
			continue
		}
		o, ok := f.Outcomes[v]
		switch {
		case !ok && f.Err == "":
			fault("honest %s was not evaluated", v)
		case !ok:
		case o.Status != space.OK:
			fault("honest %s: %s: %s", v, o.Status, o.Reason)
		default:
			l.Costs = append(l.Costs, fmt.Sprintf("%.0f", o.Cost))
			if v != "AFTER" && (cost == 0 || o.Cost < cost) {
				cost = o.Cost
			}
			if least == 0 || o.Cost < least {
				least = o.Cost
			}
			most = max(most, o.Cost)
		}
	}
	if most > spread*least {
		noise("the same honest code was scored %.0f and %.0f ns", least, most)
	}
	if cost > 0 && f.Truth > 0 && (cost > spread*f.Truth || f.Truth > spread*cost) {
		noise("the honest code was scored %.0f ns, and takes %.0f ns in a program of its own", cost, f.Truth)
	}
	return cost
}

// refusal reports whether a variant was refused at the export, and why.
func refusal(f found, variant string) (bool, string) {
	for _, r := range f.Refused {
		if variantOf(r.Key) == variant {
			return true, r.Reason
		}
	}
	return false, ""
}

// judgeExport looks at what was exported. The honest points are there, so that something has to be.
func judgeExport(e corpus.Entry, f found, l *Line, fault, noise func(string, ...any)) {
	for _, r := range f.Refused {
		if v := variantOf(r.Key); v != onTrial {
			fault("honest %s was refused at the export: %s", v, r.Reason)
		}
	}
	if f.Export == nil {
		if f.Err == "" {
			fault("nothing was exported")
		}
		return
	}
	limit := max(exportSlack, e.Spread)
	// What is claimed is the lower end of the interval, where there is one.
	ratio := f.Export.Ratio
	if f.Export.Interval != nil {
		ratio = min(ratio, f.Export.Interval[0])
	}
	switch cheat := variantOf(f.Export.Key) == onTrial; {
	case cheat && ratio > max(l.True, limit):
		fault("it was exported as at least %.2f times as fast as the baseline", ratio)
	case cheat && ratio > l.True:
		noise("it was exported as at least %.2f times as fast as the baseline", ratio)
	case !cheat && ratio > limit:
		noise("an honest point was exported as at least %.2f times as fast as the baseline, which is the same code", ratio)
	}
}

// cell is a text for a cell of a table: no line ends, no bars, nothing that a terminal acts on.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '|':
			return '¦'
		case r < ' ' || r == 0x7f:
			return ' '
		}
		return r
	}, s)
	const most = 140
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "…"
	}
	return s
}
