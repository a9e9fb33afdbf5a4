package qgemm

import (
	"fmt"

	"tune/kernels/native/cgen"
)

// A block of 256 weights has an integer scale for each of its sub-blocks. The quants times that scale are integers of up to 13 bits. Matrix
// tiles multiply bytes, so that each such integer becomes two digits: it is digitBase times the first plus the second. The products of
// the 256 first digits have one sum, those of the second digits another. So tiles leave two sums for a block, where they would leave one for
// each sub-block, and the sums need few floats.

const (
	digits     = 2    // of a scaled quant
	digitChunk = 64   // weights of a row in a matrix tile
	digitTile  = 1024 // bytes of a matrix tile
)

// digitBase is what the first digit counts. Scales of 0 to 63 are divided by 8, and the digits are unsigned products; signed scales and quants
// are multiplied first.
func (g *generator) digitBase() int {
	if g.Mins {
		return 8
	}
	return 128
}

// digitChunks is how many tiles along k a block has.
func (g *generator) digitChunks() int { return g.Weights / digitChunk }

// digitBlock is the size of the digits of a block of a panel.
func (g *generator) digitBlock() int { return digits * g.Weights * g.Lanes() }

// factorVectors is how many vectors of factors a block of a panel has: the scale, then what the minima are multiplied by.
func (g *generator) factorVectors() int {
	if g.Mins {
		return 1 + g.Weights/g.Sub
	}
	return 1
}

// The registers of matrix tiles: sums of each tile of rows with each panel and digit, then rows of activations, then a digit each.
func (g *generator) tileOfDigits(r, v, digit int) int { return digits*(r*g.NR+v) + digit }
func (g *generator) tileOfDigitRows(r int) int        { return digits*g.tileCount()*g.NR + r }
func (g *generator) tileOfDigit(digit int) int {
	return (digits*g.NR+1)*g.tileCount() + digit
}

// unpackDigits writes the function that makes digits and floats of scales of NR panels.
func (g *generator) unpackDigits() {
	g.Comment("unpack makes the digits of the panels, and floats of their scales, from p on, from one block along k to another. Panels that do not exist are the last one.")
	g.Func("static void unpack(const struct job *j, int64_t p, int64_t from, int64_t to, uint8_t *digits, float *scales)")
	g.each(func(v int) {
		g.Block(func() {
			g.panel(v)
			g.Line("const uint8_t *s%d = w%d + j->low_bytes + j->high_bytes + from * %d;", v, v, g.ScaleBytes)
			g.Line("w%d += from * %d;", v, g.Weights/32*g.lowStep())
			if g.HighBits > 0 {
				g.Line("h%d += from * %d;", v, g.Weights/32*g.HighBits*g.Bytes)
			}
			g.Open("for (int64_t b = from; b < to; b++)")
			g.panelScales(v)
			g.Line("*(vec_memory *)scales = d%d;", v)
			if g.Mins {
				g.Line("for (int s = 0; s < SUBS; s++)")
				g.In()
				g.Line("*(vec_memory *)(scales + (1 + s) * LANES) = factors(f%d + (SUBS + s) * LANES) * m%d;", v, v)
				g.Out()
			}
			g.Line("scales += %d * LANES;", g.factorVectors())
			g.Open("for (int part = 0; part < BLOCK / 32; part++)")
			g.Line("uint8_t *to_part = digits + part / 2 * %d + part %% 2 * %d;", digits*digitTile, digitTile/2)
			for sub := range g.subs() {
				g.Line("const shorts scale%d = in_halves(f%d + %d * LANES);", sub, v, sub)
			}
			for group := range tileStep {
				g.Line("put_digits(to_part + %d, %s, scale%d);", group*g.Bytes, g.group(v, group), group*4/g.Sub)
			}
			g.prefetch(v)
			g.advancePanel(v)
			g.advanceFactor(v)
			g.Close()
			g.Line("digits += %d;", g.digitBlock())
			g.Line("s%d += %d;", v, g.ScaleBytes)
			g.Close()
		})
	})
	g.EndFunc()
}

// digitProducts returns the lines that multiply a block of each tile of rows with the digits of each panel, and leave the sums in one half of
// the buffer.
func (g *generator) digitProducts(half string) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	dot := "tile_dot_ss"
	if g.Mins {
		dot = "tile_dot_su"
	}
	each := func(f func(r, v, digit int)) {
		for r := range g.tileCount() {
			g.each(func(v int) {
				for digit := range digits {
					f(r, v, digit)
				}
			})
		}
	}
	each(func(r, v, digit int) { add("tile_zero(%d);", g.tileOfDigits(r, v, digit)) })
	for chunk := range g.digitChunks() {
		for r := range g.tileCount() {
			add("tile_load(%d, a + %d, %d);", g.tileOfDigitRows(r), (chunk*g.tileCount()+r)*digitTile/4, digitChunk)
		}
		g.each(func(v int) {
			for digit := range digits {
				add("tile_load(%d, q%d + %d, %d);", g.tileOfDigit(digit), v, (digits*chunk+digit)*digitTile, tileBytes)
				for r := range g.tileCount() {
					add("%s(%d, %d, %d);", dot, g.tileOfDigits(r, v, digit), g.tileOfDigitRows(r), g.tileOfDigit(digit))
				}
			}
		})
	}
	each(func(r, v, digit int) {
		sums := g.tileOfDigits(r, v, digit)
		add("tile_store(%d, products[%s][%d], %d);", sums, half, sums, tileBytes)
	})
	return lines
}

// digitTiles writes the product of tiles of activations and NR panels. The products of the next block, which may be the first of the next tile,
// are made between the additions of the sums of this one: they keep different units of the CPU busy. After the last block its products are
// made again, which nobody reads.
func (g *generator) digitTiles() {
	g.Comment("multiply_digits multiplies the tiles from t0 to t1 with the panels from p on, from one block along k to another. It adds to what is in partial,")
	g.Comment("and leaves the sums there before the last block. Panels that do not exist are the last one, and are not stored.")
	g.Func("static void multiply_digits(const struct job *j, int64_t t0, int64_t t1, int64_t p, const uint8_t *digits, const float *scales, int64_t from, int64_t to, float *partial)")
	g.Line("int32_t products[2][%d][%d] __attribute__((aligned(64)));", digits*g.tileCount()*g.NR, digitTile/4)
	g.Line("const int64_t depth = to - from;")
	g.Line("const word *a = j->rows + (t0 * j->blocks + from) * MR * (BLOCK / 4);")
	g.each(func(v int) { g.Line("const uint8_t *q%d = digits + %d * depth * %d;", v, v, g.digitBlock()) })
	g.Line("int64_t left = (t1 - t0) * depth - 1, block = 0; // whose products are to be made, and where in the tile they are")
	g.Line("int now = 0;")
	g.lines(g.digitProducts("0"))
	g.Open("for (int64_t t = t0; t < t1; t++)")
	g.Line("const float *d = j->d + (t * j->blocks + from) * MR;")
	if g.Mins {
		g.Line("const float *sums = j->sums + (t * j->blocks + from) * MR * SUBS;")
	}
	g.each(func(v int) { g.Line("const float *f%d = scales + %d * depth * %d * LANES;", v, v, g.factorVectors()) })
	g.eachResult(func(r, v int) { g.Line("vec c%d_%d = { 0 };", r, v) })
	g.Open("if (from > 0)")
	g.eachResult(func(r, v int) {
		g.Line("c%d_%d = *(const vec_memory *)(partial + %d * LANES);", r, v, r*g.NR+v)
	})
	g.Close()
	g.Open("for (int64_t b = from; b < to; b++)")
	g.nextDigits()
	g.addDigits()
	g.Close()
	g.Open("if (to < j->blocks)")
	g.eachResult(func(r, v int) {
		g.Line("*(vec_memory *)(partial + %d * LANES) = c%d_%d;", r*g.NR+v, r, v)
	})
	g.Line("partial += MR * NR * LANES;")
	g.Line("continue;")
	g.Close()
	g.Line("partial += MR * NR * LANES;")
	g.store()
	g.Close()
	g.EndFunc()
}

// nextDigits moves to the block whose products are made next.
func (g *generator) nextDigits() {
	g.Open("if (left-- > 0)")
	g.Line("a += MR * (BLOCK / 4);")
	g.each(func(v int) { g.Line("q%d += %d;", v, g.digitBlock()) })
	g.Open("if (++block == depth)")
	g.Line("block = 0;")
	g.Line("a += (j->blocks - depth) * MR * (BLOCK / 4);")
	g.each(func(v int) { g.Line("q%d -= depth * %d;", v, g.digitBlock()) })
	g.Close()
	g.Close()
}

// addDigits adds the sums of a block to the results, and makes the products of the next one meanwhile.
func (g *generator) addDigits() {
	ahead := g.digitProducts("now ^ 1")
	adds, done, written := g.NR*g.MR, 0, 0
	g.each(func(v int) {
		g.Block(func() {
			g.Line("const vec scale%d = *(const vec_memory *)f%d;", v, v)
			if g.Mins {
				for s := range g.Weights / g.Sub {
					g.Line("const vec min%d_%d = *(const vec_memory *)(f%d + %d * LANES);", v, s, v, 1+s)
				}
			}
			for r := range g.MR {
				done++
				until := len(ahead) * done / adds
				g.lines(ahead[written:until])
				written = until
				sum := func(digit int) string {
					return fmt.Sprintf("__builtin_convertvector(load(products[now][%d] + %d), vec)", g.tileOfDigits(r/tileRows, v, digit), r%tileRows*tileBytes/4)
				}
				g.Line("c%d_%d += (%s * %d.0f + %s) * (scale%d * d[%d]);", r, v, sum(0), g.digitBase(), sum(1), v, r)
				if g.Mins {
					for s := range g.Weights / g.Sub {
						g.Line("c%d_%d -= min%d_%d * sums[%d];", r, v, v, s, s*g.MR+r)
					}
				}
			}
		})
	})
	g.each(func(v int) { g.Line("f%d += %d * LANES;", v, g.factorVectors()) })
	g.Line("d += MR;")
	if g.Mins {
		g.Line("sums += MR * SUBS;")
	}
	g.Line("now ^= 1;")
}

// multiplyDigits writes the loops over blocks of rows, of panels, and along k. The digits of a part along k of NR panels stay in the nearest
// cache while all tiles of the block of rows are multiplied with them.
func (g *generator) multiplyDigits() {
	g.Comment("multiply does the tiles from t0 to t1 with the groups of NR panels from p0 to p1.")
	g.Func("static void multiply(const struct job *j, int64_t t0, int64_t t1, int64_t p0, int64_t p1)")
	g.ConfigureTiles(g.tileOfDigit(digits), g.tileOfDigit(0))
	depth, tiles, groups := "j->blocks", "t1 - t0", "p1 - p0"
	if kc := g.p.Int("kc"); kc > 0 {
		depth = fmt.Sprint(kc / g.Weights)
	}
	if mc := g.p.Int("mc"); mc > 0 {
		tiles = fmt.Sprint(cgen.Ceil(mc, g.MR))
	}
	if nc := g.p.Int("nc"); nc > 0 {
		groups = fmt.Sprint(cgen.Ceil(nc, g.NR*g.Lanes()))
	}
	g.Line("const int64_t depth = %s, tiles = %s, groups = %s; // of a block", depth, tiles, groups)
	g.Line("const int64_t digit_bytes = NR * depth * %d, scale_bytes = NR * depth * %d * LANES * 4;", g.digitBlock(), g.factorVectors())
	g.Line("const int64_t step = tiles * MR * NR * LANES; // of the sums of a group of panels")
	g.Line("uint8_t *digits = reserve(0, digit_bytes + scale_bytes + (depth < j->blocks ? groups * step * 4 : 0));")
	g.Line("float *scales = (float *)(digits + digit_bytes), *partial = (float *)(digits + digit_bytes + scale_bytes);")
	loops := []string{
		"for (int64_t t = t0; t < t1; t += tiles)",
		"for (int64_t first = p0; first < p1; first += groups)",
		"for (int64_t b = 0; b < j->blocks; b += depth)",
		"for (int64_t p = first; p < p1 && p < first + groups; p++)",
	}
	for _, l := range loops[:3] {
		g.Line("%s", l)
		g.In()
	}
	g.Open("%s", loops[3])
	g.Line("const int64_t end = j->blocks - b > depth ? b + depth : j->blocks, stop = t1 - t > tiles ? t + tiles : t1;")
	g.Line("unpack(j, p * NR, b, end, digits, scales);")
	g.Line("multiply_digits(j, t, stop, p * NR, digits, scales, b, end, partial + (p - first) * step);")
	g.Close()
	for range loops[:3] {
		g.Out()
	}
	g.Line("tile_restore(&callers);")
	g.Line("give_back(0, digits);")
	g.EndFunc()
}
