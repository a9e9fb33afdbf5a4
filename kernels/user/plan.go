package user

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/plain"
)

// Plan lists what the kernel compiles and runs, for a user who decides whether it may. The lines are safe for terminals. Values
// of a point are shown as {{name}}; the values that are texts follow.
func (k *Kernel) Plan() []string {
	var out []string
	add := func(what, format string, args ...any) {
		text := plain.Text(fmt.Sprintf(format, args...))
		for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			if i > 0 {
				what = ""
			}
			out = append(out, strings.TrimRight(fmt.Sprintf("%-9s %s", what, line), " "))
		}
	}
	mentioned := map[string]bool{}
	note := func(ts ...template) {
		for _, t := range ts {
			for _, m := range t.names() {
				mentioned[m.name] = true
			}
		}
	}
	if k.d.command != nil {
		k.planCommand(add, note)
	}
	if s := k.d.source; s != nil {
		compilers := "the preferred compiler"
		if len(s.compilers) > 0 {
			compilers = strings.Join(s.compilers, " or ")
		}
		note(s.templates()...)
		note(s.reference.flags...)
		add("compiles", "%s with %s %s", s.name, compilers, sources(s.flags))
		for _, w := range s.switches {
			for _, value := range slices.Sorted(maps.Keys(w.flags)) {
				add("", "and %s, if %s is %s", w.flags[value].src, w.parameter, value)
			}
		}
		if s.reference.name != "" && s.reference.name != s.name {
			add("", "%s, of which it calls %s", s.reference.name, s.reference.function)
		}
		if s.reference.flagsGiven {
			add("", "and the reference with %s instead", cmp.Or(sources(s.reference.flags), "no flags"))
		}
		add("calls", "%s, in a process of its own", s.function)
	}
	for i, f := range k.saved {
		what := ""
		if i == 0 {
			what = "files"
		}
		add(what, "%s", f)
	}
	for _, p := range k.d.space.parameters {
		if len(p.Values) == 0 || !isText(p.Values[0]) || !mentioned[p.Name] && !(k.d.source != nil && k.d.source.defined[p.Name]) {
			continue
		}
		var values []string
		for _, v := range p.Values {
			values = append(values, plain.Line(valueText(v)))
		}
		add("values", "%s: %s", p.Name, strings.Join(values, " | "))
	}
	return slices.Clip(out)
}

// planCommand is the part of Plan about the commands of a kernel.
func (k *Kernel) planCommand(add func(what, format string, args ...any), note func(...template)) {
	c := k.d.command
	where := "a new directory for each point"
	if !c.own {
		if where = c.directory; !filepath.IsAbs(where) {
			where = filepath.Join(k.dir, where)
		}
	}
	add("runs in", "%s", where)
	for _, v := range c.environment {
		add("sets", "%s=%s", v.name, v.value.src)
		note(v.value)
	}
	for _, l := range []struct {
		what string
		line *line
	}{{"sets up", c.setup}, {"builds", c.build}, {"prepares", c.prepare}, {"runs", c.run}, {"checks", c.check}, {"cleans up", c.cleanup}} {
		if l.line != nil {
			add(l.what, "%s", l.line.text())
			note(l.line.words...)
		}
	}
	for _, f := range c.files {
		note(f.text)
	}
	for _, m := range c.metrics() {
		if m.file != "" {
			add("removes", "%s, before each run", m.file)
			note(parseTemplate(m.file))
		}
	}
}

// sources writes templates as they stand in the file.
func sources(all []template) string {
	var out []string
	for _, t := range all {
		out = append(out, t.src)
	}
	return strings.Join(out, " ")
}

// text writes a command line with its placeholders.
func (l *line) text() string {
	var words []string
	for _, w := range l.words {
		words = append(words, w.src)
	}
	if l.shell {
		return words[0]
	}
	for i, w := range words {
		words[i] = plain.ShellWord(w)
	}
	return strings.Join(words, " ")
}
