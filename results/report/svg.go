package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tune/internal/plain"
	"tune/space"
)

// The size of a drawing, and what its axes take, in units that are pixels on a wide screen.
const (
	width, height     = 680.0, 300.0
	left, right       = 92.0, 14.0
	top, bottom       = 14.0, 40.0
	laneHeight        = 12.0
	barHeight         = 18.0
	mostMagnitude     = 1e300 // the greatest magnitude that an axis shows
	logFrom           = 4     // the ratio from which on an axis is logarithmic
	leastPositive     = 1 / mostMagnitude
	labelWidth        = 8.2 // of a character
	tickWidth         = 6.5 // of a character of a small label
	mostLabel     int = 26
	mostTicks         = 12 // of an axis
)

// drawing is an SVG image under construction.
type drawing struct {
	b       strings.Builder
	w, h    float64
	reached bool // whether the keyboard has a mark to begin with
}

// newDrawing begins a drawing with a name and a description for those who do not see it. It is a group and no image, because an image would hide
// the marks in it, which the keyboard reaches.
func newDrawing(w, h float64, name, description string, attributes ...string) *drawing {
	d := &drawing{w: w, h: h}
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %s %s" role="group" aria-label="%s"`, number(w), number(h), text(name+": "+description))
	for _, a := range attributes {
		d.b.WriteString(" " + a)
	}
	d.b.WriteString(">")
	return d
}

func (d *drawing) html() template.HTML { return template.HTML(d.b.String() + "</svg>") }

// number writes a coordinate.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	s := fmt.Sprintf("%.1f", v)
	return strings.TrimSuffix(s, ".0")
}

// text escapes a text of others, on one line.
func text(s string) string { return html.EscapeString(plain.Line(s)) }

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, number(x1), number(y1), number(x2), number(y2))
}

// rect draws a rectangle with a title; "" for none.
func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"`, class, number(x), number(y), number(math.Max(w, 0)), number(math.Max(h, 0)))
	d.close("rect", title)
}

// dot draws a mark.
func (d *drawing) dot(class string, x, y, r float64, title string) {
	fmt.Fprintf(&d.b, `<circle class="%s" cx="%s" cy="%s" r="%s"`, class, number(x), number(y), number(r))
	d.close("circle", title)
}

// path draws a line along a path with a title.
func (d *drawing) path(class, data, title string) {
	fmt.Fprintf(&d.b, `<path class="%s" d="%s"`, class, data)
	d.close("path", title)
}

// close ends a mark. The keyboard reaches the first one of a drawing that has a title, and the script of the page moves on from there.
func (d *drawing) close(element, title string) {
	if title == "" {
		d.b.WriteString("/>")
		return
	}
	if !d.reached {
		d.reached = true
		d.b.WriteString(` tabindex="0"`)
	}
	fmt.Fprintf(&d.b, "><title>%s</title></%s>", text(title), element)
}

// label writes a text; the anchor is start, middle or end.
func (d *drawing) label(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&d.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, number(x), number(y), text(s))
}

// stairs is the path of a line that goes from point to point, first sideways and then up or down.
type stairs struct{ text strings.Builder }

// to goes on to a point; the line begins at the first one.
func (s *stairs) to(x, y float64) {
	form := "H%sV%s"
	if s.text.Len() == 0 {
		form = "M%s %s"
	}
	fmt.Fprintf(&s.text, form, number(x), number(y))
}

// axis maps values to coordinates.
type axis struct {
	low, high float64
	log       bool
	whole     bool // whether the values are counts, so that there is nothing to name between two of them
	from, to  float64
	name      string
}

// newAxis makes an axis that holds values from low to high.
func newAxis(low, high, from, to float64, mayLog bool, name string) axis {
	clamp := func(v float64) float64 { return max(-mostMagnitude, min(v, mostMagnitude)) }
	a := axis{low: clamp(low), high: clamp(high), from: from, to: to, name: name}
	if a.log = mayLog && a.low > leastPositive && a.high/a.low >= logFrom; a.log {
		edge := math.Exp(0.04 * (math.Log(a.high) - math.Log(a.low))) // the ratio of the two may overflow
		a.low, a.high = max(a.low/edge, leastPositive), min(a.high*edge, mostMagnitude)
		return a
	}
	if mayLog {
		edge := math.Max((a.high-a.low)/20, max(math.Abs(a.low), math.Abs(a.high))/200)
		a.low, a.high = a.low-edge, a.high+edge
	}
	if !(a.high > a.low) {
		a.low, a.high = a.low-1, a.low+1
	}
	return a
}

// counted makes an axis of counts.
func counted(low, high, from, to float64, name string) axis {
	a := newAxis(low, high, from, to, false, name)
	a.whole = true
	return a
}

// at is the coordinate of a value.
func (a axis) at(v float64) float64 {
	share := (v - a.low) / (a.high - a.low)
	if math.IsInf(a.high-a.low, 0) {
		share = (v/2 - a.low/2) / (a.high/2 - a.low/2)
	}
	if a.log {
		share = (math.Log(max(v, leastPositive)) - math.Log(a.low)) / (math.Log(a.high) - math.Log(a.low))
	}
	return a.from + max(0, min(share, 1))*(a.to-a.from)
}

// ticks are the values that the axis names: about five.
func (a axis) ticks() (out []float64) {
	if a.log {
		for _, multiples := range [][]float64{{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}} {
			out = out[:0]
			last := int(math.Log10(a.high)) + 1
			first := int(math.Floor(math.Log10(a.low)))
			step := max((last-first)/6, 1)
			for e := first; e <= last && len(out) < mostTicks; e += step {
				for _, m := range multiples {
					if v := m * math.Pow10(e); v >= a.low && v <= a.high {
						out = append(out, v)
					}
				}
			}
			if len(out) >= 3 {
				return out
			}
		}
	}
	span := a.high/2 - a.low/2
	step := math.Pow(10, math.Floor(math.Log10(span/2)))
	for _, m := range []float64{1, 2, 5, 10, 20, 50} {
		if 2*span/(step*m) <= 6 {
			step *= m
			break
		}
	}
	if a.whole {
		step = max(step, 1)
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return []float64{a.low, a.high}
	}
	out = out[:0]
	for k := math.Ceil(a.low / step); k*step <= a.high && len(out) < mostTicks; k++ {
		out = append(out, k*step)
	}
	return out
}

// tickWords writes the value of a tick.
func tickWords(v float64) string {
	if v != 0 && math.Abs(v) < 1e-3 || math.Abs(v) >= 1e15 {
		return fmt.Sprintf("%.2g", v)
	}
	return plain.Number(math.Round(v*1e6) / 1e6)
}

// allDigits are those that tell any two numbers apart.
const allDigits = 17

// ticksWords writes the values of ticks in order, with so many digits that each differs from its neighbour.
func ticksWords(ticks []float64) (words []string) {
	write := tickWords
	for digits := 3; ; digits++ {
		words = words[:0]
		for _, v := range ticks {
			words = append(words, write(v))
		}
		if len(slices.Compact(slices.Clone(words))) == len(words) || digits > allDigits {
			return words
		}
		write = func(v float64) string { return strconv.FormatFloat(v, 'g', digits, 64) }
	}
}

// vertical draws an axis at the left of an area.
func (d *drawing) vertical(a axis) {
	ticks := a.ticks()
	words := ticksWords(ticks)
	for i, v := range ticks {
		y := a.at(v)
		d.line("grid", left, y, d.w-right, y)
		d.label("tick", "end", left-6, y+4, words[i])
	}
	fmt.Fprintf(&d.b, `<text class="name" text-anchor="middle" transform="translate(13 %s) rotate(-90)">%s</text>`, number((a.from+a.to)/2), text(a.name))
}

// tick writes the name of a value below an axis: in the middle, or at the right end of the image where it would be cut off there.
func (d *drawing) tick(x, y float64, words string) {
	if x+tickWidth*float64(utf8.RuneCountInString(words))/2 > d.w {
		d.label("tick", "end", d.w, y, words)
		return
	}
	d.label("tick", "middle", x, y, words)
}

// horizontal draws an axis below an area.
func (d *drawing) horizontal(a axis, y float64) {
	d.line("axis", left, y, d.w-right, y)
	ticks := a.ticks()
	words := ticksWords(ticks)
	for i, v := range ticks {
		d.line("axis", a.at(v), y, a.at(v), y+4)
		d.tick(a.at(v), y+16, words[i])
	}
	d.label("name", "middle", (a.from+a.to)/2, y+32, a.name)
}

// costAxis is a vertical axis for costs in a unit.
func costAxis(unit space.Unit, costs []float64, from, to float64) (a axis, shown func(float64) float64) {
	least, low, high := costs[0], math.Inf(1), math.Inf(-1)
	for _, c := range costs {
		least = min(least, c)
	}
	name, convert := unit.Axis(least)
	shown = func(cost float64) float64 {
		v := convert(cost)
		if math.IsNaN(v) {
			v = 0
		}
		return max(-mostMagnitude, min(v, mostMagnitude))
	}
	for _, c := range costs {
		low, high = min(low, shown(c)), max(high, shown(c))
	}
	return newAxis(low, high, from, to, true, name), shown
}

// clip shortens a label.
func clip(s string) string { return plain.Clip(plain.Line(s), mostLabel) }
