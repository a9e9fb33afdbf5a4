package cgen

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"text/template"
)

// Pieces are named templates of C text, in the syntax of the package text/template. The templates may call two further functions,
// vector and memory, which write types; see Vector and Memory. Beside those of a family there is "scratch", which defines
//
//	static void *reserve(struct scratch_small *small, int64_t bytes);
//	static void give_back(struct scratch_small *small, void *memory);
//
// memory of a call, which is kept between calls unless it is small; it needs <stdint.h> and <stdlib.h>. Calls may overlap.
type Pieces struct{ parsed func() *template.Template }

//go:embed c/*.c.tmpl
var sharedPieces embed.FS

// ParsePieces returns the pieces in embedded template files. They are parsed when the first is written, because most processes write none;
// that panics if a file is malformed, because they are part of the program.
func ParsePieces(files fs.FS, names ...string) *Pieces {
	return &Pieces{sync.OnceValue(func() *template.Template {
		t := template.New("").Funcs(template.FuncMap{"vector": Vector, "memory": Memory})
		t = template.Must(t.ParseFS(sharedPieces, "c/*.c.tmpl"))
		return template.Must(t.ParseFS(files, names...))
	})}
}

// write executes a template. It panics on failure, because template and data are both part of the program.
func (p *Pieces) write(to io.Writer, name string, data any) {
	if err := p.parsed().ExecuteTemplate(to, name, data); err != nil {
		panic(fmt.Sprintf("cgen: %v", err))
	}
}
