package kernels

import "fmt"

// Checking says how the candidates of a problem are checked, and so how much their checks prove. Every message that says that a
// candidate was checked must name it. The zero value is FreshInputs.
type Checking uint8

// Kinds of checking.
const (
	// FreshInputs: each seed draws different inputs, and the candidate's results are compared with a reference.
	FreshInputs Checking = iota
	// FixedInput: the inputs are the same for every seed, so that many checks prove no more than one.
	FixedInput
	// CheckCommand: a command of the kernel's own decides whether the candidate is right.
	CheckCommand
	// NotChecked: nothing distinguishes a right candidate from a wrong one.
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

// Claimed returns those seeds of passed checks that may be counted: all of them, one where all inputs are the same, none where
// nothing was checked.
func (c Checking) Claimed(seeds []uint64) []uint64 {
	switch c {
	case FixedInput:
		return seeds[:min(len(seeds), 1)]
	case NotChecked:
		return nil
	}
	return seeds
}

// Words says how a candidate that passed n checks was checked: "on 8 fresh inputs".
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
