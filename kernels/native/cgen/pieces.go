package cgen

import (
	"fmt"
	"io"
	"io/fs"
	"text/template"
)

// Pieces are constant pieces of C with holes, in files of the package text/template that define each by a name. The
// templates know two functions beside those of that package, vector and memory, which write types: see Vector and Memory.
type Pieces struct{ t *template.Template }

// ParsePieces reads the pieces of embedded files. It panics where they are malformed, since they are part of the program.
func ParsePieces(files fs.FS, names ...string) *Pieces {
	return &Pieces{template.Must(template.New("").Funcs(template.FuncMap{"vector": Vector, "memory": Memory}).ParseFS(files, names...))}
}

// write writes a piece. Its data is the program's own, so that it cannot be wrong.
func (p *Pieces) write(to io.Writer, name string, data any) {
	if err := p.t.ExecuteTemplate(to, name, data); err != nil {
		panic(fmt.Sprintf("cgen: %v", err))
	}
}
