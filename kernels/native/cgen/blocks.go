package cgen

import "fmt"

// Ceil returns a/b, rounded up: how many blocks of b elements hold a of them. Neither may be negative, and b not 0.
func Ceil(a, b int) int { return (a + b - 1) / b }

// Blocks writes the loops of a product over its tiles from t0 to t1, around what body writes: over blocks of the depth, a step each, and over
// blocks of some tiles. Without a step, or with 0 tiles, there are no such blocks. body is given the loop over the tiles of a block, and where
// the depth of the block begins and ends.
func (w *Writer) Blocks(depth, step string, tiles int, body func(loop, from, to string)) {
	blocks := 0
	from, to := "0", depth
	if step != "" {
		from, to = w.DepthBlocks(depth, step)
		blocks++
	}
	first, last := "t0", "t1"
	if tiles > 0 {
		w.Open("for (int64_t b = t0; b < t1; b += %d)", tiles)
		w.Line("const int64_t stop = t1 - b > %[1]d ? b + %[1]d : t1;", tiles)
		first, last = "b", "stop"
		blocks++
	}
	body(fmt.Sprintf("for (int64_t t = %s; t < %s; t++)", first, last), from, to)
	for range blocks {
		w.Close()
	}
}

// DepthBlocks opens the loop over blocks of the depth, a step each, and returns where a block begins and ends.
func (w *Writer) DepthBlocks(depth, step string) (from, to string) {
	w.Open("for (int64_t g = 0; g < %s; g += %s)", depth, step)
	w.Line("const int64_t end = %[1]s - g > %[2]s ? g + %[2]s : %[1]s;", depth, step)
	return "g", "end"
}

// ColumnBlocks writes the loop of a product over blocks of some panels, from p0 to p1, around what body writes; with 0 panels there are no such
// blocks. body is given the loop over the panels of a block.
func (w *Writer) ColumnBlocks(panels int, body func(loop string)) {
	const loop = "for (int64_t p = %s; p < %s; p++)"
	if panels == 0 {
		body(fmt.Sprintf(loop, "p0", "p1"))
		return
	}
	w.Open("for (int64_t q = p0; q < p1; q += %d)", panels)
	w.Line("const int64_t until = p1 - q > %[1]d ? q + %[1]d : p1;", panels)
	body(fmt.Sprintf(loop, "q", "until"))
	w.Close()
}

// TileBlock returns how many rows of A, of so many bytes each, a block has that stays in the second cache, which has 2 MiB on every CPU
// with matrix tiles: from the third cache on they wait for their operands.
func TileBlock(rowBytes int) int {
	const blockBytes, least, most = 512 << 10, 32, 512
	rows := least
	for rows < most && 2*rows*rowBytes <= blockBytes {
		rows *= 2
	}
	return rows
}

// ColumnBlockSizes are how many columns of B a block may have.
func ColumnBlockSizes() []int { return []int{128, 256, 512, 1024} }

// TileColumns returns how many of n columns of B, of so many bytes each, a block has that stays in the second cache beside tiles of A and C; 0
// where all do.
func TileColumns(n, columnBytes int) int {
	const kept = 1 << 20
	sizes := ColumnBlockSizes()
	if n <= sizes[0] || n*columnBytes <= kept {
		return 0
	}
	block := sizes[0]
	for _, s := range sizes {
		if s < n && s*columnBytes <= kept {
			block = s
		}
	}
	return block
}
