package user

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tune/space"
)

func (r *reader) command(f *fields, ns *names, w world) *command {
	c := &command{
		run: r.line(f, "run", ns, "here"), build: r.line(f, "build", ns, "here"), check: r.line(f, "check", ns, "here", "seed"),
		setup: r.errand(f, "setup", ns), prepare: r.line(f, "prepare", ns, "here"), cleanup: r.errand(f, "cleanup", ns),
		directory: ".",
	}
	if n, ok := f.whole("warmup", 0, 1000); ok {
		c.warmup = int(n)
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
	for _, p := range r.pairs(f.at["environment"], "variables to values, as in {OMP_NUM_THREADS: 4}") {
		if !isName(p.name) {
			r.fault(p.key, "%q cannot name a variable: want letters, digits and _", p.name)
			continue
		}
		if p.value.Kind != yaml.ScalarNode || strings.ContainsRune(p.value.Value, 0) {
			r.want(p.value, "a text")
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
	c.others = r.otherMetrics(f)
	l := f.object("limits")
	c.limits = commandBounds{
		run: l.duration("run", time.Minute), build: l.duration("build", 5*time.Minute), check: l.duration("check", time.Minute),
		setup: l.duration("setup", 5*time.Minute), prepare: l.duration("prepare", time.Minute), cleanup: l.duration("cleanup", time.Minute),
		memory: l.size("memory", 8<<30), output: l.size("output", 1<<20), file: l.size("file", 4<<30),
	}
	for i, p := range ns.parameters {
		if !ns.used[p.Name] && !ns.broken {
			r.warn(valueOf(ns.nodes[i], "name"), "parameter %[1]s is used in no command: its values make no difference: write {{%[1]s}} where its value belongs", p.Name)
		}
	}
	return c
}

// errand reads a command line that runs once for all points, so that only constants have a value there.
func (r *reader) errand(f *fields, name string, ns *names) *line {
	used := maps.Clone(ns.used)
	l := r.line(f, name, ns, "here")
	ns.used = used
	if l == nil {
		return nil
	}
	for _, w := range l.words {
		for _, m := range w.names() {
			if slices.ContainsFunc(ns.parameters, func(p space.Parameter) bool { return p.Name == m.name }) {
				r.fault(f.at[name], "{{%s}} is a parameter: %s runs once for all points, so that only constants of the shape and {{here}} have a value there", m.name, name)
			}
		}
	}
	return l
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
	if n.Kind == yaml.MappingNode && unquoted(n.Node) == "" {
		r.fault(n, "want a command: a text for the shell, or a list of its words")
		return nil
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
			r.want(w, "a word of a command")
			continue
		}
		if slices.Contains(shellWords, w.Value) {
			r.warn(w, "%s is an argument here, because a list of words runs without a shell: write the command as a text, or its first words as sh, -c", w.Value)
		}
		l.words = append(l.words, r.template(w, ns, also...))
	}
	return l
}

// shellWords are words that have a meaning in a shell alone.
var shellWords = []string{">", ">>", "<", "|", "&", "&&", "||", ";", "2>&1", "2>"}

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

// metric reads the number to tune.
func (r *reader) metric(f *fields) metric {
	m := r.number(f)
	m.unit, m.exact, m.maximise = f.line("unit"), f.truth("exact"), f.text("goal") == "maximise"
	timed := m.from == fromTime || m.from == fromCPU
	if f.has("unit") && !m.printed() {
		r.fault(f.at["unit"], "it needs from: output or stderr, but this metric has from: %s", m.from)
	}
	if m.exact && timed {
		r.fault(f.at["exact"], "times are never exact: leave exact out")
	}
	m.repeats = 3
	if m.exact {
		m.repeats = 1
	}
	if n, ok := f.at["within"]; ok {
		m.repeats = 2
		var fine bool
		switch m.within, fine = parseShare(n.Value); {
		case n.Kind != yaml.ScalarNode || !fine:
			r.fault(n, "want a share above 0%% and up to 10%%, such as 0.1%%")
		case m.exact:
			r.fault(n, "the metric is exact: leave one of the two out")
		case timed:
			r.fault(n, "times are not that steady: leave within out")
		}
	}
	if v, ok := f.whole("repeats", 1, 1000); ok {
		m.repeats = int(v)
		if m.within > 0 && v < 2 {
			r.fault(f.at["repeats"], "one run does not show how far apart the numbers are, which within needs: want 2 or more")
		}
	}
	return m
}

// parseShare reads a share such as 0.1%.
func parseShare(text string) (share float64, ok bool) {
	digits, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	return v / 100, ok && err == nil && v > 0 && v <= 10
}

// number reads where a number comes from.
func (r *reader) number(f *fields) metric {
	m := metric{from: f.text("from"), file: f.line("file")}
	if m.from == "" {
		m.from = fromOutput
	}
	only := func(name string, fine bool, what string) {
		if f.has(name) && !fine {
			r.fault(f.at[name], "it needs from: %s, but this metric has from: %s", what, m.from)
		}
	}
	only("pattern", m.printed(), "output or stderr")
	only("json", m.printed(), "output or stderr")
	only("file", m.from == fromSize, "size")
	if m.from == fromSize && !f.mentions("file") {
		r.fault(f.node, "the field file is missing: %s", metricObject.lookup("file").doc)
	}
	if f.has("pattern") && f.has("json") {
		r.fault(f.at["json"], "there is a pattern already, on line %d: want one of the two", f.at["pattern"].Line)
	}
	if text := f.text("pattern"); text != "" {
		var err error
		if m.pattern, err = regexp.Compile(text); err != nil {
			r.fault(f.at["pattern"], "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		} else if begun, _ := m.pattern.LiteralPrefix(); m.printed() && !f.has("json") && m.pattern.NumSubexp() == 0 && begun != "" && !startsNumber().MatchString(strings.TrimLeft(begun, " +-")) {
			r.fault(f.at["pattern"], "it has no group, so that all of its match would be the number, and that begins with %q: put parentheses around the number, as in ([0-9.]+)", begun)
		}
	}
	if text := f.text("json"); text != "" {
		var err error
		if m.json, err = parseJSONPath(text); err != nil {
			r.fault(f.at["json"], "%v", err)
		}
	}
	return m
}

// otherMetrics reads the numbers that are reported beside the metric.
func (r *reader) otherMetrics(f *fields) []namedMetric {
	var out []namedMetric
	for _, p := range r.pairs(f.at["metrics"], "names to metrics, as in {bytes: {pattern: 'size=([0-9]+)'}}") {
		if !isName(p.name) || slices.Contains(ownMetrics, p.name) {
			r.fault(p.key, "%q cannot name a metric: want letters, digits and _, but none of tune's own names, which are %s", p.name, strings.Join(ownMetrics, ", "))
			continue
		}
		of := r.fields(p.value, otherMetric)
		m := r.number(of)
		m.maximise = of.text("goal") == "maximise"
		out = append(out, namedMetric{p.name, m})
	}
	return out
}

// checkPrograms warns of programs that are not installed.
func (r *reader) checkPrograms(f *fields, c *command, find func(string) error) {
	for _, l := range []struct {
		name string
		line *line
	}{{"run", c.run}, {"build", c.build}, {"check", c.check}, {"setup", c.setup}, {"prepare", c.prepare}, {"cleanup", c.cleanup}} {
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
