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
		w.Open("for (int64_t g = 0; g < %s; g += %s)", depth, step)
		w.Line("const int64_t end = %[1]s - g > %[2]s ? g + %[2]s : %[1]s;", depth, step)
		from, to = "g", "end"
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

// TileBlock returns how many rows of A, of so many bytes each, a block has that stays in the second cache, which has 2 MiB on every CPU
// with matrix tiles: from the third cache on they wait for their operands. So a B of more than TileKept bytes passes by panels, each along
// such a block.
func TileBlock(rowBytes int) int {
	const blockBytes, least, most = 512 << 10, 32, 512
	rows := least
	for rows < most && 2*rows*rowBytes <= blockBytes {
		rows *= 2
	}
	return rows
}

// TileKept is how large B may be, in bytes, to stay in the second cache beside a block of A.
const TileKept = 1 << 20
