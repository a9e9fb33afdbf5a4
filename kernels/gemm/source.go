package gemm

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// formulas say what is computed.
var formulas = map[string]string{LayoutNN: "A·B", LayoutNT: "A·Bᵀ"}

// generate returns the source of a configuration; the plain forms need no dimensions to be asked for. Linked code takes the leading dimensions too.
func generate(c Config, layout string, d Dims, linked bool) native.Source {
	w := &writer{}
	dims := "M, N, K"
	if linked {
		dims += ", LDA, LDB, LDC"
	}
	asked := "right for any shape"
	if d != (Dims{}) {
		asked = fmt.Sprintf("asked for M=%d N=%d K=%d and right for any", d.M, d.N, d.K)
	}
	w.Comment("C = %s, %s: args are A, B, C and dims %s.", formulas[layout], asked, dims)
	nt := layout == LayoutNT
	switch c.Form {
	case FormNaive:
		naive(w, c, nt, linked)
	case FormBlocked:
		blocked(w, c, nt, linked)
	case FormTiled:
		tiled(w, c, nt, d, linked)
	case FormSkinny:
		skinny(w, c, nt, d, linked)
	default:
		panic("gemm: no form " + c.Form)
	}
	flags := cgen.Flags{
		Opt: c.Opt, Contract: cgen.ContractFast, ISA: c.ISA, MarchNative: true, TuneNative: c.MTune == "native", Threads: c.Workers > 1,
	}
	return native.Source{Lang: "c", Text: w.String(), Compiler: c.Compiler, Flags: flags.List(), Threads: max(c.Workers, 1), Overlaps: true}
}

// tiled writes the tiled form.
func tiled(w *writer, c Config, nt bool, d Dims, linked bool) {
	w.types(c.Vec)
	t := newTiledWriter(w, c, nt, d, linked)
	w.Blank()
	scratch := t.scratch()
	if c.PackX || c.PackY && nt {
		w.transpose(c.Lanes())
	}
	if t.byColumns() {
		w.sum(c.Lanes())
	}
	t.write()
	if c.Fixed {
		f := *t
		f.suf, f.fixed, f.many = "_fixed", &d, false
		f.write()
	}
	e := entry{writer: w, c: c, nt: nt, linked: linked, asked: d, rowUnit: c.MR, colUnit: t.nr(), scratch: scratch}
	if c.Swap {
		e.rowUnit, e.colUnit = e.colUnit, e.rowUnit
	}
	e.part = func(m, n string) {
		call := func(suf string) string {
			x, y, rows, cols := "j.a + i0 * j.lda", "j.b + j0 * j.ldb", m, n
			if !nt {
				y = "j.b + j0"
			}
			ldx, ldy := "j.lda", "j.ldb"
			if c.Swap {
				x, y, ldx, ldy, rows, cols = y, x, ldy, ldx, cols, rows
			}
			return fmt.Sprintf("product%s(s, %s, %s, j.k, %s, %s, %s, %s, %s);", suf, rows, cols, x, ldx, y, ldy, e.result())
		}
		if c.Fixed {
			asked := fmt.Sprintf("j.m == %d && j.n == %d && j.k == %d", d.M, d.N, d.K)
			if linked {
				lda, ldb, ldc := denseStrides(nt, d)
				asked += fmt.Sprintf(" && j.lda == %d && j.ldb == %d && j.ldc == %d", lda, ldb, ldc)
			}
			w.Nested("if ("+asked+")", call("_fixed"))
			w.Nested("else", call(""))
		} else {
			w.Line("%s", call(""))
		}
	}
	e.write()
}
