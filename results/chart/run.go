package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tune/internal/plain"
	"tune/space"
)

// Run is what a chart of one run shows.
type Run struct {
	Title string
	Unit  space.Unit // of the costs
	// Steps are the moments at which there was a better cost, in order; there is at least one.
	Steps []Step
	Start float64 // seconds after which the first outcome was known
	End   float64 // seconds that the run took
	// Baseline is the cost of the baseline as the search saw it, 0 where it did not.
	Baseline float64
	// Failed are the seconds at which candidates failed, in any order.
	Failed []float64
	// Seen says that the costs are those that a search saw and no more. Final is then what was measured of the point that
	// was exported, 0 where nothing was, and Note says so.
	Seen  bool
	Final float64
	Note  string
}

// Step is a better cost.
type Step struct{ Seconds, Cost float64 }

const (
	// earliest is where the axis of time begins at the earliest, in seconds: a logarithm has no zero.
	earliest = 0.01
	// mostCost is the greatest magnitude of a number that an axis can show; a greater one is shown as this.
	mostCost = 1e300
	// logFrom is the ratio of the numbers on the vertical axis from which on it is logarithmic.
	logFrom = 4
	// marks is how many marks of failures there are at most. More of them could not be told apart.
	marks = 240
)

// axis converts costs into numbers on the vertical axis.
type axis struct {
	name  string
	shown func(cost float64) float64
	rises bool // what is better is above
}

func (r Run) axis() axis {
	name, shown := r.Unit.Axis(r.Steps[len(r.Steps)-1].Cost)
	_, rises := r.Unit.Rate()
	return axis{plain.Line(name), func(cost float64) float64 {
		v := shown(cost)
		if math.IsNaN(v) {
			v = 0
		}
		return max(-mostCost, min(v, mostCost))
	}, rises}
}

// WriteRun draws the best cost so far over time. The same run gives the same bytes.
func WriteRun(w io.Writer, format string, r Run) error {
	if len(r.Steps) == 0 {
		return fmt.Errorf("chart: the run has no cost to draw")
	}
	y := r.axis()
	out := plot.New()
	out.Title.Text = plain.Line(r.Title)
	out.X.Label.Text, out.Y.Label.Text = "seconds", "best so far, "+y.name
	if r.Seen {
		out.Y.Label.Text = "best so far, as seen by the search, " + y.name
	}
	out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, logTicks{}
	out.Add(plotter.NewGrid())
	out.X.Min = math.Max(math.Min(r.Start, r.Steps[0].Seconds), earliest)
	out.X.Max = math.Max(r.End, 2*out.X.Min)

	var best plotter.XYs
	for _, s := range r.Steps {
		at := plotter.XY{X: math.Min(math.Max(s.Seconds, out.X.Min), out.X.Max), Y: y.shown(s.Cost)}
		if n := len(best); n > 0 && best[n-1].X == at.X {
			best = best[:n-1]
		}
		best = append(best, at)
	}
	best = append(best, plotter.XY{X: out.X.Max, Y: best[len(best)-1].Y})
	low, high := best[0].Y, best[0].Y
	include := func(v float64) { low, high = min(low, v), max(high, v) }
	for _, at := range best {
		include(at.Y)
	}
	level := func(cost float64, hue color.Color, name string) error {
		at := y.shown(cost)
		line, err := plotter.NewLine(plotter.XYs{{X: out.X.Min, Y: at}, {X: out.X.Max, Y: at}})
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = hue, vg.Points(1), []vg.Length{vg.Points(4), vg.Points(3)}
		out.Add(line)
		out.Legend.Add(plain.Line(name), line)
		include(at)
		return nil
	}
	line, err := plotter.NewLine(best)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, palette[0], vg.Points(1.5)
	if r.Baseline > 0 {
		err = level(r.Baseline, palette[6], "baseline: "+r.Unit.Words(r.Baseline))
	}
	if err == nil && r.Seen && r.Final > 0 {
		err = level(r.Final, palette[1], r.Note)
	}
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	out.Add(line)
	if low > 1/mostCost && high/low >= logFrom {
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		edge := math.Pow(high/low, 0.05)
		below, above := room(y.rises, edge, math.Pow(high/low, legendRoom))
		out.Y.Min, out.Y.Max = max(low/below, math.SmallestNonzeroFloat64), min(high*above, mostCost)
	} else {
		margin := math.Max((high-low)/20, max(math.Abs(low), math.Abs(high))/200)
		below, above := room(y.rises, margin, math.Max(margin, legendRoom*(high-low)))
		out.Y.Min, out.Y.Max = low-below, high+above
		out.Y.Tick.Marker = linearTicks{}
	}
	if out.Y.Min >= out.Y.Max {
		out.Y.Min, out.Y.Max = low-1, high+1 // all costs are 0
	}
	if failed := r.failed(out.X.Min, out.X.Max); len(failed) > 0 {
		m := failures{at: failed, hue: palette[1]}
		out.Add(m)
		out.Legend.Add("failed candidates: "+plain.Number(float64(len(r.Failed))), m)
	}
	placeLegend(&out.Legend, y.rises)

	canvas, err := draw.NewFormattedCanvas(panelWidth, panelHeight, format)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	out.Draw(draw.Crop(page, vg.Centimeter/4, -vg.Centimeter/2, vg.Centimeter/4, -vg.Centimeter/4))
	_, err = canvas.WriteTo(w)
	return err
}

// placeLegend puts the legend above a curve that falls. Below one that rises it is above the marks of failures.
func placeLegend(l *plot.Legend, rises bool) {
	l.Top = !rises
	if rises {
		l.YOffs = vg.Points(markHeight + 2)
	}
}

// legendRoom is the part of the vertical axis that the legend takes, of what the curves take.
const legendRoom = 0.3

// room returns what the vertical axis has below and above the curves: the legend is below a curve that rises, and above one that
// falls.
func room(rises bool, margin, legend float64) (below, above float64) {
	if rises {
		return legend, margin
	}
	return margin, legend
}

// failed returns the moments at which failures are marked, in order: no two of them in the same part of the axis.
func (r Run) failed(from, to float64) []float64 {
	parts := make([]bool, marks)
	for _, s := range r.Failed {
		s = math.Min(math.Max(s, from), to)
		parts[min(int(marks*math.Log(s/from)/math.Log(to/from)), marks-1)] = true
	}
	var at []float64
	for i, any := range parts {
		if any {
			at = append(at, from*math.Pow(to/from, (float64(i)+0.5)/marks))
		}
	}
	return at
}

// failures draws short marks at the foot of a chart.
type failures struct {
	at  []float64
	hue color.Color
}

const markHeight = 5 // points

// Plot implements plot.Plotter.
func (f failures) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: f.hue, Width: vg.Points(0.7)}
	for _, at := range f.at {
		c.StrokeLine2(style, x(at), c.Min.Y, x(at), c.Min.Y+vg.Points(markHeight))
	}
}

// Thumbnail implements plot.Thumbnailer.
func (f failures) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(draw.LineStyle{Color: f.hue, Width: vg.Points(0.7)}, c.Center().X, c.Min.Y, c.Center().X, c.Min.Y+vg.Points(markHeight))
}
