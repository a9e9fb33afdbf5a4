package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// Fault says what a program does that the machine refuses, and where. Decode returns faults that are visible in the program
// itself, Machine.Run those that occur only when it runs.
type Fault struct {
	Bundle int    // number of the bundle, from 0
	Engine Engine // engine at fault
	Slot   int    // number of the slot within its engine, from 0; -1 where the engine has no slot
	Cycle  int    // cycles completed before the bundle; -1 where the program did not run
	Reason string
}

// Error names the bundle, the engine and the slot, and says why.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString("bundle " + strconv.Itoa(f.Bundle) + ", " + f.Engine.String())
	if f.Slot >= 0 {
		b.WriteString(" slot " + strconv.Itoa(f.Slot))
	}
	if f.Cycle >= 0 {
		b.WriteString(", cycle " + strconv.Itoa(f.Cycle))
	}
	b.WriteString(": " + f.Reason)
	return b.String()
}

// staticFault returns the fault of a program that did not run.
func staticFault(bundle int, e Engine, slot int, format string, args ...any) *Fault {
	return &Fault{Bundle: bundle, Engine: e, Slot: slot, Cycle: -1, Reason: fmt.Sprintf(format, args...)}
}
