package user

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func (r *reader) command(f *fields, ns *names, w world) *command {
	c := &command{
		run: r.line(f, "run", ns, "here"), build: r.line(f, "build", ns, "here"), check: r.line(f, "check", ns, "here", "seed"),
		directory: ".",
	}
	if f.has("directory") {
		c.directory = f.line("directory")
		if err := w.directory(c.directory); err != nil && c.directory != "" {
			r.fault(f.at["directory"], "%v", err)
		}
		for _, name := range []string{"files", "templates"} {
			if f.has(name) {
				r.fault(f.at[name], "candidates either share a directory or have one each with these files: leave one of the two out")
			}
		}
	}
	for _, p := range r.pairs(f.at["environment"], "variables to values") {
		if !isName(p.name) {
			r.fault(p.key, "%q cannot name a variable: want letters, digits and _", p.name)
			continue
		}
		if p.value.Kind != yaml.ScalarNode || strings.ContainsRune(p.value.Value, 0) {
			r.fault(p.value, "want a text")
			continue
		}
		c.environment = append(c.environment, variable{p.name, r.template(p.value, ns, "here")})
	}
	for i, n := range ns.switches {
		if n.Node != nil {
			name := ns.parameters[i].Name
			r.fault(n, "it switches flags of a compiler, and a command has none: write type: enum, values: [\"\", …], and {{%s}} in the command", name)
		}
	}
	c.own = f.has("files") || f.has("templates")
	for _, name := range []string{"files", "templates"} {
		files, nodes := f.texts(name)
		for i, file := range files {
			r.copied(c, nodes[i], file, name == "templates", ns, w)
		}
	}
	if c.check == nil && f.has("run") && !f.mentions("check") {
		r.warn(f.at["run"], "nothing says whether its result is right, so that a command that does nothing may win: add a field check")
	}
	if c.check != nil && !c.own {
		r.warn(f.at["check"], "candidates share a directory, where the check may find the output of an earlier one: remove the output at the beginning of run, or give each candidate a directory of its own with files")
	}
	c.metric = r.metric(f.object("metric"))
	l := f.object("limits")
	c.limits = commandBounds{
		run: l.duration("run", time.Minute), build: l.duration("build", 5*time.Minute), check: l.duration("check", time.Minute),
		memory: l.size("memory", 8<<30), output: l.size("output", 1<<20), file: l.size("file", 4<<30),
	}
	for i, p := range ns.parameters {
		if !ns.used[p.Name] && !ns.broken {
			r.warn(valueOf(ns.nodes[i], "name"), "parameter %s is used in no command: its values make no difference", p.Name)
		}
	}
	return c
}

// line reads a command line.
func (r *reader) line(f *fields, name string, ns *names, also ...string) *line {
	n, ok := f.at[name]
	if !ok {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		if strings.TrimSpace(n.Value) == "" || strings.ContainsRune(n.Value, 0) {
			r.fault(n, "want a command")
			return nil
		}
		return r.shellLine(n, ns, also...)
	}
	words := r.list(n)
	if len(words) == 0 {
		if n.Kind == yaml.SequenceNode {
			r.fault(n, "want a command")
		}
		return nil
	}
	l := &line{}
	for i, w := range words {
		if w.Kind != yaml.ScalarNode || i == 0 && w.Value == "" || strings.ContainsRune(w.Value, 0) {
			r.fault(w, "want a word of a command")
			continue
		}
		l.words = append(l.words, r.template(w, ns, also...))
	}
	return l
}

// shellLine reads a command line that is a text for the shell. A placeholder where a value cannot be quoted may only stand for
// values that need no quotes.
func (r *reader) shellLine(n node, ns *names, also ...string) *line {
	t := r.template(n, ns, also...)
	places, reasons := shellPlaces(t)
	for i, p := range t.parts {
		if !p.place() || places[i] != nowhere {
			continue
		}
		if unsafe, which := ns.unsafePart(p); unsafe {
			variable := "THE_VALUE"
			if p.name != "" {
				variable = strings.ToUpper(p.name) + "_VALUE"
			}
			r.faultInside(n, p.offset, "{{%[1]s}}: %[2]s, so that the value %[3]s cannot be quoted there: write environment: {%[4]s: \"{{%[1]s}}\"} and \"$%[4]s\" here, or a list of words instead of a text",
				p.inner(), reasons[i], which, variable)
		}
	}
	return &line{shell: true, words: []template{t}, places: places}
}

// unsafePart is unsafe for a placeholder of any kind. An expression gives a text only where there is one in it.
func (ns *names) unsafePart(p part) (unsafe bool, which string) {
	if p.name != "" {
		return ns.unsafe(p.name)
	}
	for _, m := range p.expr.names() {
		if unsafe, which := ns.unsafe(m.name); unsafe {
			return true, which
		}
	}
	for _, text := range p.expr.Texts() {
		if !shellSafe(text) {
			return true, strconv.Quote(text)
		}
	}
	return false, ""
}

// unsafe reports whether a placeholder may stand for a text that the shell would interpret, and returns that text.
func (ns *names) unsafe(name string) (unsafe bool, which string) {
	if name == "here" {
		return true, "of here, which is a path,"
	}
	for _, p := range ns.parameters {
		if p.Name != name {
			continue
		}
		for _, v := range p.Values {
			if text := valueText(v); !shellSafe(text) {
				return true, strconv.Quote(text)
			}
		}
	}
	return false, "" // a number is safe
}

// copied reads a file that every candidate gets a copy of.
func (r *reader) copied(c *command, n node, file string, isTemplate bool, ns *names, w world) {
	data, mode, err := w.read(file)
	if err != nil {
		r.fault(n, "%v", err)
		return
	}
	name := filepath.Clean(file)
	if !filepath.IsLocal(name) {
		name = filepath.Base(name) // a file from elsewhere is copied under its base name
	}
	if slices.ContainsFunc(c.files, func(o copied) bool { return o.name == name }) {
		r.fault(n, "another file is copied to %s already: rename one of them", name)
		return
	}
	out := copied{name: name, mode: mode & fs.ModePerm, data: data, fixed: true}
	if isTemplate {
		out.fixed = false
		out.text = r.fileTemplate(file, n.path, parseTemplate(string(data)), ns, "here")
	}
	c.files = append(c.files, out)
}

func (r *reader) metric(f *fields) metric {
	m := metric{from: f.text("from"), unit: f.line("unit"), file: f.line("file"), exact: f.truth("exact"), maximise: f.text("goal") == "maximise"}
	if m.from == "" {
		m.from = fromOutput
	}
	printed := m.from == fromOutput || m.from == fromStderr
	only := func(name string, fine bool, what string) {
		if f.has(name) && !fine {
			r.fault(f.at[name], "it needs from: %s, but this metric has from: %s", what, m.from)
		}
	}
	only("pattern", printed, "output or stderr")
	only("json", printed, "output or stderr")
	only("unit", printed, "output or stderr")
	only("file", m.from == fromSize, "size")
	if m.from == fromSize && !f.mentions("file") {
		r.fault(f.node, "the field file is missing: %s", metricObject.lookup("file").doc)
	}
	if m.exact && (m.from == fromTime || m.from == fromCPU) {
		r.fault(f.at["exact"], "times are never exact: leave exact out")
	}
	if f.has("pattern") && f.has("json") {
		r.fault(f.at["json"], "there is a pattern already, on line %d: want one of the two", f.at["pattern"].Line)
	}
	if text := f.text("pattern"); text != "" {
		var err error
		if m.pattern, err = regexp.Compile(text); err != nil {
			r.fault(f.at["pattern"], "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	}
	if text := f.text("json"); text != "" {
		var err error
		if m.json, err = parseJSONPath(text); err != nil {
			r.fault(f.at["json"], "%v", err)
		}
	}
	m.repeats = 3
	if m.exact {
		m.repeats = 1
	}
	if v, ok := f.whole("repeats", 1, 1000); ok {
		m.repeats = int(v)
	}
	return m
}

// checkPrograms warns of programs that are not installed.
func (r *reader) checkPrograms(f *fields, c *command, find func(string) error) {
	for _, l := range []struct {
		name string
		line *line
	}{{"run", c.run}, {"build", c.build}, {"check", c.check}} {
		if l.line == nil || l.line.shell || len(l.line.words) == 0 {
			continue
		}
		word := l.line.words[0]
		if len(word.names()) > 0 || strings.ContainsRune(word.src, '/') {
			continue
		}
		if err := find(word.src); err != nil {
			at := f.at[l.name]
			r.warn(node{resolve(at.Content[0]), fmt.Sprintf("%s[0]", at.path)}, "there is no program %s on this machine", word.src)
		}
	}
}
