package library

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/kernels/library/choice"
	"tune/kernels/native"
)

// Library is a set of functions that programs link: a few kernels each, and what chooses among them.
type Library struct {
	Name      string // the prefix of every symbol, and of the names of files
	About     string // a line about where it comes from
	Version   string // for pkg-config; "" is 1
	Functions []Function
	// BLAS adds cblas_sgemm and sgemm_, which are made of the functions nn and nt: products with B by rows and with transposed B, on one
	// thread.
	BLAS bool
	// Manifest is written as manifest.json as it stands; nil writes none.
	Manifest []byte
}

// Function is a function of a library. Programs call it by the name of the library, an underscore, and its own.
type Function struct {
	Name     string
	About    string // a line; "" is that of the linkage
	Linkage  native.Linkage
	Variants []Variant
	// Tree chooses among the variants, by the dimensions of the shape: those of the linkage that have no dense one, in their order. Its
	// leaves are indices of Variants.
	Tree *choice.Tree
	// Shapes are dimensions of the shape at which the self-test checks each variant too, such as those that a variant is tuned for.
	Shapes [][]int64
}

// Variant is one kernel of a function.
type Variant struct {
	Source native.Source
	Point  string // which it is, in a line
	Tuned  string // what it was tuned for, in a line
}

// flag matches the flags that files of make and CMake can hold as they are.
var flag = pattern.Lazy(`^-[A-Za-z0-9_=.,+-]+$`)

// tuning matches flags of the machine that need no feature of it.
var tuning = pattern.Lazy(`^-m(64|sse2?|fpmath=sse|no-.*|tune=.*|prefer-vector-width=.*|stackrealign|cmodel=.*|red-zone)$`)

// check returns an error where the library cannot be written.
func (l Library) check() error {
	if err := native.CheckLibraryName(l.Name); err != nil {
		return fmt.Errorf("the library's name: %w", err)
	}
	if !regexp.MustCompile(`^[A-Za-z0-9.+~-]*$`).MatchString(l.Version) {
		return fmt.Errorf("the library's version %q: want letters, digits and .+~-", l.Version)
	}
	if len(l.Functions) == 0 {
		return errors.New("the library has no function")
	}
	var names []string
	for _, f := range l.Functions {
		if err := f.check(); err != nil {
			return fmt.Errorf("function %s: %w", f.Name, err)
		}
		names = append(names, f.Name)
	}
	if err := CheckNames(l.Name, names); err != nil {
		return err
	}
	if l.BLAS {
		return l.checkBLAS()
	}
	return nil
}

// checkBLAS returns an error where the two functions that a BLAS is made of are not there.
func (l Library) checkBLAS() error {
	for name, rows := range map[string]string{"nn": "k", "nt": "n"} {
		at := slices.IndexFunc(l.Functions, func(f Function) bool { return f.Name == name })
		if at < 0 {
			return fmt.Errorf("a BLAS is made of the functions nn and nt: there is no function %s", name)
		}
		f := l.Functions[at]
		t := newFunctionText(l, f)
		const want = "int64_t m, int64_t n, int64_t k, const float *A, int64_t lda, const float *B, int64_t ldb, float *C, int64_t ldc"
		switch {
		case t.Parameters() != want:
			return fmt.Errorf("function %s: a BLAS calls it with (%s), and it takes (%s)", name, want, t.Parameters())
		case f.Linkage.Extents[1].Rows != rows:
			return fmt.Errorf("function %s: its B has %s rows: a BLAS needs %s", name, f.Linkage.Extents[1].Rows, rows)
		case !t.Overlaps || t.Threads > 1:
			return fmt.Errorf("function %s: threads of a BLAS call it at once: its variants have to allow that, and have one thread each", name)
		}
	}
	return nil
}

func (f Function) check() error {
	if err := native.CheckName(f.Name); err != nil {
		return err
	}
	if len(f.Variants) == 0 || f.Tree == nil {
		return errors.New("it has no variants, or no tree that chooses among them")
	}
	if err := f.checkLinkage(); err != nil {
		return err
	}
	if err := f.checkTree(); err != nil {
		return err
	}
	if err := f.checkPlain(); err != nil {
		return err
	}
	for i, v := range f.Variants {
		if err := checkSource(v.Source); err != nil {
			return fmt.Errorf("variant %d: %w", i, err)
		}
	}
	if err := f.checkPacks(); err != nil {
		return err
	}
	for _, s := range f.Shapes {
		if len(s) != len(f.shape()) {
			return fmt.Errorf("the shape %v has %d dimensions: want %d", s, len(s), len(f.shape()))
		}
	}
	return nil
}

// checkPlain returns an error where the plain form cannot run everywhere.
func (f Function) checkPlain() error {
	if err := checkSource(f.Linkage.Plain); err != nil {
		return fmt.Errorf("the plain form: %w", err)
	}
	if f.Linkage.Plain.Pack != nil {
		return errors.New("the plain form takes an operand that is laid out ahead: it has to take it as it is")
	}
	if needs := native.NeedsOf(f.Linkage.Plain.Flags); len(needs) > 0 {
		return fmt.Errorf("the plain form is compiled with %s: it has to run on every processor", needs[0].Flag)
	}
	return nil
}

// checkLinkage returns an error where the dimensions and the buffers do not go together.
func (f Function) checkLinkage() error {
	l := f.Linkage
	var names []string
	for _, d := range l.Dims {
		names = append(names, d.Name)
	}
	dims := names
	for _, b := range l.Buffers {
		names = append(names, b.Name)
		if _, ok := kinds[element(b)]; !ok || !strings.HasSuffix(b.Type, "*") {
			return fmt.Errorf("%s is of type %s: want a pointer to one of float, double, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t and uint64_t", b.Name, b.Type)
		}
	}
	for i, name := range names {
		if err := native.CheckName(name); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two parameters have the name %s", name)
		}
	}
	known := func(name string) bool { return slices.Contains(dims, name) }
	for _, d := range l.Dims {
		if d.MultipleOf != "" && !slices.Contains(f.shape(), d.MultipleOf) {
			return fmt.Errorf("%s is a multiple of %q: that is no dimension of the shape", d.Name, d.MultipleOf)
		}
		if d.Dense != "" && !slices.Contains(f.shape(), d.Dense) {
			return fmt.Errorf("%s equals %q where arrays are dense: that is no dimension of the shape", d.Name, d.Dense)
		}
	}
	if len(l.Extents) != len(l.Buffers) {
		return fmt.Errorf("it has %d buffers and the extents of %d", len(l.Buffers), len(l.Extents))
	}
	written := false
	if l.Contents != nil && len(l.Contents) != len(l.Buffers) {
		return fmt.Errorf("it has %d buffers and the contents of %d", len(l.Buffers), len(l.Contents))
	}
	for i, e := range l.Extents {
		if e.Count == nil && (!known(e.Cols) || e.Rows != "" && !known(e.Rows) || e.Stride != "" && !known(e.Stride)) {
			return fmt.Errorf("%s has %q rows of %q columns, %q apart: want names of dimensions", l.Buffers[i].Name, e.Rows, e.Cols, e.Stride)
		}
		written = written || !strings.HasPrefix(l.Buffers[i].Type, "const ")
	}
	if !written {
		return errors.New("no buffer is written: want one whose type is not const")
	}
	if root := l.Tolerance.Root; root != "" && !known(root) {
		return fmt.Errorf("the tolerance grows with %q, which is no dimension", root)
	}
	return nil
}

// checkTree returns an error where the tree asks for what a call does not know, or chooses what is not there.
func (f Function) checkTree() (err error) {
	f.Tree.Walk(func(n *choice.Node, _ int) {
		switch {
		case n.Predictor != nil:
			if e := f.checkPredictor(n.Predictor); e != nil {
				err = e
			}
		case n.Leaf() && (n.Variant < 0 || n.Variant >= len(f.Variants)):
			err = fmt.Errorf("the tree chooses variant %d of %d", n.Variant, len(f.Variants))
		case !n.Leaf() && (n.Feature < 0 || n.Feature >= len(f.Tree.Features)):
			err = fmt.Errorf("the tree asks for feature %d of %d", n.Feature, len(f.Tree.Features))
		case !n.Leaf() && (math.IsNaN(n.Threshold) || math.Abs(n.Threshold) >= 1<<62 || n.Threshold != math.Trunc(n.Threshold)):
			err = fmt.Errorf("the tree compares with %v: want a whole number below 2^62", n.Threshold)
		}
	})
	for _, feature := range f.Tree.Features {
		for _, at := range feature.Factors {
			if at < 0 || at >= len(f.shape()) {
				return fmt.Errorf("the tree asks for dimension %d of %d", at, len(f.shape()))
			}
		}
	}
	return err
}

// Check returns an error for code that no library can have with this linkage, before anything is measured.
func Check(l native.Linkage, sources ...native.Source) error {
	f := Function{Linkage: l}
	if err := f.checkLinkage(); err != nil {
		return err
	}
	if err := f.checkPlain(); err != nil {
		return err
	}
	for _, s := range sources {
		if err := checkSource(s); err != nil {
			return err
		}
		f.Variants = append(f.Variants, Variant{Source: s})
	}
	return f.checkPacks()
}

// compilerName matches compilers that files of make and CMake can name.
var compilerName = pattern.Lazy(`^[A-Za-z0-9_.+-]*$`)

// checkSource returns an error for code that a library cannot have.
func checkSource(s native.Source) error {
	switch {
	case s.Lang != "c" && s.Lang != "c++":
		return fmt.Errorf("its language is %q: want c or c++", s.Lang)
	case s.Lang == "c++" && s.Pack != nil:
		return errors.New("it is in C++ and lays out an argument: only code in C may do that")
	case s.Call != nil:
		return errors.New("it calls a function of the user's: a library has no such kernels")
	case !compilerName().MatchString(s.Compiler):
		return fmt.Errorf("its compiler is %q: want a name without a path, such as gcc-13", s.Compiler)
	}
	for _, f := range s.Flags {
		switch {
		case !flag().MatchString(f):
			return fmt.Errorf("the flag %q: want letters, digits and _=.,+- after -", f)
		case strings.HasPrefix(f, "-m") && !tuning().MatchString(f) && len(native.NeedsOf([]string{f})) == 0 && !strings.HasPrefix(f, "-march=") && !strings.HasPrefix(f, "-mcpu="):
			return fmt.Errorf("the flag %s: no function of a library finds out whether the processor has that: leave it out, or write -march=native, which a library replaces by what it can find out", f)
		}
		if strings.HasPrefix(f, "-march=") || strings.HasPrefix(f, "-mcpu=") {
			return fmt.Errorf("the flag %s does not say which features the processor needs: take a kernel whose instruction set is named", f)
		}
	}
	for _, n := range native.NeedsOf(s.Flags) {
		if _, ok := cpuid[n.Feature()]; !ok {
			return fmt.Errorf("the flag %s: no function of a library finds out whether the processor has that", n.Flag)
		}
	}
	return nil
}

// shape returns the names of the dimensions that the tree chooses by.
func (f Function) shape() []string {
	var names []string
	for _, d := range f.Linkage.Dims {
		if d.Dense == "" {
			names = append(names, d.Name)
		}
	}
	return names
}

// element returns the type of an array's elements, in C.
func element(b native.Argument) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(b.Type, "const "), "*"))
}

// kinds are the types of elements, as the self-test reads and writes them.
var kinds = map[string]string{
	"float": "FLOAT", "double": "DOUBLE", "int8_t": "SIGNED", "uint8_t": "UNSIGNED", "int16_t": "SIGNED", "uint16_t": "UNSIGNED",
	"int32_t": "SIGNED", "uint32_t": "UNSIGNED", "int64_t": "SIGNED", "uint64_t": "UNSIGNED",
}
