package cgen

import "fmt"

// Vector returns the definition of a type of vectors, in the extension of C that GCC and Clang share.
func Vector(elem, name string, bytes int) string {
	return fmt.Sprintf("typedef %s %s __attribute__((vector_size(%d)));", elem, name, bytes)
}

// Memory returns the definition of a type of vectors as they lie in memory, where they are aligned to so many bytes and
// may overlap variables of another type.
func Memory(elem, name string, bytes, align int) string {
	return fmt.Sprintf("typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));", elem, name, bytes, align)
}

// Horizontal writes the function horizontal, which adds the lanes of a vector, by halves. There are at least 4.
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
