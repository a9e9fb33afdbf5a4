package sim

import (
	"fmt"
	"strings"
)

// Usage says how well a program uses the machine.
type Usage struct {
	Cycles int
	Slots  [NumEngines]int // executed; those of debug are not counted
	Full   [NumEngines]int // cycles in which the engine used all its slots
	// PerCycle is the number of slots of each engine in each cycle, in order. It is nil where bundles
	// were not executed once each, in order.
	PerCycle [][NumEngines]uint8
}

// Utilisation counts the slots of a program by visits, the executions of each bundle as returned by Machine.Profile. Without
// visits (nil) it counts what a straight-line program executes, or each bundle once where the program jumps.
func Utilisation(p *Program, visits []int) Usage {
	n, straight := p.prefix()
	if visits == nil && !straight {
		n = len(p.Bundles)
	}
	if visits != nil {
		n = min(len(visits), len(p.Bundles))
	}
	var u Usage
	for i := range p.Bundles[:n] {
		b := &p.Bundles[i]
		times := 1
		if visits != nil {
			times = visits[i]
		}
		if times == 0 || !b.costs() {
			continue
		}
		u.Cycles += times
		var used [NumEngines]uint8
		for _, s := range b.Slots {
			used[s.Op.Engine()]++
		}
		for e, k := range used {
			u.Slots[e] += int(k) * times
			if int(k) >= SlotLimit[e] {
				u.Full[e] += times
			}
		}
		if straight {
			u.PerCycle = append(u.PerCycle, used)
		}
	}
	return u
}

// StraightLine reports whether the program has no jump before its first halt, so that it executes its
// bundles once each, in order.
func (p *Program) StraightLine() bool {
	_, straight := p.prefix()
	return straight
}

// prefix returns how many bundles from the first are sure to be executed if none faults, and whether
// execution ends there.
func (p *Program) prefix() (n int, straight bool) {
	for i := range p.Bundles {
		for _, s := range p.Bundles[i].Slots {
			switch s.Op.control() {
			case halt:
				return i + 1, true
			case jump, condJump, jumpIndirect:
				return i + 1, false
			}
		}
	}
	return len(p.Bundles), true
}

// Share returns the part of the engine's slots that was used, from 0 to 1.
func (u Usage) Share(e Engine) float64 {
	if u.Cycles == 0 {
		return 0
	}
	return float64(u.Slots[e]) / float64(u.Cycles*SlotLimit[e])
}

// String returns a table with a line for each engine.
func (u Usage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %9s %9s %7s %9s\n", "engine", "slots", "of", "used", "full")
	for e := range Debug {
		fmt.Fprintf(&b, "%-6s %9d %9d %6.1f%% %9d\n", e, u.Slots[e], u.Cycles*SlotLimit[e], 100*u.Share(e), u.Full[e])
	}
	return b.String()
}
