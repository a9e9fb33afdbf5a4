package main

import (
	"testing"

	"tune/internal/trust/power"
)

// TestMachines: the machines of guards are those that the flag names.
func TestMachines(t *testing.T) {
	for _, c := range []struct {
		named       []string
		alone, busy bool
		failed      bool
	}{
		{nil, false, false, false}, // which the guards take for both
		{[]string{"alone"}, true, false, false},
		{[]string{"busy"}, false, true, false},
		{[]string{"busy", "alone"}, true, true, false},
		{[]string{"idle"}, false, false, true},
	} {
		var p power.Options
		if err := (options{machines: c.named}).on(&p); (err != nil) != c.failed || p.Quiet != c.alone || p.Busy != c.busy {
			t.Errorf("%v: %+v, %v", c.named, p, err)
		}
	}
}
