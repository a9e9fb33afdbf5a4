package gemm

import (
	"fmt"
	"slices"
	"strings"
)

// dotTile writes the function of one tile of dot products.
type dotTile struct {
	*skinnyWriter
	rows, cols int
	lanes      int
	xStep      int // the distance in X from one vector to the next along K, in elements
}

// dotTile writes the function of one tile.
func (s *skinnyWriter) dotTile(rows, cols int) {
	t := &dotTile{skinnyWriter: s, rows: rows, cols: cols, lanes: s.c.Lanes(), xStep: s.c.Lanes()}
	if s.c.PackX {
		t.xStep *= rows
	}
	s.Blank()
	s.Comment("Adds to C, or stores there, the dot products of %d rows of X and %d of Y.", rows, cols)
	s.Open("static NOINLINE void dot_%dx%d(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add)", rows, cols)
	t.each(func(i, j int) {
		for d := range s.c.Depth {
			s.Line("vec c%d_%d_%d = {0};", i, j, d)
		}
	})
	t.step("STEP", "LOAD(%s)", "LOAD(%s)")
	t.sum()
	s.Line("#undef STEP")
	if s.c.Tail == TailMasked {
		x := "load_part(%s, k)"
		if s.c.PackX {
			x = "LOAD(%s)" // packed vectors are filled up with zeros
		}
		t.step("LAST", x, "load_part(%s, k)")
		s.Line("if (k > 0) LAST(0, 0)")
		s.Line("#undef LAST")
	}
	t.stores()
	s.Close()
}

// each calls f for each dot product.
func (t *dotTile) each(f func(i, j int)) {
	for i := range t.rows {
		for j := range t.cols {
			f(i, j)
		}
	}
}

// step writes a macro that adds the products of one vector of each row. loadX and loadY are the formats of the loads. The vectors
// of the operand with fewer rows stay in registers; those of the other are loaded where they are used.
func (t *dotTile) step(name, loadX, loadY string) {
	x := func(i int) {
		at := fmt.Sprintf("x + %d * ldx + (u) * %d", i, t.lanes)
		if t.c.PackX {
			at = fmt.Sprintf("x + (u) * %d + %d", t.xStep, i*t.lanes)
		}
		t.MacroLine("vec x%d = %s;", i, fmt.Sprintf(loadX, at))
	}
	y := func(j int) {
		t.MacroLine("vec y%d = %s;", j, fmt.Sprintf(loadY, fmt.Sprintf("y + %d * ldy + (u) * %d", j, t.lanes)))
	}
	add := func(i, j int) { t.MacroLine("c%d_%d_##d += x%d * y%d;", i, j, i, j) }
	t.Macro("%s(u, d)", name)
	if t.rows < t.cols {
		for i := range t.rows {
			x(i)
		}
		for j := range t.cols {
			y(j)
			for i := range t.rows {
				add(i, j)
			}
		}
	} else {
		for j := range t.cols {
			y(j)
		}
		for i := range t.rows {
			x(i)
			for j := range t.cols {
				add(i, j)
			}
		}
	}
	t.Close()
}

// sum writes the loop over K.
func (t *dotTile) sum() {
	vectors := t.c.KU * t.c.Depth
	t.Open("for (; k >= %d; k -= %d)", vectors*t.lanes, vectors*t.lanes)
	if t.c.PrefetchX > 0 && t.c.PackX {
		for at := 0; at < vectors*t.xStep; at += 16 {
			t.Line("__builtin_prefetch(x + %d);", t.c.PrefetchX*t.rows+at)
		}
	}
	if t.c.PrefetchY > 0 {
		for j := range t.cols {
			for at := 0; at < vectors*t.lanes; at += 16 {
				t.Line("__builtin_prefetch(y + %d * ldy + %d);", j, t.c.PrefetchY+at)
			}
		}
	}
	for u := range vectors {
		t.Line("STEP(%d, %d)", u, u%t.c.Depth)
	}
	t.Line("x += %d;", vectors*t.xStep)
	t.Line("y += %d;", vectors*t.lanes)
	t.Close()
	if vectors > 1 {
		t.Open("for (; k >= %d; k -= %d)", t.lanes, t.lanes)
		t.Line("STEP(0, 0)")
		t.Line("x += %d;", t.xStep)
		t.Line("y += %d;", t.lanes)
		t.Close()
	}
}

// stores writes the code that stores the dot products in C, or adds them to C. The lanes of four at a time are added up together.
func (t *dotTile) stores() {
	var all [][2]int
	t.each(func(i, j int) { all = append(all, [2]int{i, j}) })
	for n, four := range slices.Collect(slices.Chunk(all, 4)) {
		var parts []string
		for at := range 4 {
			var sums []string
			for d := range t.c.Depth {
				e := four[min(at, len(four)-1)]
				sums = append(sums, fmt.Sprintf("c%d_%d_%d", e[0], e[1], d))
			}
			parts = append(parts, strings.Join(sums, " + "))
		}
		if len(four) == 1 {
			t.store(four[0][0], four[0][1], fmt.Sprintf("sum(%s)", parts[0]))
			continue
		}
		t.Line("const quad q%d = sums(%s);", n, strings.Join(parts, ", "))
		for at, e := range four {
			t.store(e[0], e[1], fmt.Sprintf("q%d[%d]", n, at))
		}
	}
}

// store writes the code that stores one dot product, whose lanes have been added up, in C, or adds it to C.
func (t *dotTile) store(i, j int, of string) {
	sum, at := fmt.Sprintf("s%d_%d", i, j), fmt.Sprintf("c[%d * ldc + %d]", i, j)
	if t.swapped {
		at = fmt.Sprintf("c[%d * ldc + %d]", j, i)
	}
	t.Line("float %s = %s;", sum, of)
	if t.c.Tail == TailScalar {
		x := fmt.Sprintf("x[%d * ldx + p]", i)
		if t.c.PackX {
			x = fmt.Sprintf("x[%d + p]", i*t.lanes)
		}
		t.Line("for (i64 p = 0; p < k; p++) %s += %s * y[%d * ldy + p];", sum, x, j)
	}
	t.Line("%s = add ? %s + %s : %s;", at, at, sum, sum)
}
