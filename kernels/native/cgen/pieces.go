package cgen

import (
	"fmt"
	"io"
	"io/fs"
	"text/template"
)

// Pieces are named templates of C text, in the syntax of the package text/template. The templates may call two further functions,
// vector and memory, which write types; see Vector and Memory.
type Pieces struct{ t *template.Template }

// ParsePieces parses embedded template files. It panics if one is malformed, because they are part of the program.
func ParsePieces(files fs.FS, names ...string) *Pieces {
	return &Pieces{template.Must(template.New("").Funcs(template.FuncMap{"vector": Vector, "memory": Memory}).ParseFS(files, names...))}
}

// write executes a template. It panics on failure, because template and data are both part of the program.
func (p *Pieces) write(to io.Writer, name string, data any) {
	if err := p.t.ExecuteTemplate(to, name, data); err != nil {
		panic(fmt.Sprintf("cgen: %v", err))
	}
}
