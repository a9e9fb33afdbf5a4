package user

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/native/cgen"
	"tune/kernels/native/worker"
	"tune/space"
)

// maxBuffers bounds the bytes of all buffers of one call.
const maxBuffers = 16 << 30

// argumentError is an error in an argument at one shape.
type argumentError struct {
	index int
	field string
	err   error
}

func (e *argumentError) Error() string { return e.err.Error() }
func (e *argumentError) Unwrap() error { return e.err }

// call holds the arguments of a function at one shape, without the content of the buffers.
type call struct {
	values values
	// constants are the fields of the shape.
	constants map[string]int
	name      string // of the shape
	label     string // for messages: the name or, where there is no shape, the function
	dims      []int64
	buffers   []native.Buffer
	index     []int // for each buffer, the index of its argument
}

// shapeCase evaluates the arguments at a point and a shape. Its errors are *argumentError.
func (s *source) shapeCase(p space.Point, constants map[string]int) (call, error) {
	c := call{values: pointValues(p, constants), constants: constants, name: shapeName(constants)}
	c.label = cmp.Or(c.name, s.function)
	total := 0.0
	for i, a := range s.arguments {
		if a.scalar {
			bits, err := scalarBits(a, c.values)
			if err != nil {
				return call{}, &argumentError{i, "value", err}
			}
			c.dims = append(c.dims, bits)
			continue
		}
		n, err := a.length.whole(c.values, 1, maxBuffers)
		if err != nil {
			return call{}, &argumentError{i, "length", err}
		}
		b := native.Buffer{Name: a.name, Elem: a.ctype.elem, Len: int(n), Mode: a.mode}
		if total += float64(n) * float64(a.ctype.elem.Size()); total > maxBuffers {
			return call{}, &argumentError{i, "length", fmt.Errorf("the buffers take more than %d GiB", maxBuffers>>30)}
		}
		c.buffers, c.index = append(c.buffers, b), append(c.index, i)
	}
	return c, nil
}

// kept returns how many bytes of a call are kept for each seed: the size of its buffers.
func (c call) kept() (n int64) {
	for _, b := range c.buffers {
		n += int64(b.Bytes())
	}
	return n
}

// room returns an error where the machine has too little memory for a call: an *argumentError about the largest buffer.
func (s *source) room(c call) error {
	largest := -1
	for i, b := range c.buffers {
		if largest < 0 || b.Bytes() > c.buffers[largest].Bytes() {
			largest = i
		}
	}
	if err := native.Room(native.Needs(c.buffers, c.kept(), s.cold, 1)); err != nil && largest >= 0 {
		return &argumentError{c.index[largest], "length", err}
	}
	return nil
}

func shapeName(constants map[string]int) string {
	names := make([]string, 0, len(constants))
	for name := range constants {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s=%d", name, constants[name])
	}
	return strings.Join(names, " ")
}

// scalarBits evaluates a scalar and packs it into 64 bits.
func scalarBits(a argument, v values) (int64, error) {
	if floating(a.ctype.elem) {
		x, err := a.value.number(v)
		if a.ctype.elem == native.F32 {
			return int64(math.Float32bits(float32(x))), err
		}
		return int64(math.Float64bits(x)), err
	}
	low, high := wholeRange(a.ctype.elem)
	return a.value.whole(v, low, high)
}

// inputs draws the content of the buffers that are read; it is nil for the others. Without generate it only checks.
func (s *source) inputs(c call, seed uint64, generate bool) ([][]byte, error) {
	out := make([][]byte, len(c.buffers))
	for i, b := range c.buffers {
		if b.Mode == native.Out {
			continue
		}
		a := s.arguments[c.index[i]]
		var err error
		if out[i], err = a.content(b, c, seed, generate); err != nil {
			return nil, &argumentError{c.index[i], "fill", err}
		}
	}
	return out, nil
}

func (a argument) content(b native.Buffer, c call, seed uint64, generate bool) ([]byte, error) {
	low, high := wholeRange(b.Elem)
	fits := func(x float64, what expr) error {
		if !floating(b.Elem) && (x != math.Trunc(x) || x < low || x > high) {
			return fmt.Errorf("%s does not fit %s", what.shown(x), a.ctype.name)
		}
		return nil
	}
	switch a.fill.kind {
	case fillFile:
		if len(a.fill.data) != b.Bytes() {
			return nil, fmt.Errorf("%s holds %d elements, but the buffer has %d: mend the file, or the length", a.fill.name, len(a.fill.data)/b.Elem.Size(), b.Len)
		}
		return a.fill.data, nil
	case fillConstant:
		x, err := a.fill.constant.number(c.values)
		if err == nil {
			err = fits(x, a.fill.constant)
		}
		if err != nil || !generate {
			return nil, err
		}
		return bytes.Repeat(encode(nil, x, b.Elem), b.Len), nil
	}
	from, err := a.fill.low.number(c.values)
	if err != nil {
		return nil, err
	}
	to, err := a.fill.high.number(c.values)
	if err != nil {
		return nil, err
	}
	whole := a.fill.integers || !floating(b.Elem)
	switch err := fits(from, a.fill.low); {
	case err != nil:
		return nil, err
	case fits(to, a.fill.high) != nil:
		return nil, fits(to, a.fill.high)
	case from > to || from == to && !whole:
		return nil, fmt.Errorf("the range from %v to %v is empty", from, to)
	case whole && (math.Abs(from) > 1<<53 || math.Abs(to) > 1<<53 || from != math.Trunc(from) || to != math.Trunc(to)):
		return nil, fmt.Errorf("the range from %v to %v is not one of whole numbers up to 2^53", from, to)
	case !generate:
		return nil, nil
	}
	// Each buffer has its own random stream, so that adding or removing an argument changes no other.
	h := fnv.New64a()
	h.Write([]byte(a.name + " " + c.name))
	source := rand.NewPCG(seed, h.Sum64())
	content := make([]byte, 0, b.Bytes())
	if !whole {
		return drawFloats(content, b, source, from, to), nil
	}
	rng := rand.New(source)
	for range b.Len {
		content = encode(content, from+float64(rng.Uint64N(uint64(to-from)+1)), b.Elem)
	}
	return content, nil
}

// drawFloats appends a number between two others for each element of a buffer. Large buffers are drawn several times before a run begins, so
// that it calls the source itself: the numbers are those of rand.Rand.Float64.
func drawFloats(content []byte, b native.Buffer, source *rand.PCG, from, to float64) []byte {
	draw := func() float64 { return from + (to-from)*(float64(source.Uint64()<<11>>11)/(1<<53)) }
	if b.Elem == native.F32 {
		for range b.Len {
			content = binary.NativeEndian.AppendUint32(content, math.Float32bits(float32(draw())))
		}
		return content
	}
	for range b.Len {
		content = encode(content, draw(), b.Elem)
	}
	return content
}

// fixed reports whether a call has the same inputs for every seed.
func (s *source) fixed(c call) bool {
	for i, b := range c.buffers {
		if b.Mode != native.Out && !s.fixedBuffer(c, i) {
			return false
		}
	}
	return true
}

// fixedBuffer reports whether input buffer i has the same content for every seed: a constant, a file, or a range of one number.
func (s *source) fixedBuffer(c call, i int) bool {
	fill := s.arguments[c.index[i]].fill
	if fill.kind != fillRandom {
		return true
	}
	from, ferr := fill.low.number(c.values)
	to, terr := fill.high.number(c.values)
	return ferr == nil && terr == nil && from == to
}

// work returns what one call does at a shape.
func (s *source) work(constants map[string]int) (native.Work, error) {
	w := native.Work{OpsName: "GFLOP/s", Cold: s.cold, Plausible: !s.fast}
	v := pointValues(space.Point{}, constants)
	for _, e := range []struct {
		expr expr
		to   *float64
	}{{s.ops, &w.Ops}, {s.bytes, &w.Bytes}} {
		if e.expr.IsZero() {
			continue
		}
		x, err := e.expr.number(v)
		if err == nil && x < 0 {
			err = fmt.Errorf("%s is below 0", e.expr.shown(x))
		}
		if err != nil {
			return w, err
		}
		*e.to = x
	}
	return w, nil
}

// verify compares the buffers of a call with what the reference leaves.
func (s *source) verify(c call, buffers [][]byte, o outcome) (kernels.Deviation, error) {
	got := make([][]byte, len(buffers))
	for i, b := range c.buffers {
		if b.Mode == native.In {
			continue
		}
		if len(buffers[i]) != len(o.buffers[i]) {
			return kernels.Deviation{}, fmt.Errorf("buffer %s has %d bytes, and the reference %d", b.Name, len(buffers[i]), len(o.buffers[i]))
		}
		got[i] = o.compared(i, buffers[i], b.Elem)
	}
	return s.compareAll(c, got, o.buffers)
}

// compareAll compares the buffers that a call may write with others of the same sizes.
func (s *source) compareAll(c call, got, want [][]byte) (d kernels.Deviation, worst error) {
	most := 1.0
	for i, b := range c.buffers {
		if b.Mode == native.In || bytes.Equal(got[i], want[i]) {
			continue
		}
		t := s.arguments[c.index[i]].tolerance
		at, excess, count := compare(got[i], want[i], b.Elem, t, &d)
		if excess > most {
			most = excess
			worst = kernels.Reject(space.WrongAnswer, "%s[%d] is %s, %s: %d of %d elements are wrong", b.Name, at,
				show(got[i], b.Elem, at), wanted(want[i], b.Elem, at, t), count, b.Len)
		}
	}
	return d, worst
}

// wanted shows an element that another one should equal. Where it is what a buffer holds before a call, the call has not written it.
func wanted(want []byte, elem native.Elem, i int, t tolerance) string {
	size := elem.Size()
	// Smaller elements may have this value by chance.
	if size >= 4 && worker.MayBeUnwritten(want[i*size:(i+1)*size], size) {
		return "and nobody writes it"
	}
	return "want " + show(want, elem, i) + t.note()
}

func (t tolerance) note() string {
	if t == (tolerance{}) {
		return ""
	}
	return fmt.Sprintf(" ± %g ± %g·|want|", t.absolute, t.relative)
}

// compare returns the element with the largest error relative to its tolerance, and how many elements are wrong. It adds those
// within their tolerance to d.
func compare(got, want []byte, elem native.Elem, t tolerance, d *kernels.Deviation) (at int, excess float64, count int) {
	size := elem.Size()
	exact := t == tolerance{} && !floating(elem)
	for i := 0; i*size < len(got); i++ {
		g, w := got[i*size:(i+1)*size], want[i*size:(i+1)*size]
		if bytes.Equal(g, w) {
			continue
		}
		x, y := decode(g, elem), decode(w, elem)
		over := math.Inf(1)
		switch difference := apart(g, w, elem); {
		case !exact && (difference == 0 || math.IsNaN(x) && math.IsNaN(y)):
			continue
		case !space.Finite(difference) || exact:
		default:
			allowed := t.absolute + t.relative*math.Abs(y)
			if over = difference / allowed; over <= 1 {
				d.Add(difference, allowed)
				continue
			}
		}
		if count++; over > excess {
			at, excess = i, over
		}
	}
	return at, excess, count
}

// apart returns the distance of two elements, NaN where one of them is. That of 64-bit integers is taken before it is rounded: beyond 2^53
// different integers are the same float.
func apart(a, b []byte, elem native.Elem) float64 {
	x, y := decode(a, elem), decode(b, elem)
	if elem != native.I64 && elem != native.U64 {
		return math.Abs(x - y)
	}
	i, j := binary.NativeEndian.Uint64(a), binary.NativeEndian.Uint64(b)
	less := i < j
	if elem == native.I64 {
		less = int64(i) < int64(j)
	}
	if less {
		i, j = j, i
	}
	return float64(i - j)
}

// decode reads one element. Integers beyond 2^53 are rounded.
func decode(b []byte, elem native.Elem) float64 {
	switch elem {
	case native.F32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))
	case native.F64:
		return math.Float64frombits(binary.NativeEndian.Uint64(b))
	case native.I8:
		return float64(int8(b[0]))
	case native.U8:
		return float64(b[0])
	case native.I16:
		return float64(int16(binary.NativeEndian.Uint16(b)))
	case native.U16:
		return float64(binary.NativeEndian.Uint16(b))
	case native.I32:
		return float64(int32(binary.NativeEndian.Uint32(b)))
	case native.U32:
		return float64(binary.NativeEndian.Uint32(b))
	case native.I64:
		return float64(int64(binary.NativeEndian.Uint64(b)))
	}
	return float64(binary.NativeEndian.Uint64(b))
}

// show writes one element as text.
func show(b []byte, elem native.Elem, i int) string {
	b = b[i*elem.Size() : (i+1)*elem.Size()]
	switch elem {
	case native.I64:
		return fmt.Sprint(int64(binary.NativeEndian.Uint64(b)))
	case native.U64:
		return fmt.Sprint(binary.NativeEndian.Uint64(b))
	case native.F32:
		return fmt.Sprintf("%v", math.Float32frombits(binary.NativeEndian.Uint32(b)))
	}
	return fmt.Sprintf("%v", decode(b, elem))
}

// program is the text of a candidate, in parts.
type program struct {
	header string // the #defines
	body   string // the user's source, with the values inserted
	line   string // the line directive before it
}

// program inserts the values of a point into a source.
func (s *source) program(t template, name string, p space.Point, constants map[string]int) program {
	out := program{body: t.src, line: fmt.Sprintf("#line 1 %q\n", filepath.Base(name))}
	if !s.define {
		out.body, _ = t.expand(pointValues(p, constants))
		return out
	}
	var b strings.Builder
	for _, parameter := range p.Space().Parameters() {
		v, ok := p.Value(parameter.Name)
		if !ok || !s.defined[parameter.Name] {
			continue
		}
		fmt.Fprintf(&b, "#define %s %s\n", parameter.Name, valueText(v))
	}
	out.header = b.String()
	return out
}

// compilerParameter is the parameter whose values are the installed compilers of the file.
const compilerParameter = "compiler"

func (s *source) choosesCompiler() bool { return len(s.compilers) > 1 }

// unitHead returns the start of each translation unit. Macros in the user's text that select system features must come before the
// first header.
func unitHead(text string) string {
	var b strings.Builder
	for _, line := range featureMacro().FindAllString(text, -1) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	b.WriteString("#include <stddef.h>\n#include <stdint.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\n")
	return b.String()
}

// unitCall begins the part of a unit that calls the function.
const unitCall = "#line 1 \"tune_kernel\"\n"

// featureMacro matches the definitions that select what headers declare; see feature_test_macros(7).
var featureMacro = pattern.Lazy(`(?m)^[ \t]*#[ \t]*define[ \t]+_(GNU_SOURCE|DEFAULT_SOURCE|POSIX_SOURCE|POSIX_C_SOURCE|XOPEN_SOURCE|ISOC11_SOURCE|FILE_OFFSET_BITS)\b[^\n]*`)

// unit returns the translation unit that calls a function of a program with the interface of package native: buffers in args,
// scalars, as 64 bits each, in dims.
func (s *source) unit(pr program, language, function string, threads int) string {
	var w cgen.Writer
	w.Text(unitHead(pr.body) + "#line 1 \"tune_parameters\"\n" + pr.header + pr.line + pr.body + "\n" + unitCall)
	w.Func("%svoid tune_kernel(void *const *tune_args, const int64_t *tune_dims)", linkageOf(language))
	var words []string
	buffers, scalars := 0, 0
	for _, a := range s.arguments {
		if !a.scalar {
			constant := ""
			if a.mode == native.In {
				constant = "const "
			}
			words = append(words, fmt.Sprintf("(%s%s *)tune_args[%d]", constant, a.ctype.c, buffers))
			buffers++
			continue
		}
		word := fmt.Sprintf("(%s)tune_dims[%d]", a.ctype.c, scalars)
		if floating(a.ctype.elem) {
			// A float is in the low bytes of its 64 bits.
			w.Line("union { int64_t bits; %s value; } tune_scalar_%d;", a.ctype.c, scalars)
			w.Line("tune_scalar_%d.bits = tune_dims[%d];", scalars, scalars)
			word = fmt.Sprintf("tune_scalar_%d.value", scalars)
		}
		words = append(words, word)
		scalars++
	}
	// By default OpenMP would use every core, and a call that claims one thread would be timed by the CPU time of one.
	w.Line("#ifdef _OPENMP")
	w.Line("omp_set_num_threads(%d);", threads)
	w.Line("#endif")
	w.Line("%s(%s);", function, strings.Join(words, ", "))
	w.Line("(void)tune_args; (void)tune_dims;")
	w.Close()
	return w.String()
}

// linkageOf returns what stands before a function that has the name of C in a language.
func linkageOf(language string) string {
	if language == "c++" {
		return "extern \"C\" "
	}
	return ""
}

// compilerOf returns the compiler of a point: "" for any.
func (s *source) compilerOf(p space.Point) string {
	switch {
	case s.choosesCompiler():
		return p.Str(compilerParameter)
	case len(s.compilers) == 1:
		return s.compilers[0]
	}
	return ""
}

// flagsOf returns the flags of a point.
func (s *source) flagsOf(p space.Point, constants map[string]int) []string {
	flags := slices.Clone(s.flags)
	for _, w := range s.switches {
		if v, ok := p.Value(w.parameter); ok {
			if flag, ok := w.flags[v.String()]; ok {
				flags = append(flags, flag)
			}
		}
	}
	return s.expandFlags(flags, pointValues(p, constants))
}

// flagPaths are the beginnings of flags that end in a path, or stand before one.
var flagPaths = []string{"-I", "-L", "-Wl,-rpath,"}

// expandFlags puts values into flags, and cuts them at their blanks. Paths of headers and libraries, which are relative to the file of
// the kernel, become absolute, because a compiler runs in a folder of its own.
func (s *source) expandFlags(flags []template, v values) []string {
	var out []string
	for _, text := range expandAll(flags, v) {
		out = append(out, strings.Fields(text)...)
	}
	if s.dir == "" {
		return out // it is only being read
	}
	locate := func(path string) string {
		if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "$") || strings.HasPrefix(path, "=") {
			return path
		}
		return filepath.Join(s.dir, path)
	}
	for i, f := range out {
		begin := ""
		for _, one := range flagPaths {
			if strings.HasPrefix(f, one) {
				begin = one
			}
		}
		switch {
		case begin != "":
			out[i] = begin + locate(f[len(begin):])
		case i > 0 && (out[i-1] == "-I" || out[i-1] == "-L"), cc.IsLibrary(f):
			out[i] = locate(f)
		}
	}
	return out
}

// templates returns all texts in which values are put, except those of the reference.
func (s *source) templates() []template {
	out := append([]template{s.text}, s.flags...)
	for _, w := range s.switches {
		for _, value := range slices.Sorted(maps.Keys(w.flags)) {
			out = append(out, w.flags[value])
		}
	}
	return out
}

// compiles reports whether the source or a flag contains a name, so that its value is compiled in.
func (s *source) compiles(name string) bool {
	return slices.ContainsFunc(s.templates(), func(t template) bool {
		return slices.ContainsFunc(t.names(), func(m mention) bool { return m.name == name })
	})
}

// ownSymbols binds the calls in a source to its own functions. Otherwise a shared object would call a function of the C library
// with the same name (step, index, y0), and would inline no function that is not static.
var ownSymbols = []string{"-fno-semantic-interposition", "-Wl,-Bsymbolic"}

// threadsOf returns how many threads a call of a point uses.
func (s *source) threadsOf(p space.Point, constants map[string]int) (int, error) {
	if s.threads.IsZero() {
		return 1, nil
	}
	n, err := s.threads.whole(pointValues(p, constants), 1, 1024)
	if err != nil {
		return 0, kernels.Reject(space.Invalid, "threads: %v", err)
	}
	return int(n), nil
}
