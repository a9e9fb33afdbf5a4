package session

import (
	"testing"
	"time"
)

func TestForExport(t *testing.T) {
	for _, c := range []struct{ wall, rebuild, want time.Duration }{
		{0, time.Second, 0},
		{-1, 0, 0},
		{100 * time.Millisecond, 0, 50 * time.Millisecond},
		{time.Second, 0, 100 * time.Millisecond},
		{time.Second, 250 * time.Millisecond, 350 * time.Millisecond},
		{time.Second, time.Minute, 500 * time.Millisecond},
		{30 * time.Second, 2 * time.Second, 2300 * time.Millisecond},
		{time.Hour, 0, 600 * time.Millisecond},
	} {
		if got := forExport(c.wall, c.rebuild); got != c.want {
			t.Errorf("of %v, with a program that takes %v to make, %v is kept, want %v", c.wall, c.rebuild, got, c.want)
		}
	}
}
