package report

import "math"

const (
	// mostMarks is how many marks the two drawings of outcomes have together, over all runs of a page: it bounds the size of the page.
	mostMarks = 5000
	// mostSteps is how many of the outcomes that were the best so far have a mark of their own in each of these drawings, and mostStairs
	// how many points the line through them has.
	mostSteps, mostStairs = 100, 2000
	// mostNumbers is how many rows a table of a chart has where a page has one run. Of several runs each has fewer than its part: the other
	// tables of a run are as long as ever.
	mostNumbers = 200
	// mostCharts is how many parameters have a chart of their values.
	mostCharts = 24
	// mostPairs is how many pairs have a heat map.
	mostPairs = 3
	// mostColumns is into how many ranges of cycles the drawing of the engines is divided, and mostRanges its table.
	mostColumns, mostRanges = 250, 20
	// mostDots is how many pairs of measurements the strips have together.
	mostDots = 1000
	// mostStrips is how many comparisons a strip has.
	mostStrips = 24
	// mostFrontDots is how many outcomes a drawing of a front has beside it, and mostFrontPoints how many points of the front.
	mostFrontDots, mostFrontPoints = 1500, 300
	// mostSource is how many bytes of a program are shown where a page has one run, and mostSources how many where it has several.
	mostSource, mostSources = 200_000, 80_000
	// mostWhole is how many runs a page has at most if it shows all parts of each.
	mostWhole = 8
)

// portion is the part of a page that each of its runs has, because the size of a page is limited.
type portion struct{ runs int }

// of is the part of a number, and at least the given one.
func (p portion) of(most, least int) int { return max(most/p.runs, least) }

// brief reports a page of so many runs that the small parts of each would show nothing: most of them are left out.
func (p portion) brief() bool { return p.runs > mostWhole }

// rows is how many rows a table of a chart has.
func (p portion) rows() int {
	if p.brief() {
		return 3
	}
	return max(mostNumbers/(p.runs*p.runs), 8)
}

// source is how many bytes of its program a run shows.
func (p portion) source() int {
	if p.runs == 1 {
		return mostSource
	}
	return p.of(mostSources, 0)
}

// marks is how many marks a drawing of outcomes has.
func (p portion) marks() int { return p.of(mostMarks/2, 40) }

// pairs is how many heat maps there are, and cells how many values, or bins of values, a side of them has at most.
func (p portion) pairs() int { return p.of(mostPairs, 1) }

func (p portion) cells() int {
	return min(mostCells, int(math.Sqrt(float64(mostPairs*mostCells*mostCells)/float64(p.runs*p.pairs()))))
}
