package model

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/template"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels/model"
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
	}).ParseFS(templateFiles, "files/*.tmpl"))
})

// roles are those that the program of a step knows, in the order in which it lists them.
var roles = []string{
	model.RoleNorm, model.RoleAddNorm, model.RoleQ, model.RoleK, model.RoleV, model.RoleBiasQ, model.RoleBiasKV, model.RoleNormQ, model.RoleNormK,
	model.RoleRopeQ, model.RoleRopeK, model.RoleAttention, model.RoleWindow, model.RoleOut, model.RolePostNorm, model.RoleGate, model.RoleUp,
	model.RoleBiasUp, model.RoleAct, model.RoleMul, model.RoleDown, model.RoleBiasEmbed, model.RoleAdd, model.RoleHead, model.RoleBiasHead,
	model.RoleArgmax,
}

// fill is what the templates are filled with.
type fill struct {
	Name, Upper, About, Machine string
	OneCompiler                 string // where all kernels have the same
	Model                       *model.Config
	Roles                       []fillRole
	Kernels                     []fillKernel
	Scenarios                   []fillScenario
	Tables                      string
	Threads                     int // of the kernel that has most
}

// fillRole is a role with its name in C.
type fillRole struct{ Name, Enum string }

// fillKernel is a kernel of the library.
type fillKernel struct {
	Name, Function, Kernel, Shape, Roles string
	Compiler, Flags                      string
	Buffers                              []Buffer
	Pack                                 *native.Pack
	Nanoseconds                          float64
	// Of the weights of a product: rows, elements of a row, bytes as files have them and as the function takes them, format.
	Rows, Cols, RawBytes, Bytes int64
	Format                      string
}

// fillScenario is a scenario with the index of the kernel of each role, -1 for none.
type fillScenario struct {
	model.Scenario
	Kernels []int
}

// enum makes the name of a role in C: BIAS_K_V.
func enum(role string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(role) {
		switch {
		case 'A' <= r && r <= 'Z':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return b.String()
}

// fillOf collects what the templates need.
func (m *maker) fillOf(r *Report) (fill, error) {
	var tables bytes.Buffer
	if err := r.Write(&tables); err != nil {
		return fill{}, err
	}
	f := fill{
		Name: r.Name, Upper: strings.ToUpper(r.Name), Model: r.Model, Tables: tables.String(), Machine: r.Machine.CPU,
		About: fmt.Sprintf("Kernels of %s with weights of %s, made by tune %s on %s", r.Model.Name, r.Quant, r.ToolVersion, r.Machine.CPU),
	}
	for _, name := range roles {
		f.Roles = append(f.Roles, fillRole{name, enum(name)})
	}
	for i, t := range r.Tasks {
		b := t.Measured.Build
		k := fillKernel{
			Name: t.Name, Function: t.Function, Kernel: t.Kernel, Shape: t.Shape, Roles: strings.Join(t.Roles, ", "), Buffers: b.Buffers, Pack: b.Pack,
			Compiler: b.Compiler, Flags: makeWords(b.Flags), Nanoseconds: t.Measured.After,
		}
		if i == 0 {
			f.OneCompiler = b.Compiler
		} else if f.OneCompiler != b.Compiler {
			f.OneCompiler = ""
		}
		f.Threads = max(f.Threads, b.Threads)
		if one := m.Plan.Tasks[i].One; one.Weights > 0 {
			k.Rows, k.Cols, k.RawBytes = int64(one.Number("n")), int64(one.Number("k")), int64(one.Weights)
			k.Bytes = k.RawBytes
			if b.Pack != nil {
				k.Bytes = b.Pack.PackedBytes
			}
			if k.Format = one.Field("format"); k.Format == "" {
				k.Format = strings.TrimPrefix(t.Kernel, "gemm-")
			}
		}
		f.Kernels = append(f.Kernels, k)
	}
	for _, s := range m.Plan.Scenarios {
		one := fillScenario{Scenario: s}
		for _, name := range roles {
			at := -1
			if i := slices.IndexFunc(s.Operations, func(o model.Operation) bool { return o.Role == name }); i >= 0 {
				o := s.Operations[i]
				at = slices.IndexFunc(m.Plan.Tasks, func(t model.Task) bool { return t.Kernel == o.Kernel && t.Shape == o.Shape })
			}
			one.Kernels = append(one.Kernels, at)
		}
		f.Scenarios = append(f.Scenarios, one)
	}
	return f, nil
}

// makeWords writes flags for a Makefile.
func makeWords(flags []string) string {
	var out []string
	for _, f := range flags {
		out = append(out, strings.ReplaceAll(plain.ShellWord(f), "$", "$$"))
	}
	return strings.Join(out, " ")
}

// files makes the files of the library, without its manifest, from what was measured.
func (m *maker) files(r *Report) (map[string][]byte, error) {
	f, err := m.fillOf(r)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	for name, from := range map[string]string{"Makefile": "Makefile", "README.md": "README.md", "bench.c": "bench.c", "include/" + r.Name + ".h": "header.h"} {
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, from+".tmpl", f); err != nil {
			return nil, err
		}
		made[name] = b.Bytes()
	}
	from := files.In(filepath.Join(m.Dir, tuningDir, madeDir))
	for _, t := range r.Tasks {
		for into, name := range map[string]string{"include": t.Function + ".h", "src": t.Function + ".c"} {
			text, err := from.Read(name, files.Data)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s is missing: remove the line of %s in %s, and it is measured again", from.Path(name), t.Name, filepath.Join(m.Dir, tuningDir, measuredName))
			}
			if err != nil {
				return nil, err
			}
			made[into+"/"+name] = text
		}
	}
	return made, nil
}

// finish writes the library.
func (m *maker) finish() (*Report, error) {
	m.tell(Progress{Step: "writing", Text: m.Dir})
	r := m.report()
	made, err := m.files(r)
	if err != nil {
		return nil, err
	}
	r.Files = map[string]string{}
	for name, text := range made {
		r.Files[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	names := append(sorted(made), manifestName) // where the manifest is, the rest is
	made[manifestName] = append(text, '\n')
	for _, name := range names {
		path := filepath.Join(m.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if err := files.Write(path, made[name]); err != nil {
			return nil, err
		}
	}
	return r, nil
}
