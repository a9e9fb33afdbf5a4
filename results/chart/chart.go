// Package chart draws how well strategies do over the evaluations that they spend: a panel for each space, and a curve for each
// strategy with the band that holds most seeds. WriteRun draws how the best cost of one run fell over time.
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

// Panel is one set of axes.
type Panel struct {
	Title  string
	Curves []Curve
}

// Curve is the result of one strategy after each evaluation, from the first on. Low and High bound the band, and are as long as
// Mean.
type Curve struct {
	Name            string
	Mean, Low, High []float64
}

// Formats are what Write can draw.
var Formats = []string{"svg", "png"}

// The colours of the curves. They can also be told apart by colour-blind readers [Okabe and Ito, "Color universal design", 2008].
var palette = []color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF},
	{0xE6, 0x9F, 0x00, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x6B, 0x6B, 0x6B, 0xFF}, {0xB2, 0xA4, 0x00, 0xFF},
}

// The size of a panel.
const (
	panelWidth  = 14 * vg.Centimeter
	panelHeight = 9 * vg.Centimeter
)

// Write draws the panels, three in a row. The same panels give the same bytes.
func Write(w io.Writer, format string, panels []Panel) error {
	columns := min(3, len(panels))
	if columns == 0 {
		return fmt.Errorf("chart: there is nothing to draw")
	}
	rows := (len(panels) + columns - 1) / columns
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, columns)
	}
	for i, p := range panels {
		drawn, err := p.plot(i == 0)
		if err != nil {
			return fmt.Errorf("chart: %s: %w", p.Title, err)
		}
		grid[i/columns][i%columns] = drawn
	}
	canvas, err := draw.NewFormattedCanvas(vg.Length(columns)*panelWidth, vg.Length(rows)*panelHeight, format)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	tiles := draw.Tiles{
		Rows: rows, Cols: columns, PadX: vg.Centimeter / 2, PadY: vg.Centimeter / 2,
		PadTop: vg.Centimeter / 4, PadBottom: vg.Centimeter / 4, PadLeft: vg.Centimeter / 4, PadRight: vg.Centimeter / 2,
	}
	canvases := plot.Align(grid, tiles, page)
	for i, row := range grid {
		for j, p := range row {
			if p != nil {
				p.Draw(canvases[i][j])
			}
		}
	}
	_, err = canvas.WriteTo(w)
	return err
}

// plot makes the axes of a panel. The first panel of a page has the legend.
func (p Panel) plot(legend bool) (*plot.Plot, error) {
	out := plot.New()
	out.Title.Text = plain.Line(p.Title)
	out.X.Label.Text, out.Y.Label.Text = "evaluations", "optimum / best so far"
	out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, logTicks{}
	out.Add(plotter.NewGrid())
	least := 1.0
	for i, c := range p.Curves {
		hue := palette[i%len(palette)]
		mean := make(plotter.XYs, len(c.Mean))
		band := make(plotter.XYs, 2*len(c.Mean))
		for e := range c.Mean {
			x := float64(e + 1)
			mean[e] = plotter.XY{X: x, Y: c.Mean[e]}
			band[e], band[len(band)-1-e] = plotter.XY{X: x, Y: c.Low[e]}, plotter.XY{X: x, Y: c.High[e]}
			if e+1 >= shownFrom {
				least = math.Min(least, c.Low[e])
			}
		}
		area, err := plotter.NewPolygon(band)
		if err != nil {
			return nil, err
		}
		fill := hue
		fill.A = 0x28
		area.Color, area.LineStyle.Width = fill, 0
		line, err := plotter.NewLine(mean)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = hue, vg.Points(1.5)
		if i >= len(palette) {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		}
		out.Add(area, line)
		if legend {
			out.Legend.Add(plain.Line(c.Name), line)
		}
		out.X.Max = math.Max(out.X.Max, float64(len(c.Mean)))
	}
	out.X.Min, out.Y.Min, out.Y.Max = 1, math.Floor(least*10)/10, 1
	if out.X.Max <= 1 {
		out.X.Max = 2
	}
	if out.Y.Min >= 1 {
		out.Y.Min = 0.9
	}
	return out, nil
}

// shownFrom is the evaluation from which on the vertical axis fits the whole band: before it, results vary too much to show.
const shownFrom = 10

// logTicks labels …, 0.5, 1, 2, 5, 10, 20, … of a logarithmic axis.
type logTicks struct{}

// Ticks returns the marks between two positive numbers.
func (logTicks) Ticks(low, high float64) []plot.Tick {
	for _, multiples := range [][]float64{{1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		var ticks []plot.Tick
		for e := int(math.Floor(math.Log10(low))); e <= int(math.Log10(high))+1; e++ {
			for _, m := range multiples {
				if v := m * math.Pow10(e); v >= low && v <= high {
					ticks = append(ticks, plot.Tick{Value: v, Label: plain.Number(v)})
				}
			}
		}
		if len(ticks) >= leastTicks {
			return ticks
		}
	}
	return linearTicks{}.Ticks(low, high)
}

// leastTicks is how many labels an axis has at least.
const leastTicks = 3

// linearTicks are plot.DefaultTicks with labels that people can read: no powers of ten below a million million.
type linearTicks struct{}

func (linearTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = plain.Number(t.Value)
		}
	}
	return ticks
}
