package gemm

import (
	"fmt"
	"slices"
	"strings"

	"tune/kernels/native/cgen"
)

// packX writes the function that copies rows of X to strips of MR by kc, stored column by column.
func (t *tiledWriter) packX() {
	t.Blank()
	t.Comment("Copies m rows of X, k deep, to strips whose columns are contiguous.")
	t.Open("static NOINLINE void pack_x%s(i64 m, i64 k, const float *x, i64 ldx, float *to)", t.suf)
	t.eachRow(func(rows int) {
		t.Line("transpose(%d, %d, k, x + i * %s, %s, to + i * k);", rows, rows, t.ld("ldx"), t.ld("ldx"))
	}, func() {
		t.Line("transpose(m - i, %d, k, x + i * %s, %s, to + i * k);", t.c.MR, t.ld("ldx"), t.ld("ldx"))
	})
	t.Close()
}

// packY writes the function that copies columns of Y to strips of kc by NR, stored row by row.
func (t *tiledWriter) packY() {
	t.Blank()
	t.Comment("Copies n columns of Y, k deep, to strips whose rows are contiguous.")
	t.Open("static NOINLINE void pack_y%s(i64 n, i64 k, const float *y, i64 ldy, float *to)", t.suf)
	if t.nt {
		t.packYTransposed()
	} else {
		t.packYRows()
	}
	t.Close()
}

// packYTransposed writes the copying of Y where its columns are contiguous in memory.
func (t *tiledWriter) packYTransposed() {
	lanes, ldy := t.lanes(), t.ld("ldy")
	t.eachCol(func(s strip) {
		width := fmt.Sprint(s.size * lanes)
		if s.part {
			width = fmt.Sprintf("%d + width", (s.size-1)*lanes)
		}
		t.Line("transpose(%s, %d, k, y + j * %s, %s, to + j * k);", width, s.size*lanes, ldy, ldy)
	}, func() {
		t.Line("transpose(1, 1, k, y + j * %s, %s, to + j * k);", ldy, ldy)
	}, func() {
		t.Line("transpose(n - j, %d, k, y + j * %s, %s, to + j * k);", t.nr(), ldy, ldy)
	})
}

// packYRows writes the copying of Y where its rows are contiguous in memory.
func (t *tiledWriter) packYRows() {
	lanes, ldy := t.lanes(), t.ld("ldy")
	strips := func(s strip) {
		t.Open("for (i64 p = 0; p < k; p++)")
		for at := 0; at < s.size*lanes; at += 16 { // the next strip
			t.Line("__builtin_prefetch(y + p * %s + j + %d);", ldy, s.size*lanes+at)
		}
		for v := range s.size {
			to := fmt.Sprintf("to + j * k + p * %d + %d", s.size*lanes, v*lanes)
			from := fmt.Sprintf("y + p * %s + j + %d", ldy, v*lanes)
			if s.over && v == s.size-1 {
				from = fmt.Sprintf("y + p * %s + j + last", ldy)
			}
			if s.part && v == s.size-1 {
				t.Line("STORE(%s, load_part(%s, width));", to, from)
			} else {
				t.Line("STORE(%s, LOAD(%s));", to, from)
			}
		}
		t.Close()
	}
	if t.tails() != nil {
		t.Line("const i64 whole = %s;", t.whole())
		t.Line("i64 j = 0;")
		t.Open("for (; j < whole; j += %d)", t.nr())
		strips(strip{size: t.c.NV})
		t.Close()
		t.eachTail(strips)
		return
	}
	t.eachCol(strips, func() {
		t.Line("for (i64 p = 0; p < k; p++) to[j * k + p] = y[p * %s + j];", ldy)
	}, func() {
		t.Nested(
			"for (i64 p = 0; p < k; p++)",
			fmt.Sprintf("for (i64 l = 0; l < %d; l++) to[j * k + p * %d + l] = l < n - j ? y[p * %s + j + l] : 0;", t.nr(), t.nr(), ldy))
	})
}

// transpose writes the function transpose, which packs a strip.
func (w *writer) transpose(lanes int) {
	w.Blank()
	w.Comment("Writes the n rows of a matrix, k long and ld apart, as columns of a strip that is wide floats wide; columns")
	w.Comment("without a row become zero.")
	w.Open("static inline __attribute__((always_inline)) void transpose(i64 n, i64 wide, i64 k, const float *from, i64 ld, float *to)")
	w.Line("i64 p = 0;")
	w.Line("#if HAS(__builtin_shufflevector)")
	w.Open("for (; k - p >= %d; p += %d)", lanes, lanes)
	w.Line("i64 i = 0;")
	for rows := min(8, lanes); rows > 1; rows /= 2 {
		w.transposeRows(lanes, rows)
	}
	w.Nested(
		"for (; i < n; i++)",
		fmt.Sprintf("for (i64 q = p; q < p + %d; q++) to[q * wide + i] = from[i * ld + q];", lanes))
	w.Close()
	w.Line("#endif")
	w.Nested("for (; p < k; p++)", "for (i64 i = 0; i < n; i++) to[p * wide + i] = from[i * ld + p];")
	w.Nested("if (n < wide)", "for (p = 0; p < k; p++)", "for (i64 i = n; i < wide; i++) to[p * wide + i] = 0;")
	w.Close()
}

// transposeRows writes the loop that transposes one vector each of several rows at once. It interleaves vectors of one row each to
// vectors of two rows, these to vectors of four, and so on, until each vector consists of whole columns.
func (w *writer) transposeRows(lanes, rows int) {
	w.Open("for (; n - i >= %d; i += %d)", rows, rows)
	w.Line("%s", cgen.Memory("float", "column", 4*rows, 4))
	w.Line("const float *f = from + i * ld + p;")
	w.Line("float *t = to + p * wide + i;")
	// The rows below are packed next. They are too far apart for the hardware prefetcher.
	w.Line("for (i64 r = 0; r < %d; r++) __builtin_prefetch(f + (n + r) * ld);", rows)
	// Lane l of a vector holds an element of column k[l].
	type vector struct {
		name string
		k    []int
	}
	var groups [][]vector // each group has the vectors of the same rows
	for r := range rows {
		v := vector{name: fmt.Sprintf("r%d", r)}
		for l := range lanes {
			v.k = append(v.k, l)
		}
		groups = append(groups, []vector{v})
		w.Line("vec %s = LOAD(f + %d * ld);", v.name, r)
	}
	for unit := 1; unit < rows; unit *= 2 {
		var next [][]vector
		for g := 0; g < len(groups); g += 2 {
			var merged []vector
			for n, a := range groups[g] {
				b := groups[g+1][n]
				for half := range 2 {
					pattern := cgen.Interleave(lanes, unit, half)
					v := vector{name: fmt.Sprintf("s%d_%d_%d", unit, g/2, len(merged))}
					var at []string
					for _, from := range pattern {
						at = append(at, fmt.Sprint(from))
						v.k = append(v.k, slices.Concat(a.k, b.k)[from])
					}
					w.Line("vec %s = __builtin_shufflevector(%s, %s, %s);", v.name, a.name, b.name, strings.Join(at, ", "))
					merged = append(merged, v)
				}
			}
			next = append(next, merged)
		}
		groups = next
	}
	for _, v := range groups[0] {
		for l := 0; l < lanes; l += rows {
			value := v.name
			if lanes > rows {
				var at []string
				for i := range rows {
					at = append(at, fmt.Sprint(l+i))
				}
				value = fmt.Sprintf("__builtin_shufflevector(%s, %s, %s)", v.name, v.name, strings.Join(at, ", "))
			}
			w.Line("*(column *)(t + %d * wide) = %s;", v.k[l], value)
		}
	}
	w.Close()
}
