package report

import (
	"fmt"

	"tune/internal/plain"
)

// overlay draws the best so far of several runs with the same unit, over evaluations.
func overlay(runs []*Run) *Plot {
	var costs []float64
	most := 0
	for _, r := range runs {
		for _, row := range r.improvements(false) {
			costs = append(costs, row.Cost)
		}
		most = max(most, r.Table.Seen)
	}
	if len(costs) == 0 {
		return nil
	}
	h := height + laneHeight*1.4*float64(len(runs))
	d := newDrawing(width, h, "best so far", counting(len(runs), "run"))
	y, shown := costAxis(runs[0].Unit, costs, height-bottom, top)
	x := counted(0, float64(most), left, width-right, "evaluation")
	d.vertical(y)
	d.horizontal(x, height-bottom)
	each, longest := portion{len(runs)}.of(mostStairs, 40), 0
	for k, r := range runs {
		class := fmt.Sprintf("best c%d", k%8)
		var path stairs
		best := r.improvements(false)
		longest = max(longest, len(best))
		for _, row := range some(best, each) {
			path.to(x.at(float64(row.Number+1)), y.at(shown(row.Cost)))
		}
		if path.text.Len() > 0 {
			d.path(class, path.text.String()+"H"+number(x.at(float64(r.Table.Seen))), r.Name)
		}
		at := height + laneHeight*1.4*(float64(k)+0.5)
		d.line(class, left, at, left+24, at)
		d.label("tick", "start", left+30, at+4, plain.Clip(r.Name, 80))
	}
	p := &Plot{"Best so far", d.html(), []Numbers{overlayNumbers(runs, most)}, nil}
	if longest > each {
		p.note("A line goes through %d of the outcomes that were the best so far, of at most %d.", each, longest)
	}
	return p
}

// overlayNumbers is the table of several runs: the best of each after some numbers of evaluations. A run has no cell
// after the first number that it does not go beyond.
func overlayNumbers(runs []*Run, most int) Numbers {
	n := Numbers{Title: "The best so far, by evaluations", Head: []string{"run"}}
	var at []int
	for k := 1; k < most; k *= 10 {
		at = append(at, k)
	}
	at = append(at, most)
	for _, k := range at {
		n.Head = append(n.Head, plain.Number(float64(k)))
	}
	for _, r := range runs {
		best, row := r.improvements(false), []Cell{words(r.Name)}
		for i, k := range at {
			cell := words("")
			for _, one := range best {
				if one.Number < k && (i == 0 || r.Table.Seen > at[i-1]) {
					cell = r.cost(one.Cost)
				}
			}
			row = append(row, cell)
		}
		n.add(row...)
	}
	return n
}
