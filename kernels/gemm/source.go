package gemm

import (
	"fmt"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// generate returns the source of a configuration.
func generate(c Config, layout string, d Dims) native.Source {
	w := &writer{}
	w.Comment("C = %s, asked for M=%d N=%d K=%d and right for any: args are A, B, C and dims M, N, K.", map[string]string{LayoutNN: "A·B", LayoutNT: "A·Bᵀ"}[layout], d.M, d.N, d.K)
	nt := layout == LayoutNT
	switch c.Form {
	case FormNaive:
		naive(w, c, nt)
	case FormBlocked:
		blocked(w, c, nt)
	case FormTiled:
		tiled(w, c, nt, d)
	case FormSkinny:
		skinny(w, c, nt, d)
	default:
		panic("gemm: no form " + c.Form)
	}
	flags := cgen.Flags{
		Opt: c.Opt, Contract: cgen.ContractFast, ISA: c.ISA, MarchNative: true, TuneNative: c.MTune == "native", Threads: c.Workers > 1,
	}
	return native.Source{Lang: "c", Text: w.String(), Compiler: c.Compiler, Flags: flags.List(), Threads: max(c.Workers, 1), Overlaps: true}
}

// tiled writes the tiled form.
func tiled(w *writer, c Config, nt bool, d Dims) {
	w.types(c.Vec)
	t := newTiledWriter(w, c, nt, d)
	w.Blank()
	scratch := t.scratch()
	if c.PackX || c.PackY && nt {
		w.transpose(c.Lanes())
	}
	t.write()
	if c.Fixed {
		f := *t
		f.suf, f.fixed = "_fixed", &d
		f.write()
	}
	e := entry{writer: w, c: c, nt: nt, rowUnit: c.MR, colUnit: t.nr(), scratch: scratch}
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
			return fmt.Sprintf("product%s(s, %s, %s, j.k, %s, %s, %s, %s, j.c + i0 * j.n + j0, j.n);", suf, rows, cols, x, ldx, y, ldy)
		}
		if c.Fixed {
			w.Nested(fmt.Sprintf("if (j.m == %d && j.n == %d && j.k == %d)", d.M, d.N, d.K), call("_fixed"))
			w.Nested("else", call(""))
		} else {
			w.Line("%s", call(""))
		}
	}
	e.write()
}
