package native

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"tune/internal/pattern"
	"tune/kernels/native/cc"
)

// Call says how the function of a kernel is called by programs that link it.
type Call struct {
	// Function is the function of the user's own that is called with Arguments; "" is tune_kernel, which takes the buffers and
	// dimensions of the case.
	Function  string     `json:"function,omitempty"`
	Arguments []Argument `json:"arguments"`
}

// Argument is one argument of a function.
type Argument struct {
	Name string `json:"name"`
	Type string `json:"type"` // in C, such as "const float *"
	// About is a comment: how long an array is.
	About string `json:"about,omitempty"`
}

// Declared returns the argument as a declaration: const float *x.
func (a Argument) Declared() string {
	if strings.HasSuffix(a.Type, "*") {
		return a.Type + a.Name
	}
	return a.Type + " " + a.Name
}

// callOf returns the call of a case: its buffers by name.
func callOf(one Case) Call {
	var c Call
	for _, b := range one.Buffers {
		constant := ""
		if b.Mode == In {
			constant = "const "
		}
		c.Arguments = append(c.Arguments, Argument{b.Name, constant + b.Elem.C() + " *", fmt.Sprintf("%d elements, %s, aligned to 64 bytes", b.Len, b.Mode)})
	}
	return c
}

// Library is an exported kernel as source that programs can link, together with other ones.
type Library struct {
	Header, Source []byte
	HeaderName     string // NAME.h
	SourceName     string // NAME.c or NAME.cc
	// Command compiles the source to an object.
	Command []string
}

var identifier = pattern.Lazy(`^[A-Za-z][A-Za-z0-9_]*$`)

// reserved are words of C and C++ that look like names.
var reserved = strings.Fields(`alignas alignof and asm auto bool break case catch char class concept const constexpr continue decltype default
	delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long main mutable namespace new
	noexcept not nullptr operator or private protected public register requires restrict return short signed sizeof static struct switch
	template this throw true try typedef typeid typename typeof union unsigned using virtual void volatile while xor`)

// CheckName returns an error where a name cannot be that of a function in C and C++.
func CheckName(name string) error {
	if !identifier().MatchString(name) || strings.HasPrefix(name, "tune_") {
		return fmt.Errorf("%q cannot be the name of a function: want letters, digits and _, beginning with a letter and not with tune_", name)
	}
	if slices.Contains(reserved, name) {
		return fmt.Errorf("%q cannot be the name of a function: it is a word of C or C++", name)
	}
	return nil
}

// foreignNames are names of libraries whose header or file would take the place of another one: headers of C and POSIX, libraries that the linker
// is given, src/variants.h, and targets that CMake keeps for itself.
var foreignNames = strings.Fields(`assert complex ctype errno fenv inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool
	stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype cblas cpuid immintrin omp pthread sched strings unistd
	c dl gcc m rt variants all clean help install package test`)

// CheckLibraryName returns an error where a name cannot be that of a library, whose header is include/NAME.h.
func CheckLibraryName(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if slices.Contains(foreignNames, name) {
		return fmt.Errorf("%q cannot be the name of a library: %[1]s.h, lib%[1]s or a target of CMake is something else: choose another name", name)
	}
	return nil
}

// NewLibrary makes a library with the function name from an exported program and its build.json. All other symbols get the name
// as a prefix, so that libraries of different names link into one program. about is a line about where the kernel comes from.
// Nothing is compiled.
func NewLibrary(program, buildFile []byte, name, about string) (Library, error) {
	if err := CheckName(name); err != nil {
		return Library{}, err
	}
	h, _, text, err := splitProgram(string(program))
	if err != nil {
		return Library{}, err
	}
	var b build
	if err := json.Unmarshal(buildFile, &b); err != nil {
		return Library{}, fmt.Errorf("build.json: %w", err)
	}
	if b.Call == nil {
		return Library{}, errors.New("build.json does not say how the kernel is called: it was exported by an earlier version; 'tune resume' writes it again")
	}
	l := Library{HeaderName: name + ".h", SourceName: name + strings.TrimPrefix(programName(h.Lang), "kernel")}
	l.Command = cc.ObjectCommand(cmp.Or(h.Compiler, "cc"), h.Flags, l.SourceName, name+".o")
	fill := libraryText{
		Name: name, Guard: strings.ToUpper(name) + "_H", Header: l.HeaderName, About: strings.ReplaceAll(about, "*/", "* /"),
		Point: strings.ReplaceAll(h.Point, "*/", "* /"), Threads: h.Threads, CPlusPlus: h.Lang == "c++",
		Text: strings.TrimRight(text, "\n"), Arguments: b.Call.Arguments, Dims: b.Dims, Own: b.Call.Function != "",
	}
	fill.Command = strings.ReplaceAll(commandText(l.Command), "*/", "* /")
	if fill.Overlaps = b.Overlaps; b.Pack != nil {
		if !plainText().MatchString(b.Pack.Layout) || !identifier().MatchString(b.Pack.Argument) {
			return Library{}, errors.New("build.json: pack.layout or pack.argument is no plain text: tune has not written it")
		}
		fill.Packed = &packText{*b.Pack, name + "_pack", 0}
	}
	if !fill.Own {
		fill.Needs, fill.Version = NeedsOf(h.Flags), plainOr(b.Version, "a newer one")
	}
	for _, s := range b.Symbols {
		if !identifier().MatchString(s) {
			return Library{}, fmt.Errorf("build.json: %q is no symbol", s)
		}
		if s == packName {
			if fill.Pack, err = packParameters(text, b.Pack); err != nil {
				return Library{}, err
			}
			continue
		}
		fill.Symbols = append(fill.Symbols, s)
	}
	for _, a := range b.Call.Arguments {
		if !identifier().MatchString(a.Name) || !typeText().MatchString(a.Type) {
			return Library{}, fmt.Errorf("build.json: %q is no argument", a.Declared())
		}
	}
	if fill.Own {
		outer, _, _ := strings.Cut(b.Call.Function, "::") // a name space has the prefix, and not the function in it
		if !slices.Contains(b.Symbols, outer) {
			fill.Callee = b.Call.Function // static, so that it keeps its name
		} else {
			fill.Callee = name + "_" + b.Call.Function
		}
	}
	var header, source bytes.Buffer
	err = cmp.Or(libraryTemplates().ExecuteTemplate(&header, "header", fill), libraryTemplates().ExecuteTemplate(&source, "source", fill))
	l.Header, l.Source = header.Bytes(), source.Bytes()
	return l, err
}

// packDefinition matches the definition of the function that lays out an operand.
var packDefinition = pattern.Lazy(`(?m)^void tune_pack\(([A-Za-z0-9_*, ]+)\)$`)

// plainText matches text that a comment of C can hold.
var plainText = pattern.Lazy(`^[A-Za-z0-9 .,:;()+~-]*$`)

// Need is a flag of the compiler that names a feature of the processor, and the macro that is defined where it has an effect.
type Need struct{ Flag, Macro string }

// Feature returns the name of the feature: avx2.
func (n Need) Feature() string { return strings.TrimPrefix(n.Flag, "-m") }

// NeedsOf returns those flags that name features of the processor.
func NeedsOf(flags []string) (needs []Need) {
	for _, f := range flags {
		name, ok := strings.CutPrefix(f, "-m")
		if !ok || !features().MatchString(name) {
			continue
		}
		needs = append(needs, Need{f, "__" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "__"})
	}
	return needs
}

// features are flags whose macros have their names.
var features = pattern.Lazy(`^(avx2|fma|f16c|avxvnni|avx512(f|bw|dq|vl|vnni|bf16|fp16)|amx-(tile|int8|bf16))$`)

// plainOr returns a text that a string of C can hold, or else another one.
func plainOr(text, other string) string {
	if text == "" || !plainText().MatchString(text) {
		return other
	}
	return text
}

// packParameters returns the parameters of the function tune_pack of a text. Files of earlier versions do not describe it.
func packParameters(text string, described *Pack) (string, error) {
	m := packDefinition().FindStringSubmatch(text)
	if m == nil {
		return "", errors.New("the source does not define tune_pack as tune writes it")
	}
	if described != nil && described.Parameters != m[1] {
		return "", fmt.Errorf("build.json: pack.parameters is %q, and the source has %q: they are of different exports", described.Parameters, m[1])
	}
	return m[1], nil
}

var typeText = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_ ]*\**$`)

// libraryText is what the templates of a library are filled with.
type libraryText struct {
	Name, Guard, Header   string
	About, Point, Command string
	Threads               int
	CPlusPlus             bool
	Text                  string
	Symbols               []string
	Pack                  string    // the parameters of the function that lays out an operand; "" where there is none
	Packed                *packText // about it; nil in files of earlier versions
	Overlaps              bool
	Needs                 []Need // that the compiler must be told
	Version               string // of the compiler that was used
	Own                   bool   // whether a function of the user's own is called
	Callee                string // its name in this source
	Arguments             []Argument
	Dims                  []int64
}

// Parameters are the parameters of the function, as they are declared.
func (t libraryText) Parameters() string {
	var words []string
	for _, a := range t.Arguments {
		words = append(words, a.Declared())
	}
	if len(words) == 0 {
		return "void"
	}
	return strings.Join(words, ", ")
}

// Names are the names of the parameters.
func (t libraryText) Names() string {
	var words []string
	for _, a := range t.Arguments {
		words = append(words, a.Name)
	}
	return strings.Join(words, ", ")
}

// Scalars reports whether a function of the user's own takes numbers besides its buffers.
func (t libraryText) Scalars() bool {
	return t.Own && slices.ContainsFunc(t.Arguments, func(a Argument) bool { return !strings.HasSuffix(a.Type, "*") })
}

// Aligned reports whether a function of the user's own takes buffers, whose alignment is that of the measurement.
func (t libraryText) Aligned() bool {
	return t.Own && slices.ContainsFunc(t.Arguments, func(a Argument) bool { return strings.HasSuffix(a.About, AlignedWhenMeasured) })
}

// AlignedWhenMeasured ends the text about a buffer of a user's own function, which may rely on this alignment or not.
const AlignedWhenMeasured = "aligned to 64 bytes when measured"

// definedSymbols returns the names that an object defines for others, as a source writes them, in order. Those of the C++ library
// and those that the linker adds are left out.
func definedSymbols(so string) ([]string, error) {
	symbols, err := dynamicSymbols(so)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range symbols {
		if name := sourceName(s.Name); identifier().MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// mangled matches the beginning of a mangled name of C++ up to its first component (Itanium C++ ABI, 5.1): _Z4workPf, _ZN5Thing3runEv,
// _ZTV5Thing. Its first group is the length of that component.
var mangled = pattern.Lazy(`^_Z(?:T[VTIS]|GV|Z)*(?:N[KVrO]*)?(?:[KL])*([0-9]+)`)

// sourceName returns the outermost name of a symbol: a function, a variable, a class or a name space; "" for what the C++ library
// defines.
func sourceName(symbol string) string {
	m := mangled().FindStringSubmatch(symbol)
	if m == nil {
		return symbol // of C, or reserved, or of name space std
	}
	n, err := strconv.Atoi(m[1])
	if rest := symbol[len(m[0]):]; err == nil && n <= len(rest) {
		return rest[:n]
	}
	return ""
}

//go:embed library.c.tmpl
var libraryFile string

var libraryTemplates = sync.OnceValue(func() *template.Template { return template.Must(template.New("library").Parse(libraryFile)) })
