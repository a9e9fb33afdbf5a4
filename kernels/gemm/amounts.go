package gemm

import (
	"fmt"
	"strings"

	"tune/space"
)

// Amounts says how much the linked code of a point does in a call: calls of its functions, steps of their loops, and bytes that come from
// far away. Each is a product of formulas over m, n and k. It returns nil for the plain forms.
func (s *Spec) Amounts(p space.Point) [][]string {
	c, nt := s.linkedConfig(p), s.layout == LayoutNT
	method, swapped := skinnyMethod(nt, s.dims)
	var out [][]string
	switch {
	case c.Form == FormTiled:
		out = newTiledWriter(nil, c, nt, s.dims, true).amounts()
	case c.Form != FormSkinny:
		return nil
	case method == skinnyAxpy:
		out = axpyAmounts(c, s.dims)
	default:
		out = dotAmounts(c, s.dims, swapped)
	}
	if hasThin(c, nt) {
		out = withThin(out)
	}
	return out
}

// withThin adds what thin products do. It says roughly what they cost: they run the same code in all variants for an instruction set, so that
// only the others are compared by it. What the other products do does not count for them.
func withThin(others [][]string) [][]string {
	thin := "(" + thinProducts() + ")"
	for i, one := range others {
		others[i] = append([]string{"(not " + thin + ")"}, one...)
	}
	return append(others, []string{thin}, []string{thin, "m", "n"}, []string{thin, "m", "n", "k"}, []string{thin, fmt.Sprintf("max(%s - %d, 0)", allBytes, nextCache)})
}

// The sizes of caches that are usual. On a processor with other ones, what is beyond them has other costs.
const (
	nearCache = 32 << 10
	nextCache = 1 << 20
	lastCache = 16 << 20
)

// allBytes is the size of the operands. Products of several dimensions are doubles, which do not overflow.
const allBytes = "4.0 * (1.0 * m * k + 1.0 * k * n + 1.0 * m * n)"

// isCold is 1 for a product that is called with cold caches, as Work says, else 0.
var isCold = fmt.Sprintf("(min(m, n) <= %d and %s > %d)", skinnyLimit, allBytes, coldBytes)

// beyond is the part of something of a size that is not in a cache when it is used again: of what just fits, a half may be displaced.
func beyond(bytes string, cache int) string {
	return fmt.Sprintf("min(max(%s / %d - 0.5, 0), 1)", bytes, cache)
}

// far are the bytes that come from beyond the caches once.
func far() (out [][]string) {
	for _, cache := range []int{nearCache, nextCache, lastCache} {
		out = append(out, []string{fmt.Sprintf("max(%s - %d, 0)", allBytes, cache)})
	}
	for _, computes := range []string{"0.25", "1.0"} { // bytes in the time of a multiply-add
		out = append(out, []string{isCold, fmt.Sprintf("max(%s - %s * m * n * k, 0)", allBytes, computes)})
	}
	return append(out, []string{isCold, "4.0 * m * (k + n)"}, []string{isCold, "4.0 * k * n"})
}

// blocksOf is how many blocks of a size there are.
func blocksOf(name string, size int) string {
	return fmt.Sprintf("((%s + %d) // %d)", name, size-1, size)
}

// amounts are those of the copy for all shapes. Blocks are whole numbers of tiles, so that only the last one has others.
func (t *tiledWriter) amounts() [][]string {
	c, nr, lanes := t.c, t.nr(), t.lanes()
	rows, cols := "m", "n"
	if c.Swap {
		rows, cols = cols, rows
	}
	apart := "" // columns that are dot products
	if t.byColumns() {
		left := fmt.Sprintf("n %% %d", lanes)
		faster := strings.ReplaceAll(t.fewColumns(left, fmt.Sprintf("min(m, %d)", t.mc), fmt.Sprintf("min(k, %d)", t.kc), "n > 1"), "/", "//")
		apart = fmt.Sprintf("(%s if %s else 0)", left, faster)
		cols = fmt.Sprintf("(n - %s)", apart)
	}
	tall, left, few, strips := t.rowAmounts(rows)
	wide, narrow, thin := t.colAmounts(cols)
	columns, vectors, alone := wide, fmt.Sprintf("%s * %d", wide, c.NV), ""
	if thin != "" {
		columns, vectors = fmt.Sprintf("(%s + %s)", wide, thin), fmt.Sprintf("(%s * %d + %s)", wide, c.NV, narrow)
	}
	if c.Tail == TailScalar && t.tails() == nil { // columns that are computed one by one
		alone = fmt.Sprintf("%s %% %d", cols, lanes)
	}
	deep, rowBlocks, colBlocks := blocksOf("k", t.kc), blocksOf(rows, t.mc), blocksOf(cols, t.nc)
	out := [][]string{
		{}, {deep, rowBlocks, colBlocks}, {deep, strips, columns}, {deep, few, columns}, {"k", tall, wide}, {"k", tall, narrow}, {"k", tall, thin},
		{"k", left, wide}, {"k", left, narrow}, {"k", left, thin}, {"k", few, columns}, {"k", rows, alone}, {deep, rows, vectors},
		{deep + " - 1", rows, cols}, {isCold, "k", columns}, {"k", rows, apart}, {deep, rows, apart},
	}
	out = append(out, t.packing(rows, cols, rowBlocks, colBlocks)...)
	if apart != "" { // four rows at a time
		groups, steps := fmt.Sprintf("((%s + 3) // 4)", rows), fmt.Sprintf("((k + %d) // %d)", lanes-1, lanes)
		out = append(out, []string{steps, groups, apart}, []string{deep, groups, apart}, []string{"k", apart, "(n > 1)"})
	}
	// What is read again: a block of X for each strip of columns, or a block of Y for each strip of rows.
	depth, again := fmt.Sprintf("4.0 * min(k, %d)", t.kc), fmt.Sprintf(" * min(%s, %d)", cols, t.nc)
	if c.Inner == "columns" {
		again = fmt.Sprintf(" * %d", nr)
	}
	for _, cache := range []int{nearCache, nextCache} {
		out = append(out, []string{"4 * k", cols, strips, beyond(depth+again, cache)})
		if c.Inner == "columns" {
			out = append(out, []string{"4 * k", rows, columns, beyond(fmt.Sprintf("%s * min(%s, %d)", depth, rows, t.mc), cache)})
		}
	}
	return existing(append(out, far()...))
}

// rowAmounts are how many full strips of rows there are, how many rows are left, how many strips these take, and how many strips there
// are in all.
func (t *tiledWriter) rowAmounts(rows string) (tall, left, few, strips string) {
	mr := t.c.MR
	switch {
	case t.c.Tail == TailPadded:
		tall = blocksOf(rows, mr)
		return tall, "", "", tall
	case mr == 1:
		return rows, "", "", rows
	}
	tall, left = fmt.Sprintf("%s // %d", rows, mr), fmt.Sprintf("%s %% %d", rows, mr)
	few = stripsIn(left, t.rowStrips()[1:])
	return tall, left, few, fmt.Sprintf("(%s + %s)", tall, few)
}

// colAmounts are how many full strips of columns there are, and how many vectors and strips the other columns take. What only the remainder
// of the asked shape has is left out.
func (t *tiledWriter) colAmounts(cols string) (wide, narrow, thin string) {
	nr, lanes := t.nr(), t.lanes()
	wide, narrow = fmt.Sprintf("%s // %d", cols, nr), fmt.Sprintf("(%s %% %d + %d) // %d", cols, nr, lanes-1, lanes)
	var sizes []int
	for _, s := range t.colStrips()[1:] {
		if !s.part {
			sizes = append(sizes, s.size)
		}
	}
	full := fmt.Sprintf("%s %% %d // %d", cols, nr, lanes)
	switch {
	case t.c.Tail == TailPadded:
		return blocksOf(cols, nr), "", ""
	case t.anyWidth(), t.tails() != nil: // tails take about as long as a tile of all their columns would
		return wide, narrow, fmt.Sprintf("(%s %% %d > 0)", cols, nr)
	case t.c.Tail == TailScalar && t.c.NV == 1:
		return wide, "", ""
	case t.c.Tail == TailScalar:
		return wide, full, stripsIn(full, sizes)
	case t.c.NV == 1:
		return wide, narrow, fmt.Sprintf("(%s %% %d > 0)", cols, lanes)
	}
	return wide, narrow, fmt.Sprintf("(%s + (%s %% %d > 0))", stripsIn(full, sizes), cols, lanes)
}

// stripsIn is how many strips of falling sizes, each at most once, cover what is left of a dimension. The last size is 1.
func stripsIn(left string, sizes []int) string {
	var terms []string
	for _, size := range sizes {
		switch {
		case size == 1:
			terms = append(terms, left)
			continue
		case size&(size-1) == 0: // what is left is less than twice that
			terms, left = append(terms, fmt.Sprintf("(%s >= %d)", left, size)), fmt.Sprintf("%s %% %d", left, size)
		default:
			terms = append(terms, fmt.Sprintf("(%s >= %d)", left, size))
			left = fmt.Sprintf("(%[1]s - %[2]d if %[1]s >= %[2]d else %[1]s)", left, size)
		}
	}
	return "(" + strings.Join(terms, " + ") + ")"
}

// packing are the elements that are copied.
func (t *tiledWriter) packing(rows, cols, rowBlocks, colBlocks string) (out [][]string) {
	if t.c.PackX {
		one := []string{"k", rows}
		if t.c.Order[2] != 'j' {
			one = append(one, colBlocks)
		}
		out = append(out, one)
	}
	if t.c.PackY {
		one := []string{"k", cols}
		if t.c.Order[2] != 'i' {
			one = append(one, rowBlocks)
		}
		out = append(out, one)
	}
	return out
}

// existing leaves out the products with a factor that is nothing.
func existing(all [][]string) (out [][]string) {
	for _, one := range all {
		nothing := false
		for _, factor := range one {
			nothing = nothing || factor == ""
		}
		if !nothing {
			out = append(out, one)
		}
	}
	return out
}

// stripsOf is how many tiles each cuts a dimension into, with code for asked of it and tiles of the given height.
func stripsOf(name string, asked, full int) string {
	if full == 1 {
		return name
	}
	return fmt.Sprintf("(%s // %d + %s)", name, full, stripsIn(fmt.Sprintf("%s %% %d", name, full), heights(asked, full, true)[1:]))
}

// axpyAmounts are those of sums of rows of B.
func axpyAmounts(c Config, d Dims) [][]string {
	lanes := c.Lanes()
	nc := balance(d.N, c.NC, lanes)
	rows, steps := stripsOf("m", d.M, c.MR), stripsOf("k", d.K, c.KU)
	blocks, vectors, ragged := blocksOf("n", nc), blocksOf("n", lanes), fmt.Sprintf("(n %% %d > 0)", lanes)
	bytesC, bytesB := fmt.Sprintf("4.0 * m * min(n, %d)", nc), fmt.Sprintf("4.0 * k * min(n, %d)", nc)
	out := [][]string{
		{}, {blocks, steps}, {blocks, steps, rows}, {ragged, steps, rows}, {blocks, "m", "k"}, {rows, steps, vectors}, {"m", "k", vectors},
		{"m", steps, vectors}, {rows, "k", vectors},
	}
	for _, cache := range []int{nearCache, nextCache} {
		out = append(out, []string{"m", steps, vectors, beyond(bytesC, cache)}, []string{rows, "k", vectors, beyond(bytesB, cache)})
	}
	return append(out, far()...)
}

// dotAmounts are those of dot products.
func dotAmounts(c Config, d Dims, swapped bool) [][]string {
	small, large, few, many := "m", "n", d.M, d.N
	if swapped {
		small, large, few, many = large, small, many, few
	}
	lanes := c.Lanes()
	rows, cols := stripsOf(small, few, c.MR), stripsOf(large, many, c.NR)
	holds := blocksOf(small, (&skinnyWriter{c: c, small: few}).hold())
	deep, vectors, ragged := blocksOf("k", balance(d.K, c.KC, lanes)), blocksOf("k", lanes), fmt.Sprintf("(k %% %d > 0)", lanes)
	out := [][]string{
		{}, {deep, holds}, {deep, rows, cols}, {ragged, deep, rows, cols}, {deep, "m", "n"}, {vectors, rows, cols}, {vectors, "m", "n"},
		{vectors, small, cols}, {vectors, rows, large}, {deep + " - 1", "m", "n"}, {holds, large}, {holds, large, vectors},
	}
	if c.PackX {
		out = append(out, []string{small, "k"})
	}
	for _, cache := range []int{nearCache, nextCache} {
		out = append(out, []string{holds + " - 1", "4 * k", large, beyond("4.0 * k * "+large, cache)})
	}
	return append(out, far()...)
}
