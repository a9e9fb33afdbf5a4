package gemm

import "fmt"

// registerTile writes the function of one register tile.
type registerTile struct {
	*tiledWriter
	rows int
	strip
	xk    int    // the stride of X along K, in elements
	xi    string // the stride of X from row to row
	yk    string // the stride of Y along K
	width int    // columns of the tile, including those that are not stored
}

// tile writes the function of one tile.
func (t *tiledWriter) tile(rows int, s strip) {
	r := &registerTile{tiledWriter: t, rows: rows, strip: s, xk: 1, xi: t.ld("ldx"), yk: t.ld("ldy"), width: s.size * t.lanes()}
	if t.c.PackX {
		r.xk, r.xi = rows, "1"
	}
	if t.c.PackY {
		r.yk = fmt.Sprint(r.width)
	}
	r.head()
	r.each(func(i, v int) { t.Line("vec c%d_%d = {0};", i, v) })
	if t.c.PrefetchC {
		r.prefetchC()
	}
	r.step()
	r.sum()
	if t.c.Swap {
		r.storeSwapped()
	} else {
		r.store()
	}
	t.Close()
}

// head writes the first line of the function.
func (r *registerTile) head() {
	more := ""
	if r.part {
		more = ", i64 width"
	}
	if r.over {
		more = ", i64 last"
	}
	if r.c.NextY {
		more += ", const float *next, i64 far, const float *end"
	}
	r.Blank()
	r.Comment("Adds to C, or stores there, a tile of %d by %d vectors, k deep.", r.rows, r.size)
	r.Open("static NOINLINE void %s(i64 k, const float *x, i64 ldx, const float *y, i64 ldy, float *c, i64 ldc, int add%s)", r.tileName(r.rows, r.strip), more)
}

// each calls f for each accumulator.
func (r *registerTile) each(f func(i, v int)) {
	for i := range r.rows {
		for v := range r.size {
			f(i, v)
		}
	}
}

// masked reports whether vector v of a row is only partly filled.
func (r *registerTile) masked(v int) bool { return r.part && v == r.size-1 }

// offset returns where vector v of a row begins, in C.
func (r *registerTile) offset(v int) string {
	if r.over && v == r.size-1 {
		return "last"
	}
	return fmt.Sprint(v * r.lanes())
}

// prefetchC writes the prefetches of the tile of C.
func (r *registerTile) prefetchC() {
	ldc := r.ld("ldc")
	if r.c.Swap {
		r.Line("for (i64 j = 0; j < %d; j++) __builtin_prefetch(c + j * %s, 1);", r.width, ldc)
		return
	}
	for i := range r.rows {
		for at := 0; at < r.width; at += 16 {
			r.Line("__builtin_prefetch(c + %d * %s + %d, 1);", i, ldc, at)
		}
	}
}

// step writes the macro of one step of K.
func (r *registerTile) step() {
	r.Macro("STEP(u)")
	for v := range r.size {
		at := fmt.Sprintf("y + (u) * %s + %s", r.yk, r.offset(v))
		if r.c.PackY { // each vector has a place of its own there
			at = fmt.Sprintf("y + (u) * %s + %d", r.yk, v*r.lanes())
		}
		if r.masked(v) && !r.c.PackY {
			r.MacroLine("vec y%d = load_part(%s, width);", v, at)
		} else {
			r.MacroLine("vec y%d = LOAD(%s);", v, at)
		}
	}
	for i := range r.rows {
		r.MacroLine("float x%d = x[(u) * %d + %d * %s];", i, r.xk, i, r.xi)
		for v := range r.size {
			r.MacroLine("c%d_%d += x%d * y%d;", i, v, i, v)
		}
	}
	r.Close()
}

// sum writes the loop over K.
func (r *registerTile) sum() {
	ku := r.c.KU
	r.Open("for (; k >= %d; k -= %d)", ku, ku)
	if r.c.PrefetchX > 0 {
		r.prefetchX()
	}
	if r.c.PrefetchY > 0 {
		r.prefetchY()
	}
	if r.c.NextY {
		for at := 0; at < r.nr(); at += 16 {
			r.Line("__builtin_prefetch(next + %d, 0, 2);", at)
		}
		r.Line("next = next + far < end ? next + far : end;")
	}
	for u := range ku {
		r.Line("STEP(%d)", u)
	}
	r.Line("x += %d;", ku*r.xk)
	r.Line("y += %d * %s;", ku, r.yk)
	r.Close()
	if ku > 1 {
		r.Open("for (; k > 0; k--)")
		r.Line("STEP(0)")
		r.Line("x += %d;", r.xk)
		r.Line("y += %s;", r.yk)
		r.Close()
	}
	r.Line("#undef STEP")
}

// prefetchX writes the prefetches of X, some steps of K ahead.
func (r *registerTile) prefetchX() {
	if r.c.PackX {
		for at := 0; at < r.c.KU*r.rows; at += 16 {
			r.Line("__builtin_prefetch(x + %d);", r.c.PrefetchX*r.rows+at)
		}
		return
	}
	for i := range r.rows {
		r.Line("__builtin_prefetch(x + %d * %s + %d);", i, r.xi, r.c.PrefetchX)
	}
}

// prefetchY writes the prefetches of Y, some steps of K ahead.
func (r *registerTile) prefetchY() {
	if r.c.PackY {
		for at := 0; at < r.c.KU*r.width; at += 16 {
			r.Line("__builtin_prefetch(y + %d);", r.c.PrefetchY*r.width+at)
		}
		return
	}
	for u := range r.c.KU {
		for at := 0; at < r.width; at += 16 {
			r.Line("__builtin_prefetch(y + %d * %s + %d);", r.c.PrefetchY+u, r.yk, at)
		}
	}
}

// store writes the code that stores the tile in C, or adds it to C.
func (r *registerTile) store() {
	at := func(i, v int) string { return fmt.Sprintf("c + %d * %s + %s", i, r.ld("ldc"), r.offset(v)) }
	r.Open("if (add)")
	r.each(func(i, v int) {
		if r.masked(v) {
			r.Line("c%d_%d += load_part(%s, width);", i, v, at(i, v))
		} else {
			r.Line("c%d_%d += LOAD(%s);", i, v, at(i, v))
		}
	})
	r.Close()
	r.each(func(i, v int) {
		if r.masked(v) {
			r.Line("store_part(%s, c%d_%d, width);", at(i, v), i, v)
		} else {
			r.Line("STORE(%s, c%d_%d);", at(i, v), i, v)
		}
	})
}

// storeSwapped does what store does for a tile of Cᵀ. It goes through a buffer, because a column of the tile is a row of C.
func (r *registerTile) storeSwapped() {
	nr, ldc := r.width, r.ld("ldc")
	r.Line("float b[%d] __attribute__((aligned(64)));", r.rows*nr)
	r.each(func(i, v int) { r.Line("STORE(b + %d, c%d_%d);", i*nr+v*r.lanes(), i, v) })
	n := fmt.Sprint(nr)
	if r.part {
		n = fmt.Sprintf("%d + width", nr-r.lanes())
	}
	columns := fmt.Sprintf("for (i64 j = 0; j < %s; j++)", n)
	element := fmt.Sprintf("for (i64 i = 0; i < %d; i++) c[j * %s + i] %%s b[i * %d + j];", r.rows, ldc, nr)
	r.Nested("if (add)", columns, fmt.Sprintf(element, "+="))
	r.Nested("else", columns, fmt.Sprintf(element, "="))
}
