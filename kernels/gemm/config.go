package gemm

import "tune/space"

// The forms of a matrix product.
const (
	FormNaive   = "naive"   // three loops
	FormBlocked = "blocked" // three loops over square blocks
	FormTiled   = "tiled"   // register tiles inside cache blocks, with or without packing
	FormSkinny  = "skinny"  // for few rows or few columns: the large operand is read once and not packed
)

// The layouts of the operand B.
const (
	LayoutNN = "nn" // K × N: C = A·B
	LayoutNT = "nt" // N × K, row by row: C = A·Bᵀ
)

// The ways to compute the rows and columns that do not fill a tile.
const (
	TailMasked = "masked" // narrower tiles; the last vector of a row is loaded and stored under a mask
	TailScalar = "scalar" // narrower tiles; the last columns are computed one by one
	TailPadded = "padded" // full tiles on copies that are padded with zeros
)

// Dims are the dimensions of a product: C has M rows and N columns, and each element sums K products.
type Dims struct{ M, N, K int }

// Config has the value of each parameter of a point. newSpace documents the parameters.
type Config struct {
	Form     string
	Compiler string
	Opt      string // "O2" or "O3"
	MTune    string // "default" or "native"
	ISA      string

	Loops string // order of the three loops of FormNaive, outermost first
	Block int    // of FormBlocked

	Vec       int  // bytes of a vector
	Swap      bool // tiles of Cᵀ: the rows of a tile are columns of C
	MR        int  // rows of a tile
	NV        int  // vectors in a row of a tile (tiled)
	NR        int  // rows of the large operand in a tile (skinny)
	Depth     int  // accumulators along K of each element (skinny)
	KU        int  // unrolling of K
	KC        int  // depth of a cache block
	MC        int  // most rows of a cache block
	NC        int  // most columns of a cache block
	PackX     bool // the operand with the rows of a tile is packed
	PackY     bool // the operand with the vectors of a tile is packed
	Order     string
	Inner     string
	Tail      string
	Fixed     bool // there is a second copy of the code, in which the asked dimensions are constants
	PrefetchX int  // how many steps of K ahead, 0 for none
	PrefetchY int
	PrefetchC bool
	NextY     bool // the next strip of Y is prefetched while the current one is used
	Thin      bool // thin products have forms of their own

	Workers int
	Split   string // "rows" or "columns" of C
	Chunk   int    // tiles in a task
	Dynamic bool
	Spin    int // thousands of polls before an idle thread sleeps
}

// configOf reads the parameters of a point.
func configOf(p space.Point, layout string) Config {
	c := Config{
		Form: p.Str("form"), Compiler: p.Str("compiler"), Opt: p.Str("opt"), MTune: p.Str("mtune"), ISA: p.Str("isa"),
		Loops: p.Str("loops"), Block: p.Int("block"),
		Vec: p.Int("vec"), MR: p.Int("mr"), NV: p.Int("nv"), KU: p.Int("ku"),
		KC: p.Int("kc"), MC: p.Int("mc"), NC: p.Int("nc"), PackX: p.Bool("pack_x"),
		Order: p.Str("order"), Inner: p.Str("inner"), Tail: p.Str("tail"), Fixed: p.Bool("fixed"),
		PrefetchX: p.Int("prefetch_x"), PrefetchY: p.Int("prefetch_y"), PrefetchC: p.Bool("prefetch_c"), NextY: p.Bool("next_y"),
		Workers: 1,
	}
	if p.Has("swap") {
		c.Swap = p.Bool("swap")
	}
	if p.Has("pack_y") {
		c.PackY = p.Bool("pack_y")
	}
	if p.Has("nr") {
		c.NR, c.Depth = p.Int("nr"), p.Int("depth")
	}
	if c.Form == FormSkinny {
		c.PrefetchY = p.Int("ahead")
	}
	if p.Has("workers") {
		c.Workers, c.Split, c.Chunk, c.Dynamic, c.Spin = max(p.Int("workers"), 1), p.Str("split"), p.Int("chunk"), p.Bool("dynamic"), p.Int("spin")
	}
	// An operand whose vectors are not contiguous must be packed.
	switch {
	case c.Form == FormTiled && layout == LayoutNT:
		c.PackY = true
	case c.Form == FormSkinny && layout == LayoutNN:
		c.PackX = true
	}
	return c
}

// Lanes returns the floats in a vector.
func (c Config) Lanes() int { return c.Vec / 4 }
