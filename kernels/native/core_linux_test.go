package native

import "testing"

// TestCores: hosts that time at the same time have cores of their own, as far as there are enough; a core is free again once its host is
// closed.
func TestCores(t *testing.T) {
	// No machine has these, so that other processes do not claim them.
	cores := []int{70001, 70002}
	host := func() *Host {
		h := NewHost(HostOptions{})
		h.cores = cores
		t.Cleanup(func() { h.Close() })
		return h
	}
	first, second, third := host(), host(), host()
	for i, c := range []struct {
		h    *Host
		want int
	}{{first, 70002}, {second, 70001}, {third, 70002}, {first, 70002}} {
		if got, _ := c.h.Cores(); got != c.want {
			t.Errorf("look %d: core %d, want %d", i, got, c.want)
		}
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := host().Cores(); got != 70001 {
		t.Errorf("after a host was closed another one has core %d, want 70001", got)
	}
}
