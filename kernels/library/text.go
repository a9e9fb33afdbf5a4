package library

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tune/kernels/library/choice"
	"tune/kernels/native"
)

// libraryText is what the templates are filled with.
type libraryText struct {
	Name, Upper, About, Version string
	Functions                   []*functionText
	Features                    []featureText
	Compiled                    []kernelText // the plain forms and the variants
	OneCompiler                 string       // "" where they were tuned with several
	Libs                        string       // that the linker needs
	Threads                     bool
	BLAS                        bool
	Linked                      []string // flags for the linker, of code that is not tune's
	Conditions                  bool     // some variants take some shapes only
	Packs                       bool     // some variants take an array in a layout of theirs
	CPlusPlus                   bool     // some files are in C++
}

// kernelText is a file with a kernel.
type kernelText struct {
	File, Symbol, About, Point, Tuned string
	Suffix                            string // of the file: .c or .cc
	Compiler, Flags, Options, Text    string // Options are the flags as CMake separates them
	Needs                             []native.Need
	NeedsBits                         string
	Takes                             string   // a condition over the dimensions; "" for all shapes
	Symbols                           []string // that get a prefix
	// Layout is the number of the layout that it takes an array in; 0 where it takes all as they are.
	Layout                                int
	PackLength, PackParameters, PackNames string
}

// arrayText is an array of a function.
type arrayText struct {
	native.Argument
	Element                           string // float
	Kind                              string
	RowsIndex, ColsIndex, StrideIndex int // of dimensions; -1 for none
	Written, Updated, Whole           int
	Quantised                         int
	Variable                          string // its name in Go and Python
	Go, Python                        string // the type of an element there
	SampleLength                      int64
	Length, Low, High                 string // expressions of C; "" for none
	Absolute, Relative                string
	RootIndex                         int
	Halves                            *native.BlockHalves
	Raw                               string // its name in Go and Python before it is laid out; "" where it is taken as it is
}

// functionText is a function.
type functionText struct {
	Library, Name, Symbol, About string
	Dims                         []native.Dim
	Arrays                       []arrayText
	Kernels                      []kernelText // the variants
	Shapes                       [][]int64
	Threads                      int
	Overlaps                     bool
	tree                         *choice.Tree
	shape                        []string // the names of its dimensions
	outputs                      []output
	Foreign                      int
	Conditions                   bool
	Each                         float64     // operations for each element of the product of the dimensions
	Packed                       *packedText // nil where all variants take the arrays as they are
}

// output is an array that is written.
type output struct {
	native.Extent
	name string
}

func newLibraryText(l Library) libraryText {
	t := libraryText{
		Name: l.Name, Upper: strings.ToUpper(l.Name), About: l.About, Version: l.Version, Features: l.features(), Libs: "-lm",
		BLAS: l.BLAS, Threads: l.BLAS,
	}
	if t.Version == "" {
		t.Version = "1"
	}
	compilers := map[string]bool{}
	for _, f := range l.Functions {
		made := newFunctionText(l, f)
		t.Functions = append(t.Functions, made)
		plain := newKernelText(l, f, "plain", Variant{Source: f.Linkage.Plain, Point: "the plain form, for every shape and processor"})
		t.Compiled = append(append(t.Compiled, plain), made.Kernels...)
		t.Threads = t.Threads || made.Threads > 1
		t.Conditions = t.Conditions || made.Conditions
		t.Packs = t.Packs || made.Packed != nil
		for _, v := range append([]Variant{{Source: f.Linkage.Plain}}, f.Variants...) {
			for _, flag := range v.Source.Flags {
				if f.Linkage.Foreign && links(flag) && !slices.Contains(t.Linked, flag) {
					t.Linked = append(t.Linked, flag)
				}
			}
		}
	}
	for _, flag := range t.Linked {
		t.Libs += " " + flag
	}
	if t.CPlusPlus = slices.ContainsFunc(t.Compiled, kernelText.CPlusPlus); t.CPlusPlus {
		t.Linked = append(t.Linked, "-lstdc++")
		t.Libs += " -lstdc++ -lm"
	}
	for _, k := range t.Compiled {
		if k.Compiler != "" {
			t.OneCompiler = k.Compiler
			compilers[k.Compiler] = true
		}
	}
	switch len(compilers) {
	case 0:
		t.OneCompiler = "cc"
	case 1:
	default:
		t.OneCompiler = ""
	}
	if t.Threads {
		t.Libs += " -pthread"
	}
	return t
}

// newKernelText describes the file of a kernel: f_plain, or f_v0.
func newKernelText(l Library, f Function, which string, v Variant) kernelText {
	var bits []string
	for _, name := range featuresOf(v.Source.Flags) {
		bits = append(bits, l.macro(name))
	}
	if bits == nil {
		bits = []string{"0"}
	}
	file := f.Name + "_" + which
	flags := slices.DeleteFunc(slices.Clone(v.Source.Flags), func(flag string) bool { return strings.HasPrefix(flag, "-l") || strings.HasPrefix(flag, "-Wl,") })
	suffix := ".c"
	if v.Source.Lang == "c++" {
		suffix = ".cc"
	}
	return kernelText{
		Suffix: suffix, File: file, Symbol: l.Name + "_" + file, About: l.About, Point: v.Point, Tuned: v.Tuned,
		Compiler: driver(v.Source.Compiler), Flags: strings.Join(flags, " "), Options: strings.Join(flags, ";"),
		Text: strings.TrimRight(v.Source.Text, "\n"), Needs: native.NeedsOf(v.Source.Flags), NeedsBits: strings.Join(bits, " | "),
		Takes: v.Source.Takes, Symbols: v.Source.Symbols,
	}
}

// C reports whether some kernels are in C.
func (t libraryText) C() bool {
	return slices.ContainsFunc(t.Compiled, func(k kernelText) bool { return !k.CPlusPlus() })
}

// Objects are the objects of the kernels, for CMake.
func (t libraryText) Objects() string {
	var words []string
	if t.CPlusPlus {
		words = append(words, "${own}")
	}
	if t.C() {
		words = append(words, "$<TARGET_OBJECTS:"+t.Name+"_kernels>")
	}
	return strings.Join(words, " ")
}

// CPlusPlus reports whether the file is in C++.
func (k kernelText) CPlusPlus() bool { return k.Suffix == ".cc" }

// driver returns the compiler that goes by the suffixes of files, of one that takes all of them for C++: a library has files in C too.
func driver(compiler string) string {
	return strings.NewReplacer("clang++", "clang", "g++", "gcc", "c++", "cc").Replace(compiler)
}

// links reports whether the linker needs a flag. The one that binds the calls in a shared object to its own functions is for measuring.
func links(flag string) bool {
	return flag != "-Wl,-Bsymbolic" && (strings.HasPrefix(flag, "-l") || strings.HasPrefix(flag, "-Wl,") || flag == "-fopenmp" || flag == "-pthread")
}

func newFunctionText(l Library, f Function) *functionText {
	t := &functionText{
		Library: l.Name, Name: f.Name, Symbol: l.Name + "_" + f.Name, About: f.About, Dims: f.Linkage.Dims, Shapes: f.Shapes, Threads: 1,
		Overlaps: f.Linkage.Plain.Overlaps, tree: f.Tree, shape: f.shape(),
	}
	t.Each = max(f.Linkage.Each, 1)
	if f.Linkage.Foreign {
		t.Foreign = 1
	}
	if t.About == "" {
		t.About = f.Linkage.About
	}
	for i, v := range f.Variants {
		t.Kernels = append(t.Kernels, newKernelText(l, f, fmt.Sprintf("v%d", i), v))
		t.Threads = max(t.Threads, v.Source.Threads)
		t.Overlaps = t.Overlaps && v.Source.Overlaps
		t.Conditions = t.Conditions || v.Source.Takes != ""
	}
	for i, b := range f.Linkage.Buffers {
		a := t.array(f.Linkage, i)
		if !strings.HasPrefix(b.Type, "const ") {
			a.Written = 1
			t.outputs = append(t.outputs, output{f.Linkage.Extents[i], b.Name})
		}
		t.Arrays = append(t.Arrays, a)
	}
	t.pack(f)
	return t
}

// array describes an array of the function.
func (t *functionText) array(l native.Linkage, i int) arrayText {
	b, e := l.Buffers[i], l.Extents[i]
	content := native.Content{Tolerance: l.Tolerance}
	if l.Contents != nil {
		content = l.Contents[i]
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	a := arrayText{
		Argument: b, Element: element(b), Variable: variable(b.Name), RowsIndex: t.index(e.Rows), ColsIndex: t.index(e.Cols), StrideIndex: t.index(e.Stride),
		Low: content.Low, High: content.High, RootIndex: t.index(content.Tolerance.Root),
		Absolute: number(content.Tolerance.Absolute), Relative: number(content.Tolerance.Relative), Halves: content.Halves,
	}
	if content.Updated {
		a.Updated = 1
	}
	if content.Whole {
		a.Whole = 1
	}
	if content.Quantised {
		a.Quantised = 1
	}
	switch a.Kind = kinds[a.Element]; a.Kind {
	case "FLOAT":
		a.Go, a.Python = "float32", "ctypes.c_float"
	case "DOUBLE":
		a.Go, a.Python = "float64", "ctypes.c_double"
	default:
		a.Go = strings.TrimSuffix(a.Element, "_t")
		a.Python = "ctypes.c_" + a.Go
	}
	if e.Count != nil {
		a.Length, a.SampleLength = e.Length, max(e.Count(t.samples()), 1)
		return a
	}
	a.SampleLength = t.sample(e.Cols)
	if e.Rows != "" {
		a.SampleLength *= t.sample(e.Rows)
	}
	return a
}

// variable makes a name for programs in Go and Python of one of C.
func variable(name string) string {
	name = strings.ToLower(name)
	if slices.Contains(taken, name) {
		return name + "_"
	}
	return name
}

// taken are words of Go and Python, and names of the examples.
var taken = strings.Fields(`and as assert async await break case chan class continue ctypes def defer del elif else except fallthrough finally
	fmt for from func function go goto if import in interface is lambda len library make map none nonlocal not or package panic pass print purego
	raise range return select struct switch try type var while with yield`)

// samples are the dimensions of the examples.
func (t *functionText) samples() []int64 {
	out := make([]int64, len(t.Dims))
	for i, d := range t.Dims {
		out[i] = t.sample(d.Name)
	}
	return out
}

// Locals declares the dimensions as variables of C, for an expression over them.
func (t *functionText) Locals() string {
	var b strings.Builder
	for i, d := range t.Dims {
		fmt.Fprintf(&b, "\tconst int64_t %s = tune_dims[%d];\n", d.Name, i)
	}
	for _, d := range t.Dims {
		fmt.Fprintf(&b, "\t(void)%s;\n", d.Name)
	}
	return b.String()
}

// Bounded reports whether dimensions have bounds.
func (t *functionText) Bounded() bool {
	return slices.ContainsFunc(t.Dims, func(d native.Dim) bool { return d.Most > 0 })
}

// multiple is a dimension that has to be a multiple of something.
type multiple struct{ native.Dim }

// Of is that something.
func (m multiple) Of() string {
	if m.MultipleOf != "" {
		return m.MultipleOf
	}
	return fmt.Sprint(m.Multiple)
}

// Multiples are the dimensions that have to be multiples of a number or of another dimension.
func (t *functionText) Multiples() (out []multiple) {
	for _, d := range t.Dims {
		if d.Multiple > 1 || d.MultipleOf != "" {
			out = append(out, multiple{d})
		}
	}
	return out
}

// index returns the index of a dimension, -1 for "".
func (t *functionText) index(name string) int {
	return slices.IndexFunc(t.Dims, func(d native.Dim) bool { return d.Name == name })
}

// sample returns a dimension of the examples: 2, 3, 4 and so on, with dense arrays.
func (t *functionText) sample(name string) int64 {
	if d := t.Dims[t.index(name)]; d.Dense != "" {
		name = d.Dense
	}
	n, d := int64(2+slices.Index(t.shape, name)), t.Dims[t.index(name)]
	if d.Most > 0 {
		n = min(max(n, d.Least), d.Most)
	}
	if d.Multiple > 1 {
		n = d.Multiple
	}
	if d.MultipleOf != "" {
		return t.sample(d.MultipleOf)
	}
	return n
}

// parameter is a parameter of a function: a dimension or an array.
type parameter struct {
	dim   int // its index; -1 for an array
	array int
}

// parameters lists those of the function: the dimensions of the shape, and each array with how far its rows are apart.
func (t *functionText) parameters() []parameter {
	var out []parameter
	dim := func(i int) {
		if i >= 0 && !slices.Contains(out, parameter{dim: i}) {
			out = append(out, parameter{dim: i})
		}
	}
	for _, name := range t.shape {
		dim(t.index(name))
	}
	for i, a := range t.Arrays {
		out = append(out, parameter{-1, i})
		dim(a.StrideIndex)
	}
	for i := range t.Dims {
		dim(i)
	}
	return out
}

// list writes the parameters, each dimension and each array by a function.
func (t *functionText) list(dim func(i int) string, array func(i int, a arrayText) string) string {
	var words []string
	for _, p := range t.parameters() {
		if p.dim >= 0 {
			words = append(words, dim(p.dim))
		} else {
			words = append(words, array(p.array, t.Arrays[p.array]))
		}
	}
	return strings.Join(words, ", ")
}

func (t *functionText) sampleAt(i int) string { return fmt.Sprint(t.sample(t.Dims[i].Name)) }

// Parameters are those of the function, as they are declared.
func (t *functionText) Parameters() string {
	return t.list(func(i int) string { return "int64_t " + t.Dims[i].Name }, func(_ int, a arrayText) string { return a.Declared() })
}

// ParameterNames are their names.
func (t *functionText) ParameterNames() string {
	return t.list(func(i int) string { return t.Dims[i].Name }, func(_ int, a arrayText) string { return a.Name })
}

// TableArguments are arguments that come from arrays of arguments and dimensions, as a kernel takes them.
func (t *functionText) TableArguments() string {
	return t.list(func(i int) string { return fmt.Sprintf("dims[%d]", i) }, func(i int, _ arrayText) string { return fmt.Sprintf("args[%d]", i) })
}

// ParameterTypes are the types of the parameters.
func (t *functionText) ParameterTypes() string {
	return t.list(func(int) string { return "int64_t" }, func(_ int, a arrayText) string { return a.Type })
}

// SampleArguments, SampleVectors, SampleCgo, SamplePurego and SamplePython are arguments of the examples.
func (t *functionText) SampleArguments() string {
	return t.list(t.sampleAt, func(_ int, a arrayText) string { return a.Name })
}

// SampleVectors are those of C++.
func (t *functionText) SampleVectors() string {
	return t.list(t.sampleAt, func(_ int, a arrayText) string { return a.Name + ".data()" })
}

// SampleCgo are those of Go with cgo.
func (t *functionText) SampleCgo() string {
	return t.list(t.sampleAt, func(_ int, a arrayText) string { return fmt.Sprintf("(*C.%s)(&%s[0])", a.Element, a.Variable) })
}

// SamplePurego are those of Go without it.
func (t *functionText) SamplePurego() string {
	return t.list(t.sampleAt, func(_ int, a arrayText) string { return "&" + a.Variable + "[0]" })
}

// SamplePython are those of Python.
func (t *functionText) SamplePython() string {
	return t.list(t.sampleAt, func(_ int, a arrayText) string { return a.Variable })
}

// GoTypes and PythonTypes are the types of the parameters.
func (t *functionText) GoTypes() string {
	return t.list(func(int) string { return "int64" }, func(_ int, a arrayText) string { return "*" + a.Go })
}

// PythonTypes are those of ctypes.
func (t *functionText) PythonTypes() string {
	return t.list(func(int) string { return "ctypes.c_int64" }, func(_ int, a arrayText) string { return "ctypes.POINTER(" + a.Python + ")" })
}

// result returns the first array that is written.
func (t *functionText) result() arrayText {
	return t.Arrays[slices.IndexFunc(t.Arrays, func(a arrayText) bool { return a.Written == 1 })]
}

// Result is its name in C.
func (t *functionText) Result() string { return t.result().Name }

// ResultVariable is its name in Go and Python.
func (t *functionText) ResultVariable() string { return t.result().Variable }

// each writes the dimensions of the shape, each with what stands before and after, and what stands between.
func (t *functionText) each(before, after, between string) string {
	words := make([]string, len(t.shape))
	for i, name := range t.shape {
		words[i] = before + name + after
	}
	return strings.Join(words, between)
}

// ShapeParameters are the parameters of what depends on the shape alone.
func (t *functionText) ShapeParameters() string { return t.each("int64_t ", "", ", ") }

// ShapeNames are their names.
func (t *functionText) ShapeNames() string { return t.each("", "", ", ") }

// EmptyShape is the condition that a dimension is empty, or beyond its bounds.
func (t *functionText) EmptyShape() string {
	words := make([]string, len(t.shape))
	for i, name := range t.shape {
		words[i] = name + " <= 0"
		if d := t.Dims[t.index(name)]; d.Most > 0 {
			least := d.Least
			if t.Predicts() {
				least = max(least, 1) // costs are predicted without empty dimensions
			}
			words[i] = fmt.Sprintf("%[1]s < INT64_C(%[2]d) || %[1]s > INT64_C(%[3]d)", name, least, d.Most)
		}
	}
	for _, d := range t.Multiples() { // after those that say that no dimension is 0
		words = append(words, fmt.Sprintf("%s %% %s != 0", d.Name, d.Of()))
	}
	return strings.Join(words, " || ")
}

// TableShape are the dimensions of the shape among all.
func (t *functionText) TableShape() string {
	words := make([]string, len(t.shape))
	for i, name := range t.shape {
		words[i] = fmt.Sprintf("dims[%d]", t.index(name))
	}
	return strings.Join(words, ", ")
}

// DimNames are the names of all dimensions, in the order of a kernel.
func (t *functionText) DimNames() string {
	words := make([]string, len(t.Dims))
	for i, d := range t.Dims {
		words[i] = d.Name
	}
	return strings.Join(words, ", ")
}

// ArrayNames are the names of the arrays, in the order of a kernel.
func (t *functionText) ArrayNames() string {
	words := make([]string, len(t.Arrays))
	for i, a := range t.Arrays {
		words[i] = a.Name
	}
	return strings.Join(words, ", ")
}

// DenseIndices says of each dimension which one it equals where arrays are dense.
func (t *functionText) DenseIndices() string {
	words := make([]string, len(t.Dims))
	for i, d := range t.Dims {
		words[i] = fmt.Sprint(t.index(d.Dense))
	}
	return strings.Join(words, ", ")
}

// ShapeNumbers are the dimensions of all shapes, one after the other.
func (t *functionText) ShapeNumbers() string {
	var words []string
	for _, s := range t.Shapes {
		for _, n := range s {
			words = append(words, fmt.Sprint(n))
		}
	}
	if words == nil {
		return "0"
	}
	return strings.Join(words, ", ")
}

// Last is the number of the last variant.
func (t *functionText) Last() int { return len(t.Kernels) - 1 }

// extent returns the dimensions that an output has.
func extent(e native.Extent) []string {
	if e.Rows == "" {
		return []string{e.Cols}
	}
	return []string{e.Rows, e.Cols}
}

// EmptyResult is the condition that no output has an element.
func (t *functionText) EmptyResult() string {
	var all []string
	for _, e := range t.outputs {
		one := strings.Join(extent(e.Extent), " <= 0 || ") + " <= 0"
		if e.Count != nil {
			one = e.Length + " <= 0"
		}
		if len(t.outputs) > 1 {
			one = "(" + one + ")"
		}
		all = append(all, one)
	}
	return strings.Join(all, " && ")
}

// Nothing says when nothing is written.
func (t *functionText) Nothing() string {
	var all []string
	for _, e := range t.outputs {
		if e.Count != nil {
			all = append(all, e.name+" has no element")
			continue
		}
		all = append(all, strings.Join(extent(e.Extent), " or ")+" is 0")
	}
	return "Where " + strings.Join(all, ", and ") + ", nothing is read or written."
}

// Rest are the dimensions of the shape that no output has.
func (t *functionText) Rest() []string {
	var rest []string
	if t.Bounded() {
		return nil // it begins beyond 0
	}
	for _, name := range t.shape {
		if !slices.ContainsFunc(t.outputs, func(e output) bool { return slices.Contains(extent(e.Extent), name) }) {
			rest = append(rest, name)
		}
	}
	return rest
}

// RestNames are their names, in a sentence.
func (t *functionText) RestNames() string { return strings.Join(t.Rest(), " or ") }

// used are the dimensions that the tree asks for.
func (t *functionText) used() []string {
	var used []string
	for i, name := range t.shape {
		asked := false
		t.tree.Walk(func(n *choice.Node, _ int) {
			asked = asked || n.Predictor != nil || !n.Leaf() && slices.Contains(t.tree.Features[n.Feature].Factors, i)
		})
		if asked {
			used = append(used, name)
		}
	}
	return used
}

// TreeNames are the arguments of the function that chooses.
func (t *functionText) TreeNames() string { return strings.Join(t.used(), ", ") }

// TreeParameters are its parameters.
func (t *functionText) TreeParameters() string {
	if len(t.used()) == 0 {
		return "void"
	}
	return "int64_t " + strings.Join(t.used(), ", int64_t ")
}

// TreeText is its body.
func (t *functionText) TreeText() string {
	var b strings.Builder
	t.writeNode(&b, t.tree.Root, "\t")
	return b.String()
}

func (t *functionText) writeNode(b *strings.Builder, n *choice.Node, indent string) {
	switch {
	case n.Predictor != nil:
		t.writePredictor(b, n.Predictor, indent)
		return
	case n.Leaf():
		fmt.Fprintf(b, "%sreturn %d;\n", indent, n.Variant)
		return
	}
	open, end := "", ""
	if !n.Left.Leaf() || n.Left.Predictor != nil {
		open, end = " {", indent+"}\n"
	}
	fmt.Fprintf(b, "%sif (%s)%s\n", indent, t.question(n), open)
	t.writeNode(b, n.Left, indent+"\t")
	b.WriteString(end)
	t.writeNode(b, n.Right, indent)
}

// exact is a bound below which whole numbers are doubles.
const exact = 1 << 53

// question returns the condition on which a shape goes to the left. A product is one of doubles, as choice.Feature computes it: it does
// not overflow.
func (t *functionText) question(n *choice.Node) string {
	factors := t.tree.Features[n.Feature].Factors
	if len(factors) == 1 && n.Threshold < exact && n.Threshold > -exact {
		return fmt.Sprintf("%s <= %d", t.shape[factors[0]], int64(n.Threshold))
	}
	var words []string
	for _, at := range factors {
		words = append(words, "(double)"+t.shape[at])
	}
	return fmt.Sprintf("%s <= %s", strings.Join(words, " * "), strconv.FormatFloat(n.Threshold, 'f', 1, 64))
}

// Detects reports whether a feature is found by a C variable.
func (t libraryText) Detects(variable string) bool {
	return slices.ContainsFunc(t.Features, func(f featureText) bool { return f.Leaf == variable || f.OS == variable })
}

// MostDims is the most dimensions of a function.
func (t libraryText) MostDims() int { return t.most(func(f *functionText) int { return len(f.Dims) }) }

// MostArrays is the most arrays.
func (t libraryText) MostArrays() int {
	return t.most(func(f *functionText) int { return len(f.Arrays) })
}

// MostVariants is the most variants.
func (t libraryText) MostVariants() int {
	return t.most(func(f *functionText) int { return len(f.Kernels) })
}

func (t libraryText) most(of func(*functionText) int) int {
	n := 0
	for _, f := range t.Functions {
		n = max(n, of(f))
	}
	return n
}

// SampleShape is a shape of the first function, as the benchmark reads it.
func (t libraryText) SampleShape() string {
	f := t.Functions[0]
	var words []string
	for i := range f.shape {
		n := int64(64)
		if len(f.Shapes) > 0 {
			n = f.Shapes[0][i]
		}
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, "x")
}

// FactorIndices says of each dimension which other one it is a multiple of; -1 for none.
func (t *functionText) FactorIndices() []int {
	out := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		out[i] = t.index(d.MultipleOf)
	}
	return out
}
