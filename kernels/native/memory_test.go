package native

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tune/internal/cpu"
)

// TestRoom: what the machine has no room for is refused, and what is small is not.
func TestRoom(t *testing.T) {
	if _, ok := spareMemory(); !ok {
		t.Skip("this system does not say how much memory it has")
	}
	if err := Room(1 << 20); err != nil {
		t.Error(err)
	}
	if err := Room(math.MaxInt64); err == nil || !strings.Contains(err.Error(), "needs about 9223372036.9 GB of memory, this machine has ") {
		t.Errorf("for all memory that there can be: %v", err)
	}
}

// TestNeeds: all that exists at once counts.
func TestNeeds(t *testing.T) {
	buffers := []Buffer{{Elem: F32, Len: 1 << 28, Mode: In}, {Elem: F64, Len: 1 << 27, Mode: Out}}
	const size = 2 << 30
	for finalists := 1; finalists <= 5; finalists++ {
		least := int64(2*3<<30 + 2*(finalists+2)*size)
		if n := Needs(buffers, 3<<30, false, finalists); n < least || n > least+1024*size {
			t.Errorf("%d bytes for %d finalists", n, finalists)
		}
	}
	// Copies of large buffers would be no colder.
	if warm, cold := Needs(buffers, 0, false, 5), Needs(buffers, 0, true, 5); warm != cold {
		t.Errorf("%d bytes warm, %d cold", warm, cold)
	}
}

// TestFinalistsIn: where memory is short fewer are compared, and one at least.
func TestFinalistsIn(t *testing.T) {
	spare, ok := spareMemory()
	if !ok {
		t.Skip("this system does not say how much memory it has")
	}
	if n, err := finalistsIn([]Buffer{{Elem: F32, Len: 1000, Mode: Out}}, 0, false); n != manyFinalists || err != nil {
		t.Errorf("%d finalists of a small shape, %v", n, err)
	}
	// So large that three finalists have room.
	length := int(spare) / 4 / (3*(3+2) + cpu.Cores())
	n, err := finalistsIn([]Buffer{{Elem: F32, Len: length, Mode: Out}}, 0, false)
	if n < 1 || n > 5 || err != nil {
		t.Errorf("%d finalists, %v", n, err)
	}
	if n, err := finalistsIn([]Buffer{{Elem: F32, Len: int(spare) / 4, Mode: Out}}, 0, false); err == nil {
		t.Errorf("%d finalists of a buffer as large as the memory", n)
	}
}

// sized is a spec that no machine has room for.
type sized struct{ tester }

func (sized) Sizes() ([]Buffer, int64) {
	return []Buffer{{Name: "x", Elem: F64, Len: 1 << 50, Mode: InOut}}, 1 << 53
}

func TestNewRefuses(t *testing.T) {
	if _, ok := spareMemory(); !ok {
		t.Skip("this system does not say how much memory it has")
	}
	if _, err := New(sized{newTester(t)}, Options{Host: NewHost(HostOptions{})}); err == nil || !strings.Contains(err.Error(), "GB of memory") {
		t.Errorf("New returned %v", err)
	}
}

// TestFitProduct: each of the three matrices is held to the bound, and sides whose product is beyond 32 bits are no smaller.
func TestFitProduct(t *testing.T) {
	for _, c := range []struct {
		m, n, k int
		most    int64
		fits    bool
	}{
		{4, 4, 4, 16, true}, {1, 1, 17, 16, false}, {17, 1, 1, 16, false}, {1, 17, 1, 16, false}, {1 << 18, 1, 1 << 18, 1 << 28, false},
	} {
		err := FitProduct(c.m, c.n, c.k, c.most)
		want := fmt.Sprintf("shape: m=%d,n=%d,k=%d: a matrix may have at most %d elements", c.m, c.n, c.k, c.most)
		if c.fits && err != nil || !c.fits && (err == nil || err.Error() != want) {
			t.Errorf("m=%d n=%d k=%d of %d: %v, want fits %v", c.m, c.n, c.k, c.most, err, c.fits)
		}
	}
}
