package report

import (
	"fmt"
	"math"
)

// Roofline is a kernel below the roofs of its processor (Williams, Waterman and Patterson, "Roofline: an insightful visual performance
// model for multicore architectures", 2009).
type Roofline struct {
	Intensity float64 // operations for each byte
	Reached   float64 // operations a nanosecond
	Peak      Roof    // of operations a nanosecond
	Memory    []Roof  // bytes a nanosecond, of each level
	Unit      string  // of operations, such as GFLOP/s
}

// Roof is a limit that was measured.
type Roof struct {
	Name string
	Most float64
}

// draw makes the chart; it is empty where a number is missing.
func (f *Roofline) draw() Plot {
	if !(f.Intensity > 0) || !(f.Reached > 0) || !(f.Peak.Most > 0) || math.IsInf(f.Intensity, 0) {
		return Plot{}
	}
	d := newDrawing(width, height, "roofline", fmt.Sprintf("%.3g %s at %.3g operations a byte, of at most %.3g", f.Reached, f.Unit, f.Intensity, f.Peak.Most))
	low, high := f.Intensity/8, f.Intensity*8
	least := f.Reached / 4
	for _, m := range f.Memory {
		if m.Most > 0 {
			ridge := f.Peak.Most / m.Most
			low, high = min(low, ridge/4), max(high, ridge*4)
		}
	}
	x := newAxis(low, high, left, width-right, true, "operations a byte")
	for _, m := range f.Memory {
		least = min(least, m.Most*f.Intensity/2)
	}
	y := newAxis(least, max(f.Peak.Most, f.Reached)*1.5, height-bottom, top, true, f.Unit)
	d.vertical(y)
	d.horizontal(x, height-bottom)
	for i, m := range f.Memory {
		if !(m.Most > 0) {
			continue
		}
		ridge := min(f.Peak.Most/m.Most, x.high)
		from := max(x.low, y.low/m.Most)
		d.path(fmt.Sprintf("best c%d", (i+1)%8), fmt.Sprintf("M%s %sL%s %s", number(x.at(from)), number(y.at(from*m.Most)), number(x.at(ridge)), number(y.at(ridge*m.Most))),
			fmt.Sprintf("%s: %.3g GB/s", m.Name, m.Most))
		d.label("tick", "end", x.at(ridge)-4, y.at(ridge*m.Most)-6-12*float64(i%3), m.Name)
	}
	d.line("baseline", left, y.at(f.Peak.Most), width-right, y.at(f.Peak.Most))
	d.label("tick", "end", width-right, y.at(f.Peak.Most)-4, fmt.Sprintf("%s: %.3g %s", f.Peak.Name, f.Peak.Most, f.Unit))
	d.dot("step", x.at(f.Intensity), y.at(f.Reached), 5, fmt.Sprintf("this kernel: %.3g %s, %.0f %% of the arithmetic", f.Reached, f.Unit, 100*f.Reached/f.Peak.Most))
	return Plot{"Roofline", d.html(), []Numbers{f.numbers()}, nil}
}

// numbers is the table of the chart.
func (f *Roofline) numbers() Numbers {
	n := Numbers{Title: "The kernel and its roofs", Head: []string{"what", "rate", "of this the kernel reaches"}}
	row := func(name, unit string, most, reached float64) {
		n.add(words(name), Valued(fmt.Sprintf("%.3g %s", most, unit), most), shared(reached/most))
	}
	n.add(words(fmt.Sprintf("this kernel, at %.3g operations a byte", f.Intensity)), Valued(fmt.Sprintf("%.3g %s", f.Reached, f.Unit), f.Reached), words(""))
	row("arithmetic, "+f.Peak.Name, f.Unit, f.Peak.Most, f.Reached)
	for _, m := range f.Memory {
		if m.Most > 0 {
			row("reads in "+m.Name, "GB/s", m.Most, f.Reached/f.Intensity)
		}
	}
	return n
}
