package gemm

import (
	"fmt"
	"strings"

	"tune/kernels/native/cgen"
)

// hasThin reports whether programs get forms of their own for thin products, which depend on the instruction set alone. They do where parts of
// vectors are loaded under a mask. Code for several threads divides thin products, and keeps its forms.
func hasThin(c Config, nt bool) bool {
	return !nt && c.Workers <= 1 && c.ISA != cgen.Generic && (c.Form == FormTiled || c.Form == FormSkinny)
}

// The limits of thin products.
const (
	thinRows    = 3    // rows of a product that is computed as sums of rows of B
	thinDepth   = 4    // terms of the sums of a product that is computed row by row
	thinStrip   = 4    // vectors of a strip of columns whose sums stay in registers
	thinSums    = 8    // sums in flight, which hide the latency of a multiply-add
	thinColumns = 6    // columns of a product that is computed as dot products
	smallRows   = 8    // rows of a small product, which is no longer one of thinRows
	smallWidth  = 64   // and its columns
	thinBlock   = 1024 // elements of a column that are copied at once, or columns of sums of rows
)

// thinVector is a type of vectors.
type thinVector struct {
	name  string
	lanes int
}

func (v thinVector) load(at string) string {
	return fmt.Sprintf("LOAD_%s(%s)", strings.ToUpper(v.name), at)
}
func (v thinVector) part(at, n string) string {
	return fmt.Sprintf("load_part_%s(%s, %s)", v.name, at, n)
}
func (v thinVector) store(at, of string) string {
	return fmt.Sprintf("STORE_%s(%s, %s);", strings.ToUpper(v.name), at, of)
}
func (v thinVector) storePart(at, of, n string) string {
	return fmt.Sprintf("store_part_%s(%s, %s, %s);", v.name, at, of, n)
}

// quad is the shortest vector.
var quad = thinVector{"wide_quad", 4}

// thinWriter writes the forms for thin products: those with few columns, few rows, sums of few terms, or not many of both rows and columns.
type thinWriter struct {
	*writer
	isa    string
	wide   thinVector
	narrow thinVector // of few columns: loads of whole vectors would cross lines of the cache; the wide type where there is no other
}

func newThinWriter(w *writer, isa string) *thinWriter {
	t := &thinWriter{writer: w, isa: isa, wide: thinVector{"wide", vectorBytes(isa) / 4}}
	t.narrow = t.wide
	if t.masked() {
		t.narrow = thinVector{"narrow", 8}
	}
	return t
}

// The arguments of functions: matrices, and with the number of terms before them those of most.
const (
	matrices        = "a, lda, b, ldb, c, ldc"
	matrixArguments = "const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc"
	thinCall        = "k, " + matrices
	thinArguments   = "i64 k, " + matrixArguments
)

func (t *thinWriter) write() {
	t.Line("#define THIN __attribute__((noinline, aligned(64))) // so that what stands before a function does not change how long it takes")
	t.vector(t.wide)
	if t.narrow != t.wide {
		t.vector(t.narrow)
	}
	t.sumOf(t.narrow.name, "lane_sum", "wide_quad", t.narrow.lanes)
	t.Line("%s", cgen.Memory("float", "wide_quad_any", 16, 4))
	t.Line("#define LOAD_WIDE_QUAD(p) ((wide_quad)*(const wide_quad_any *)(p))")
	t.Line("#define STORE_WIDE_QUAD(p, v) (*(wide_quad_any *)(p) = (v))")
	for rows := 1; rows <= thinRows; rows++ {
		t.fewRows(rows)
	}
	t.oneVector()
	t.small()
	t.fewColumns()
	for k := 1; k <= thinDepth; k++ {
		t.fewTerms(k)
	}
	t.choose()
}

// vector writes a type of vectors, with what loads and stores it.
func (t *thinWriter) vector(v thinVector) {
	names := vectorNames(4*v.lanes, v.name, "_"+v.name, v.name+"_ints")
	names["Any"], names["Upper"] = v.name+"_any", strings.ToUpper(v.name)
	t.Piece(pieces, "thin types", names)
}

// index is the suffix of the pointer to a row: that to the first one has none.
func index(row int) string {
	if row == 0 {
		return ""
	}
	return fmt.Sprint(row)
}

// inPairs adds up as a tree does, so that few additions wait for each other.
func inPairs(sums []string) string {
	for len(sums) > 1 {
		var half []string
		for at := 0; at < len(sums); at += 2 {
			if at+1 < len(sums) {
				half = append(half, "("+sums[at]+" + "+sums[at+1]+")")
			} else {
				half = append(half, sums[at])
			}
		}
		sums = half
	}
	return sums[0]
}

// masked reports whether stores under a mask are fast.
func masked(isa string) bool { return vectorBytes(isa) == 64 }

func (t *thinWriter) masked() bool { return masked(t.isa) }

// registers are how many vectors the processor has registers for.
func (t *thinWriter) registers() int {
	if t.masked() {
		return 32
	}
	return 16
}

// keep has the compiler hold a vector in a register that several rows use: gcc would load it for each of them.
func (t *thinWriter) keep(rows int, vector string) {
	if rows > 1 {
		t.Line("__asm__(\"\" : \"+v\"(%s));", vector)
	}
}

// thinProducts is the condition, as a formula, under which a product takes these forms.
func thinProducts() string {
	return fmt.Sprintf("k <= %d or m <= %d or n <= 16 or (m <= %d and n <= %d)", thinDepth, thinRows, smallRows, smallWidth)
}

// choose writes the function that the code begins with.
func (t *thinWriter) choose() {
	t.Blank()
	t.Comment("Computes a product that is thin; says 0 if it is not.")
	t.Open("static inline int thin(i64 m, i64 n, %s)", thinArguments)
	t.Line("if (!(%s)) return 0;", strings.NewReplacer(" or ", " || ", " and ", " && ").Replace(thinProducts()))
	for k := 1; k <= thinDepth; k++ {
		t.Line("if (k == %d) return terms_%d(m, n, a, lda, b, ldb, c, ldc), 1;", k, k)
	}
	t.Line("if (n == 1) return thin_columns_1(m, %s), 1;", thinCall)
	for rows := 1; rows <= thinRows; rows++ {
		t.Line("if (m == %d) return thin_rows_%d(n, %s), 1;", rows, rows, thinCall)
	}
	for columns := 2; columns <= thinColumns; columns++ {
		t.Line("if (n == %d && k >= %d) return thin_columns_%d(m, %s), 1;", columns, t.deep(columns), columns, thinCall)
	}
	if t.masked() {
		t.Line("if (n <= %d) return one_narrow(m, n, %s), 1;", t.narrow.lanes, thinCall)
		t.Line("if (n <= %d) return one_wide(m, n, %s), 1;", t.wide.lanes, thinCall)
	} else {
		t.Line("if (n <= %d && k >= %d) return one_%s(m, n, %s), 1;", t.wide.lanes, deepColumns, t.wide.name, thinCall)
		t.Line("if (n <= %d) return two_%s(m, n, %s), 1;", t.wide.lanes, quad.name, thinCall)
		t.Line("if (n <= %d) return two_%s(m, n, %s), 1;", 2*t.wide.lanes, t.wide.name, thinCall)
	}
	t.chooseSmall()
	t.Close()
}
