package user

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one error in a file.
type Fault struct {
	File   string
	Line   int    // from 1; 0 where the fault concerns the whole file
	Column int    // in characters, from 1; 0 where only the line is known
	Field  string // the path of the field, such as source.arguments[1].type; may be empty
	Text   string // what is wrong
}

// String returns the fault as file:line:column: field: text.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
	}
	b.WriteString(": ")
	if f.Field != "" {
		b.WriteString(f.Field + ": ")
	}
	b.WriteString(f.Text)
	return b.String()
}

// Faults are all errors in a file, in the order of their positions.
type Faults []Fault

// Error returns the faults, one on each line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// maxFaults limits the faults that are shown of one file.
const maxFaults = 50

// sorted returns the faults in order and without duplicates, those of the main file first. A name that does not exist is told once,
// with all the lines where it stands.
func (fs Faults) sorted(main string) Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		other := func(f Fault) int {
			if f.File == main {
				return 0
			}
			return 1
		}
		return cmp.Or(other(a)-other(b), strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	fs = slices.Compact(fs).once()
	return fs[:min(len(fs), maxFaults)]
}

// unknownName begins the faults about a name that does not exist.
const unknownName = "there is no parameter"

// once joins the faults about one unknown name, in the first of them.
func (fs Faults) once() Faults {
	type name struct{ file, text string }
	lines := map[name][]string{}
	var out Faults
	for _, f := range fs {
		n := name{f.File, f.Text}
		more, again := lines[n]
		if line := strconv.Itoa(f.Line); !again || !strings.HasPrefix(f.Text, unknownName) {
			lines[n] = []string{line}
			out = append(out, f)
		} else if !slices.Contains(more, line) {
			lines[n] = append(more, line)
		}
	}
	for i, f := range out {
		switch more := lines[name{f.File, f.Text}]; {
		case !strings.HasPrefix(f.Text, unknownName):
		case len(more) == 2:
			out[i].Text += ", also on line " + more[1]
		case len(more) > 2:
			out[i].Text += ", also on lines " + strings.Join(more[1:], ", ")
		}
	}
	return out
}
