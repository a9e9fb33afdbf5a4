package chart_test

import (
	"bytes"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tune/results/chart"
	"tune/space"
)

func panels(n int) []chart.Panel {
	rising := func(from float64) []float64 {
		out := make([]float64, 40)
		for i := range out {
			out[i] = from + (1-from)*float64(i)/40
		}
		return out
	}
	var out []chart.Panel
	for range n {
		out = append(out, chart.Panel{Title: "square on desk", Curves: []chart.Curve{
			{Name: "random", Mean: rising(0.4), Low: rising(0.2), High: rising(0.6)},
			{Name: "evolve", Mean: rising(0.5), Low: rising(0.3), High: rising(0.7)},
		}})
	}
	return out
}

func TestWrite(t *testing.T) {
	for _, n := range []int{1, 3, 4} {
		for _, format := range chart.Formats {
			var a, b bytes.Buffer
			if err := chart.Write(&a, format, panels(n)); err != nil {
				t.Fatal(err)
			}
			if err := chart.Write(&b, format, panels(n)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%d panels as %s are other bytes the second time", n, format)
			}
			switch format {
			case "svg":
				for _, want := range []string{"<svg", "random", "evolve", "square on desk", "optimum / best so far"} {
					if !strings.Contains(a.String(), want) {
						t.Errorf("the drawing of %d panels has no %q", n, want)
					}
				}
			case "png":
				if _, err := png.Decode(&a); err != nil {
					t.Error(err)
				}
			}
		}
	}
	// One evaluation is drawn as well.
	one := []chart.Panel{{Title: "one", Curves: []chart.Curve{{Name: "a", Mean: []float64{1}, Low: []float64{1}, High: []float64{1}}}}}
	if err := chart.Write(&bytes.Buffer{}, "svg", one); err != nil {
		t.Error(err)
	}
	if err := chart.Write(&bytes.Buffer{}, "svg", nil); err == nil {
		t.Error("nothing was drawn")
	}
}

func TestWriteRun(t *testing.T) {
	run := chart.Run{
		Title: "treehash", Unit: "cycles", Start: 0.01, End: 120, Baseline: 147734, Failed: []float64{0.02, 3, 3.001, 119},
		Steps: []chart.Step{{Seconds: 0.01, Cost: 5000}, {Seconds: 0.2, Cost: 1000}, {Seconds: 60, Cost: 900}},
	}
	for _, format := range chart.Formats {
		var a, b bytes.Buffer
		if err := chart.WriteRun(&a, format, run); err != nil {
			t.Fatal(err)
		}
		if err := chart.WriteRun(&b, format, run); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: the same run gives different bytes", format)
		}
		if format == "svg" {
			for _, want := range []string{"treehash", "best so far, cycles", ">100<", ">0.5<", ">100,000<", "baseline: 147,734 cycles", "failed candidates: 4"} {
				if !strings.Contains(a.String(), want) {
					t.Errorf("%s has no %q", format, want)
				}
			}
		}
	}
	// Times are drawn in the unit that suits them, and what is to be large as what it is.
	for _, c := range []struct {
		unit space.Unit
		cost float64
		want []string
	}{
		{"ns", 684747, []string{"best so far, µs", "baseline: 1.37 ms"}},
		{space.InverseOf("Melem/s"), 1. / 112, []string{"best so far, Melem/s", "baseline: 56 Melem/s"}},
	} {
		var b bytes.Buffer
		run := chart.Run{Unit: c.unit, Start: 1, End: 10, Baseline: 2 * c.cost, Steps: []chart.Step{{Seconds: 1, Cost: 1.5 * c.cost}, {Seconds: 5, Cost: c.cost}}}
		if err := chart.WriteRun(&b, "svg", run); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("costs in %s: the drawing has no %q", c.unit, want)
			}
		}
	}
	// One step, at once, and none.
	if err := chart.WriteRun(io.Discard, "svg", chart.Run{Steps: []chart.Step{{Cost: -1}}}); err != nil {
		t.Error(err)
	}
	if err := chart.WriteRun(io.Discard, "svg", chart.Run{}); err == nil {
		t.Error("a run without a cost is drawn")
	}
}

// The axis of time begins where the run does, and costs that differ little are on a linear axis with labels that people can read.
func TestWriteRunAxes(t *testing.T) {
	label := regexp.MustCompile(`>([^<>]+)</text>`)
	for _, c := range []struct {
		name       string
		run        chart.Run
		want, lack []string
	}{
		{"a late start", chart.Run{
			Unit: "cycles", Start: 40, End: 120, Baseline: 147734, Steps: []chart.Step{{Seconds: 40, Cost: 5000}, {Seconds: 60, Cost: 3000}},
		}, []string{"50", "100", "10,000", "100,000"}, []string{"0.01", "0.1", "1", "10", "20"}},
		{"a ratio below 4", chart.Run{
			Unit: "cycles", Start: 0.01, End: 120, Baseline: 2400000, Steps: []chart.Step{{Seconds: 0.01, Cost: 2000000}, {Seconds: 60, Cost: 1500000}},
		}, []string{"0.1", "100", "1,500,000", "2,000,000"}, []string{"1.5e+06", "2e+06", "1500000", "2000000"}},
	} {
		var b bytes.Buffer
		if err := chart.WriteRun(&b, "svg", c.run); err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, found := range label.FindAllStringSubmatch(b.String(), -1) {
			labels = append(labels, found[1])
		}
		for _, want := range c.want {
			if !slices.Contains(labels, want) {
				t.Errorf("%s: no label %s among %q", c.name, want, labels)
			}
		}
		for _, lack := range c.lack {
			if slices.Contains(labels, lack) {
				t.Errorf("%s: a label %s among %q", c.name, lack, labels)
			}
		}
	}
}

// Whatever the costs are, they are drawn, and in the SVG no coordinate is lost.
func TestWriteRunCosts(t *testing.T) {
	for name, costs := range map[string][]float64{
		"negative":        {5, -1, -10},
		"down to zero":    {5, 3, 0},
		"zero":            {0},
		"tiny":            {1e-300, 5e-324},
		"huge":            {math.MaxFloat64, 1.6e308},
		"huge, then zero": {math.MaxFloat64, 0},
		"huge either way": {math.MaxFloat64, -math.MaxFloat64},
	} {
		run := chart.Run{Title: name, Unit: "cycles", End: 10}
		for i, cost := range costs {
			run.Steps = append(run.Steps, chart.Step{Seconds: float64(i + 1), Cost: cost})
		}
		var b bytes.Buffer
		if err := chart.WriteRun(&b, "svg", run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, lost := range []string{"NaN", "Inf"} {
			if strings.Contains(b.String(), lost) {
				t.Errorf("%s: the drawing has %s", name, lost)
			}
		}
	}
}
