package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/internal/plain"
	"tune/results"
	"tune/results/library"
	"tune/results/model"
	"tune/results/report"
	"tune/space"
)

// libraryAt reads what a page shows of the library in a folder; nil where the folder is no library. wanted says that the user named it as one.
func libraryAt(dir string, wanted bool) *report.Library {
	r, err := library.ReadReport(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(r.Functions) > 0 {
		return ofLibrary(r)
	}
	m, modelErr := model.ReadReport(dir)
	if modelErr == nil && len(m.Tasks) > 0 {
		return ofModel(m)
	}
	if info, e := os.Stat(filepath.Join(dir, results.TuningDir)); !wanted && (e != nil || !info.IsDir()) {
		return nil // a manifest of something else
	}
	err = cmp.Or(err, modelErr)
	problem := fmt.Sprintf("%s lists no function: the command that made the library writes it again", filepath.Join(dir, results.ManifestName))
	if err != nil {
		problem = fmt.Sprintf("the manifest cannot be read: %v: the command that made the library writes it again", err)
	}
	return &report.Library{Name: dir, Title: filepath.Base(dir), Problem: plain.Line(problem)}
}

// regret is a cell with a regret.
func regret[T float64 | library.Share](v T) report.Cell { return report.Valued(share(v), float64(v)) }

// within is a cell with a regret and its interval.
func within(v [3]float64) report.Cell {
	return report.Valued(fmt.Sprintf("%s [%s, %s]", share(v[0]), share(v[1]), share(v[2])), v[0])
}

// madeBy says which tune made a library, where and when, and how long it took.
func madeBy(version string, on results.Machine, created time.Time, elapsed float64) string {
	took := space.Duration(elapsed).Round(time.Second)
	return fmt.Sprintf("made by tune %s on %s at %s, in %s", version, cmp.Or(on.CPU, on.Arch), created.UTC().Format("2006-01-02 15:04 UTC"), took)
}

// ofLibrary is what a page shows of a library: the variants of each function, and what is known of its choice among them.
func ofLibrary(r *library.Report) *report.Library {
	l := &report.Library{Name: r.Dir, Title: "library " + r.Name, Facts: []string{madeBy(r.ToolVersion, r.Machine, r.Created, r.Elapsed)}}
	for _, f := range r.Functions {
		name := r.Name + "_" + f.Function
		l.Facts = append(l.Facts, functionFact(name, f))
		taken, err := r.Taken(f.Function)
		if err != nil {
			l.Problem = plain.Line(fmt.Sprintf("the measurements of %s cannot be read: %v", name, err))
		}
		l.Tables = append(l.Tables, variantsOf(name, f, taken))
		if c := f.Certificate; c != nil {
			title := fmt.Sprintf("Certificate of %s: regret at %s that played no part in the choice", name, plain.Count(c.Shapes, "shape"))
			l.Tables = append(l.Tables, report.Numbers{
				Title: title, Head: []string{"mean", "95th percentile", "worst", "shapes at which the machine was not quiet"},
				Rows: [][]report.Cell{{within(c.Mean), within(c.P95), within(c.Worst), report.Counted(c.Unverified)}},
			})
		}
		if len(f.Rules) > 0 {
			rules := report.Numbers{Title: "Rules that choose among the variants of " + name + ": regret at the same shapes, from single measurements",
				Head: []string{"rule", "variants", "mean", "95th percentile", "worst"}}
			for _, one := range f.Rules {
				rules.Rows = append(rules.Rows, []report.Cell{{Text: one.Rule}, report.Counted(one.Variants), regret(one.Mean), regret(one.P95), regret(one.Worst)})
			}
			l.Tables = append(l.Tables, rules)
		}
	}
	return l
}

// mostTaken is how many shapes a table lists of a variant.
const mostTaken = 12

// variantsOf is the table of the variants of a function, with the held-out shapes that each takes, where these are known.
func variantsOf(name string, f library.ReportFunction, taken map[string][][]int64) report.Numbers {
	n := report.Numbers{Title: "Variants of " + name, Head: []string{"variant", "tuned at"}}
	if !f.Predicted {
		n.Head = append(n.Head, "leaves of the tree")
	}
	compared := slices.ContainsFunc(f.Variants, func(v library.ReportVariant) bool { return v.Baseline != nil })
	if compared {
		n.Head = append(n.Head, "times as fast as the baseline there")
	}
	if len(taken) > 0 {
		n.Head = append(n.Head, "held-out shapes that it takes, as measured last", "which ("+strings.Join(f.Fields, ", ")+")")
	}
	n.Head = append(n.Head, "point")
	for _, v := range f.Variants {
		row := []report.Cell{{Text: v.Name}, {Text: tunedAt(f.Fields, v.Tuned)}}
		if !f.Predicted {
			row = append(row, report.Counted(v.Leaves))
		}
		if compared {
			row = append(row, besideBaseline(v.Baseline))
		}
		if len(taken) > 0 {
			row = append(row, report.Counted(len(taken[v.Name])), report.Cell{Text: someShapes(taken[v.Name])})
		}
		n.Rows = append(n.Rows, append(row, report.Cell{Text: v.Point}))
	}
	return n
}

// besideBaseline is a cell with the ratio of a variant to its baseline, and with its interval.
func besideBaseline(r *library.ReportRatio) report.Cell {
	if r == nil {
		return report.Cell{Text: "–"}
	}
	text := times(r.Ratio)
	if r.Low > 0 {
		text += fmt.Sprintf(" [%.2f, %.2f]", r.Low, r.High)
	}
	if r.Unverified {
		text += ", on a busy machine"
	}
	return report.Valued(text, r.Ratio)
}

// someShapes lists shapes by their values, and says how many more there are.
func someShapes(shapes [][]int64) string {
	var out []string
	for _, s := range shapes[:min(len(shapes), mostTaken)] {
		out = append(out, "("+tunedAt(nil, s)+")")
	}
	if more := len(shapes) - mostTaken; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, " ")
}

// functionFact says how a function chooses, and what that costs at the shapes of the training.
func functionFact(name string, f library.ReportFunction) string {
	by := "a tree"
	if f.Predicted {
		by = "predicted costs"
	}
	text := fmt.Sprintf("%s: %d of %d variants of %s, chosen by %s. At %d of %d training shapes the regret is %s with the best of them, and %s as they are chosen",
		name, len(f.Variants), f.Candidates, strings.TrimSpace(f.Kernel+" "+f.Fixed), by, f.Measured, f.Planned, share(f.Training), share(f.TreeRegret))
	if f.Plain > 0 {
		text += fmt.Sprintf("; at %d of them the plain form runs", f.Plain)
	}
	for _, w := range f.Weak {
		text += "; a passed check proves little: " + w.String()
	}
	return text
}

// tunedAt writes a shape: m=10, n=2, k=55.
func tunedAt(fields []string, values []int64) string {
	var out []string
	for i, v := range values {
		text := fmt.Sprint(v)
		if i < len(fields) {
			text = fields[i] + "=" + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// ofModel is what a page shows of the library of a model: what a token takes, and each kernel.
func ofModel(r *model.Report) *report.Library {
	l := &report.Library{Name: r.Dir, Title: "library " + r.Name, Facts: []string{madeBy(r.ToolVersion, r.Machine, r.Created, r.Elapsed)}}
	for _, remark := range r.Remarks() {
		l.Facts = append(l.Facts, remark.Text)
	}
	took := func(seconds float64) report.Cell { return report.Valued(space.Unit("ns").Words(seconds*1e9), seconds) }
	tokens := report.Numbers{Title: "A token", Head: []string{"step", "before", "after", "times as fast"}}
	for _, s := range r.Scenarios {
		tokens.Rows = append(tokens.Rows, []report.Cell{{Text: s.Name}, took(s.Before), took(s.After), report.Valued(times(s.Before/s.After), s.Before/s.After)})
	}
	kernels := report.Numbers{
		Title: "The kernels", Head: []string{"kernel", "shape", "before", "after", "times as fast", "fastest other library", "times as fast as that", "share of the roof", "point"},
	}
	for _, t := range r.Tasks {
		m := t.Measured
		none := report.Cell{Text: "–"}
		peer, beside, roof := none, none, none
		if m.Peer != "" {
			peer = report.Cell{Text: m.Peer + ", " + space.Unit("ns").Words(m.Peers[m.Peer])}
			text := fmt.Sprintf("%.2f", m.PeerRatio)
			if m.PeerLow > 0 {
				text += fmt.Sprintf(" [%.2f, %.2f]", m.PeerLow, m.PeerHigh)
			}
			beside = report.Valued(text, m.PeerRatio)
		}
		if m.PeakShare > 0 {
			roof = report.Valued(fmt.Sprintf("%.0f %% of %s", 100*m.PeakShare, m.PeakOf), m.PeakShare)
		}
		kernels.Rows = append(kernels.Rows, []report.Cell{
			{Text: t.Kernel}, {Text: t.One().Brief()}, took(m.Before * 1e-9), took(m.After * 1e-9), report.Valued(m.Gain(), m.Ratio), peer, beside, roof, {Text: m.Point},
		})
	}
	l.Tables = []report.Numbers{tokens, kernels}
	return l
}
