package cgen

// Ceil returns a/b, rounded up: how many blocks of b elements hold a of them. Neither may be negative, and b not 0.
func Ceil(a, b int) int { return (a + b - 1) / b }

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
