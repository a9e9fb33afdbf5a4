package native

import (
	"math"
	"strings"
	"testing"
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
	if n := Needs(buffers, 3<<30, false); n < 2*3<<30+2*6*size || n > 2*3<<30+2*6*size+1024*size {
		t.Errorf("%d bytes", n)
	}
	// Copies of large buffers would be no colder.
	if warm, cold := Needs(buffers, 0, false), Needs(buffers, 0, true); warm != cold {
		t.Errorf("%d bytes warm, %d cold", warm, cold)
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
	if _, err := New(sized{newTester(t)}, Options{}); err == nil || !strings.Contains(err.Error(), "GB of memory") {
		t.Errorf("New returned %v", err)
	}
}
