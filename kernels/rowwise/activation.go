package rowwise

import "fmt"

// activation writes the operations whose elements do not depend on each other: rows are done as one long row, or several of them
// side by side.
func (g *generator) activation() {
	g.piece("larger")
	if g.interleave {
		g.piece("hold")
	}
	switch {
	case g.form == formTable:
		g.piece("table")
	case g.form == formPolynomial:
		g.piece("smaller", "erf polynomial")
	case g.op.name == "gelu-erf":
		g.piece("smaller", "exponential", "reciprocal", "erf exponential")
	default:
		if !g.Reduce {
			g.piece("smaller")
		}
		g.piece("exponential", "sigmoid")
	}
	if g.Q8 {
		g.piece("wider", "quantise")
	}
	if g.Together > 1 {
		g.rowsFunc("rows", g.Together)
		g.activate(g.Together)
		g.EndFunc()
	}
	g.longRow()
}

// longRow writes span: what is left of rows side by side, or all rows.
func (g *generator) longRow() {
	g.Func("static void span(const struct call *c, int64_t from, int64_t to)")
	row := "from"
	if g.Together > 1 {
		row = "row"
		g.Line("int64_t row = from;")
		past := ""
		if g.Past {
			past = ", aligned"
			g.Line("const int aligned = c->cols %% LANES == 0 && (uintptr_t)c->y %% sizeof(vec) == 0;")
		}
		g.Nested(fmt.Sprintf("for (; row + %d <= to; row += %d)", g.Together, g.Together), fmt.Sprintf("rows%d(c, row%s);", g.Together, past))
	}
	g.Line("const int64_t n = (to - %s) * c->cols;", row)
	for _, name := range g.RowInputs() {
		g.Line("const float *restrict %s0 = c->%s + %s * c->cols;", name, name, row)
	}
	for _, name := range g.RowOutputs() {
		g.Line("float *restrict %s0 = c->%s + %s * c->cols;", name, name, row)
	}
	if g.Past {
		g.Line("const int past = (uintptr_t)y0 %% sizeof(vec) == 0;")
	}
	g.Line("int64_t i;")
	if g.Q8 {
		g.blocksOf("n", g.here(1), func(at string) {
			g.quantise("from * c->cols", at, func(part string) string {
				return fmt.Sprintf("activated(load(g0 + %s)) * load(u0 + %s)", part, part)
			})
		})
	} else {
		g.activate(1)
	}
	g.fence()
	g.EndFunc()
}

// eachInput returns the names of the inputs for so many rows.
func (g *generator) eachInput(count int) []string {
	var out []string
	for _, name := range g.RowInputs() {
		out = append(out, each(name, count)...)
	}
	return out
}

// activate writes the loop.
func (g *generator) activate(count int) {
	g.sweep("0", "n", g.here(count), func(step []place) {
		if woven := count * len(step); g.woven(woven) {
			g.Block(func() { g.activateWoven(count, step) })
			return
		}
		for r := range count {
			for _, v := range step {
				value := fmt.Sprintf("activated(%s)", g.load(fmt.Sprintf("%s%d", g.Inputs[0], r), v, "0.f"))
				g.store(fmt.Sprintf("y%d", r), v, g.times(value, r, v), true)
			}
		}
	})
}

// times returns the activated value, multiplied where there is a second input.
func (g *generator) times(value string, row int, v place) string {
	if len(g.Inputs) > 1 {
		value += " * " + g.load(fmt.Sprintf("%s%d", g.Inputs[1], row), v, "0.f")
	}
	return value
}

// activateWoven writes a step whose vectors are computed side by side.
func (g *generator) activateWoven(count int, step []place) {
	for r := range count {
		for u, v := range step {
			g.Line("vec v_%d = %s;", r*len(step)+u, g.load(fmt.Sprintf("%s%d", g.Inputs[0], r), v, "0.f"))
		}
	}
	g.weaveActivations(count * len(step))
	for r := range count {
		for u, v := range step {
			g.store(fmt.Sprintf("y%d", r), v, g.times(fmt.Sprintf("y_%d", r*len(step)+u), r, v), true)
		}
	}
}
