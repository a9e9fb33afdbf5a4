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
)

// Run is how the best cost of one run fell.
type Run struct {
	Title string
	Unit  string // of the costs
	// Steps are the moments at which there was a better cost, in order; there is at least one.
	Steps []Step
	End   float64 // seconds that the run took
	// Seen says that the costs are those that a search saw and no more. Final is then what was measured of the point that
	// was exported, 0 where nothing was, and Note says so.
	Seen  bool
	Final float64
	Note  string
}

// Step is a better cost.
type Step struct{ Seconds, Cost float64 }

// What the axes leave out: the first moments, and costs further above the best than this part of it.
const (
	leastSeconds = 0.5
	mostAbove    = 0.25
)

// mostCost is the greatest magnitude of a cost that an axis can show; a greater one is shown as this.
const mostCost = 1e300

// WriteRun draws the best cost so far over time. The same run gives the same bytes.
func WriteRun(w io.Writer, format string, r Run) error {
	if len(r.Steps) == 0 {
		return fmt.Errorf("chart: the run has no cost to draw")
	}
	out := plot.New()
	out.Title.Text = plain.Line(r.Title)
	out.X.Label.Text, out.Y.Label.Text = "seconds", "best so far, "+plain.Line(r.Unit)
	if r.Seen {
		out.Y.Label.Text = "best so far, as seen by the search, " + r.Unit
	}
	out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, logTicks{}
	out.Add(plotter.NewGrid())
	out.X.Min, out.X.Max = leastSeconds, math.Max(r.End, 2*leastSeconds)
	shown := func(cost float64) float64 { return max(-mostCost, min(cost, mostCost)) }
	best := shown(r.Steps[len(r.Steps)-1].Cost)
	ceiling := best + mostAbove*math.Abs(best)
	if best == 0 {
		ceiling = mostCost // zero has no parts
	}
	var points plotter.XYs
	for _, s := range r.Steps {
		at := plotter.XY{X: math.Max(s.Seconds, leastSeconds), Y: min(shown(s.Cost), ceiling)}
		if n := len(points); n > 0 && points[n-1].X == at.X {
			points = points[:n-1]
		}
		points = append(points, at)
	}
	points = append(points, plotter.XY{X: out.X.Max, Y: best})
	line, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, palette[0], vg.Points(1.5)
	out.Add(line)
	margin := math.Max((points[0].Y-best)/20, math.Abs(best)/200)
	out.Y.Min, out.Y.Max = best-margin, points[0].Y+margin

	if final := shown(r.Final); r.Seen && final > 0 {
		end, err := plotter.NewLine(plotter.XYs{{X: out.X.Min, Y: final}, {X: out.X.Max, Y: final}})
		if err != nil {
			return fmt.Errorf("chart: %w", err)
		}
		end.Color, end.Width, end.Dashes = palette[1], vg.Points(1), []vg.Length{vg.Points(4), vg.Points(3)}
		out.Add(end)
		out.Legend.Add(r.Note, end)
		out.Legend.Top = true
		out.Y.Min, out.Y.Max = min(out.Y.Min, final-margin), max(out.Y.Max, final+margin)
	}

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
