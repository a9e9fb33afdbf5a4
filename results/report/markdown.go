package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tune/internal/plain"
)

// Markdown writes the summary of a page, for a pull request.
func (p Page) Markdown(w io.Writer) error {
	var b strings.Builder
	if p.Left > 0 {
		fmt.Fprintf(&b, "> older runs that are not shown: %d\n\n", p.Left)
	}
	for _, l := range p.Libraries {
		l.markdown(&b)
	}
	if len(p.Runs) > 1 {
		b.WriteString("| run | kernel | state | evaluations | best |\n| --- | --- | --- | ---: | --- |\n")
		for _, r := range p.Runs {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cellOf(r.Name), cellOf(r.Title()), cellOf(r.State), r.Evaluated(), cellOf(r.Best()))
		}
		b.WriteByte('\n')
	}
	for _, r := range p.Runs {
		r.markdown(&b)
	}
	fmt.Fprintf(&b, "Made by tune %s.\n", p.Version)
	_, err := io.WriteString(w, b.String())
	return err
}

// cellOf makes a text of others fit for a table: on one line, with nothing that Markdown or HTML would read.
func cellOf(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "@", "&#64;", "#", "\\#").Replace(plain.Line(s))
}

// codeOf writes a text of others as code.
func codeOf(s string) string {
	s = plain.Line(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

func (r *Run) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "### %s\n\n", cellOf(r.Title()))
	said := slices.Concat(r.Problems, r.Notes)
	for _, p := range said {
		fmt.Fprintf(b, "> %s\n>\n", cellOf(p))
	}
	if len(said) > 0 {
		b.WriteByte('\n')
	}
	item := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "- **%s**: %s\n", name, value)
		}
	}
	item("best", cellOf(r.Best()))
	if key := r.bestKey(); key != "" {
		item("point", codeOf(key))
	}
	if s := r.Schedule; s != nil {
		item("verdict", cellOf(string(s.Verdict)))
		item("interval", interval(s.RatioInterval, r.level(true)))
	}
	item("state", cellOf(r.State))
	item("evaluated", r.Evaluated()+" in "+r.Spent())
	item("machine", cellOf(r.Settings.Machine.CPU))
	item("what mattered", cellOf(r.Insight.String()))
	b.WriteByte('\n')
	if peers := r.Peers(); len(peers) > 0 {
		b.WriteString("| peer | peer / best | interval | pairs |\n| --- | ---: | --- | ---: |\n")
		for _, p := range peers {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cellOf(p.Name), cellOf(p.Ratio), p.Interval, p.Pairs)
		}
		b.WriteByte('\n')
	}
	r.frontMarkdown(b)
	if len(r.Insight.Failures) > 0 {
		b.WriteString("| failures | count | cause |\n| --- | ---: | --- |\n")
		for _, f := range r.Insight.Failures {
			var causes []string
			for _, c := range f.Causes {
				causes = append(causes, fmt.Sprintf("%s (%s)", cellOf(c.String()), plain.Number(float64(c.Count))))
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", f.Status, plain.Number(float64(f.Count)), strings.Join(causes, ", "))
		}
		b.WriteByte('\n')
	}
	if len(r.Insight.Losses) > 0 {
		b.WriteString("| parameter | default | best has | loss of the default |\n| --- | --- | --- | ---: |\n")
		for _, l := range r.Insight.Losses {
			loss := "not known"
			switch {
			case l.Count > 0 && !l.Known:
				loss = "–"
			case l.Count > 0:
				loss = fmt.Sprintf("%.1f %%", 100*l.Loss)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cellOf(l.Parameter), cellOf(l.Default), cellOf(l.Chosen), loss)
		}
		b.WriteByte('\n')
	}
	if again := r.Reproduce(); again != "" {
		fence := "```"
		for strings.Contains(again, fence) {
			fence += "`"
		}
		fmt.Fprintf(b, "%ssh\n%s\n%s\n\n", fence, again, fence)
	}
}
