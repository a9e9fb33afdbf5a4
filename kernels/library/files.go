package library

import (
	"bytes"
	"embed"
	"sync"
	"text/template"

	"tune/internal/plain"
	"tune/kernels/native"
)

//go:embed files/*.tmpl
var templateFiles embed.FS

// templates are the files of a library, parsed when the first is written. The text of users goes through comment, line or string.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"comment": plain.CComment,
		"line":    plain.CLine,
		"string":  plain.CString,
		"plural": func(n int, word string) string {
			if n == 1 {
				return word
			}
			return word + "s"
		},
	}).ParseFS(templateFiles, "files/*.tmpl"))
})

// Files returns the files of the library, by their paths with slashes.
func (l Library) Files() (map[string][]byte, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	text := newLibraryText(l)
	files := map[string][]byte{}
	write := func(name, from string, fill any) error {
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, from+".tmpl", fill); err != nil {
			return err
		}
		files[name] = b.Bytes()
		return nil
	}
	from := map[string]string{
		"include/" + l.Name + ".h": "header.h",
		"src/variants.h":           "variants.h",
		"src/dispatch.c":           "dispatch.c",
		"selftest.c":               "selftest.c",
		"bench.c":                  "bench.c",
		"Makefile":                 "Makefile",
		"CMakeLists.txt":           "CMakeLists.txt",
		l.Name + ".pc.in":          "pc.in",
		"README.md":                "README.md",
	}
	if l.BLAS {
		from["src/blas.c"] = "blas.c"
	}
	for name, from := range from {
		if err := write(name, from, text); err != nil {
			return nil, err
		}
	}
	for _, k := range text.Compiled {
		if err := write("src/"+k.File+k.Suffix, "kernel.c", k); err != nil {
			return nil, err
		}
	}
	if l.Manifest != nil {
		files["manifest.json"] = l.Manifest
	}
	return files, nil
}

// Caller returns the code that calls the first function of the library, as tune_kernel of a problem whose code is linked. shared is the path of
// the shared library, which is loaded at the first call. The function chooses the variant with the given number at the given shape, on a
// processor that has what all variants need. An array that is laid out ahead is given as that variant takes it.
func (l Library) Caller(shared string, variant int, shape []int64) (native.Source, error) {
	f := newFunctionText(l, l.Functions[0])
	called := l.Functions[0].Variants[variant].Source
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, "caller.c.tmpl", struct {
		*functionText
		Path, Text string
		Layout     int
		Shape      []int64
	}{f, shared, called.Text, f.Kernels[variant].Layout, shape})
	src := native.Source{Lang: "c", Text: b.String(), Flags: []string{"-O2"}, Threads: f.Threads, Overlaps: f.Overlaps}
	if f.Packed != nil {
		src.Compiler, src.Flags, src.Pack = called.Compiler, called.Flags, called.Pack
	}
	return src, err
}
