package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tune"
	"tune/internal/plain"
	"tune/results/library"
	"tune/results/schedule"
	"tune/space"
)

// librariesCompared are the flags of a comparison of libraries.
type librariesCompared struct {
	recorded, yes, asJSON, quiet bool
	slack                        *float64
	limit                        time.Duration
}

// libraryShapeLimit is how long the measurement of a shape takes where no limit is given.
const libraryShapeLimit = 5 * time.Second

// compareLibraries compares two libraries of tune library.
func (a *app) compareLibraries(ctx context.Context, args []string, with librariesCompared) error {
	for _, arg := range args {
		if !library.IsLibrary(arg) {
			return usage(fmt.Errorf("%s is no library that tune has made, and the other one is: compare two of a kind", arg))
		}
	}
	find, done := a.libraryKernels(with.yes)
	defer done()
	n := newNotice(a, with.quiet)
	c, err := library.Compare(ctx, library.CompareOptions{
		A: args[0], B: args[1], Kernels: find, Recorded: with.recorded, Limit: with.limit, Seeds: tune.FreshSeeds(2), Observe: n.tasks, Began: time.Now(),
	})
	n.end()
	if err != nil {
		return adviseCompare(err)
	}
	var regressed []string
	if with.slack != nil {
		regressed = c.Regressed(*with.slack)
	}
	if with.asJSON {
		err = printJSON(a.stdout, struct {
			*library.Comparison
			Regressed []string `json:"regressed"`
			Untold    int      `json:"untold"`
			FailOver  *float64 `json:"fail_over,omitempty"`
		}{c, append([]string{}, regressed...), c.Untold(), with.slack})
	} else {
		err = a.printLibraries(c)
	}
	switch {
	case err != nil || with.slack == nil:
		return err
	case len(regressed) > 0:
		return &exitError{exitFailed, fmt.Errorf("the library B costs over %s more than A at %s: %s", percent(*with.slack), plain.Count(len(regressed), "shape"), strings.Join(regressed, "; "))}
	case c.Untold() > 0:
		help := "a longer --limit or a quiet machine helps"
		if with.recorded {
			help = "without --recorded both are measured"
		}
		return &exitError{exitUnsure, fmt.Errorf("--fail-over: it cannot be told of %s: %s", untoldOf(c), help)}
	}
	if !with.asJSON {
		_, err = fmt.Fprintf(a.stdout, "fail-over passed: at no shape it is proven that B costs over %s more\n", percent(*with.slack))
	}
	return err
}

// untoldOf says what could not be compared.
func untoldOf(c *library.Comparison) string {
	var words []string
	if n := c.Untold() - len(c.OnlyA); n > 0 {
		words = append(words, plain.Count(n, "shape"))
	}
	if len(c.OnlyA) > 0 {
		words = append(words, plain.Count(len(c.OnlyA), "function")+" that B lacks")
	}
	return strings.Join(words, " and ")
}

// printLibraries shows a comparison of libraries: a line for each shape, and then how many there are of each verdict.
func (a *app) printLibraries(c *library.Comparison) error {
	w := a.stdout
	fmt.Fprintf(w, "A         %s\nB         %s\n", c.A, c.B)
	if c.Recorded {
		fmt.Fprintln(w, "recorded  nothing was built or measured: the costs are those that the libraries recorded, at different moments")
	}
	for _, f := range c.Functions {
		fmt.Fprintf(w, "function  %s, kernel %s\n", f.Function, strings.TrimSpace(f.Kernel+" "+f.Fixed))
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "shape\tA\tcost\tB\tcost\tB beside A")
		counts := map[schedule.Standing]int{}
		same := 0
		for _, s := range f.Shapes {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Shape, s.A.Variant, costOf(s.A), s.B.Variant, costOf(s.B), besideWords(s))
			if s.Same {
				same++
			} else {
				counts[s.Verdict]++
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		var words []string
		for _, v := range []schedule.Standing{schedule.BFaster, schedule.BSlower, schedule.Alike, schedule.Undecided} {
			if counts[v] > 0 {
				words = append(words, fmt.Sprintf("%s at %d", v, counts[v]))
			}
		}
		if same > 0 {
			words = append(words, fmt.Sprintf("the same code at %d", same))
		}
		if f.Unknown > 0 {
			words = append(words, fmt.Sprintf("nothing recorded of one of them at %d", f.Unknown))
		}
		fmt.Fprintf(w, "verdict   of %s: %s\n", plain.Count(len(f.Shapes)+f.Unknown, "shape"), strings.Join(words, ", "))
	}
	for _, only := range []struct {
		side  string
		names []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.names) > 0 {
			fmt.Fprintf(w, "only %s    %s\n", only.side, strings.Join(slices.Clone(only.names), ", "))
		}
	}
	return nil
}

// costOf writes what a choice costs.
func costOf(c library.ComparedChoice) string {
	if c.Cost == 0 {
		return "-"
	}
	return space.Unit("ns").Words(c.Cost)
}

// besideWords says how B compares with A at a shape.
func besideWords(s library.ComparedShape) string {
	c := s.As()
	switch {
	case s.Same:
		return "the same code"
	case s.Ratio == 0:
		return string(s.Verdict)
	case s.Low == 0 && s.High == 0:
		return fmt.Sprintf("%s as fast, %s", timesOf(s.Ratio), s.Verdict)
	}
	text := fmt.Sprintf("%s as fast, %.3f to %.3f, %s", timesOf(s.Ratio), s.Low, s.High, s.Verdict)
	if by, least := c.Slowdown(); by > 0 {
		text += fmt.Sprintf(": costs %s more, at least %s", percent(by), percent(least))
	}
	return text
}
