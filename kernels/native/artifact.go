package native

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/template"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native/cc"
)

// A saved kernel is its source text after a comment that says how it was compiled:
//
//	// tune kernel {"format":1,"lang":"c","compiler":"gcc","flags":["-O2"],"threads":1,"point":"mr=6 nr=16"}
//	// …
//	//
const (
	headPrefix  = "// tune kernel "
	headEnd     = "//"
	headFormat  = 1
	mostText    = 64 << 20 // bytes of a kernel that can be loaded
	builtObject = "kernel.so"
	// exportedAs is what an export puts before the names of the files. Earlier versions left it out in comments.
	exportedAs = "best."
)

type head struct {
	Format   int      `json:"format"`
	Lang     string   `json:"lang"`
	Compiler string   `json:"compiler,omitempty"`
	Flags    []string `json:"flags"`
	Threads  int      `json:"threads"`
	Point    string   `json:"point"`
}

// programName returns the name of the file of a source.
func programName(lang string) string {
	if lang == "c++" {
		return "kernel.cc"
	}
	return "kernel.c"
}

// command returns the command line that compiles the saved source, whose name begins with the prefix. Without one it is that of tune
// 0.1.0.
func (c *candidate) command(prefix string) []string {
	line := cc.Command
	if prefix == "" {
		line = cc.Command1
	}
	return line(c.source.Lang, cmp.Or(c.source.Compiler, "cc"), c.source.Flags, prefix+programName(c.source.Lang), prefix+builtObject)
}

// Artifacts are the source, which compiles without further files, a header, and how to build them.
func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{
		{Name: programName(c.source.Lang), Write: c.writeProgram, Earlier: c.writeProgram1},
		{Name: "kernel.h", Write: c.writeHeader, Earlier: c.writeHeader1},
		{Name: "build.json", Write: c.writeBuild, Earlier: c.writeBuild1},
	}, nil
}

func (c *candidate) writeProgram(w io.Writer) error {
	about := "It exports tune_kernel; " + exportedAs + "kernel.h declares it and says what its arguments are."
	if c.source.Header != "" {
		about = "It exports tune_kernel, as tune calls it; " + exportedAs + "kernel.h has the chosen values. For a function to link: tune export --format library"
	}
	return c.writeProgramAs(w, exportedAs, about)
}

// writeProgram1 writes the program as tune 0.1.0 did.
func (c *candidate) writeProgram1(w io.Writer) error {
	return c.writeProgramAs(w, "", "It exports tune_kernel; kernel.h declares it and says what its arguments are.")
}

func (c *candidate) writeProgramAs(w io.Writer, prefix, about string) error {
	comment := fmt.Sprintf("// Build: %s\n// %s\n", commandText(c.command(prefix)), about)
	if c.comment != "" {
		comment = c.comment // a loaded program does not know the rest of its source
	}
	line, err := json.Marshal(head{headFormat, c.source.Lang, c.source.Compiler, append([]string{}, c.source.Flags...), c.threads(), c.point.Key()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n%s%s\n%s", headPrefix, line, comment, headEnd, c.source.Text)
	return err
}

// commandText writes a command line in one line.
func commandText(command []string) string {
	var words []string
	for _, arg := range command {
		words = append(words, plain.ShellWord(strings.ReplaceAll(arg, "\n", " ")))
	}
	return strings.Join(words, " ")
}

// Load reads a saved source. Checking it compiles it in the way that its comment says.
func (p *Problem) Load(r io.Reader) (kernels.Candidate, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostText {
		return nil, fmt.Errorf("the file is larger than %d bytes: no kernel is", mostText)
	}
	h, comment, rest, err := splitProgram(string(text))
	if err != nil {
		return nil, err
	}
	point, err := p.Space().Parse(h.Point)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	c := p.Wrap(Source{Lang: h.Lang, Text: rest, Compiler: h.Compiler, Flags: h.Flags, Threads: h.Threads}, point).(*candidate)
	c.comment = comment
	return c, nil
}

// splitProgram splits a saved source into what its first line says, the rest of its comment, and the text after it.
func splitProgram(text string) (h head, comment, rest string, err error) {
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasPrefix(first, headPrefix) {
		return h, "", "", fmt.Errorf("the file does not begin with %q: it is no kernel that tune has exported", headPrefix)
	}
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(first, headPrefix)))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return h, "", "", fmt.Errorf("line 1: %w", err)
	}
	switch {
	case h.Format != headFormat:
		return h, "", "", fmt.Errorf("line 1: the format is %d, want %d", h.Format, headFormat)
	case h.Lang != "c" && h.Lang != "c++":
		return h, "", "", fmt.Errorf("line 1: the language is %q, want c or c++", h.Lang)
	case h.Threads < 1:
		return h, "", "", fmt.Errorf("line 1: it has %d threads", h.Threads)
	}
	for {
		line, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return h, "", "", errors.New("the comment at the beginning has no end")
		}
		rest = after
		if line == headEnd {
			return h, comment, rest, nil
		}
		if !strings.HasPrefix(line, headEnd+" ") {
			return h, "", "", fmt.Errorf("%q stands in the comment at the beginning", strings.TrimSpace(line))
		}
		comment += line + "\n"
	}
}

// asked returns the case at the asked shape.
func (c *candidate) asked() (Case, error) {
	cases, err := c.problem.cases.of(context.Background(), c.problem.spec, c.point, c.seed)
	if err != nil {
		return Case{}, err
	}
	if len(cases) == 0 {
		return Case{}, errors.New("native: a point has no case")
	}
	return cases[0], nil
}

// writeHeader writes the header. It names the number of threads where code that uses OpenMP would otherwise take another one.
func (c *candidate) writeHeader(w io.Writer) error {
	openMP := slices.ContainsFunc(c.source.Flags, func(f string) bool { return f == "-fopenmp" || strings.HasPrefix(f, "-fopenmp=") })
	if n := c.threads(); n > 1 || openMP {
		how := ""
		if c.source.Header != "" {
			how = fmt.Sprintf(" If your source uses OpenMP, call omp_set_num_threads(%d) before its function.", n)
		}
		if _, err := fmt.Fprintf(w, "/* A call was measured with %s.%s */\n", plain.Count(n, "thread"), how); err != nil {
			return err
		}
	}
	return c.writeHeader1(w)
}

// writeHeader1 writes the header as earlier versions did.
func (c *candidate) writeHeader1(w io.Writer) error {
	if c.source.Header != "" {
		_, err := io.WriteString(w, c.source.Header)
		return err
	}
	one, err := c.asked()
	if err != nil {
		return err
	}
	fill := headerFill{Case: one, Point: strings.ReplaceAll(c.point.Key(), "*/", "* /"), Overlaps: c.source.Overlaps}
	if c.source.Pack != nil {
		fill.Pack = &packText{*c.source.Pack, packName, slices.IndexFunc(one.Buffers, func(b Buffer) bool { return b.Name == c.source.Pack.Argument })}
	}
	return headerText().Execute(w, fill)
}

// headerFill is what the template of a header is filled with.
type headerFill struct {
	Case
	Point    string
	Overlaps bool
	Pack     *packText // nil where no argument is repacked
}

// packText is the text about a repacked argument.
type packText struct {
	Pack
	Function string // that makes the layout
	Index    int    // of the argument
}

// Call is the call that makes the layout.
func (p packText) Call() string {
	text := p.Function + "(packed, " + p.Argument
	for _, n := range p.Sizes {
		text += fmt.Sprintf(", %d", n)
	}
	return text + ")"
}

// LayoutLines is the layout, in lines.
func (p packText) LayoutLines() []string { return wrapped(p.Layout, 100) }

// wrapped breaks a text at spaces into lines of at most so many bytes, where words allow it.
func wrapped(text string, most int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= most {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

//go:embed kernel.h.tmpl
var headerFile string

var headerText = sync.OnceValue(func() *template.Template { return template.Must(template.New("kernel.h").Parse(headerFile)) })

// build says how the saved source is compiled and called, for programs to read.
type build struct {
	Lang     string        `json:"lang"`
	Compiler string        `json:"compiler"`
	Version  string        `json:"version,omitempty"` // of the compiler that was used
	Flags    []string      `json:"flags"`
	Command  []string      `json:"command"`
	Threads  int           `json:"threads"`
	Point    string        `json:"point"`
	Function string        `json:"function"`
	Buffers  []buildBuffer `json:"buffers"`
	Dims     []int64       `json:"dims"`
	// Call says how programs that link the kernel call it. Symbols are those that the program defines with external linkage.
	// Files of earlier versions have neither.
	Call    *Call    `json:"call,omitempty"`
	Symbols []string `json:"symbols,omitempty"`
	// Pack is the layout of an argument that is repacked. Overlaps says that several threads may call the function at once.
	Pack     *Pack `json:"pack,omitempty"`
	Overlaps bool  `json:"overlaps,omitempty"`
}

type buildBuffer struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Len  int    `json:"len"` // elements
	Mode string `json:"mode"`
}

func (c *candidate) writeBuild(w io.Writer) error {
	out, err := c.build(exportedAs)
	if err != nil {
		return err
	}
	call := c.source.Call
	if call == nil {
		one, err := c.asked()
		if err != nil {
			return err
		}
		of := callOf(one)
		call = &of
	}
	out.Call, out.Pack, out.Overlaps = call, c.source.Pack, c.source.Overlaps
	if err := c.compile(context.Background()); err != nil { // it is in the cache as a rule
		return err
	}
	if out.Symbols, err = definedSymbols(c.so); err != nil {
		return err
	}
	return out.write(w)
}

// writeBuild1 writes build.json as tune 0.1.0 did.
func (c *candidate) writeBuild1(w io.Writer) error {
	out, err := c.build("")
	if err != nil {
		return err
	}
	return out.write(w)
}

func (c *candidate) build(prefix string) (build, error) {
	one, err := c.asked()
	if err != nil {
		return build{}, err
	}
	out := build{
		Lang: c.source.Lang, Compiler: c.source.Compiler, Flags: append([]string{}, c.source.Flags...), Command: c.command(prefix),
		Threads: c.threads(), Point: c.point.Key(), Function: "tune_kernel", Dims: append([]int64{}, one.Dims...),
	}
	c.problem.host.mu.Lock()
	tools := c.problem.host.tools
	c.problem.host.mu.Unlock()
	if tools != nil {
		if used, err := tools.Compiler(c.source.Compiler); err == nil {
			out.Compiler, out.Version = used.Name, used.Version
		}
	}
	for _, b := range one.Buffers {
		out.Buffers = append(out.Buffers, buildBuffer{b.Name, b.Elem.C(), b.Len, b.Mode.String()})
	}
	return out, nil
}

func (b build) write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}
