package rowwise

import (
	"fmt"
	"strings"
)

// sumSpan is how many elements are summed up in the same floats: the rounding errors of longer sums would show.
const sumSpan = 1024

// place is where a loop over a row is: a vector, or the elements at the end that fill none.
type place struct {
	at   string // offset of its first element
	rest string // how many elements are left; "" for a whole vector
	sum  int    // the number of its sum
}

// load returns the vector of an array at a place. What is beyond the row is fill.
func (g *generator) load(array string, v place, fill string) string {
	if v.rest == "" {
		return fmt.Sprintf("load(%s + %s)", array, v.at)
	}
	return fmt.Sprintf("load_some(%s + %s, %s, %s)", array, v.at, v.rest, fill)
}

// store writes a vector to an array at a place. final says that it is a result that nobody reads again.
func (g *generator) store(array string, v place, value string, final bool) {
	past := ""
	if g.Past {
		past = ", 0"
		if final {
			past = ", past"
		}
	}
	if v.rest == "" {
		g.Line("store(%s + %s, %s%s);", array, v.at, value, past)
		return
	}
	g.Line("store_some(%s + %s, %s, %s);", array, v.at, value, v.rest)
}

// fetch says what a loop prefetches.
type fetch struct {
	arrays []string
	rows   int // how many rows further on; 0 for the rows at hand, some cache lines ahead
}

// sweep writes a loop over the elements from one to another, with the variable i. body writes what is done with the vectors of a
// step, with single vectors, and with what is left.
func (g *generator) sweep(from, to string, f fetch, body func(step []place)) {
	g.Line("i = %s;", from)
	step := "LANES"
	if g.Unroll > 1 {
		step = fmt.Sprintf("%d * LANES", g.Unroll)
	}
	g.Open("for (; i + %s <= %s; i += %s)", step, to, step)
	g.prefetch(f, g.Unroll*g.Lanes)
	var places []place
	for u := range g.Unroll {
		at := "i"
		if u > 0 {
			at = fmt.Sprintf("i + %d * LANES", u)
		}
		places = append(places, place{at: at, sum: u})
	}
	body(places)
	g.Close()
	if g.Unroll > 1 {
		g.Open("for (; i + LANES <= %s; i += LANES)", to)
		body([]place{{at: "i"}})
		g.Close()
	}
	g.Open("if (i < %s)", to)
	body([]place{{at: "i", rest: to + " - i"}})
	g.Close()
}

// prefetch writes the prefetches of a step of so many elements.
func (g *generator) prefetch(f fetch, elements int) {
	for _, array := range f.arrays {
		for line := range max(1, elements/lineFloats) {
			switch {
			case f.rows == 0 && g.ahead > 0:
				g.Line("__builtin_prefetch(%s + i + %d);", array, (g.ahead+line)*lineFloats)
			case f.rows > 0 && g.next == nextL1:
				g.Line("__builtin_prefetch(%s + %d * n + i + %d);", array, f.rows, line*lineFloats)
			case f.rows > 0 && g.next == nextL2:
				g.Line("__builtin_prefetch(%s + %d * n + i + %d, 0, 2);", array, f.rows, line*lineFloats)
			}
		}
	}
}

// here prefetches the rows at hand.
func (g *generator) here(count int) fetch { return fetch{arrays: g.eachInput(count)} }

// nextRows prefetches the rows that come after these.
func (g *generator) nextRows(count int) fetch { return fetch{g.eachInput(count), count} }

// spans writes a loop over stretches of a row that are short enough for sums of floats, from `from` to `to`.
func (g *generator) spans(body func()) {
	g.Open("for (int64_t from = 0; from < n; from += %d)", sumSpan)
	g.Line("const int64_t to = n - from > %d ? from + %d : n;", sumSpan, sumSpan)
	body()
	g.Close()
}

// accumulators declares a vector for each row and each vector of a step, and returns their names by row.
func (g *generator) accumulators(name string, count int, start string) [][]string {
	out := make([][]string, count)
	for r := range out {
		var parts []string
		for u := range g.Unroll {
			one := fmt.Sprintf("%s%d_%d", name, r, u)
			out[r] = append(out[r], one)
			parts = append(parts, one+" = "+start)
		}
		g.Line("vec %s;", strings.Join(parts, ", "))
	}
	return out
}

// totals writes sums over whole rows: body adds the terms of a step to the accumulators. The totals are vectors with the given
// name and the number of the row.
func (g *generator) totals(name string, count int, f fetch, body func(sums [][]string, step []place)) {
	for r := range count {
		g.Line("vec %s%d = { 0 };", name, r)
	}
	g.spans(func() {
		sums := g.accumulators("s", count, "{ 0 }")
		g.sweep("from", "to", f, func(step []place) { body(sums, step) })
		for r := range count {
			g.Line("%s%d += %s;", name, r, pairwise(sums[r]))
		}
	})
}

// each returns the names of an array for so many rows.
func each(array string, count int) []string {
	var out []string
	for r := range count {
		out = append(out, fmt.Sprintf("%s%d", array, r))
	}
	return out
}

// pairwise returns the sum of terms, added in pairs: its rounding errors are smaller than those of a chain.
func pairwise(terms []string) string {
	return fold(terms, func(a, b string) string { return "(" + a + " + " + b + ")" })
}

// largest returns the largest of terms.
func largest(terms []string) string {
	return fold(terms, func(a, b string) string { return "larger(" + a + ", " + b + ")" })
}

// fold combines terms in pairs.
func fold(terms []string, two func(a, b string) string) string {
	for len(terms) > 1 {
		var next []string
		for i := 0; i+1 < len(terms); i += 2 {
			next = append(next, two(terms[i], terms[i+1]))
		}
		if len(terms)%2 == 1 {
			next = append(next, terms[len(terms)-1])
		}
		terms = next
	}
	return terms[0]
}
