package session

import (
	"testing"
	"time"
)

func TestReserve(t *testing.T) {
	for wall, want := range map[time.Duration]time.Duration{
		0: 0, -1: 0, 100 * time.Millisecond: 50 * time.Millisecond, time.Second: 180 * time.Millisecond,
		30 * time.Second: 300 * time.Millisecond, time.Hour: 600 * time.Millisecond,
	} {
		if got := reserve(wall); got != want {
			t.Errorf("of %v %v is kept, want %v", wall, got, want)
		}
	}
}
