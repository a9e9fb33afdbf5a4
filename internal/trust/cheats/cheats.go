// Package cheats tries the kernels of package corpus on tune, as a user would run them, and reports for each whether tune did the
// right thing. A kernel that skips work, hides time or harms others must be refused, or scored at its true time. The honest code
// beside it, before and after it in the same worker, must be scored as usual.
//
// A program that uses it begins with
//
//	if cheats.IsChild() {
//		cheats.Main()
//	}
package cheats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tune/internal/trust/corpus"
)

// Options say what to try. The zero value tries all.
type Options struct {
	Only  string // the names of entries, with commas between them; "" is all
	Quick bool   // those entries only that the tests try
	JSON  bool   // the lines as JSON, in place of a table
	// Progress is told what became of each entry; it may be nil.
	Progress func(format string, args ...any)
}

// Run tries the entries, writes the table, and reports how many lines of it are not as they should be.
func Run(ctx context.Context, w io.Writer, o Options) (failed int, err error) {
	entries, err := selected(o.Only, o.Quick)
	if err != nil {
		return 0, err
	}
	var lines []Line
	for i, e := range entries {
		l, err := Try(ctx, e, measurements)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", e.Name, err)
		}
		if o.Progress != nil {
			o.Progress("%d of %d: %s: %s", i+1, len(entries), e.Name, l)
		}
		lines = append(lines, l)
		if len(l.Faults) > 0 {
			failed++
		}
	}
	if o.JSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return failed, encoder.Encode(lines)
	}
	return failed, writeTable(w, lines)
}

// measurements is how often an entry is tried where costs of honest code differ: on a busy machine they do.
const measurements = 3

// Try tries one entry, as often as it says, until something is wrong. Where costs of honest code differ it measures up to the given number
// of times.
func Try(ctx context.Context, e corpus.Entry, measurements int) (l Line, err error) {
	for range max(e.Repeat, 1) {
		for range measurements {
			f, err := try(ctx, e)
			if err != nil {
				return l, err
			}
			if l = judge(e, f); !l.noisy {
				break
			}
		}
		if len(l.Faults) > 0 {
			return l, nil
		}
	}
	return l, nil
}

// selected returns the entries that are asked for.
func selected(only string, quick bool) ([]corpus.Entry, error) {
	all, err := corpus.Load()
	if err != nil {
		return nil, err
	}
	byName := map[string]corpus.Entry{}
	var out []corpus.Entry
	for _, e := range all {
		byName[e.Name] = e
		if only == "" && (e.Quick || !quick) {
			out = append(out, e)
		}
	}
	if only == "" {
		return out, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		e, ok := byName[strings.TrimSpace(name)]
		if !ok {
			return nil, fmt.Errorf("there is no kernel %q in the corpus", name)
		}
		out = append(out, e)
	}
	return out, nil
}

// writeTable writes the lines as Markdown, one table a class, and what they come to.
func writeTable(w io.Writer, lines []Line) error {
	var b strings.Builder
	failed, mistakes := 0, 0
	class := corpus.Class("")
	for _, l := range lines {
		if l.Class != class {
			class = l.Class
			fmt.Fprintf(&b, "\n### %s\n\n| kernel | what it does | status | reason | scored at | before | verdict |\n| --- | --- | --- | --- | ---: | --- | --- |\n", heading(class))
		}
		name := l.Name
		if l.Mistake {
			name += " *"
			mistakes++
		}
		scored := "–"
		if l.Claimed > 0 {
			scored = fmt.Sprintf("%.2f×", l.Claimed)
			if l.Claimed >= 100 {
				scored = fmt.Sprintf("%.0f×", l.Claimed)
			}
		}
		verdict := "pass"
		if len(l.Faults) > 0 {
			failed++
			verdict = "**FAIL**: " + cell(strings.Join(l.Faults, "; "))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", name, cell(l.Does), l.Status, cell(l.Reason), scored, cmp.Or(cell(l.Before), "–"), verdict)
	}
	fmt.Fprintf(&b, "\n%d kernels, %d of them mistakes that are easily made (*): %d as they should be, %d not.\n", len(lines), mistakes, len(lines)-failed, failed)
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func heading(c corpus.Class) string {
	switch c {
	case corpus.SkipsWork:
		return "Work that is skipped"
	case corpus.HidesTime:
		return "Time that is hidden"
	case corpus.HarmsOthers:
		return "Harm to others"
	}
	return "Honest kernels"
}
