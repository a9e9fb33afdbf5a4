package cgen

import "fmt"

// Vector returns the definition of a vector type, in the vector extension of GCC and Clang. The size is in bytes.
func Vector(elem, name string, bytes int) string {
	return fmt.Sprintf("typedef %s %s __attribute__((vector_size(%d)));", elem, name, bytes)
}

// Memory returns the definition of a vector type for loads and stores: its alignment is only align bytes, and it may alias other
// types.
func Memory(elem, name string, bytes, align int) string {
	return fmt.Sprintf("typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));", elem, name, bytes, align)
}

// StorePast returns GCC's name of the store past the caches, of a vector of 4, 8 or 16 floats; "" for any other number of lanes.
func StorePast(lanes int) string {
	return map[int]string{4: "__builtin_ia32_movntps", 8: "__builtin_ia32_movntps256", 16: "__builtin_ia32_movntps512"}[lanes]
}

// Horizontal writes the function horizontal, which adds the lanes of a vector by repeated halving. It needs at least 4 lanes.
func (w *Writer) Horizontal(elem, vector string, lanes int) {
	w.Func("static inline %s horizontal(%s s)", elem, vector)
	from := "s"
	for ; lanes > 4; lanes /= 2 {
		half, sum := fmt.Sprintf("%s%d", vector, lanes/2), fmt.Sprintf("h%d", lanes/2)
		w.Line("typedef %s %s __attribute__((vector_size(%d), may_alias));", elem, half, 2*lanes)
		w.Line("const %s %s = ((const %s *)&%s)[0] + ((const %s *)&%s)[1];", half, sum, half, from, half, from)
		from = sum
	}
	w.Line("return (%s[0] + %s[1]) + (%s[2] + %s[3]);", from, from, from, from)
	w.EndFunc()
}

// Interleave returns the lanes of two vectors, numbered across both, that form the first or the second half of the result when
// units of the two alternate. Units of fewer than four lanes alternate within each group of four lanes, because processors have an
// instruction for that.
func Interleave(lanes, unit, half int) []int {
	block := 4
	if unit >= block {
		block = lanes
	}
	var out []int
	for start := 0; start < lanes; start += block {
		first := start + half*block/2
		for at := first; at < first+block/2; at += unit {
			for _, vector := range []int{0, lanes} {
				for i := range unit {
					out = append(out, vector+at+i)
				}
			}
		}
	}
	return out
}
