package kernels

import "fmt"

// Checking is what the checks of a problem's candidates show. Whoever tells users that a candidate was checked tells them
// by which of these. The zero value is FreshInputs.
type Checking uint8

// What checks show.
const (
	// FreshInputs: each seed draws other inputs, and what the candidate makes of them is compared with a reference.
	FreshInputs Checking = iota
	// FixedInput: the inputs are the same whatever the seed is, so that many checks show no more than one.
	FixedInput
	// CheckCommand: a command of the kernel's own says whether the candidate is right.
	CheckCommand
	// NotChecked: nothing tells a right candidate from a wrong one.
	NotChecked
)

// checkingNames are the texts in files.
var checkingNames = [...]string{"fresh inputs", "fixed input", "check command", "not checked"}

// String returns the name in files, such as "fresh inputs".
func (c Checking) String() string {
	if int(c) < len(checkingNames) {
		return checkingNames[c]
	}
	return fmt.Sprintf("checking(%d)", uint8(c))
}

// Claimed returns those of the seeds of passed checks that may be counted: all of them, one where all inputs are the same,
// none where nothing was checked.
func (c Checking) Claimed(seeds []uint64) []uint64 {
	switch c {
	case FixedInput:
		return seeds[:min(len(seeds), 1)]
	case NotChecked:
		return nil
	}
	return seeds
}

// Words says how a candidate was checked that passed n checks: "on 8 fresh inputs".
func (c Checking) Words(n int) string {
	switch {
	case c == FixedInput:
		return "on one fixed input"
	case c == CheckCommand && n == 1:
		return "by its own check command (once)"
	case c == CheckCommand:
		return fmt.Sprintf("by its own check command (%d times)", n)
	case c == NotChecked:
		return c.String()
	case n == 1:
		return "on 1 fresh input"
	}
	return fmt.Sprintf("on %d fresh inputs", n)
}
