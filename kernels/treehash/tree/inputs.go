package tree

import "sync"

// Input is one seeded input of a problem with the right results. It is shared: nobody may write to its slices.
type Input struct {
	Image   []uint32
	Values  []uint32 // the values after the last round
	Indices []uint32 // the indices after the last round
}

// Inputs caches the inputs of one shape, because a search checks every candidate on the same seeds. It
// is safe for concurrent use.
type Inputs struct {
	shape Shape
	mu    sync.Mutex
	known map[uint64]*Input
	order []uint64 // the seeds of known, oldest first
}

// maxInputs bounds the cache: 16 inputs of the largest shape are about 600 KB.
const maxInputs = 16

// NewInputs returns an empty cache for a shape, which must be valid.
func NewInputs(s Shape) *Inputs {
	return &Inputs{shape: s, known: make(map[uint64]*Input)}
}

// Get returns the input of a seed.
func (c *Inputs) Get(seed uint64) *Input {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in := c.known[seed]; in != nil {
		return in
	}
	in := &Input{Image: Image(c.shape, seed)}
	in.Values, in.Indices = Reference(c.shape, in.Image)
	if len(c.order) == maxInputs {
		delete(c.known, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	c.known[seed] = in
	c.order = append(c.order, seed)
	return in
}
