package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tune/internal/plain"
	"tune/results"
	"tune/space"
)

//go:embed page.tmpl style.css script.js live.js
var assets embed.FS

func asset(name string) string {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err) // it is part of this package
	}
	return string(text)
}

// templates are those of page.tmpl, parsed when the first is written.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"line":    plain.Line,
		"metric":  metricWords,
		"whole":   func(n int) string { return plain.Number(float64(n)) },
		"percent": func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
		"join":    func(words []string, by string) string { return strings.Join(words, by) },
		"date":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"base":    filepath.Base,
	}).ParseFS(assets, "page.tmpl"))
})

// metricWords writes a metric with its unit, where it is one that tune itself measures.
func metricWords(m space.Metric) string {
	rate := func(unit string) string { return space.InverseOf(unit).Words(1 / (1e9 * m.Value)) }
	switch m.Name {
	case space.MetricGBS:
		return rate("B/s")
	case space.MetricGFLOPS:
		return rate("FLOP/s")
	case space.MetricGOPS:
		return rate("OP/s")
	case space.MetricCodeBytes:
		return plain.Number(m.Value) + " bytes"
	case space.MetricEnergy:
		return plain.Number(m.Value) + " nJ"
	case space.MetricErrorShare, space.MetricSpread, space.MetricWithin:
		return fmt.Sprintf("%.3g %%", 100*m.Value)
	}
	return plain.Number(m.Value)
}

// Page is a report on some runs.
type Page struct {
	Version   string // of tune
	Libraries []*Library
	Runs      []*Run
	Left      int // how many older runs are not among these
}

// view is what the template of a run sees.
type view struct {
	*Run
	Charts Charts
	ID     string
}

func viewOf(r *Run, id string, runs int) view { return view{r, r.draw(runs), id} }

// document is what the template of a page sees.
type document struct {
	Page
	Views   []view
	Overlay *Plot
	Style   template.CSS
	Script  template.JS
	Policy  string
	Title   string
}

// HTML writes the page as one file that needs no other.
func (p Page) HTML(w io.Writer) error {
	script := asset("script.js")
	sum := sha256.Sum256([]byte(script))
	d := document{
		Page: p, Style: template.CSS(asset("style.css")), Script: template.JS(script),
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
	}
	for i, r := range p.Runs {
		d.Views = append(d.Views, viewOf(r, fmt.Sprintf("run%d", i+1), len(p.Runs)))
	}
	d.Title, d.Overlay = p.title(), p.overlay()
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "document", d); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// title names a library, and a run that is alone; it counts others.
func (p Page) title() string {
	var parts []string
	switch n := len(p.Libraries); {
	case n == 1:
		parts = append(parts, plain.Line(p.Libraries[0].Title))
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d libraries", n))
	}
	switch n := len(p.Runs); {
	case n == 1 && parts == nil:
		parts = append(parts, plain.Line(p.Runs[0].Title()))
	case n > 0 || parts == nil:
		parts = append(parts, counting(n, "run"))
	}
	return "tune: " + strings.Join(parts, ", ")
}

// overlay draws several runs together if their costs compare; nil where they do not.
func (p Page) overlay() *Plot {
	if len(p.Runs) < 2 {
		return nil
	}
	for _, r := range p.Runs {
		if r.Unit != p.Runs[0].Unit || r.Settings.Kernel != p.Runs[0].Settings.Kernel || r.Settings.Shape != p.Runs[0].Settings.Shape {
			return nil
		}
	}
	return overlay(p.Runs)
}

// Evaluated is how many outcomes there are.
func (r *Run) Evaluated() string { return plain.Number(float64(r.Table.Seen)) }

// Spent is the time of the run in words.
func (r *Run) Spent() string { return r.after(r.Elapsed) }

// Words writes a cost.
func (r *Run) Words(cost float64) string { return r.Unit.Words(cost) }

// interval writes an interval of a ratio with its level; "" for none.
func interval(of *[2]float64, level string) string {
	if of == nil {
		return ""
	}
	return fmt.Sprintf("%.3f to %.3f (%s)", of[0], of[1], level)
}

// level says of an interval of the final measurement how sure it is, or that it follows from how far the costs of a point may differ. It is
// confirmed where a series of its own measured the exported point.
func (r *Run) level(confirmed bool) string {
	if within, ok := space.FindMetric(r.Schedule.Metrics, space.MetricWithin); ok {
		return fmt.Sprintf("within %.3g %%", 100*within)
	}
	if confirmed {
		return fmt.Sprintf("%d %%", r.Schedule.Confidence())
	}
	return "95 %"
}

// Finalist is a row of the comparison at the end of a run.
type Finalist struct {
	Name, Key, Cost, Ratio, Interval string
	Value                            float64 // of the cost
	Pairs                            string  // how many; "" where that is not known
}

// Finalists are what the end of a run compared.
func (r *Run) Finalists() (out []Finalist) {
	s := r.Schedule
	if s == nil {
		return nil
	}
	add := func(name, key string, cost, ratio float64, of *[2]float64, pairs int) {
		f := Finalist{Name: name, Key: key, Cost: r.Unit.Words(cost), Value: cost, Interval: interval(of, r.level(true))}
		f.compared(ratio, pairs)
		out = append(out, f)
	}
	add("exported", s.Key, s.Cost, s.Ratio, s.RatioInterval, s.Pairs)
	if s.Baseline.Key != "" && s.Baseline.Key != s.Key {
		add("baseline", s.Baseline.Key, s.Baseline.Cost, 1, nil, 0)
	}
	if c := s.Closest; c != nil {
		add("closest", c.Key, c.Cost, c.Ratio, c.RatioInterval, c.Pairs)
	}
	seen := func(name string, keys []string) {
		for _, key := range keys {
			f := Finalist{Name: name, Key: key}
			if r.Final != nil { // the schedule has the key alone
				if i := slices.IndexFunc(r.Final.First, func(c results.Compared) bool { return c.Key == key }); i >= 0 {
					c := r.Final.First[i]
					f.Interval = interval(c.Interval, r.level(false))
					f.compared(c.Ratio, c.Pairs)
				}
			}
			out = append(out, f)
		}
	}
	seen("not distinguishable", s.IndistinctFrom)
	seen("too few pairs to tell", s.TooFewPairs)
	return out
}

// compared enters the result of a comparison, as far as there is one.
func (f *Finalist) compared(ratio float64, pairs int) {
	if ratio > 0 {
		f.Ratio = fmt.Sprintf("%.3f×", ratio)
	}
	if pairs > 0 {
		f.Pairs = plain.Number(float64(pairs))
	}
}

// Peers are what the best was measured beside, with the cost of each over that of the best.
func (r *Run) Peers() (out []Finalist) {
	if r.Final == nil {
		return nil
	}
	for _, c := range r.Final.Peers {
		f := Finalist{Name: c.Name, Ratio: "failed: " + c.Failed, Interval: interval(c.Interval, r.level(false)), Pairs: plain.Number(float64(c.Pairs))}
		if c.Ratio > 0 {
			f.Ratio = fmt.Sprintf("%.3f×", c.Ratio)
		} else if c.Failed == "" {
			f.Ratio = "unknown"
		}
		out = append(out, f)
	}
	return out
}
