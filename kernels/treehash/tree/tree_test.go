package tree

import (
	"slices"
	"sync"
	"testing"

	"tune/sim"
)

// TestHashFollowsStages pins that the written-out hash and the table that generators use are the same.
func TestHashFollowsStages(t *testing.T) {
	apply := func(op sim.Op, a, b uint32) uint32 {
		switch op {
		case sim.OpAdd:
			return a + b
		case sim.OpXor:
			return a ^ b
		case sim.OpShl:
			return a << b
		case sim.OpShr:
			return a >> b
		}
		t.Fatalf("unexpected operation %v", op)
		return 0
	}
	for _, in := range []uint32{0, 1, 2, 0x3fffffff, 0x80000000, 0xffffffff, 0xdeadbeef} {
		a := in
		for _, s := range Stages {
			a = apply(s.Op2, apply(s.Op1, a, s.C), apply(s.ShiftOp, a, s.K))
		}
		if got := hash(in); got != a {
			t.Errorf("hash(%#x) = %#x, the stages give %#x", in, got, a)
		}
	}
}

func TestShape(t *testing.T) {
	s := Shape{Height: 10, Rounds: 16, Batch: 256}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	got := []int{s.Nodes(), s.TreeAddr(), s.IndexAddr(), s.ValueAddr(), s.Words()}
	if want := []int{2047, 7, 2054, 2310, 2566}; !slices.Equal(got, want) {
		t.Errorf("layout %v, want %v", got, want)
	}
	for _, bad := range []Shape{{}, {13, 1, 1}, {1, 33, 1}, {1, 1, 513}, {0, 1, 1}, {1, 0, 1}, {1, 1, -1}} {
		if bad.Validate() == nil {
			t.Errorf("%v is valid", bad)
		}
	}
}

func TestImage(t *testing.T) {
	s := Shape{Height: 3, Rounds: 4, Batch: 5}
	a, b := Image(s, 7), Image(s, 7)
	if !slices.Equal(a, b) {
		t.Error("the same seed gave two images")
	}
	if slices.Equal(a, Image(s, 8)) {
		t.Error("two seeds gave the same image")
	}
	if want := []uint32{4, 15, 5, 3, 7, 22, 27}; !slices.Equal(a[:HeaderWords], want) {
		t.Errorf("header %v, want %v", a[:HeaderWords], want)
	}
	for i, w := range a[HeaderWords:] {
		if w >= 1<<30 {
			t.Errorf("word %d is %d, not below 2^30", i, w)
		}
	}
	if in := a[s.IndexAddr():s.ValueAddr()]; !slices.Equal(in, make([]uint32, s.Batch)) {
		t.Errorf("indices start as %v, want 0", in)
	}
}

// TestReference walks one tiny problem by hand.
func TestReference(t *testing.T) {
	s := Shape{Height: 1, Rounds: 2, Batch: 1}
	image := Image(s, 3)
	v := hash(image[s.ValueAddr()] ^ image[s.TreeAddr()])
	child := 1 + v%2
	v = hash(v ^ image[s.TreeAddr()+int(child)])
	values, indices := Reference(s, image)
	if values[0] != v || indices[0] != 0 {
		t.Errorf("got value %#x index %d, want %#x and 0: the children are leaves", values[0], indices[0], v)
	}
}

func TestInputs(t *testing.T) {
	s := Shape{Height: 2, Rounds: 3, Batch: 4}
	c := NewInputs(s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for seed := range uint64(3 * maxInputs) {
				if got := c.Get(seed); !slices.Equal(got.Image, Image(s, seed)) {
					t.Errorf("seed %d: not its image", seed)
				}
			}
		})
	}
	wg.Wait()
	if len(c.known) > maxInputs || len(c.order) != len(c.known) {
		t.Errorf("cache holds %d inputs in an order of %d", len(c.known), len(c.order))
	}
	first := c.Get(99)
	if again := c.Get(99); again != first {
		t.Error("the same seed was drawn twice")
	}
}
