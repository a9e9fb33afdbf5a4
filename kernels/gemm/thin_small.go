package gemm

import (
	"fmt"
	"slices"
)

// small writes the products of some rows and of columns in several vectors. As many rows as registers hold the sums of are computed at once, and B
// is read where it is.
func (t *thinWriter) small() {
	for _, vectors := range t.widths() {
		rowsOf, write := fmt.Sprintf("strip_%%d_%d_wide", vectors), func(rows int) {
			if rows > thinRows { // those for fewer rows are there already
				t.strip(rows, vectors, t.wide)
			}
		}
		if !t.masked() {
			rowsOf, write = fmt.Sprintf("span_%%d_%d", vectors), func(rows int) {
				if !slices.Contains(t.spans(rows), vectors) {
					t.span(rows, vectors-1, vectors)
				}
			}
		}
		t.down(fmt.Sprintf("small_%d", vectors), rowsOf, t.smallHeights(vectors), write)
	}
}

// widths are how many vectors hold the columns of a small product. Without fast stores under a mask the last two of them overlap.
func (t *thinWriter) widths() []int {
	if t.masked() {
		return []int{2, 3, 4}
	}
	return []int{3, 4, 5, 6}
}

// smallHeights are the numbers of rows that are computed at once, the most first, with columns in some vectors.
func (t *thinWriter) smallHeights(vectors int) (out []int) {
	registers := 16
	if t.masked() {
		registers = 32
	}
	most := smallRows
	for most*vectors+min(most, vectors)+1 > registers {
		most--
	}
	for m := thinRows + 1; m <= smallRows; m++ {
		out = append(out, min(m, most), m%most)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	return slices.DeleteFunc(out, func(rows int) bool { return rows == 0 })
}

// chooseSmall writes the part of choose for small products.
func (t *thinWriter) chooseSmall() {
	widths, lanes := t.widths(), t.wide.lanes
	if most := widths[len(widths)-1] * lanes; most < smallWidth {
		half := smallWidth / 2
		t.Open("if (n > %d)", most)
		t.Line("small_%d(m, %d, %s);", half/lanes, half, thinCall)
		t.Line("n -= %d, b += %[1]d, c += %[1]d;", half)
		t.Close()
	}
	for i, vectors := range widths {
		n := "n"
		if t.masked() {
			n = fmt.Sprintf("n - %d", (vectors-1)*lanes) // in the last vector
		}
		condition := fmt.Sprintf("if (n <= %d) ", vectors*lanes)
		if i == len(widths)-1 {
			condition = ""
		}
		t.Line("%sreturn small_%d(m, %s, %s), 1;", condition, vectors, n, thinCall)
	}
}
