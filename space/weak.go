package space

import "fmt"

// The kinds of a WeakOutput.
const (
	Constant  = "constant"  // the reference writes the same, whatever its inputs are
	Unwritten = "unwritten" // the reference writes nothing to it
	Unchanged = "unchanged" // the reference leaves it as it is
)

// WeakOutput is an output of which a passed check proves little, because of what the reference leaves in it on all inputs of the
// checks.
type WeakOutput struct {
	Output string `json:"output"`    // the name of the buffer
	Kind   string `json:"reference"` // what the reference does
}

// String says it as a sentence.
func (w WeakOutput) String() string {
	switch w.Kind {
	case Unwritten:
		return fmt.Sprintf("the reference writes nothing to %s: nothing of it is compared", w.Output)
	case Unchanged:
		return fmt.Sprintf("the reference leaves %s as it is: a candidate that does nothing to it is right", w.Output)
	}
	return fmt.Sprintf("the reference writes the same to %s, whatever its inputs are", w.Output)
}

// Valid reports whether the output has a name and a known kind.
func (w WeakOutput) Valid() bool {
	return w.Output != "" && (w.Kind == Constant || w.Kind == Unwritten || w.Kind == Unchanged)
}
