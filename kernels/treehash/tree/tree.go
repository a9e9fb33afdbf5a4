// Package tree is the tree-hash problem: its shapes, its memory image, and the reference that every program is compared with. It
// knows nothing of the machine but the names of its operations, so that all generators can share it.
//
// An image holds a header of seven words (rounds, nodes, batch, height, and the addresses of the tree,
// the indices and the values), then the tree's nodes in heap order, the batch of indices, all 0, and the
// batch of values. Every round moves every item one level down:
//
//	value = hash(value xor tree[index])
//	index = 2*index + 1 if the value is even, else 2*index + 2; 0 where that is past the last node
package tree

import (
	"fmt"
	"math/rand/v2"

	"tune/sim"
)

// The words of an image's header.
const (
	HeaderRounds = iota
	HeaderNodes
	HeaderBatch
	HeaderHeight
	HeaderTree
	HeaderIndices
	HeaderValues
	HeaderWords
)

// The largest shape. The least is 1 in every field.
const (
	MaxHeight = 12
	MaxRounds = 32
	MaxBatch  = 512
)

// Shape is the shape of one problem.
type Shape struct {
	Height int // levels below the root, 1 to MaxHeight
	Rounds int // 1 to MaxRounds
	Batch  int // items, 1 to MaxBatch
}

// Validate reports a field that is out of range.
func (s Shape) Validate() error {
	for _, f := range []struct {
		name     string
		got, max int
	}{{"height", s.Height, MaxHeight}, {"rounds", s.Rounds, MaxRounds}, {"batch", s.Batch, MaxBatch}} {
		if f.got < 1 || f.got > f.max {
			return fmt.Errorf("tree: %s %d is out of range: want 1 to %d", f.name, f.got, f.max)
		}
	}
	return nil
}

// Nodes returns the number of the tree's nodes.
func (s Shape) Nodes() int { return 1<<(s.Height+1) - 1 }

// TreeAddr returns the address of the root.
func (s Shape) TreeAddr() int { return HeaderWords }

// IndexAddr returns the address of the first item's index.
func (s Shape) IndexAddr() int { return s.TreeAddr() + s.Nodes() }

// ValueAddr returns the address of the first item's value.
func (s Shape) ValueAddr() int { return s.IndexAddr() + s.Batch }

// Words returns the length of the image.
func (s Shape) Words() int { return s.ValueAddr() + s.Batch }

// String returns the shape as users write it.
func (s Shape) String() string {
	return fmt.Sprintf("height=%d,rounds=%d,batch=%d", s.Height, s.Rounds, s.Batch)
}

// Stage is one step of the hash: a = (a Op1 C) Op2 (a ShiftOp K).
type Stage struct {
	Op1     sim.Op
	C       uint32
	Op2     sim.Op
	ShiftOp sim.Op
	K       uint32
}

// Stages are the six stages of the hash, in order. Nobody writes to them.
var Stages = [6]Stage{
	{sim.OpAdd, 0x7ED55D16, sim.OpAdd, sim.OpShl, 12},
	{sim.OpXor, 0xC761C23C, sim.OpXor, sim.OpShr, 19},
	{sim.OpAdd, 0x165667B1, sim.OpAdd, sim.OpShl, 5},
	{sim.OpAdd, 0xD3A2646C, sim.OpXor, sim.OpShl, 9},
	{sim.OpAdd, 0xFD7046C5, sim.OpAdd, sim.OpShl, 3},
	{sim.OpXor, 0xB55A4F09, sim.OpXor, sim.OpShr, 16},
}

// hash is Bob Jenkins's 32-bit integer hash in six stages, see Stages. It is written out for speed, because the reference of
// every check spends its time here.
func hash(a uint32) uint32 {
	a = (a + 0x7ED55D16) + (a << 12)
	a = (a ^ 0xC761C23C) ^ (a >> 19)
	a = (a + 0x165667B1) + (a << 5)
	a = (a + 0xD3A2646C) ^ (a << 9)
	a = (a + 0xFD7046C5) + (a << 3)
	return (a ^ 0xB55A4F09) ^ (a >> 16)
}

// Header returns the words before the root of every image of a shape.
func Header(s Shape) []uint32 {
	return []uint32{
		HeaderRounds: uint32(s.Rounds), HeaderNodes: uint32(s.Nodes()), HeaderBatch: uint32(s.Batch),
		HeaderHeight: uint32(s.Height), HeaderTree: uint32(s.TreeAddr()),
		HeaderIndices: uint32(s.IndexAddr()), HeaderValues: uint32(s.ValueAddr()),
	}
}

// Image draws the memory image of a problem from a seed. Nodes and values are below 2^30.
func Image(s Shape, seed uint64) []uint32 {
	rng := rand.New(rand.NewPCG(seed, 0x74726565)) // the stream is this package's own: "tree"
	image := make([]uint32, s.Words())
	copy(image, Header(s))
	for i := s.TreeAddr(); i < s.IndexAddr(); i++ {
		image[i] = rng.Uint32N(1 << 30)
	}
	for i := s.ValueAddr(); i < s.Words(); i++ {
		image[i] = rng.Uint32N(1 << 30)
	}
	return image
}

// Reference returns the values and the indices of an image after the last round. It does not change the image.
func Reference(s Shape, image []uint32) (values, indices []uint32) {
	nodes := image[s.TreeAddr():s.IndexAddr()]
	values = append(values, image[s.ValueAddr():s.Words()]...)
	indices = append(indices, image[s.IndexAddr():s.ValueAddr()]...)
	for range s.Rounds {
		for i, v := range values {
			v = hash(v ^ nodes[indices[i]])
			next := 2*indices[i] + 1 + v&1
			if next >= uint32(len(nodes)) {
				next = 0
			}
			values[i], indices[i] = v, next
		}
	}
	return values, indices
}
