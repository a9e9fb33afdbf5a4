package gemm

import (
	"fmt"
	"slices"
)

// small writes the products of some rows and of columns in several vectors. As many rows as registers hold the sums of are computed at once, and B
// is read where it is.
func (t *thinWriter) small() {
	for _, vectors := range t.widths() {
		rowsOf, heights := fmt.Sprintf("span_%%d_%d", vectors), t.smallHeights(vectors)
		if t.masked() {
			rowsOf = fmt.Sprintf("strip_%%d_%d_wide", vectors)
		}
		for _, rows := range heights {
			switch { // some functions for fewer rows are there already
			case t.masked() && rows > thinRows:
				t.strip(rows, vectors, t.wide)
			case !t.masked() && !slices.Contains(t.spans(rows), vectors):
				t.span(rows, vectors-1, vectors)
			}
		}
		t.Blank()
		t.Open("static THIN void small_%d(i64 m, i64 n, %s)", vectors, thinArguments)
		if most := heights[0]; leavesOne(most) {
			t.Open("if (m %% %d == 1)", most) // one row alone would take as long as two
			t.Line(rowsOf+"(n, %s);", most-1, thinCall)
			t.Line("m -= %d, a += %[1]d * lda, c += %[1]d * ldc;", most-1)
			t.Close()
		}
		t.goDown(heights, rowsOf, thinCall)
		t.Close()
	}
	if widths := t.widths(); widths[len(widths)-1]*t.wide.lanes < smallWidth {
		t.smallHalves(widths)
	}
}

// leavesOne reports whether strips of so many rows may leave one row of a small product, which others could take.
func leavesOne(most int) bool { return most > 2 && most < smallRows }

// widths are how many vectors hold the columns of a small product. Without fast stores under a mask the last two of them overlap.
func (t *thinWriter) widths() []int {
	if t.masked() {
		return []int{2, 3, 4}
	}
	return []int{3, 4, 5, 6}
}

// smallHeights are the numbers of rows that are computed at once, the most first, with columns in some vectors.
func (t *thinWriter) smallHeights(vectors int) (out []int) {
	most := smallRows
	for most*vectors+min(most, vectors)+1 > t.registers() {
		most--
	}
	for m := thinRows + 1; m <= smallRows; m++ {
		left := m
		if m%most == 1 && leavesOne(most) {
			out, left = append(out, most-1), m-(most-1)
		}
		out = append(out, min(left, most), left%most)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	return slices.DeleteFunc(out, func(rows int) bool { return rows == 0 })
}

// smallHalves writes the function for columns that are too many for one strip: those of the first half of the widest small product, and the rest.
func (t *thinWriter) smallHalves(widths []int) {
	half, lanes := smallWidth/2, t.wide.lanes
	t.Blank()
	t.Open("static THIN void small_%d(i64 m, i64 n, %s)", smallWidth/lanes, thinArguments)
	t.Line("small_%d(m, %d, %s);", half/lanes, half, thinCall)
	t.Line("n -= %d, b += %[1]d, c += %[1]d;", half)
	for _, vectors := range widths {
		if vectors*lanes < half {
			t.Line("if (n <= %d) return small_%d(m, n, %s);", vectors*lanes, vectors, thinCall)
		}
	}
	t.Line("small_%d(m, n, %s);", half/lanes, thinCall)
	t.Close()
}

// chooseSmall writes the part of choose for small products.
func (t *thinWriter) chooseSmall() {
	widths, lanes := t.widths(), t.wide.lanes
	if last := widths[len(widths)-1]; last*lanes < smallWidth {
		widths = append(widths, smallWidth/lanes)
	}
	for i, vectors := range widths {
		condition, n := fmt.Sprintf("if (n <= %d) ", vectors*lanes), "n"
		if i == len(widths)-1 {
			condition = ""
		}
		if t.masked() {
			n = fmt.Sprintf("n - %d", (vectors-1)*lanes) // in the last vector
		}
		t.Line("%sreturn small_%d(m, %s, %s), 1;", condition, vectors, n, thinCall)
	}
}
