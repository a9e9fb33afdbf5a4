package attention

import (
	"fmt"
	"strings"

	"tune/kernels/native/cgen"
)

// steps writes a loop with so many steps in a turn, and one for those that are left over. i is the variable; total is what it counts
// to, in C, by the given amount a step; known is the number of steps, 0 where it varies. step writes one step at an offset from i.
func (g *generator) steps(i, total string, by, known int, step func(offset int)) {
	u := g.Unroll
	if known > 0 {
		u = min(u, known)
	}
	g.Line("int64_t %s = 0;", i)
	g.Open("for (; %s + %d <= %s; %s += %d)", i, u*by, total, i, u*by)
	for n := range u {
		if u == 1 {
			step(0)
			break
		}
		g.Block(func() { step(n * by) })
	}
	g.Close()
	if u == 1 || known > 0 && known%u == 0 {
		return
	}
	g.Open("for (; %s < %s; %s += %d)", i, total, i, by)
	step(0)
	g.Close()
}

// tile calls f for each accumulator of a micro-tile.
func (g *generator) tile(cols int, f func(row, col int)) {
	for r := range g.Rows {
		for c := range cols {
			f(r, c)
		}
	}
}

// times writes a variable with an offset, times a factor.
func times(i string, offset int, factor string) string {
	if offset == 0 {
		return i + " * " + factor
	}
	return fmt.Sprintf("(%s + %d) * %s", i, offset, factor)
}

// plus writes an offset behind a C expression.
func plus(expr string, offset int) string {
	if offset == 0 {
		return expr
	}
	return fmt.Sprintf("%s + %d", expr, offset)
}

// panelScores writes the micro-tile of scores from a panel of keys: rows × vectors of keys.
func (g *generator) panelScores() {
	g.Comment("The scores of %d rows for a panel of keys; to has rows that are ld apart.", g.Rows)
	g.Func("static NOINLINE void score_panel(const float *q, const float *k, float *to, int64_t ld)")
	g.tile(g.Vectors, func(r, c int) { g.Line("vec a%d_%d = { 0 };", r, c) })
	g.steps("d", "HEAD", 1, g.Head, func(at int) {
		for c := range g.Vectors {
			g.Line("const vec k%d = LOAD(k + %s);", c, plus(times("d", at, "PANEL"), c*g.Lanes))
		}
		for r := range g.Rows {
			g.Line("const float q%d = q[%s];", r, plus("d", at+r*g.Head))
			for c := range g.Vectors {
				g.Line("a%d_%d += q%d * k%d;", r, c, r, c)
			}
		}
	})
	g.tile(g.Vectors, func(r, c int) { g.Line("STORE(to + %s, a%d_%d);", plus(fmt.Sprintf("%d * ld", r), c*g.Lanes), r, c) })
	g.EndFunc()
}

// dotScores writes the micro-tile of scores as dot products: rows × keys.
func (g *generator) dotScores() {
	g.Comment("The scores of %d rows for %d keys; to has rows that are ld apart.", g.Rows, g.Dots)
	g.Func("static NOINLINE void score_dots(const float *q, const kv *k, float *to, int64_t ld)")
	if g.Prefetch > 0 {
		g.Nested("for (int64_t i = 0; i < (int64_t)(DOTS * HEAD * sizeof(kv)); i += 64)",
			fmt.Sprintf("__builtin_prefetch((const char *)(k + %d * HEAD) + i);", g.Prefetch))
	}
	var all []string
	g.tile(g.Dots, func(r, c int) {
		all = append(all, fmt.Sprintf("a%d_%d", r, c))
		g.Line("vec a%d_%d = { 0 };", r, c)
	})
	g.steps("d", "HEAD", g.Lanes, g.Head/g.Lanes, func(at int) {
		key := func(c int) { g.Line("const vec k%d = widen(k + %s);", c, plus("d", at+c*g.Head)) }
		query := func(r int) { g.Line("const vec q%d = LOAD(q + %s);", r, plus("d", at+r*g.Head)) }
		// The side with fewer vectors stays in registers.
		if g.Rows < g.Dots {
			for r := range g.Rows {
				query(r)
			}
			for c := range g.Dots {
				key(c)
				for r := range g.Rows {
					g.Line("a%d_%d += q%d * k%d;", r, c, r, c)
				}
			}
			return
		}
		for c := range g.Dots {
			key(c)
		}
		for r := range g.Rows {
			query(r)
			for c := range g.Dots {
				g.Line("a%d_%d += q%d * k%d;", r, c, r, c)
			}
		}
	})
	groups := cgen.Ceil(len(all), g.Lanes)
	g.Line("float sums[%d] __attribute__((aligned(64)));", groups*g.Lanes)
	if len(all)%g.Lanes != 0 {
		g.Line("const vec none = { 0 };")
	}
	for n := range groups {
		var list []string
		for i := n * g.Lanes; i < (n+1)*g.Lanes; i++ {
			if i < len(all) {
				list = append(list, all[i])
			} else {
				list = append(list, "none")
			}
		}
		g.Line("STORE(sums + %d, %s);", n*g.Lanes, g.totals(fmt.Sprintf("s%d", n), list))
	}
	g.Nested(fmt.Sprintf("for (int64_t r = 0; r < %d; r++)", g.Rows),
		"memcpy(to + r * ld, sums + r * DOTS, DOTS * sizeof(float));")
	g.EndFunc()
}

// totals writes the sums of the lanes of as many vectors as a vector has lanes, and returns the vector of the sums. In each round two
// vectors become one: it has the sums of halves of either.
func (g *generator) totals(name string, vectors []string) string {
	for unit := 1; unit < g.Lanes; unit *= 2 {
		var next []string
		for i := 0; i < len(vectors); i += 2 {
			a, b := vectors[i], vectors[i+1]
			if a == "none" && b == "none" {
				next = append(next, a)
				continue
			}
			v := fmt.Sprintf("%s_%d_%d", name, unit, i/2)
			g.Line("const vec %s = %s + %s;", v, mix(a, b, g.Lanes, unit, 0), mix(a, b, g.Lanes, unit, 1))
			next = append(next, v)
		}
		vectors = next
	}
	return vectors[0]
}

// mix writes half of two vectors, whose units alternate.
func mix(a, b string, lanes, unit, half int) string {
	var at []string
	for _, l := range cgen.Interleave(lanes, unit, half) {
		at = append(at, fmt.Sprint(l))
	}
	return fmt.Sprintf("MIX(%s, %s, %s)", a, b, strings.Join(at, ", "))
}

// packKeys writes the transposition of as many keys as a vector has lanes, and that of a tile of keys.
func (g *generator) packKeys() {
	g.Comment("Writes %d numbers of each of %d keys as columns of a panel.", g.Lanes, g.Lanes)
	g.Func("static inline void transpose(const kv *k, float *to)")
	g.transposed(
		func(row int) string { return fmt.Sprintf("widen(k + %d * HEAD)", row) },
		func(column int) string { return fmt.Sprintf("to + %d * PANEL", column) })
	g.EndFunc()
	g.piece("pack keys")
}

// transposed writes the transposition of as many rows as a vector has lanes. load writes a row in C, and to says where a column goes.
func (g *generator) transposed(load, to func(int) string) {
	type vector struct {
		name    string
		columns []int // lane l holds an element of this column
	}
	var groups [][]vector // each has the vectors of the same rows
	for r := range g.Lanes {
		v := vector{name: fmt.Sprintf("r%d", r)}
		for l := range g.Lanes {
			v.columns = append(v.columns, l)
		}
		groups = append(groups, []vector{v})
		g.Line("const vec %s = %s;", v.name, load(r))
	}
	for unit := 1; unit < g.Lanes; unit *= 2 {
		var next [][]vector
		for n := 0; n < len(groups); n += 2 {
			var merged []vector
			for i, a := range groups[n] {
				b := groups[n+1][i]
				both := append(append([]int(nil), a.columns...), b.columns...)
				for half := range 2 {
					v := vector{name: fmt.Sprintf("s%d_%d_%d", unit, n/2, len(merged))}
					for _, l := range cgen.Interleave(g.Lanes, unit, half) {
						v.columns = append(v.columns, both[l])
					}
					g.Line("const vec %s = %s;", v.name, mix(a.name, b.name, g.Lanes, unit, half))
					merged = append(merged, v)
				}
			}
			next = append(next, merged)
		}
		groups = next
	}
	for _, v := range groups[0] {
		g.Line("STORE(%s, %s);", to(v.columns[0]), v.name)
	}
}

// strips are the widths, in vectors, of the micro-tiles that a value is divided into.
func (g *generator) strips() []int {
	var out []int
	for left := g.Head / g.Lanes; left > 0; left -= g.Columns {
		out = append(out, min(left, g.Columns))
	}
	return out
}

// sums writes the micro-tiles of weighted values, rows × vectors of a value, and what calls them for a tile of keys.
func (g *generator) sums() {
	widths := g.strips()
	g.sum(widths[0])
	if last := widths[len(widths)-1]; last != widths[0] {
		g.sum(last)
	}
	g.Comment("Adds the n values of the tile at key j, times the weights of each row, to the sums of the rows.")
	g.Func("static void add_values(struct scratch *s, int64_t rows, int64_t j, int64_t n, const %s *v, const float *w, int64_t ld)", g.ValueType())
	column := 0
	for _, width := range widths {
		from := plus("v", column)
		if g.ValuePanel {
			from = plus("v", column*g.TileKeys)
		}
		g.Open("for (int64_t r = 0; r < rows; r += ROWS)")
		g.Line("add_%d(w + r * ld, ld, least(n, s->seen[r + ROWS - 1] - j), %s, s->sums + %s);", width, from, plus("r * HEAD", column))
		g.Close()
		column += width * g.Lanes
	}
	g.EndFunc()
}

// sum writes one micro-tile of weighted values.
func (g *generator) sum(width int) {
	g.Comment("Adds n values, times the weights w of %d rows, to %d vectors of the sums.", g.Rows, width)
	g.Func("static NOINLINE void add_%d(const float *w, int64_t ld, int64_t n, const %s *v, float *to)", width, g.ValueType())
	stride, load := "HEAD", "widen"
	if g.ValuePanel {
		stride, load = fmt.Sprint(width*g.Lanes), "LOAD"
	}
	g.tile(width, func(r, c int) {
		g.Line("vec a%d_%d = LOAD(to + %s);", r, c, plus(fmt.Sprintf("%d * HEAD", r), c*g.Lanes))
	})
	g.steps("j", "n", 1, 0, func(at int) {
		if !g.ValuePanel && g.Prefetch > 0 {
			for b := 0; b < width*g.Lanes; b += 64 / g.elementBytes() {
				g.Line("__builtin_prefetch(v + %s);", plus(times("j", at+g.Prefetch, "HEAD"), b))
			}
		}
		for c := range width {
			g.Line("const vec v%d = %s(v + %s);", c, load, plus(times("j", at, stride), c*g.Lanes))
		}
		for r := range g.Rows {
			g.Line("const float w%d = w[%d * ld + %s];", r, r, plus("j", at))
			for c := range width {
				g.Line("a%d_%d += w%d * v%d;", r, c, r, c)
			}
		}
	})
	g.tile(width, func(r, c int) {
		g.Line("STORE(to + %s, a%d_%d);", plus(fmt.Sprintf("%d * HEAD", r), c*g.Lanes), r, c)
	})
	g.EndFunc()
}

// elementBytes is the size of an element of keys and values.
func (k knobs) elementBytes() int {
	if k.Half() {
		return 2
	}
	return 4
}
