package user

import (
	"cmp"
	"context"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// signature is a function's type as the compiler sees it.
type signature struct {
	parameters []dwarf.Type
	names      []string // of the parameters, "" where one has none; as many as lines
	lines      []int    // of the parameters, where they are known: either all or none
	line       int      // of the function; 0 where it is unknown
	file       string   // the function's file; "" where it is unknown
	open       bool     // it takes any number of arguments
	result     dwarf.Type
}

// examinedPoints is how many random points the tuned function is examined at besides the baseline, in case its type depends on
// parameters.
const examinedPoints = 3

// Examine compares the arguments of the file with the functions: their number, the types and const of pointers, and whether
// scalars keep their values. Errors are Faults. Functions that do not compile are reported elsewhere, when they are built.
func (s *sourceSpec) Examine(ctx context.Context) error {
	r := &reader{file: s.path}
	if err := s.tryCompilers(ctx, r); err != nil || len(r.faults) > 0 {
		return cmp.Or[error](err, r.faults.sorted(s.path))
	}
	all := s.always()
	sure := len(all)
	rng := rand.New(rand.NewPCG(1, 1))
	for range examinedPoints {
		p, err := s.space.Sample(rng)
		if err != nil {
			break // points of this space are hard to draw
		}
		e := s.tunedAt(p)
		e.at = " with " + p.Key()
		if !slices.ContainsFunc(all, func(other examined) bool { return other.program == e.program && other.function == e.function }) {
			all = append(all, e)
		}
	}
	s.prepare(ctx, all)
	for i, e := range all {
		switch {
		case i < sure:
			if err := s.examine(ctx, r, e); err != nil {
				return err
			}
		case len(r.faults) == 0:
			sig, err := s.signature(ctx, e)
			if err != nil && kernels.AsRejection(err) == nil {
				return err
			}
			if err == nil {
				s.s.judge(r, e, sig)
			}
		}
	}
	if len(r.faults) > 0 {
		return r.faults.sorted(s.path)
	}
	return nil
}

// always returns what is examined at each start: the tuned function at the first point, and the reference, if that is a function.
func (s *sourceSpec) always() []examined {
	all := []examined{s.tunedAt(s.space.Default())}
	if ref := s.s.reference; ref.outputs == nil {
		e := examined{node: ref.node, function: ref.function, file: cmp.Or(ref.name, s.s.name), compiler: s.standard.compiler, flags: s.standard.flags}
		e.program, e.language = s.referenceProgram(s.standard.point)
		all = append(all, e)
	}
	return all
}

// prepare compiles, in parallel, what will be examined, and the reference, which is tried next. Errors are found by those who use the results.
func (s *sourceSpec) prepare(ctx context.Context, all []examined) {
	var wait sync.WaitGroup
	for _, e := range all {
		wait.Go(func() { _, _ = s.build(ctx, e, e.described(), "-g") })
	}
	if s.s.reference.outputs == nil {
		wait.Go(func() { _, _ = s.buildReference(ctx, s.standard) })
	}
	wait.Wait()
}

// tunedAt returns the tuned function at a point.
func (s *sourceSpec) tunedAt(p space.Point) examined {
	return examined{
		node: s.s.functionNode, function: s.s.function, file: s.s.name, language: s.s.language, compiler: s.s.compilerOf(p),
		program: s.s.program(s.s.text, s.s.name, p, s.constants), flags: strict(s.s.flagsOf(p, s.constants)),
	}
}

// examined is a function to be examined.
type examined struct {
	node     node // of its name in the file
	function string
	file     string
	language string
	compiler string
	program  program
	flags    []string
	at       string // a point, for messages; "" where it does not matter
}

func (s *sourceSpec) examine(ctx context.Context, r *reader, e examined) error {
	sig, err := s.signature(ctx, e)
	if kernels.AsRejection(err) != nil {
		return s.tryCall(ctx, r, e)
	}
	if err != nil {
		return err
	}
	if undecided := s.s.judge(r, e, sig); undecided && len(r.faults) == 0 {
		return s.tryCall(ctx, r, e)
	}
	return nil
}

// head returns the start of a unit with the program of a function.
func (e examined) head() string {
	return unitHead(e.program.body) + "#line 1 \"tune_parameters\"\n" + e.program.header + e.program.line + e.program.body + "\n#line 1 \"tune_signature\"\n"
}

// described returns a unit with the program of a function, and a variable of the function's type.
func (e examined) described() string {
	return e.head() + fmt.Sprintf("__attribute__((used)) __typeof__(&%[1]s) tune_signature = &%[1]s;\n", e.function)
}

// build compiles a text with the flags and compiler of a function.
func (s *sourceSpec) build(ctx context.Context, e examined, text string, more ...string) (so string, err error) {
	tools, err := s.host.Toolchain(ctx)
	if err != nil {
		return "", err
	}
	// -s and other -g flags would leave out the debugging information.
	flags := slices.DeleteFunc(slices.Clone(e.flags), func(f string) bool {
		return f == "-s" || f == "-w" || f == "-Wl,-s" || strings.HasPrefix(f, "-g") || strings.HasPrefix(f, "-flto")
	})
	return tools.BuildWithin(ctx, s.s.limits.compile, e.language, text, e.compiler, append(flags, more...))
}

// signature reads the type of a function from the debugging information of the compiler. A name that is not one function, such as
// a macro or an overloaded name, is a rejection, and so is a text that does not compile.
func (s *sourceSpec) signature(ctx context.Context, e examined) (signature, error) {
	so, err := s.build(ctx, e, e.described(), "-g")
	if err != nil {
		return signature{}, err
	}
	file, err := elf.Open(so)
	if err != nil {
		return signature{}, err
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		return signature{}, kernels.Reject(space.CompileFailed, "the compiler wrote no debugging information, from which tune reads types: %v", err)
	}
	return readSignature(data, e.function[strings.LastIndexByte(e.function, ':')+1:])
}

// readSignature finds the type of the variable tune_signature, and the position of the named function with that type.
func readSignature(data *dwarf.Data, name string) (sig signature, err error) {
	var found *dwarf.FuncType
	var places []signature
	var unit *dwarf.Entry
	entries := data.Reader()
	for {
		entry, err := entries.Next()
		if err != nil {
			return sig, kernels.Reject(space.CompileFailed, "the debugging information of the compiler cannot be read: %v", err)
		}
		if entry == nil {
			break
		}
		switch entry.Tag {
		case dwarf.TagCompileUnit:
			unit = entry
		case dwarf.TagVariable:
			if at, ok := entry.Val(dwarf.AttrType).(dwarf.Offset); ok && entry.Val(dwarf.AttrName) == "tune_signature" {
				t, err := data.Type(at)
				if err != nil {
					return sig, kernels.Reject(space.CompileFailed, "the type of the function cannot be read from the debugging information: %v", err)
				}
				if p, ok := plainType(t).(*dwarf.PtrType); ok {
					found, _ = plainType(p.Type).(*dwarf.FuncType)
				}
			}
		case dwarf.TagSubprogram:
			if entry.Val(dwarf.AttrName) == name {
				if place, err := readPlace(data, unit, entry); err == nil {
					places = append(places, place)
				}
			}
		}
	}
	if found == nil {
		return sig, kernels.Reject(space.CompileFailed, "the compiler does not describe the function")
	}
	sig.result = found.ReturnType
	for _, t := range found.ParamType {
		if _, dots := t.(*dwarf.DotDotDotType); dots {
			sig.open = true
			continue
		}
		sig.parameters = append(sig.parameters, t)
	}
	// A definition without a prototype tells more than its type. Of several functions with the name one may match.
	old := sig.open && len(sig.parameters) == 0
	places = slices.DeleteFunc(places, func(p signature) bool { return !old && len(p.parameters) != len(sig.parameters) })
	if len(places) == 1 {
		if old {
			sig.parameters, sig.open = places[0].parameters, false
		}
		sig.names, sig.lines, sig.line, sig.file = places[0].names, places[0].lines, places[0].line, places[0].file
	}
	return sig, nil
}

// readPlace reads the position of a function and of its parameters.
func readPlace(data *dwarf.Data, unit, entry *dwarf.Entry) (signature, error) {
	var out signature
	if line, ok := entry.Val(dwarf.AttrDeclLine).(int64); ok {
		out.line = int(line)
	}
	if index, ok := entry.Val(dwarf.AttrDeclFile).(int64); ok && unit != nil {
		lines, err := data.LineReader(unit)
		if err == nil && lines != nil && int(index) < len(lines.Files()) && lines.Files()[index] != nil {
			out.file = filepath.Base(lines.Files()[index].Name)
		}
	}
	if !entry.Children {
		return out, nil
	}
	children := data.Reader()
	children.Seek(entry.Offset)
	if _, err := children.Next(); err != nil {
		return out, err
	}
	for {
		child, err := children.Next()
		if err != nil || child == nil || child.Tag == 0 {
			return out, err
		}
		if child.Tag == dwarf.TagFormalParameter {
			at, ok := child.Val(dwarf.AttrType).(dwarf.Offset)
			if !ok {
				return out, errors.New("a parameter has no type")
			}
			t, err := data.Type(at)
			if err != nil {
				return out, err
			}
			line, _ := child.Val(dwarf.AttrDeclLine).(int64)
			name, _ := child.Val(dwarf.AttrName).(string)
			out.parameters, out.names, out.lines = append(out.parameters, t), append(out.names, name), append(out.lines, int(line))
		}
		if child.Children {
			children.SkipChildren()
		}
	}
}

// place returns where a parameter of a function stands, or the function itself where i is negative.
func (s *source) place(r *reader, e examined, sig signature, i int) string {
	line, file := sig.line, sig.file
	if i >= 0 && i < len(sig.lines) && sig.lines[i] > 0 {
		line = sig.lines[i]
	}
	if file == "" {
		return e.file
	}
	if file == filepath.Base(r.file) {
		line += s.textLine
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// judge compares the arguments with the parameters of a function. It reports whether it could not judge some of the parameters.
func (s *source) judge(r *reader, e examined, sig signature) (undecided bool) {
	place := func(i int) string { return s.place(r, e, sig, i) }
	// What one change of the file mends for the tuned function and for the reference is told once.
	told := func(n node, part string) bool {
		return slices.ContainsFunc(r.faults, func(f Fault) bool { return f.Field == n.path && strings.Contains(f.Text, part) })
	}
	if n := len(sig.parameters); n != len(s.arguments) && !(sig.open && n < len(s.arguments)) {
		if told(s.argumentsNode, " takes "+plain.Count(n, "argument")+" (") {
			return false
		}
		r.fault(s.argumentsNode, "function %s takes %s (%s)%s, and here %s", e.function, plain.Count(n, "argument"), place(-1), e.at, areListed(len(s.arguments)))
		return false
	}
	for i, t := range sig.parameters {
		a := s.arguments[i]
		field, text, known := a.judge(t)
		undecided = undecided || !known
		if at := valueOf(a.node, field); text != "" && (strings.Contains(text, "in the source") || !told(at, ": "+text)) {
			r.fault(at, "argument %d of function %s is %s (%s)%s: %s", i+1, e.function, typeText(t), place(i), e.at, text)
		}
	}
	return undecided
}

func areListed(n int) string {
	if n == 1 {
		return "1 is listed"
	}
	return fmt.Sprintf("%d are listed", n)
}

// judge says what is wrong with passing an argument to a parameter of a type, and names the field that is wrong; text is "" where
// nothing is. known is false where it cannot tell.
func (a argument) judge(t dwarf.Type) (field, text string, known bool) {
	t = plainType(t)
	pointer, isPointer := t.(*dwarf.PtrType)
	switch t.(type) {
	case *dwarf.UnsupportedType, *dwarf.UnspecifiedType:
		return "", "", false // a reference of C++, for one
	}
	if what := unpassable(t); what != "" {
		return "type", "a file has no " + what, true
	}
	if a.scalar {
		if isPointer {
			return "value", "a buffer has a length and an access, and no value", true
		}
		if fits, known := carries(a.ctype.elem, t); !known || fits {
			return "", "", known
		}
		return "type", fmt.Sprintf("it does not hold all values of %s%s", a.ctype.name, advice(t, "")), true
	}
	if !isPointer {
		return "type", "a scalar has a value, and no length and access", true
	}
	constant, target := false, pointer.Type
	for {
		switch q := target.(type) {
		case *dwarf.QualType:
			constant, target = constant || q.Qual == "const", q.Type
			continue
		case *dwarf.TypedefType:
			target = q.Type
			continue
		case *dwarf.ArrayType: // a matrix
			target = q.Type
			continue
		}
		break
	}
	if target == nil {
		target = &dwarf.VoidType{}
	}
	if fits, known := holds(a.ctype.elem, target); !known {
		return "", "", false
	} else if !fits {
		return "type", fmt.Sprintf("%s is another type%s", a.ctype.name, advice(target, ", or void *")), true
	}
	switch {
	case a.mode == native.In && !constant:
		return "access", "for access: read it has to point to const; write const in the source, or access: update", true
	case a.mode != native.In && constant:
		return "access", "it cannot write what is const: access: read", true
	}
	return "", "", true
}

// unpassable names a kind of parameter that is neither a number nor a pointer to data, with what to take in its place; "" for others.
func unpassable(t dwarf.Type) string {
	const apart = " by value: take their numbers one by one in the source, or a pointer to a buffer of them"
	switch t := t.(type) {
	case *dwarf.StructType:
		return "structs, unions and classes" + apart
	case *dwarf.ComplexType:
		return "complex numbers" + apart
	case *dwarf.ArrayType: // other arrays are pointers when they are parameters
		return "vectors" + apart
	case *dwarf.PtrType:
		if _, is := plainType(t.Type).(*dwarf.FuncType); is {
			return "functions as arguments: call the function by its name in the source"
		}
	}
	return ""
}

// advice names the type to write in the file for a C type. Where there is none, more follows what to do instead.
func advice(t dwarf.Type, more string) string {
	base := plainType(t)
	for _, c := range ctypes {
		if fits, known := exactly(c.elem, base); fits && known {
			return "; write type: " + c.name
		}
	}
	return ", which a file has no name for; take another in the source" + more
}

// holds reports whether a buffer of elements may be read as elements of a C type.
func holds(e native.Elem, t dwarf.Type) (fits, known bool) {
	switch t := t.(type) {
	case *dwarf.VoidType:
		return true, true
	case *dwarf.CharType:
		// The compiler decides whether a plain char is signed.
		if t.Name == "char" && (e == native.I8 || e == native.U8) {
			return true, true
		}
	case *dwarf.UcharType:
		if t.Name == "char" && (e == native.I8 || e == native.U8) {
			return true, true
		}
	case *dwarf.BoolType:
		return e == native.U8 && t.ByteSize == 1, true
	case *dwarf.EnumType:
		return !floating(e) && t.ByteSize == int64(e.Size()), true
	case *dwarf.UnsupportedType, *dwarf.UnspecifiedType:
		return false, false
	}
	return exactly(e, t)
}

// exactly reports whether an element type and a C type are the same apart from their names.
func exactly(e native.Elem, t dwarf.Type) (fits, known bool) {
	number, signed, isFloat, ok := numeric(t)
	if !ok {
		return false, true
	}
	return number == int64(e.Size()) && isFloat == floating(e) && (isFloat || signed == hasSign(e)), true
}

// carries reports whether a scalar type can hold each value of an element type unchanged.
func carries(e native.Elem, t dwarf.Type) (fits, known bool) {
	switch t.(type) {
	case *dwarf.BoolType, *dwarf.EnumType:
		return !floating(e), true
	case *dwarf.UnsupportedType, *dwarf.UnspecifiedType:
		return false, false
	}
	size, signed, isFloat, ok := numeric(t)
	if !ok {
		return false, true
	}
	own := int64(e.Size())
	switch {
	case floating(e):
		return isFloat && size >= own, true
	case isFloat:
		return size > own, true // double holds 32-bit integers, float 16-bit ones
	case hasSign(e):
		return signed && size >= own, true
	}
	return size > own || size == own && !signed, true
}

// numeric describes a type of numbers. Two-byte types other than IEEE halves are no numbers here.
func numeric(t dwarf.Type) (size int64, signed, isFloat, ok bool) {
	switch t := t.(type) {
	case *dwarf.IntType, *dwarf.CharType:
		return t.Size(), true, false, true
	case *dwarf.UintType, *dwarf.UcharType:
		return t.Size(), false, false, true
	case *dwarf.FloatType:
		return t.Size(), true, true, t.Size() >= 4
	}
	return 0, false, false, false
}

func hasSign(e native.Elem) bool {
	return e == native.I8 || e == native.I16 || e == native.I32 || e == native.I64
}

// plainType returns a type without its typedefs and qualifiers.
func plainType(t dwarf.Type) dwarf.Type {
	for {
		switch q := t.(type) {
		case *dwarf.QualType:
			t = q.Type
		case *dwarf.TypedefType:
			t = q.Type
		default:
			return t
		}
	}
}

// typeText writes a type as C does, if it needs no parentheses.
func typeText(t dwarf.Type) string {
	switch t := t.(type) {
	case nil, *dwarf.VoidType:
		return "void"
	case *dwarf.QualType:
		if _, pointer := t.Type.(*dwarf.PtrType); pointer {
			return typeText(t.Type) // restrict and const of the parameter itself matter only inside the function
		}
		return t.Qual + " " + typeText(t.Type)
	case *dwarf.PtrType:
		return strings.Replace(typeText(t.Type)+" *", "* *", "**", 1)
	case *dwarf.ArrayType:
		return fmt.Sprintf("%s [%d]", typeText(t.Type), t.Count)
	case *dwarf.StructType:
		return strings.TrimSpace(t.Kind + " " + t.StructName)
	case *dwarf.EnumType:
		return strings.TrimSpace("enum " + t.EnumName)
	case *dwarf.FuncType:
		return "function"
	}
	if name := t.Common().Name; name != "" {
		return name
	}
	return "of another kind"
}

// mismatches turns the compiler's warnings about a call that does not fit a function into errors. They apply only to the lines
// that follow, because the user's own code may have such warnings.
var mismatches = func() string {
	text := "#pragma GCC diagnostic ignored \"-Wpragmas\"\n#pragma GCC diagnostic ignored \"-Wunknown-warning-option\"\n"
	for _, w := range []string{"incompatible-pointer-types", "discarded-qualifiers", "incompatible-pointer-types-discards-qualifiers",
		"int-conversion", "pointer-sign", "implicit-function-declaration"} {
		text += "#pragma GCC diagnostic error \"-W" + w + "\"\n"
	}
	return text
}()

// tryCall asks the compiler whether a function can be called with the arguments, where its type tells too little.
func (s *sourceSpec) tryCall(ctx context.Context, r *reader, e examined) error {
	text := s.s.unit(e.program, e.language, e.function, 1)
	if e.language == "c" {
		text = strings.Replace(text, unitCall, mismatches+unitCall, 1)
	}
	_, err := s.build(ctx, e, text)
	rejected := kernels.AsRejection(err)
	if rejected == nil {
		return err
	}
	// The source itself may be wrong, which is reported when it is built.
	if _, err := s.build(ctx, e, e.head()); err != nil {
		if kernels.AsRejection(err) != nil {
			return nil
		}
		return err
	}
	r.fault(e.node, "it cannot be called with the arguments of this file: %s", rejected.Reason)
	return nil
}
