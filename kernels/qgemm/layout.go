package qgemm

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tune/kernels/blocks"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/space"
)

// format is what the generated code needs to know of a block format.
type format struct {
	blocks.Format
	Bits   int  // of a quant: 4, 5, 6 or 8
	Center int  // what is added to the quants in a file to make them unsigned, as they are stored
	Mins   bool // sub-blocks have minima
	Whole  bool // a block of 256 has scales of sub-blocks, which are bytes; otherwise the block has one scale
}

var formatFacts = map[string]format{
	"q4_0": {Bits: 4, Center: 8},
	"q4_1": {Bits: 4, Mins: true},
	"q5_0": {Bits: 5, Center: 16},
	"q5_1": {Bits: 5, Mins: true},
	"q8_0": {Bits: 8, Center: 128},
	"q4_k": {Bits: 4, Mins: true, Whole: true},
	"q5_k": {Bits: 5, Mins: true, Whole: true},
	"q6_k": {Bits: 6, Center: 32, Whole: true},
}

// formatOf returns what is known of a format. It panics for one of no weights.
func formatOf(f blocks.Format) format {
	facts, ok := formatFacts[f.Name]
	if !ok {
		panic("qgemm: no format " + f.Name)
	}
	facts.Format = f
	return facts
}

// line is the size of a cache line in bytes.
const line = 64

// packing is the layout of rearranged weights. Rows are interleaved in panels of lanes. A panel is three planes, one after the other, and
// ends at a whole cache line:
//
//   - The low bits. A word has 4 weights of a row, one in each byte, and a vector one word of each row. With 8 bits, vector g has the
//     weights 4·g to 4·g+3. With fewer, each 32 weights take four vectors: the low nibbles of vector i are group i, the high ones
//     group i+4, where group g has the weights 4·g to 4·g+3 of the 32.
//   - The high bits. With 5 bits, one vector for 32 weights, whose bit g is of group g. With 6 bits, two vectors, with two bits each of
//     groups 0 to 3 and 4 to 7.
//   - The scales, block by block. Without sub-blocks: D of each row as fp16, then −Min where there are minima. With sub-blocks: the
//     scales of the first sub-block as a byte for each row, those of the next one, …, then the minima alike, then D, then Min.
//
// Rows that do not exist are zeros.
type packing struct {
	format
	lanes  int
	signed bool // quants of 8 bits are stored as they are, and not with 128 added
	n, k   int
}

// highBits is how many bits of a quant are in the second plane.
func (p packing) highBits() int {
	if p.Bits == 8 {
		return 0
	}
	return p.Bits - 4
}

func (p packing) lowBytes() int {
	if p.Bits == 8 {
		return p.k * p.lanes
	}
	return p.k * p.lanes / 2
}

func (p packing) highBytes() int { return p.k * p.lanes / 8 * p.highBits() }

// scaleBytes is the size of the scales of a block.
func (p packing) scaleBytes() int {
	n := 2 // D
	if p.Mins {
		n += 2
	}
	if p.Whole {
		subs := p.Weights / p.Sub
		n += subs
		if p.Mins {
			n += subs
		}
	}
	return n * p.lanes
}

func (p packing) panelBytes() int {
	return cgen.Ceil(p.lowBytes()+p.highBytes()+p.k/p.Weights*p.scaleBytes(), line) * line
}

func (p packing) panels() int { return cgen.Ceil(p.n, p.lanes) }

func (p packing) bytes() int { return p.panels() * p.panelBytes() }

// pack rearranges weights, n rows of ggml's layout.
func (p packing) pack(w []byte) []byte {
	out := make([]byte, p.bytes())
	row := p.k / p.Weights * p.Bytes
	native.InParts(p.panels(), func(from, to int) {
		for r := from * p.lanes; r < min(to*p.lanes, p.n); r++ {
			panel := out[r/p.lanes*p.panelBytes():][:p.panelBytes()]
			for b := range p.k / p.Weights {
				block := w[r*row+b*p.Bytes:][:p.Bytes]
				parts, err := p.Split(block)
				if err != nil {
					panic(fmt.Sprintf("qgemm: %v", err)) // the slice has the size of a block
				}
				p.packQuants(panel, r%p.lanes, b*p.Weights, parts.Quants[:p.Weights])
				p.packScales(panel[p.lowBytes()+p.highBytes()+b*p.scaleBytes():], block, r%p.lanes, &parts)
			}
		}
	})
	return out
}

// packQuants writes the quants of a row's block that begins at a weight, four of them at a time.
func (p packing) packQuants(panel []byte, row, from int, quants []int8) {
	center := byte(p.Center)
	if p.signed {
		center = 0
	}
	const each = 4
	var groups [256 / each]uint32
	for i := range len(quants) / each {
		q := quants[each*i:][:each]
		groups[i] = uint32(byte(q[0])+center) | uint32(byte(q[1])+center)<<8 | uint32(byte(q[2])+center)<<16 | uint32(byte(q[3])+center)<<24
	}
	put := func(plane []byte, vector int, word uint32) {
		binary.LittleEndian.PutUint32(plane[(vector*p.lanes+row)*each:], word)
	}
	if p.Bits == 8 {
		for i := range len(quants) / each {
			put(panel, from/each+i, groups[i])
		}
		return
	}
	const low = 0x0f0f0f0f
	for chunk := range len(quants) / 32 {
		g, at := groups[8*chunk:][:8], from/32+chunk
		for i := range 4 {
			put(panel, 4*at+i, g[i]&low|g[i+4]&low<<4)
		}
		high := panel[p.lowBytes():]
		switch p.highBits() {
		case 1:
			var bits uint32
			for i, u := range g {
				bits |= u >> 4 & 0x01010101 << i
			}
			put(high, at, bits)
		case 2:
			for half := range 2 {
				var bits uint32
				for i, u := range g[4*half:][:4] {
					bits |= u >> 4 & 0x03030303 << (2 * i)
				}
				put(high, 2*at+half, bits)
			}
		}
	}
}

// packScales writes the scales of a row's block.
func (p packing) packScales(to, block []byte, row int, parts *blocks.Parts) {
	if !p.Whole {
		copy(to[2*row:], block[:2])
		if p.Mins {
			copy(to[2*p.lanes+2*row:], block[2:4])
		}
		return
	}
	subs := p.Weights / p.Sub
	for s := range subs {
		to[s*p.lanes+row] = byte(parts.Scales[s])
	}
	to = to[subs*p.lanes:]
	d := block[:2]
	if p.Mins {
		for s := range subs {
			to[s*p.lanes+row] = parts.Mins[s]
		}
		to = to[subs*p.lanes:]
		copy(to[2*p.lanes+2*row:], block[2:4])
	} else {
		d = block[p.Bytes-2:] // q6_k ends with it
	}
	copy(to[2*row:], d)
}

// PackedBytes returns the size of weights, n rows of k, in the largest layout.
func PackedBytes(f blocks.Format, n, k int) int {
	most := 0
	for _, lanes := range []int{8, 16} {
		most = max(most, packing{format: formatOf(f), lanes: lanes, n: n, k: k}.bytes())
	}
	return most
}

// packingOf returns the layout that a point wants; false where it takes ggml's.
func (g *Spec) packingOf(p space.Point, n, k int) (packing, bool) {
	if p.Str("form") != formPanels {
		return packing{}, false
	}
	u := unitOf(p)
	return packing{format: g.weights, lanes: u.Bytes / 4, signed: signed(g.weights, u), n: n, k: k}, true
}

// signed reports whether quants of eight bits are stored as signed bytes: unsigned ones need an instruction that does not saturate, and
// matrix tiles multiply signed ones.
func signed(f format, u cgen.ISA) bool { return f.Bits == 8 && (!u.DotBytes || u.Name == cgen.AMXInt8) }

// layouts returns those that the points of this machine want.
func (g *Spec) layouts() (list []packing) {
	if !g.repack {
		return nil
	}
	sets := instructionSets(g.machine)
	if g.hasTiles() {
		sets = append(sets, cgen.Lookup(cgen.AMXInt8))
	}
	for _, u := range sets {
		layout := packing{format: g.weights, lanes: u.Bytes / 4, signed: signed(g.weights, u), n: g.n, k: g.k}
		if !slices.Contains(list, layout) {
			list = append(list, layout)
		}
	}
	return list
}

// usable refuses weights, rows of k, with a block whose scale is no finite number: no product with it is one.
func (f format) usable(w []byte, k int) error {
	isOdd := func(v float32) bool { return v-v != 0 }
	for at := 0; at < len(w); at += f.Bytes {
		parts, err := f.Split(w[at:][:f.Bytes])
		if err != nil {
			return err
		}
		if isOdd(parts.D) || f.Mins && isOdd(parts.Min) {
			row := at / (k / f.Weights * f.Bytes)
			return fmt.Errorf("the block of %s at byte %d of the tensor, in row %d, has a scale that is infinite or not a number: such weights have no product; take another file", f.Name, at, row)
		}
	}
	return nil
}

// packOf describes the layout of the weights that a point wants; nil where it takes ggml's.
func (g *Spec) packOf(p space.Point) *native.Pack {
	l, ok := g.packingOf(p, g.n, g.k)
	if !ok {
		return nil
	}
	return &native.Pack{
		Repacking: space.Repacking{
			Argument: "w", Bytes: int64(g.n) * int64(g.rowBytes()), PackedBytes: int64(l.bytes()), Alignment: line, Layout: l.words(),
		},
		Parameters: "uint8_t *packed, const uint8_t *w, int64_t n, int64_t k",
		Sizes:      []int64{int64(g.n), int64(g.k)},
		Name:       l.name(),
		Length:     l.length(),
	}
}

// words describes the layout. The comment of packing says the same for all formats.
func (p packing) words() string {
	text := fmt.Sprintf("Panels of %d rows, of %d bytes each. ", p.lanes, p.panelBytes())
	stored := ""
	if p.Center > 0 && !p.signed {
		stored = fmt.Sprintf(" with %d added", p.Center)
	}
	if p.Bits == 8 {
		text += fmt.Sprintf("First the quants%s, in words of 4 along k, one of each row.", stored)
	} else {
		text += fmt.Sprintf("First the low 4 bits of the quants%s: 4 vectors for each 32 along k, a word of a vector for each row; byte b of word r of vector i "+
			"has the quants 4i+b (low nibble) and 16+4i+b (high nibble) of row r.", stored)
	}
	switch p.highBits() {
	case 1:
		text += " Then the fifth bits: a vector for each 32 along k; bit g of byte b of word r is of the quant 4g+b."
	case 2:
		text += " Then the upper 2 bits: 2 vectors for each 32 along k; bits 2g and 2g+1 of byte b of word r of vector v are of the quant 16v+4g+b."
	}
	text += fmt.Sprintf(" Then, for each block of %d, ", p.Weights)
	switch {
	case p.Whole && p.Mins:
		text += "the scales of its sub-blocks, a byte for each row, the minima alike, and the two fp16 that they are multiplied by."
	case p.Whole:
		text += "the scales of its sub-blocks, a byte for each row, and the fp16 that they are multiplied by."
	case p.Mins:
		text += "its scales and its minima as fp16, one for each row."
	default:
		text += "its scales as fp16, one for each row."
	}
	return text + " Rows that do not exist are zeros."
}
