package qgemm

import "fmt"

// rowsTile writes the product of MR rows of activations with NR rows of weights as they are. A vector has 32 quants of one row.
func (g *generator) rowsTile() {
	g.Comment("horizontal returns the sum of the lanes of s.")
	g.Horizontal("float", "vec", g.Lanes())
	g.Comment("tile multiplies the rows from t * MR on with the rows of w from p * NR on. Rows that do not exist are the last one, and are not stored.")
	g.Func("static void tile(const struct job *j, int64_t t, int64_t p)")
	if g.MR > 1 {
		g.Line("const int64_t rows = j->m - t * MR;")
	}
	if g.NR > 1 {
		g.Line("const int64_t columns = j->n - p * NR;")
	}
	for r := range g.MR {
		at := "t * MR"
		if r > 0 {
			at = fmt.Sprintf("(t * MR + (rows > %d ? %d : rows - 1))", r, r)
		}
		g.Line("const int64_t r%d = %s * j->blocks;", r, at)
		g.Line("const int8_t *a%d = j->rows + r%d * BLOCK;", r, r)
		g.Line("const float *d%d = j->d + r%d;", r, r)
		if g.Mins {
			g.Line("const float *sums%d = j->sums + r%d * SUBS;", r, r)
		} else if g.Stored > 0 {
			g.Line("const int32_t *start%d = j->start + r%d * (BLOCK / 4);", r, r)
		}
	}
	for c := range g.NR {
		at := "p * NR"
		if c > 0 {
			at = fmt.Sprintf("(p * NR + (columns > %d ? %d : columns - 1))", c, c)
		}
		g.Line("const uint8_t *w%d = j->w + %s * j->blocks * BLOCK_BYTES;", c, at)
		for r := range g.MR {
			g.Line("vec c%d_%d = { 0 };", r, c)
			if g.Mins && !g.Whole {
				g.Line("float m%d_%d = 0;", r, c)
			}
		}
	}
	g.Open("for (int64_t b = 0; b < j->blocks; b++)")
	for c := range g.NR {
		g.Block(func() {
			if g.Whole {
				g.wholeRow(c)
			} else {
				g.simpleRow(c)
			}
			if ahead := g.p.Int("ahead"); ahead > 0 {
				for at := 0; at < g.FormatBytes; at += line {
					g.Line("__builtin_prefetch(w%d + %d);", c, ahead+at)
				}
			}
			g.Line("w%d += BLOCK_BYTES;", c)
		})
	}
	for r := range g.MR {
		g.Line("a%d += BLOCK;", r)
		g.Line("d%d++;", r)
		if g.Mins {
			g.Line("sums%d += SUBS;", r)
		} else if g.Stored > 0 {
			g.Line("start%d += BLOCK / 4;", r)
		}
	}
	g.Close()
	g.storeRows()
	g.EndFunc()
}

// simpleRow writes the products of a block of 32 with one scale.
func (g *generator) simpleRow(c int) {
	g.Line("const words u = quants(w%d);", c)
	g.Line("const vec scale = every(w%d);", c)
	if g.Mins {
		g.Line("const float min = every(w%d + 2)[0];", c)
	}
	for r := range g.MR {
		g.rowProduct(r, c, "0", "scale")
		if g.Mins {
			g.Line("m%d_%d += min * sums%d[0];", r, c, r)
		}
	}
}

// rowProduct writes the products of 32 weights with a row of activations; part is their number in the block.
func (g *generator) rowProduct(r, c int, part, scale string) {
	start := "(words){ 0 }"
	if g.Stored > 0 {
		start = fmt.Sprintf("load(start%d + 8 * %s)", r, part)
	}
	g.Line("c%d_%d += __builtin_convertvector(dot(%s, u, load(a%d + 32 * %s)), vec) * (%s * d%d[0]);", r, c, start, r, part, scale, r)
}

// wholeRow writes the products of a block of 256 with scales of sub-blocks.
func (g *generator) wholeRow(c int) {
	g.Line("float scale[SUBS];")
	if g.Mins {
		g.Line("uint8_t factors_of[2][SUBS];")
		g.Line("bytes_of(factors_of[0], factors_of[1], w%d);", c)
		g.Line("*(vec_memory *)scale = factors(factors_of[0]) * every(w%d);", c)
		g.Line("const vec min = factors(factors_of[1]) * every(w%d + 2);", c)
		for r := range g.MR {
			g.Line("c%d_%d -= min * *(const vec_memory *)sums%d;", r, c, r)
		}
	} else {
		g.Line("const vec d = every(w%d + 208);", c)
		g.Line("*(vec_memory *)scale = factors(w%d + 192) * d;", c)
		g.Line("*(vec_memory *)(scale + 8) = factors(w%d + 200) * d;", c)
	}
	for part := range 8 {
		g.Block(func() {
			g.Line("const words u = %s;", g.wholeQuants(c, part))
			scale := fmt.Sprintf("scale[%d]", part)
			if g.Sub == 16 {
				first, second := fmt.Sprintf("scale[%d]", 2*part), fmt.Sprintf("scale[%d]", 2*part+1)
				g.Line("const vec both = { %s, %s, %s, %s, %s, %s, %s, %s };", first, first, first, first, second, second, second, second)
				scale = "both"
			}
			for r := range g.MR {
				g.rowProduct(r, c, fmt.Sprint(part), scale)
			}
		})
	}
}

// wholeQuants returns the expression of 32 quants of a block of 256, as the format has them.
func (g *generator) wholeQuants(c, part int) string {
	shifted := func(at, by int) string {
		load := fmt.Sprintf("load(w%d + %d)", c, at)
		switch {
		case by > 0:
			return fmt.Sprintf("%s >> %d", load, by)
		case by < 0:
			return fmt.Sprintf("%s << %d", load, -by)
		}
		return load
	}
	switch g.Bits {
	case 4:
		return fmt.Sprintf("%s & 0x0f0f0f0f", shifted(16+part/2*32, part%2*4))
	case 5:
		return fmt.Sprintf("(%s & 0x0f0f0f0f) | (%s & 0x10101010)", shifted(48+part/2*32, part%2*4), shifted(16, part-4))
	}
	return fmt.Sprintf("(%s & 0x0f0f0f0f) | (%s & 0x30303030)", shifted(part/4*64+part%2*32, part%4/2*4), shifted(128+part/4*32, part%4*2-4))
}

// storeRows writes the results.
func (g *generator) storeRows() {
	g.Line("float *c = j->c + t * MR * j->n + p * NR;")
	for r := range g.MR {
		for c := range g.NR {
			sum := fmt.Sprintf("horizontal(c%d_%d)", r, c)
			if g.Mins && !g.Whole {
				sum += fmt.Sprintf(" + m%d_%d", r, c)
			}
			guard := ""
			switch {
			case r > 0 && c > 0:
				guard = fmt.Sprintf("if (rows > %d && columns > %d) ", r, c)
			case r > 0:
				guard = fmt.Sprintf("if (rows > %d) ", r)
			case c > 0:
				guard = fmt.Sprintf("if (columns > %d) ", c)
			}
			g.Line("%sc[%d * j->n + %d] = %s;", guard, r, c, sum)
		}
	}
}
