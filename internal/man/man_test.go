package man

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func example() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "Do it", Long: "tool does it.\n\nThe forms are:\n\n  a-b  one\n  .c   'two'\n\n'quoted' \\n text\n.dot, 2×", Example: "  tool run 'x*' -n 3"}
	run := &cobra.Command{Use: "run FILE", Short: "Run \"it\"", Run: func(*cobra.Command, []string) {}}
	run.Flags().IntP("number", "n", 7, "`count` of things")
	run.Flags().Bool("quiet", false, "say nothing")
	run.Flags().String("secret", "", "hidden")
	run.Flags().MarkHidden("secret")
	hidden := &cobra.Command{Use: "gone", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(run, hidden)
	return root
}

func TestWrite(t *testing.T) {
	pages := Pages(example())
	if len(pages) != 2 || Name(pages[1]) != "tool-run" {
		t.Fatalf("pages of %d commands", len(pages))
	}
	var out bytes.Buffer
	for _, c := range pages {
		if err := Write(&out, c, "tool 1.0"); err != nil {
			t.Fatal(err)
		}
	}
	const want = `.TH "TOOL" 1 "" "tool 1.0" ""
.SH NAME
tool \- Do it
.SH SYNOPSIS
.br
\fBtool\fR \fICOMMAND\fR
.SH DESCRIPTION
.PP
tool does it.
.PP
The forms are:
.PP
.PP
.nf
  a\-b  one
  .c   'two'
.fi
.PP
\&'quoted' \en text
\&.dot, 2\[u00D7]
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for tool
.SH COMMANDS
.TP
\fBtool\-run\fR(1)
Run \(dqit\(dq
.SH EXAMPLES
.PP
.nf
  tool run 'x*' \-n 3
.fi
.TH "TOOL\-RUN" 1 "" "tool 1.0" ""
.SH NAME
tool\-run \- Run \(dqit\(dq
.SH SYNOPSIS
\fBtool run FILE [flags]\fR
.SH DESCRIPTION
.PP
Run \(dqit\(dq.
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for run
.TP
\fB\-n\fR, \fB\-\-number\fR \fIcount\fR
count of things (default 7)
.TP
\fB\-\-quiet\fR
say nothing
.SH SEE ALSO
\fBtool\fR(1)
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestGroff: the formatter has nothing to complain about.
func TestGroff(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("needs groff")
	}
	for _, c := range Pages(example()) {
		var page bytes.Buffer
		if err := Write(&page, c, "tool 1.0"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin = strings.NewReader(page.String())
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", Name(c), err, out)
		}
	}
}
