package gemm

import (
	"embed"

	"tune/kernels/native/cgen"
)

// pieces are the templates of the constant parts of the code.
var pieces = cgen.ParsePieces(pieceFiles, "pieces.c.tmpl")

//go:embed pieces.c.tmpl
var pieceFiles embed.FS

// writer collects C text.
type writer struct{ cgen.Writer }

// types writes the vector types, with the macros and functions that load and store them.
func (w *writer) types(vecBytes int) {
	w.Piece(pieces, "types", vectorNames(vecBytes, "vec", "", "ivec"))
}

// vectorNames are the names of a vector type and of the functions that load and store a part of it.
func vectorNames(vecBytes int, vec, suffix, ints string) map[string]any {
	mask := map[int]string{32: "unsigned char", 64: "unsigned short"}[vecBytes]
	return map[string]any{
		"Bytes": vecBytes, "Bits": 8 * vecBytes, "Mask": mask,
		"Vec": vec, "Load": "load_part" + suffix, "Store": "store_part" + suffix, "Ints": ints, "First": "first" + suffix,
	}
}
