package cgen_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/native/nativetest"
	"tune/space"
)

// The products of tiles, in the order of their numbers in the kernel below.
var tileProducts = []string{"bf16", "ss", "su", "us", "uu"}

// tileCode multiplies a tile of a and one of b, with the sizes of a configuration that it is given. Registers hold whole tiles before, so
// that what a load leaves is seen.
const tileCode = `
void tune_kernel(void *const *args, const int64_t *dims)
{
	tile_configure(args[0]);
	tile_load(0, args[3], dims[1]);
	tile_load(3, args[3], dims[1]);
	tile_load(1, args[1], dims[1]);
	tile_load(2, args[2], dims[1]);
	switch (dims[0]) {
	case 0: tile_dot_bf16(0, 1, 2); break;
	case 1: tile_dot_ss(0, 1, 2); break;
	case 2: tile_dot_su(0, 1, 2); break;
	case 3: tile_dot_us(0, 1, 2); break;
	case 4: tile_dot_uu(0, 1, 2); break;
	}
	tile_store(0, args[4], dims[1]);
	tile_zero(3);
	tile_store(3, args[5], dims[1]);
	tile_release();
}
`

// tileCase is a product of tiles: rows of c, columns of c, words of a row of a.
type tileCase struct {
	product           int
	rows, columns, kw int
	fill              func(rng *rand.Rand, product int) uint32
}

// tiles is a spec of one point.
type tiles struct {
	space *space.Space
	cases []native.Case
}

func (s *tiles) Space() *space.Space { return s.space }
func (s *tiles) Presets() []kernels.Preset {
	p, _ := s.space.Make(nil)
	return []kernels.Preset{{Name: "baseline", Doc: "tiles", Point: p}}
}
func (s *tiles) Cases(context.Context, space.Point, uint64) ([]native.Case, error) {
	return s.cases, nil
}
func (s *tiles) Work() native.Work { return native.Work{} }
func (s *tiles) Generate(space.Point) (native.Source, error) {
	return native.Source{Lang: "c", Text: "#include <stdint.h>\n" + cgen.Tiles() + tileCode, Flags: []string{"-std=gnu11", "-O2", cgen.TilesEmulated}}, nil
}

// instructions is the same without the emulation.
type instructions struct{ *tiles }

func (s instructions) Generate(p space.Point) (native.Source, error) {
	src, err := s.tiles.Generate(p)
	src.Flags = append(src.Flags[:2], cgen.Flags{Arch: "amd64", Opt: "O2", ISA: cgen.AMXInt8}.List()...)
	return src, err
}

const tileStride = 80

// configuration returns that of the registers 0 and 3 (c), 1 (a) and 2 (b).
func (c tileCase) configuration() []byte {
	b := make([]byte, 64)
	b[0] = 1
	size := func(tile, rows, bytes int) {
		binary.NativeEndian.PutUint16(b[16+2*tile:], uint16(bytes))
		b[48+tile] = uint8(rows)
	}
	size(0, c.rows, 4*c.columns)
	size(1, c.rows, 4*c.kw)
	size(2, c.kw, 4*c.columns)
	size(3, c.rows, 4*c.columns)
	return b
}

// made returns the case with the product that the definition asks for.
func (c tileCase) made() native.Case {
	rng := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.product)))
	buffer := func(words func() uint32) []byte {
		b := make([]byte, 16*tileStride)
		for i := 0; i < len(b); i += 4 {
			binary.NativeEndian.PutUint32(b[i:], words())
		}
		return b
	}
	random := func() uint32 { return c.fill(rng, c.product) }
	a, b := buffer(random), buffer(random)
	start := buffer(func() uint32 {
		if c.product == 0 {
			return math.Float32bits(float32(rng.IntN(1000)))
		}
		return rng.Uint32()
	})
	word := func(b []byte, row, column int) uint32 {
		return binary.NativeEndian.Uint32(b[row*tileStride+4*column:])
	}
	bytes := func(name string) native.Buffer {
		return native.Buffer{Name: name, Elem: native.U8, Len: 16 * tileStride, Mode: native.In}
	}
	out, zero := bytes("out"), bytes("zero")
	out.Mode, zero.Mode = native.InOut, native.InOut
	return native.Case{
		Name:    fmt.Sprintf("%s %d×%d×%d", tileProducts[c.product], c.rows, c.columns, c.kw),
		Dims:    []int64{int64(c.product), tileStride},
		Buffers: []native.Buffer{{Name: "configuration", Elem: native.U8, Len: 64, Mode: native.In}, bytes("a"), bytes("b"), bytes("c"), out, zero},
		Inputs:  [][]byte{c.configuration(), a, b, start, slices.Clone(start), slices.Clone(start)},
		Verify: func(buffers [][]byte) (d kernels.Deviation, err error) {
			for r := range 16 {
				for n := range tileStride / 4 {
					got, zero, want := word(buffers[4], r, n), word(buffers[5], r, n), word(start, r, n)
					left := want
					if r < c.rows && n < c.columns {
						left = 0
						for k := range c.kw {
							want = tileSum(c.product, want, word(a, r, k), word(b, k, n))
						}
					}
					if got != want || zero != left {
						return d, kernels.Reject(space.WrongAnswer, "word %d of row %d is %#x, want %#x; after zeroing %#x, want %#x", n, r, got, want, zero, left)
					}
				}
			}
			return d, nil
		},
	}
}

// tileSum adds the products of the elements of two words to a sum. Its numbers are such that sums of floats are exact.
func tileSum(product int, sum, a, b uint32) uint32 {
	if product == 0 {
		s := math.Float32frombits(sum)
		for i := range 2 {
			x, y := math.Float32frombits(a>>(16*i)<<16), math.Float32frombits(b>>(16*i)<<16)
			if x != 0 && math.Abs(float64(x)) < 0x1p-126 || y != 0 && math.Abs(float64(y)) < 0x1p-126 {
				continue // counts as zero
			}
			s += x * y
		}
		return math.Float32bits(s)
	}
	value := func(x uint32, i int, signed bool) int32 {
		if signed {
			return int32(int8(x >> (8 * i)))
		}
		return int32(uint8(x >> (8 * i)))
	}
	for i := range 4 {
		sum += uint32(value(a, i, product <= 2) * value(b, i, product == 1 || product == 3))
	}
	return sum
}

// numbers draws bytes, or small integers as bfloat16 and a few subnormal numbers.
func numbers(rng *rand.Rand, product int) uint32 {
	if product > 0 {
		return rng.Uint32()
	}
	var w uint32
	for i := range 2 {
		v := math.Float32bits(float32(rng.IntN(255) - 127))
		if rng.IntN(8) == 0 {
			v = 0x00400000 // half of the smallest normal number
		}
		w |= v >> 16 << (16 * i)
	}
	return w
}

// TestTiles: the emulation of matrix tiles does what the manual says, whatever the sizes of the tiles.
func TestTiles(t *testing.T) {
	nativetest.Here(t)
	spec := &tiles{}
	var err error
	if spec.space, err = space.New("tiles", []space.Parameter{space.Enum("only", "one")}); err != nil {
		t.Fatal(err)
	}
	for product := range tileProducts {
		for _, s := range [][3]int{{16, 16, 16}, {1, 16, 16}, {5, 3, 7}, {16, 1, 2}} {
			spec.cases = append(spec.cases, tileCase{product, s[0], s[1], s[2], numbers}.made())
		}
	}
	p := spec.Presets()[0].Point
	nativetest.Right(t, spec, p, 1)
	nativetest.Compiles(t, instructions{spec}, []space.Point{p})
	good := spec.cases
	for name, change := range map[string]func(b []byte){
		"a palette that there is not":        func(b []byte) { b[0] = 2 },
		"a reserved byte":                    func(b []byte) { b[5] = 1 },
		"17 rows":                            func(b []byte) { b[48] = 17 },
		"a row of 65 bytes":                  func(b []byte) { b[16] = 65 },
		"rows without columns":               func(b []byte) { b[16] = 0 },
		"a register that there is not":       func(b []byte) { b[48+8], b[16+16] = 1, 4 },
		"a register that is not configured":  func(b []byte) { b[48], b[16] = 0, 0 },
		"other rows of a than of c":          func(b []byte) { b[49]-- },
		"other columns of b than of c":       func(b []byte) { b[20] -= 4 },
		"other rows of b than words of a":    func(b []byte) { b[50]-- },
		"a row that is no multiple of words": func(b []byte) { b[16], b[20] = 62, 62 },
		"no configuration":                   func(b []byte) { b[0] = 0 },
	} {
		wrong := good[0]
		wrong.Inputs = slices.Clone(wrong.Inputs)
		wrong.Inputs[0] = slices.Clone(wrong.Inputs[0])
		change(wrong.Inputs[0])
		spec.cases = []native.Case{wrong}
		c, err := nativetest.Problem(t, spec).Build(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if r := kernels.AsRejection(c.Check(t.Context(), 1)); r == nil || r.Status != space.Crashed {
			t.Errorf("%s: %v, want a crash", name, r)
		}
	}
}

// TestTileBlock: a block of A takes half a MiB at most, where 32 rows do not take more, and has 512 rows at most.
func TestTileBlock(t *testing.T) {
	for rowBytes, want := range map[int]int{64: 512, 1024: 512, 1025: 256, 4096: 128, 8192: 64, 1 << 20: 32} {
		if got := cgen.TileBlock(rowBytes); got != want {
			t.Errorf("rows of %d bytes: %d in a block, want %d", rowBytes, got, want)
		}
	}
}

// TestTileColumns: a block of B takes a MiB at most, where 128 columns do not take more.
func TestTileColumns(t *testing.T) {
	for _, test := range [][3]int{{1024, 1024, 0}, {1025, 1024, 1024}, {1024, 2048, 512}, {4096, 8192, 128}, {4096, 1 << 20, 128}, {100, 1 << 20, 0}, {200, 8000, 128}} {
		if got := cgen.TileColumns(test[0], test[1]); got != test[2] {
			t.Errorf("%d columns of %d bytes: %d in a block, want %d", test[0], test[1], got, test[2])
		}
	}
}
