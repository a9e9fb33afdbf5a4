package user

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tune/internal/pattern"
	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// languages by file suffix.
var languages = map[string]string{
	".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++", ".hpp": "c++", ".hh": "c++",
}

func (r *reader) source(f *fields, d *definition, ns *names, w world) *source {
	s := &source{language: f.text("language"), define: f.text("parameters") != "template", function: r.function(f, "function")}
	s.functionNode, s.argumentsNode = f.position("function"), f.position("arguments")
	text := r.sourceText(f, s, w)
	s.text = template{src: text, parts: []part{{text: text}}}
	if s.flags = r.flags(f, ns); !f.has("flags") {
		s.flags = []template{parseTemplate("-O3"), parseTemplate("-march=native")}
	}
	s.switches = r.switches(ns)
	switch {
	case text == "":
	case s.define:
		r.checkDefines(s, text, ns)
		r.hasFunction(f, "function", s.function, s.name, text)
	default:
		s.text = r.fileTemplate(s.name, f.position("file").path, sourceTemplate(text, ns.all()), ns)
	}
	if n, ok := f.at["arguments"]; ok && n.Kind == yaml.MappingNode && len(n.Content) > 0 && unquoted(n.Node) == "" {
		r.fault(n, "want a list of arguments, each with its name, as in [{name: %s, type: float, length: n, access: read}]", n.Content[0].Value)
		delete(f.at, "arguments")
	}
	for i, n := range f.list("arguments") {
		a, ok := r.argument(n, ns, w)
		if j := slices.IndexFunc(s.arguments, func(b argument) bool { return b.name == a.name }); j >= 0 && ok {
			r.fault(valueOf(n, "name"), "argument %d has this name already", j+1)
		}
		if i < 1000 {
			s.arguments = append(s.arguments, a)
		}
	}
	if writes := slices.ContainsFunc(s.arguments, func(a argument) bool { return !a.scalar && a.mode != native.In }); f.has("arguments") && !writes {
		r.fault(f.position("arguments"), "the function writes no buffer: one needs access: write or update")
	}
	s.compilers, s.compilerNodes = r.compilers(f, w)
	ns.compilers = s.compilers
	r.reference(f.object("reference"), s, d, ns, w)
	if slices.ContainsFunc(ns.parameters, func(p space.Parameter) bool { return p.Name == "compiler" }) && len(s.compilers) > 1 {
		r.fault(f.at["compilers"], "there is a parameter named compiler already: rename it, or list one compiler")
	}
	s.threads, _ = r.namedExpr(f, "threads", ns)
	m := f.object("metric")
	s.ops, s.bytes, s.cold = r.constantExpr(m, "operations", ns), r.constantExpr(m, "bytes", ns), m.truth("cold")
	s.asIs, s.fast = f.has("vary") && !f.truth("vary"), f.text("trusted") == "fast"
	l := f.object("limits")
	s.limits = sourceBounds{compile: l.duration("compile", 0), call: l.duration("call", 0), memory: l.size("memory", 0)}
	r.peers(f, s, ns, w)
	r.setDefined(s, ns)
	for i, p := range ns.parameters {
		if !ns.used[p.Name] && !usedInSpace(d.space, p.Name) && !ns.broken {
			r.warn(valueOf(ns.nodes[i], "name"), "parameter %s is used nowhere: its values make the same program: name it in the source or in flags", p.Name)
		}
	}
	return s
}

// setDefined decides which parameters become #defines: those that the source or the reference names, and those that nothing
// names, because a header from elsewhere may use them. A parameter that only the flags name is not defined.
func (r *reader) setDefined(s *source, ns *names) {
	s.defined = map[string]bool{}
	words := map[string]bool{}
	for _, text := range []string{s.text.src, s.reference.text.src} {
		for _, word := range wordPattern().FindAllString(text, -1) {
			words[word] = true
		}
	}
	for i, p := range ns.parameters {
		s.defined[p.Name] = words[p.Name] || !ns.used[p.Name]
		j := slices.IndexFunc(s.arguments, func(a argument) bool { return a.name == p.Name })
		if s.define && s.defined[p.Name] && (j >= 0 || p.Name == s.function || p.Name == s.reference.function) {
			what := "a function has"
			if j >= 0 {
				what = fmt.Sprintf("argument %d has", j+1)
			}
			r.fault(valueOf(ns.nodes[i], "name"), "%s this name too, which the #define of the parameter would replace: rename one of them", what)
		}
		ns.used[p.Name] = ns.used[p.Name] || words[p.Name]
	}
}

func usedInSpace(d definedSpace, name string) bool {
	return slices.ContainsFunc(d.parameters, func(p space.Parameter) bool {
		_, reads, err := space.Canonical(p.When)
		return err == nil && slices.Contains(reads, name)
	})
}

// function reads the name of a function.
func (r *reader) function(f *fields, name string) string {
	text := f.line(name)
	for part := range strings.SplitSeq(text, "::") {
		if text != "" && !isName(part) {
			r.fault(f.at[name], "%q is not the name of a function: write its name alone", text)
			return ""
		}
	}
	return text
}

// sourceText reads the tuned source, with the files beside it that it includes.
func (r *reader) sourceText(f *fields, s *source, w world) string {
	switch {
	case f.has("file") && f.has("text"):
		r.fault(f.at["text"], "there is a file already, on line %d: want one of the two", f.at["file"].Line)
		return ""
	case f.has("text"):
		s.name = filepath.Base(r.file)
		if s.language == "" && !f.has("language") {
			s.language = "c"
		}
		if n := f.at["text"]; n.Style&yaml.LiteralStyle != 0 {
			s.textLine = n.Line
		}
		return f.text("text")
	case !f.has("file"):
		if f.node.Node != nil && f.node.Kind == yaml.MappingNode && !f.mentions("file") && !f.mentions("text") {
			r.fault(f.node, "want a field file or text, which holds the source")
		}
		return ""
	}
	s.name = f.line("file")
	text, language := r.code(f.at["file"], s.name, w)
	if s.language == "" {
		s.language = language
	}
	return text
}

// code reads a file of C or C++.
func (r *reader) code(n node, name string, w world) (text, language string) {
	if name == "" {
		return "", ""
	}
	language = languages[filepath.Ext(name)]
	if language == "" {
		other := ""
		if n.path == "source.file" {
			other = ": a program in another language is tuned through its command line, see 'tune init --command'"
		}
		r.fault(n, "%s: want a name that ends in .c, .cc or .cpp%s", name, other)
		return "", ""
	}
	text, err := inline(name, w)
	if err != nil {
		r.fault(n, "%v", err)
		return "", language
	}
	if strings.TrimSpace(text) == "" {
		r.fault(n, "%s is empty", name)
	}
	return text, language
}

var (
	wordPattern    = pattern.Lazy(`[A-Za-z_][A-Za-z0-9_]*`)
	definePattern  = pattern.Lazy(`(?m)^[ \t]*#[ \t]*define[ \t]+([A-Za-z_][A-Za-z0-9_]*)`)
	callPattern    = pattern.Lazy(`([A-Za-z_][A-Za-z0-9_]*)[ \t\n]*\(`)
	bodyPattern    = pattern.Lazy(`([A-Za-z_][A-Za-z0-9_]*)[ \t\n]*\([^(){};]*\)[ \t\n]*\{`)
	includePattern = pattern.Lazy(`(?m)^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"[^\n]*$`)
	oncePattern    = pattern.Lazy(`(?m)^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*$`)
)

// checkDefines looks for parameters whose #define would break the source, or that the source redefines.
func (r *reader) checkDefines(s *source, text string, ns *names) {
	for i, p := range ns.parameters {
		n := valueOf(ns.nodes[i], "name")
		if keywords[p.Name] || strings.HasPrefix(p.Name, "__") {
			r.fault(n, "%s is a word of C: a #define of it would break the source: rename the parameter", p.Name)
		}
		for _, v := range p.Values {
			if t, ok := v.Any().(string); ok && strings.ContainsAny(t, "\\") {
				r.fault(n, "value %q cannot stand in a #define: write parameters: template, and {{%s}} in the source", t, p.Name)
			}
		}
	}
	for _, m := range definePattern().FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		i := slices.IndexFunc(ns.parameters, func(p space.Parameter) bool { return p.Name == name })
		if i < 0 {
			continue
		}
		guards := guardsOf(text[:m[0]])
		always := func(macro string) bool { return s.alwaysDefines(macro, ns) }
		own := regexp.MustCompile(`#[ \t]*(ifndef[ \t]+|if[ \t]+!?[ \t]*defined[ \t]*\(?[ \t]*)` + name + `\b`)
		if own.MatchString(text[:m[0]]) || ns.parameters[i].When == "" && slices.ContainsFunc(guards, always) {
			continue
		}
		line, _ := position(text, m[2])
		n := valueOf(ns.nodes[i], "name")
		switch {
		case len(guards) == 0:
			r.fault(n, "%s line %d defines %s itself: put #ifndef %s before it, or rename the parameter", s.name, line, name, name)
		case slices.Contains(ns.all(), guards[0]):
			r.fault(n, "%s line %d defines %s itself, within #ifndef %s, which does not fit every point: put an #ifndef %s of its own around it",
				s.name, line, name, guards[0], name)
		default:
			r.fault(n, "%s line %d defines %s itself, within #ifndef %s, which tune does not define: put an #ifndef %s of its own around it, or add -D%s to flags",
				s.name, line, name, guards[0], name, guards[0])
		}
	}
}

// alwaysDefines reports whether every candidate is compiled with a macro: the parameter of a point that always has one, or one that
// the flags define.
func (s *source) alwaysDefines(macro string, ns *names) bool {
	for _, p := range ns.parameters {
		if p.Name == macro {
			return p.When == ""
		}
	}
	return slices.ContainsFunc(s.flags, func(t template) bool {
		return slices.ContainsFunc(strings.Fields(t.src), func(flag string) bool {
			name, _, _ := strings.Cut(strings.TrimPrefix(flag, "-D"), "=")
			return name == macro && strings.HasPrefix(flag, "-D") && len(t.names()) == 0
		})
	})
}

// conditionPattern matches a line of the preprocessor that opens, changes or closes a condition. Its groups are the directive, and the
// macro that must not be defined.
var conditionPattern = pattern.Lazy(`(?m)^[ \t]*#[ \t]*(ifndef|ifdef|if|elif|else|endif)\b(?:[ \t]*(?:![ \t]*defined\b)?[ \t]*\(?[ \t]*([A-Za-z_][A-Za-z0-9_]*))?`)

// guardsOf returns the macros that must not be defined for the end of a text to be compiled, the innermost first.
func guardsOf(text string) []string {
	var open []string // a macro for each open condition, "" for a condition of another kind
	for _, m := range conditionPattern().FindAllStringSubmatch(text, -1) {
		switch directive := m[1]; {
		case directive == "endif":
			open = open[:max(len(open)-1, 0)]
		case directive == "ifndef", directive == "if" && strings.Contains(m[0], "!"):
			open = append(open, m[2])
		case directive == "if" || directive == "ifdef":
			open = append(open, "")
		case len(open) > 0: // elif or else
			open[len(open)-1] = ""
		}
	}
	slices.Reverse(open)
	return slices.DeleteFunc(open, func(macro string) bool { return macro == "" })
}

// hasFunction searches a source for a function.
func (r *reader) hasFunction(f *fields, field, name, file, text string) {
	name = name[strings.LastIndexByte(name, ':')+1:]
	words := wordPattern().FindAllString(text, -1)
	if name == "" || slices.Contains(words, name) || strings.Contains(text, "##") {
		return
	}
	var calls, defined []string
	for _, m := range callPattern().FindAllStringSubmatch(text, -1) {
		if !keywords[m[1]] {
			calls = append(calls, m[1])
		}
	}
	for _, m := range bodyPattern().FindAllStringSubmatch(text, -1) {
		if !keywords[m[1]] && !slices.Contains(defined, m[1]) {
			defined = append(defined, m[1])
		}
	}
	hint := space.DidYouMean(name, calls)
	if hint == "" {
		hint = space.DidYouMeanOneOf(name, defined)
	}
	r.fault(f.at[field], "%s has no function %q%s", file, name, hint)
}

// maxIncludes limits the size of what #include "…" brings in.
const maxIncludes = 200

// inline replaces each #include "…" of a file beside the source by its text. The result is the whole source: the text that is
// compiled, hashed, saved and exported.
func inline(name string, w world) (string, error) {
	seen := map[string]bool{}
	count := 0
	var expand func(name string, open []string) (string, error)
	expand = func(name string, open []string) (string, error) {
		data, _, err := w.read(name)
		if err != nil {
			return "", err
		}
		text := string(data)
		if strings.ContainsRune(text, 0) {
			return "", fmt.Errorf("%s is not text", name)
		}
		if oncePattern().MatchString(text) {
			if seen[name] {
				return "", nil
			}
			seen[name] = true
			text = oncePattern().ReplaceAllString(text, "")
		}
		var b strings.Builder
		at := 0
		for _, m := range includePattern().FindAllStringSubmatchIndex(text, -1) {
			inner := text[m[2]:m[3]]
			if !filepath.IsAbs(inner) {
				inner = filepath.Join(filepath.Dir(name), inner)
			}
			if slices.Contains(open, inner) || !w.exists(inner) {
				continue // the compiler finds it, or it guards itself against being included twice
			}
			if count++; count > maxIncludes {
				return "", fmt.Errorf("%s includes more than %d files", name, maxIncludes)
			}
			body, err := expand(inner, append(slices.Clone(open), inner))
			if err != nil {
				return "", err
			}
			line, _ := position(text, m[0])
			fmt.Fprintf(&b, "%s#line 1 %q\n%s\n#line %d %q", text[at:m[0]], filepath.Base(inner), strings.TrimSuffix(body, "\n"), line+1, filepath.Base(name))
			at = m[1]
		}
		b.WriteString(text[at:])
		return b.String(), nil
	}
	return expand(name, []string{filepath.Clean(name)})
}

// argument reads one argument; ok is false where its name could not be read.
func (r *reader) argument(n node, ns *names, w world) (a argument, ok bool) {
	f := r.fields(n, argumentObject)
	a.node, a.name = n, f.line("name")
	a.ctype = r.ctype(f)
	a.scalar = f.has("value")
	bad := func(name, format string, args ...any) {
		if f.has(name) {
			r.fault(f.at[name], format, args...)
		}
	}
	if a.scalar {
		for _, name := range []string{"length", "access", "fill", "vary", "tolerance"} {
			bad(name, "a scalar has a value and no %s: leave it out", name)
		}
		a.value, _ = r.namedExpr(f, "value", ns)
		return a, a.name != ""
	}
	if !f.has("length") && !f.mentions("value") && !f.mentions("length") && f.node.Kind != 0 {
		r.fault(n, "want a length, for a buffer, or a value, for a scalar")
	}
	a.length, _ = r.namedExpr(f, "length", ns)
	a.mode = map[string]native.Mode{"read": native.In, "write": native.Out, "update": native.InOut}[f.text("access")]
	if f.has("length") && !f.mentions("access") {
		r.fault(n, "the field access is missing: %s", argumentObject.lookup("access").doc)
	}
	if a.mode == native.Out {
		bad("fill", "what a buffer holds that is only written has no meaning: leave it out, or use access: update")
	}
	if a.mode == native.In {
		bad("tolerance", "a buffer that is only read is not compared")
	}
	before := len(r.faults)
	a.fill = r.fill(f, a.ctype, ns, w)
	if f.has("vary") && len(r.faults) == before {
		a.vary = r.vary(f, a)
	}
	a.tolerance = defaultTolerance(a.ctype.elem)
	if f.has("tolerance") {
		a.tolerance = r.tolerance(f.at["tolerance"])
	} else {
		a.tolerance.absolute, a.tolerance.relative = -1, -1 // as in the reference
	}
	return a, a.name != ""
}

// ctype reads the type of an argument.
func (r *reader) ctype(f *fields) ctype {
	n, ok := f.at["type"]
	if ok && n.Kind == yaml.ScalarNode && lookupType(n.Value).name == "" {
		if halfPattern().MatchString(n.Value) {
			r.fault(n, "%q: there is no type for floats of 16 bits: write uint16_t for their bits, and convert them in the source", n.Value)
			return ctype{}
		}
		if meant := meantType(n.Value); meant != "" {
			r.fault(n, "%q: want one of %s (did you mean %q?)", n.Value, strings.Join(typeNames(), ", "), meant)
			return ctype{}
		}
	}
	return lookupType(f.text("type"))
}

// vary reads whether an argument varies in timed calls.
func (r *reader) vary(f *fields, a argument) choice {
	on := f.truth("vary")
	switch n := f.at["vary"]; {
	case a.mode == native.Out:
		r.fault(n, "what a buffer holds that is only written has no meaning, and does not vary: leave it out")
	case a.fill.kind == fillRandom:
		r.fault(n, "random numbers differ between timed calls anyway: leave it out, or fill the buffer with a file or a constant")
	case on && a.fill.kind == fillConstant && !floating(a.ctype.elem):
		r.fault(n, "integers vary by trading places, and those of a constant are all the same: leave it out, or fill the buffer at random or with a file")
	}
	if on {
		return yes
	}
	return no
}

func defaultTolerance(e native.Elem) tolerance {
	switch e {
	case native.F32:
		return tolerance{1e-6, 1e-5}
	case native.F64:
		return tolerance{1e-12, 1e-10}
	}
	return tolerance{}
}

// tolerance reads "exact", or the fields absolute and relative.
func (r *reader) tolerance(n node) tolerance {
	if n.Value == "exact" {
		return tolerance{}
	}
	if n.Kind == yaml.ScalarNode {
		as := "{absolute: 1.0e-6, relative: 1.0e-5}"
		if startsNumber().MatchString(n.Value) {
			as = "{relative: " + n.Value + "}"
		}
		r.fault(n, "%q: want exact, or a mapping with absolute and relative, as in %s%s", n.Value, as, space.DidYouMean(n.Value, []string{"exact"}))
		return tolerance{}
	}
	f := r.fields(n, toleranceObject)
	return tolerance{f.number("absolute"), f.ratio("relative")}
}

// startsNumber matches a text that begins as a number does.
var startsNumber = pattern.Lazy(`^\.?[0-9]`)

// ratio reads a number that is not negative, or a share such as 1%.
func (f *fields) ratio(name string) float64 {
	n := f.at[name]
	if n.Node == nil || n.Kind != yaml.ScalarNode || !strings.HasSuffix(n.Value, "%") {
		return f.number(name)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(n.Value, "%")), 64)
	if err != nil || !space.Finite(v) || v < 0 {
		f.r.fault(n, "want a number that is not negative, or a share such as 1%%")
		return 0
	}
	return v / 100
}

func (r *reader) fill(f *fields, t ctype, ns *names, w world) fill {
	out := fill{kind: fillRandom, low: numeral(-1), high: numeral(1)}
	if !floating(t.elem) {
		out.low, out.high = numeral(0), numeral(100)
	}
	if !f.has("fill") {
		return out
	}
	g := f.object("fill")
	given := 0
	for _, name := range []string{"random", "constant", "file"} {
		if g.has(name) {
			given++
		}
	}
	if given != 1 && g.node.Kind != 0 && len(g.node.Content) > 0 && len(g.meant) == 0 {
		r.fault(g.node, "want one of random, constant and file")
		return out
	}
	if g.has("integers") && !g.has("random") && !g.misspells("random") {
		r.fault(g.at["integers"], "it applies to random numbers: leave it out, or write random: [from, to]")
	}
	out.integers = g.truth("integers")
	switch {
	case g.has("random"):
		if n := g.at["random"]; n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
			r.fault(n, "want a range [from, to], as in [-1, 1]")
			return out
		}
		elements := g.list("random")
		for i, n := range elements {
			e, ok := r.expr(n)
			if !ok || !r.names(n, e, ns) {
				return out
			}
			*[]*expr{&out.low, &out.high}[i] = e
		}
	case g.has("constant"):
		out.kind = fillConstant
		out.constant, _ = r.namedExpr(g, "constant", ns)
	case g.has("file"):
		out.kind, out.name = fillFile, g.line("file")
		out.data = r.elements(g.at["file"], out.name, t.elem, w)
	}
	return out
}

// elements reads a file of numbers.
func (r *reader) elements(n node, name string, elem native.Elem, w world) []byte {
	if name == "" || elem == 0 {
		return nil
	}
	data, _, err := w.read(name)
	if err != nil {
		r.fault(n, "%v", err)
		return nil
	}
	if ext := filepath.Ext(name); ext != ".txt" && ext != ".csv" {
		if len(data) == 0 || len(data)%elem.Size() != 0 {
			r.fault(n, "%s has %d bytes, which is not a multiple of the element size, %d bytes: want whole elements, or numbers as text in a .txt or .csv file", name, len(data), elem.Size())
			return nil
		}
		return data
	}
	var out bytes.Buffer
	words := strings.FieldsFunc(string(data), func(c rune) bool { return c == ',' || c == ';' || c <= ' ' })
	for i, word := range words {
		b, err := encodeText(word, elem)
		if err != nil {
			r.fault(n, "%s: element %d: %v", name, i+1, err)
			return nil
		}
		out.Write(b)
	}
	if out.Len() == 0 {
		r.fault(n, "%s contains no number: write the elements, separated by blanks, commas or new lines", name)
	}
	return out.Bytes()
}

// encodeText converts a number in text to an element.
func encodeText(text string, elem native.Elem) ([]byte, error) {
	if floating(elem) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return encode(nil, v, elem), nil
	}
	if elem == native.U64 {
		v, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer from 0 to 2^64-1", text)
		}
		return binary.NativeEndian.AppendUint64(nil, v), nil
	}
	v, err := strconv.ParseInt(text, 0, 64)
	low, high := wholeRange(elem)
	switch {
	case elem == native.I64 && err != nil:
		return nil, fmt.Errorf("%q is not an integer from -2^63 to 2^63-1", text)
	case elem == native.I64:
		return binary.NativeEndian.AppendUint64(nil, uint64(v)), nil
	case err != nil || float64(v) < low || float64(v) > high:
		return nil, fmt.Errorf("%q is not an integer from %.0f to %.0f", text, low, high)
	}
	return encode(nil, float64(v), elem), nil
}

// encode appends an element, in the machine's byte order. An integer must be in the range of its type.
func encode(b []byte, v float64, elem native.Elem) []byte {
	switch elem {
	case native.F32:
		return binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(v)))
	case native.F64:
		return binary.NativeEndian.AppendUint64(b, math.Float64bits(v))
	case native.I8, native.U8:
		return append(b, byte(int64(v)))
	case native.I16, native.U16:
		return binary.NativeEndian.AppendUint16(b, uint16(int64(v)))
	case native.I32, native.U32:
		return binary.NativeEndian.AppendUint32(b, uint32(int64(v)))
	}
	return binary.NativeEndian.AppendUint64(b, uint64(int64(v)))
}

// reference reads how to tell a right result.
func (r *reader) reference(f *fields, s *source, d *definition, ns *names, w world) {
	ref := &s.reference
	if f.has("tolerance") {
		t := r.tolerance(f.at["tolerance"])
		for i := range s.arguments {
			if s.arguments[i].tolerance.absolute < 0 {
				s.arguments[i].tolerance = t
			}
		}
	}
	for i := range s.arguments {
		if a := &s.arguments[i]; a.tolerance.absolute < 0 {
			a.tolerance = defaultTolerance(a.ctype.elem)
		}
	}
	ref.function, ref.node = r.function(f, "function"), f.position("function")
	switch {
	case f.has("outputs"):
		for _, name := range []string{"function", "file", "shapes", "flags", "parameters"} {
			if f.has(name) {
				r.fault(f.at[name], "outputs takes the place of a reference function: leave this field out")
			}
		}
		r.outputs(f.at["outputs"], s, w)
	case f.node.Node != nil && f.node.Content != nil && !f.mentions("function") && !f.mentions("outputs"):
		r.fault(f.node, "want function: a function to compare with, or outputs: files of expected results")
	case f.has("file"):
		ref.name = f.line("file")
		var text string
		text, ref.language = r.code(f.at["file"], ref.name, w)
		ref.text = template{src: text, parts: []part{{text: text}}}
		if text != "" {
			r.hasFunction(f, "function", ref.function, ref.name, text)
		}
	case s.define && s.text.src != "" && f.has("function"):
		r.hasFunction(f, "function", ref.function, s.name, s.text.src)
	}
	if text := ref.text.src; ref.function != "" && ref.function == s.function && (ref.name == "" || text != "" && text == s.text.src) {
		r.warn(f.at["function"], "%s is the tuned function itself: what it does wrong with all values passes for right; write a plain function of the same result beside it, and name that", ref.function)
	}
	r.standard(f, ref, ns)
	r.optionsInside(f, s)
	if n, ok := f.at["shapes"]; ok {
		if baked := constantsIn(s, ns); baked != "" {
			r.fault(n, "the source or a flag contains {{%s}}, a constant of the shape, so it is right for one shape only: leave shapes out, or pass the constant as an argument", baked)
		}
		for _, e := range r.list(n) {
			shape := map[string]int{}
			for _, p := range r.pairs(e, "constants to numbers") {
				i := slices.IndexFunc(d.shape, func(k kernels.Field) bool { return k.Name == p.name })
				if i < 0 && ns.shapeless {
					continue
				}
				if i < 0 {
					r.fault(p.key, "there is no constant %q%s", p.name, space.DidYouMeanOneOf(p.name, ns.constants))
					continue
				}
				if v, ok := r.whole(p.value, int64(d.shape[i].Min), int64(d.shape[i].Max)); ok {
					shape[p.name] = int(v)
				}
			}
			ref.shapes = append(ref.shapes, shape)
		}
	}
}

// optionPattern matches a line of a source that sets compiler options which a reference must not have.
var optionPattern = pattern.Lazy(`(?m)^[ \t]*#[ \t]*pragma[ \t]+(GCC[ \t]+optimize\b|clang[ \t]+fp\b|float_control\b|STDC[ \t]+FP_CONTRACT[ \t]+ON\b)|__attribute__[ \t]*\(\([^()]*\boptimize(__)?[ \t]*\(|\bgnu::optimize[ \t]*\(`)

// optionsInside warns of a source that sets options which the reference's flags leave out.
func (r *reader) optionsInside(f *fields, s *source) {
	text, file := s.reference.text.src, s.reference.name
	if file == "" {
		text, file = s.text.src, s.name
	}
	at := optionPattern().FindStringIndex(text)
	if at == nil || s.reference.outputs != nil {
		return
	}
	// The text may include other files, which begin with line directives.
	r.warn(f.position("function"), "%s has %q, which may hold for the reference too, whatever its flags are: keep the reference in a file without it",
		file, strings.TrimSpace(text[at[0]:at[1]]))
}

// standard reads the flags and parameters of the reference. A parameter that is named only here still makes no difference to
// candidates.
func (r *reader) standard(f *fields, ref *reference, ns *names) {
	used := maps.Clone(ns.used)
	defer func() { ns.used = used }()
	ref.flags = r.flags(f, ns)
	ref.flagsGiven = f.has("flags")
	ref.parameters = map[string]string{}
	var known []string
	for _, p := range ns.parameters {
		known = append(known, p.Name)
	}
	for _, p := range r.pairs(f.at["parameters"], "parameters to values") {
		i := slices.IndexFunc(ns.parameters, func(q space.Parameter) bool { return q.Name == p.name })
		switch {
		case i < 0 && p.name == compilerParameter && len(ns.compilers) > 1:
			ref.parameters[p.name] = r.text(p.value, ns.compilers)
			continue
		case i < 0:
			if !ns.broken {
				r.fault(p.key, "there is no parameter %q%s", p.name, space.DidYouMeanOneOf(p.name, known))
			}
			continue
		}
		text, ok := scalarText(p.value)
		if !ok {
			r.fault(p.value, "want a value of the parameter: %s", ns.parameters[i].Domain())
			continue
		}
		v, err := parseValue(ns.parameters[i], text)
		if err != nil {
			r.fault(p.value, "%s", strings.TrimPrefix(err.Error(), fmt.Sprintf("parameter %q: ", p.name)))
			continue
		}
		ref.parameters[p.name] = v.String()
	}
}

// parseValue reads a value of a parameter. The parameter's domain decides whether a number is whole.
func parseValue(p space.Parameter, text string) (space.Value, error) {
	p.When = ""
	if sp, err := space.New("", []space.Parameter{p}); err == nil {
		p, _ = sp.Parameter(p.Name)
	}
	return p.ParseValue(text)
}

// scalarText returns a scalar written as a value of package space.
func scalarText(n node) (text string, ok bool) {
	var any any
	if n.Kind != yaml.ScalarNode || n.Decode(&any) != nil {
		return "", false
	}
	v, err := space.ValueOf(any)
	return v.String(), err == nil
}

// flags reads compiler flags.
func (r *reader) flags(f *fields, ns *names) []template {
	var out []template
	_, nodes := f.texts("flags")
	before := ""
	for _, n := range nodes {
		out = append(out, r.template(n, ns))
		r.ownFlag(n)
		before = r.noFlag(n, before, ns)
	}
	return out
}

// switches reads the field flag of the parameters.
func (r *reader) switches(ns *names) []flagSwitch {
	var out []flagSwitch
	for i, p := range ns.parameters {
		n := ns.switches[i]
		if n.Node == nil {
			continue
		}
		ns.used[p.Name] = true
		s := flagSwitch{parameter: p.Name, flags: map[string]template{}}
		switch {
		case n.Kind == yaml.ScalarNode && p.Type != space.TypeBool:
			r.fault(n, "a single flag is for type: bool: write the flag of each value, as in flag: {%s: -O2}, or use {{%s}} in flags", p.At(0), p.Name)
		case n.Kind == yaml.ScalarNode:
			s.flags["true"] = r.flag(n, ns)
		default:
			for _, one := range r.pairs(n, "values to flags") {
				text, ok := scalarText(one.key)
				v, err := parseValue(p, text)
				if !ok || err != nil {
					r.fault(one.key, "parameter %s has no value %s: its values are %s", p.Name, one.name, p.Domain())
					continue
				}
				if one.value.Kind == yaml.ScalarNode && one.value.Value == "" && one.value.ShortTag() == "!!str" {
					continue // no flag
				}
				s.flags[v.String()] = r.flag(one.value, ns)
			}
		}
		out = append(out, s)
	}
	return out
}

// flag reads the flags of one value of a parameter.
func (r *reader) flag(n node, ns *names) template {
	if text := r.text(n, nil); text == "" {
		return template{}
	}
	r.ownFlag(n)
	r.noFlag(n, "", ns)
	return r.template(n, ns)
}

// ownFlag reports a flag that tune sets itself.
func (r *reader) ownFlag(n node) {
	if text := n.Value; strings.HasPrefix(text, "-o") || text == "-c" || text == "-S" || text == "-E" {
		r.fault(n, "tune sets this itself, to make a shared object: leave %s out", text)
	}
}

// constantsIn returns a constant of the shape that the text of a source uses, or "".
func constantsIn(s *source, ns *names) string {
	if i := slices.IndexFunc(ns.constants, s.compiles); i >= 0 {
		return ns.constants[i]
	}
	return ""
}

// outputs reads the files of expected elements.
func (r *reader) outputs(n node, s *source, w world) {
	s.reference.outputs = map[string][]byte{}
	var writable []string
	for _, a := range s.arguments {
		if a.scalar {
			continue
		}
		if a.mode != native.In {
			writable = append(writable, a.name)
		}
		if a.mode != native.Out && a.fill.kind == fillRandom {
			r.fault(n, "argument %s has random inputs, for which no file can hold the result: give it fill: {constant: …} or {file: …}", a.name)
		}
	}
	for _, p := range r.pairs(n, "arguments to files") {
		i := slices.IndexFunc(s.arguments, func(a argument) bool { return a.name == p.name })
		if !slices.Contains(writable, p.name) || i < 0 {
			r.fault(p.key, "the function writes no argument %q%s", p.name, space.DidYouMeanOneOf(p.name, writable))
			continue
		}
		if name := r.text(p.value, nil); name != "" {
			s.reference.outputs[p.name] = r.elements(p.value, name, s.arguments[i].ctype.elem, w)
		}
	}
	for _, name := range writable {
		if s.reference.outputs[name] == nil && n.Content != nil && valueOf(n, name).Node == n.Node {
			r.fault(n, "there is no file for argument %s", name)
		}
	}
}
