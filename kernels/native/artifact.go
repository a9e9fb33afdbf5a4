package native

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"

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

// command returns the command line that compiles the saved source.
func (c *candidate) command() []string {
	compiler := c.source.Compiler
	if compiler == "" {
		compiler = "cc"
	}
	return cc.Command(c.source.Lang, compiler, c.source.Flags, programName(c.source.Lang), builtObject)
}

// Artifacts are the source, which compiles without further files, a header, and how to build them.
func (c *candidate) Artifacts() ([]kernels.Artifact, error) {
	return []kernels.Artifact{
		{Name: programName(c.source.Lang), Write: c.writeProgram},
		{Name: "kernel.h", Write: c.writeHeader},
		{Name: "build.json", Write: c.writeBuild},
	}, nil
}

func (c *candidate) writeProgram(w io.Writer) error {
	line, err := json.Marshal(head{headFormat, c.source.Lang, c.source.Compiler, append([]string{}, c.source.Flags...), c.threads(), c.point.Key()})
	if err != nil {
		return err
	}
	var lines []string
	for _, arg := range c.command() {
		lines = append(lines, kernels.ShellWord(strings.ReplaceAll(arg, "\n", " "))) // in a comment of one line
	}
	_, err = fmt.Fprintf(w, "%s%s\n// Build: %s\n// It exports tune_kernel; kernel.h declares it and says what its arguments are.\n%s\n%s",
		headPrefix, line, strings.Join(lines, " "), headEnd, c.source.Text)
	return err
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
	in := bufio.NewReader(strings.NewReader(string(text)))
	first, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, headPrefix) {
		return nil, fmt.Errorf("the file does not begin with %q: it is no kernel that tune has exported", headPrefix)
	}
	var h head
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(first, headPrefix)))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	switch {
	case h.Format != headFormat:
		return nil, fmt.Errorf("line 1: the format is %d, want %d", h.Format, headFormat)
	case h.Lang != "c" && h.Lang != "c++":
		return nil, fmt.Errorf("line 1: the language is %q, want c or c++", h.Lang)
	case h.Threads < 1:
		return nil, fmt.Errorf("line 1: it has %d threads", h.Threads)
	}
	point, err := p.Space().Parse(h.Point)
	if err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, errors.New("the comment at the beginning has no end")
		}
		if strings.TrimRight(line, "\n") == headEnd {
			break
		}
		if !strings.HasPrefix(line, headEnd+" ") {
			return nil, fmt.Errorf("%q stands in the comment at the beginning", strings.TrimSpace(line))
		}
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	return p.Wrap(Source{Lang: h.Lang, Text: string(rest), Compiler: h.Compiler, Flags: h.Flags, Threads: h.Threads}, point), nil
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

func (c *candidate) writeHeader(w io.Writer) error {
	if c.source.Header != "" {
		_, err := io.WriteString(w, c.source.Header)
		return err
	}
	one, err := c.asked()
	if err != nil {
		return err
	}
	return headerText.Execute(w, struct {
		Case
		Point string
	}{one, strings.ReplaceAll(c.point.Key(), "*/", "* /")})
}

//go:embed kernel.h.tmpl
var headerFile string

var headerText = template.Must(template.New("kernel.h").Parse(headerFile))

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
}

type buildBuffer struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Len  int    `json:"len"` // elements
	Mode string `json:"mode"`
}

func (c *candidate) writeBuild(w io.Writer) error {
	one, err := c.asked()
	if err != nil {
		return err
	}
	out := build{
		Lang: c.source.Lang, Compiler: c.source.Compiler, Flags: append([]string{}, c.source.Flags...), Command: c.command(),
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
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
