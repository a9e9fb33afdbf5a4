// Package man writes manual pages of commands, in the language of man(7).
package man

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Name returns the name of a command's page: tune-bench-search.
func Name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Pages returns a command and those below it that have a page.
func Pages(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, Pages(sub)...)
		}
	}
	return out
}

// Write writes the page of a command. source is the program and its version. The page depends on nothing else.
func Write(w io.Writer, c *cobra.Command, source string) error {
	p := page{bufio.NewWriter(w)}
	p.printf(".TH \"%s\" 1 \"\" \"%s\" \"\"\n", strings.ToUpper(line(Name(c))), line(source))
	p.section("NAME")
	p.printf("%s \\- %s\n", line(Name(c)), line(c.Short))
	p.section("SYNOPSIS")
	if c.Runnable() {
		p.printf("\\fB%s\\fR\n", line(c.UseLine()))
	}
	if c.HasAvailableSubCommands() {
		p.printf(".br\n\\fB%s\\fR \\fICOMMAND\\fR\n", line(c.CommandPath()))
	}
	p.section("DESCRIPTION")
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	p.text(about)
	c.InitDefaultHelpFlag()
	p.flags("OPTIONS", c.NonInheritedFlags())
	if c.HasAvailableSubCommands() {
		p.section("COMMANDS")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				p.printf(".TP\n\\fB%s\\fR(1)\n%s\n", line(Name(sub)), line(sub.Short))
			}
		}
	}
	if c.Example != "" {
		p.section("EXAMPLES")
		p.block(strings.Split(c.Example, "\n"))
	}
	if c.HasParent() {
		p.section("SEE ALSO")
		p.printf("\\fB%s\\fR(1)\n", line(Name(c.Parent())))
	}
	return p.w.Flush()
}

// page is one that is being written. Its writer keeps errors until the end.
type page struct{ w *bufio.Writer }

func (p page) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p page) section(name string) { p.printf(".SH %s\n", name) }

// text writes paragraphs, which empty lines separate. Lines that are indented stay as they are.
func (p page) text(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		p.printf(".PP\n")
		var indented []string
		for l := range strings.SplitSeq(paragraph, "\n") {
			if strings.HasPrefix(l, "  ") {
				indented = append(indented, l)
				continue
			}
			p.block(indented)
			indented = nil
			p.printf("%s\n", line(l))
		}
		p.block(indented)
	}
}

// block writes lines as they are.
func (p page) block(lines []string) {
	if len(lines) == 0 {
		return
	}
	p.printf(".PP\n.nf\n")
	for _, l := range lines {
		p.printf("%s\n", line(l))
	}
	p.printf(".fi\n")
}

// flags writes a section of flags, if there are any.
func (p page) flags(name string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(name)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		what, usage := pflag.UnquoteUsage(f)
		p.printf(".TP\n")
		if f.Shorthand != "" {
			p.printf("\\fB\\-%s\\fR, ", f.Shorthand)
		}
		p.printf("\\fB\\-\\-%s\\fR", line(f.Name))
		if what != "" {
			p.printf(" \\fI%s\\fR", line(what))
		}
		if d := f.DefValue; d != "" && d != "false" && d != "[]" {
			usage += fmt.Sprintf(" (default %s)", strings.Trim(d, "[]"))
		}
		p.printf("\n%s\n", line(usage))
	})
}

var escapes = strings.NewReplacer("\\", "\\e", "-", "\\-", "\"", "\\(dq", "\n", " ")

// line makes a text one line that means nothing but itself: at its beginning, a dot or an apostrophe would begin a request.
func line(text string) string {
	var out strings.Builder
	for i, r := range escapes.Replace(text) {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			fmt.Fprintf(&out, "\\&%c", r)
		case r > unicode.MaxASCII:
			fmt.Fprintf(&out, "\\[u%04X]", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
