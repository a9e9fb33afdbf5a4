package cgen

import (
	_ "embed" // the functions of tiles
)

// TilesEmulated is the compiler flag with which the text of Tiles does in plain C what the instructions of matrix tiles do, so that code
// for them can be checked on any machine. It is for tests.
const TilesEmulated = "-DTUNE_EMULATED_TILES"

//go:embed c/tiles.c
var tilesText string

// Tiles is C text for matrix tiles. It needs stdint.h before it, and defines the struct tile_configuration and
//
//	tile_configure(const struct tile_configuration *)    asks for the permission of the system first
//	tile_release()
//	tile_save(struct tile_configuration *)               the configuration of this thread; of zeros where it has none
//	tile_restore(const struct tile_configuration *)      what was saved
//	tile_zero(t)
//	tile_load(t, from, stride)                           stride is in bytes
//	tile_store(t, to, stride)
//	tile_dot_bf16(c, a, b)                               c += a·b, where the words of a row of b belong to columns of c
//	tile_dot_ss, _su, _us, _uu(c, a, b)                  the same for signed and unsigned bytes of a and of b
//
// whose registers t, a, b and c are literals from 0 to 7. A thread has to configure its own tiles. A kernel saves the configuration that it
// finds before, and restores it at the end, because the thread may be that of a program which uses tiles too.
func Tiles() string { return tilesText }

//go:embed c/passing.c
var passingText string

// PassingTiles is further C text for matrix tiles, tile_load_passing(t, from, stride): like tile_load, for operands that pass by the nearest
// cache, so that they do not drive out what is used again. It stands after that of Tiles.
func PassingTiles() string { return passingText }

// ConfigureTiles writes the configuration of so many matrix tiles, of whole rows. The first ofRows of them have rows of A, and no more than A has. It
// keeps the caller's configuration for tile_restore.
func (w *Writer) ConfigureTiles(tiles, ofRows int) {
	w.Line("struct tile_configuration callers, sizes = { .palette = 1 };")
	w.Line("tile_save(&callers);")
	w.Open("for (int t = 0; t < %d; t++)", tiles)
	w.Line("sizes.columns[t] = 64;")
	w.Comment("Those of sums and of A have no more rows than A.")
	w.Line("sizes.rows[t] = t < %d && j->m < 16 ? (uint8_t)j->m : 16;", ofRows)
	w.Close()
	w.Line("tile_configure(&sizes);")
}

// TileLoads returns by which functions matrix tiles of A and of B are loaded. With passing, the operand that the inner loop changes passes by the
// nearest cache: that is B where the outer loop is over rows.
func TileLoads(passing, overRows bool) (a, b string) {
	const load, pass = "tile_load", "tile_load_passing"
	switch {
	case !passing:
		return load, load
	case overRows:
		return load, pass
	}
	return pass, load
}
