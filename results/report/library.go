package report

import (
	"fmt"
	"strings"
)

// Library is what a page shows of a library of kernels: what its manifest says. The runs that it was made from are runs of the page.
type Library struct {
	Name string // the directory
	// Title is what the library is called.
	Title string
	// Problem says why the manifest is not shown; "" where it is.
	Problem string
	Facts   []string // sentences
	Tables  []Numbers
}

// markdown writes the tables of a library.
func (l *Library) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "### %s\n\n", cellOf(l.Title))
	if l.Problem != "" {
		fmt.Fprintf(b, "> %s\n\n", cellOf(l.Problem))
	}
	for _, fact := range l.Facts {
		fmt.Fprintf(b, "- %s\n", cellOf(fact))
	}
	if len(l.Facts) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range l.Tables {
		n.markdown(b)
	}
}

// markdown writes a table; numbers are at the right.
func (n *Numbers) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "%s:\n\n|", cellOf(n.Title))
	for _, name := range n.Head {
		fmt.Fprintf(b, " %s |", cellOf(name))
	}
	b.WriteString("\n|")
	for k := range n.Head {
		if len(n.Rows) > 0 && k < len(n.Rows[0]) && n.Rows[0][k].Number {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteByte('\n')
	for _, row := range n.Rows {
		b.WriteByte('|')
		for _, c := range row {
			fmt.Fprintf(b, " %s |", cellOf(c.Text))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}
