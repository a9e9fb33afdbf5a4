package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/results"
	"tune/results/insight"
	"tune/space"
)

// isRunDir reports whether a directory is that of a run.
func isRunDir(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, results.SettingsName))
	return err == nil
}

// builtWith is what explain reads of the file that says how a kernel in C is built.
type builtWith struct {
	Command []string `json:"command"`
	Version string   `json:"version"`
	Threads int      `json:"threads"`
}

// explainRun shows what the run in a directory knows of its best point and of its parameters, and how near to the limits of the
// processor that point is. Of the kernel, only what mattered needs the space.
func (a *app) explainRun(ctx context.Context, w io.Writer, dir string) error {
	look, err := results.Look(dir)
	if err != nil {
		return err
	}
	s, err := results.ReadResult(dir, look.Settings, results.Describe(dir).Summary.Best)
	if err != nil {
		return err
	}
	unit := space.Unit(s.Unit)
	fmt.Fprintf(w, "kernel    %s\n", strings.TrimSpace(s.Kernel+" "+s.Shape))
	fmt.Fprintf(w, "best      %s", unit.Words(s.Cost))
	if s.Ratio > 0 && s.Key != s.Baseline.Key {
		fmt.Fprintf(w, ", %s %s as %s (%s)", times(s.Ratio), unit.Compared(), baselineName(&s), unit.Words(s.Baseline.Cost))
	}
	fmt.Fprintf(w, "\npoint     %s\n", s.Key)
	var limits []string
	for i, artifact := range s.Artifacts {
		if i == 0 {
			fmt.Fprintf(w, "program   %s\n", filepath.Join(dir, artifact.Name))
		}
		if !strings.HasSuffix(artifact.Name, ".build.json") {
			continue
		}
		if err := artifact.Verify(dir); err != nil {
			return err
		}
		text, err := files.In(dir).Read(artifact.Name, files.Settings)
		if err != nil {
			return err
		}
		var b builtWith
		if err := json.Unmarshal(text, &b); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, artifact.Name), err)
		}
		var words []string
		for _, word := range b.Command {
			words = append(words, plain.ShellWord(word))
		}
		fmt.Fprintf(w, "build     %s\n", strings.Join(words, " "))
		if b.Version != "" {
			fmt.Fprintf(w, "compiler  %s\n", b.Version)
		}
		fmt.Fprintf(w, "threads   %d\n", b.Threads)
		if limits, err = a.limits(ctx, &s, b.Threads); err != nil {
			return err
		}
	}
	label := "metrics"
	for _, m := range s.Metrics {
		fmt.Fprintf(w, "%-9s %s %s\n", label, m.Name, plain.Number(m.Value))
		label = ""
	}
	label = "limits"
	for _, line := range limits {
		fmt.Fprintf(w, "%-9s %s\n", label, line)
		label = ""
	}
	run, err := results.Read(dir)
	if err != nil {
		return err
	}
	table, err := insight.Collect(run.LastEnd().Trim(run), mostExplained)
	if err != nil {
		return err
	}
	in, err := a.spaceOfRun(dir)
	if err != nil {
		in = nil // then what mattered is that of the outcomes alone, as in a report
	}
	found := table.Look(in, insight.Exported(&s), learn)
	if mattered := found.String(); mattered != "" {
		fmt.Fprintf(w, "mattered  %s\n", mattered)
	}
	if err := printLosses(w, unit, found.Losses); err != nil {
		return err
	}
	return printEffects(w, unit, table.Effects())
}

// mostExplained is how many outcomes are looked at; of more, every n-th one.
const mostExplained = 1 << 18

// printLosses shows what it costs to leave each parameter at its default, as far as the search knows.
func printLosses(w io.Writer, unit space.Unit, losses []insight.Loss) error {
	if len(losses) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nthe best of the search and the baseline with a parameter at its default, the greatest loss first:")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, l := range losses {
		best, loss := "none was right", ""
		if l.Count > 0 {
			best = unit.Words(l.Best)
		}
		if l.Known {
			loss = fmt.Sprintf("+%.1f %%", 100*l.Loss)
		}
		fmt.Fprintf(t, "%s\t%s instead of %s\t%s\t%s\t%s\n", l.Parameter, l.Default, l.Chosen, best, loss, plain.Count(l.Count, "candidate"))
	}
	return t.Flush()
}

// mostValues is how many values of a parameter are shown.
const mostValues = 8

// printEffects shows the least cost with each value of each parameter.
func printEffects(w io.Writer, unit space.Unit, effects []insight.Effect) error {
	if len(effects) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nthe least cost that the search saw with each value, parameters that matter most first:")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, e := range effects {
		best := e.Values[0].Best
		for i, v := range e.Values {
			name := e.Parameter
			if i > 0 {
				name = ""
			}
			if i == mostValues {
				fmt.Fprintf(t, "\tand %s\n", plain.Count(len(e.Values)-i, "other value"))
				break
			}
			worse := ""
			if i > 0 && best > 0 {
				worse = fmt.Sprintf("+%.1f %%", 100*(v.Best/best-1))
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", name, v.Value, unit.Words(v.Best), worse, plain.Count(v.Count, "candidate"))
		}
	}
	return t.Flush()
}
