package library

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tune/internal/files"
	"tune/internal/pattern"
	"tune/kernels/library"
	"tune/kernels/native"
	"tune/space"
)

// File is what the user wants of a library.
type File struct {
	// Name begins the names of the library's files and functions.
	Name string `yaml:"name"`
	// Seed draws the shapes and seeds the searches; 1 where it is missing.
	Seed  *uint64 `yaml:"seed"`
	Tasks []Task  `yaml:"tasks"`
	// BLAS adds cblas_sgemm and sgemm_, which call the functions nn and nt.
	BLAS bool `yaml:"blas"`

	path string
	root yaml.Node
}

// Task is a kernel with the shapes that programs call it with. It becomes one function of the library.
type Task struct {
	// Kernel is the name of one of tune's kernels, or the file of a kernel of the user's, beside the file of the library.
	Kernel string `yaml:"kernel"`
	// Function is the name of the function after the library's; the kernel's name where it is missing.
	Function string `yaml:"function"`
	// Fixed are the fields of the shape that all calls share, such as layout: nt.
	Fixed map[string]string `yaml:"fixed"`
	// Weight is how much the task counts beside others; 1 where it is missing.
	Weight *float64 `yaml:"weight"`
	// Shapes are shapes that are called, Log a CSV file with a column for each field and one named count, Ranges what shapes are
	// drawn from.
	Shapes []ShapeLine      `yaml:"shapes"`
	Log    string           `yaml:"log"`
	Ranges map[string]Range `yaml:"ranges"`
	// Samples is how many shapes are drawn from the ranges for training, HeldOut how many for the certificate.
	Samples *int `yaml:"samples"`
	HeldOut *int `yaml:"held_out"`
	// Representatives is how many shapes are searched; Variants how many variants the library holds at most.
	Representatives *int `yaml:"representatives"`
	Variants        *int `yaml:"variants"`
	// Regret is tolerated: of the sets of variants that have no more, the smallest is taken.
	Regret string `yaml:"regret"`
}

// ShapeLine is a shape with how much it counts.
type ShapeLine struct {
	Fields map[string]string `yaml:",inline"`
	Weight *float64          `yaml:"weight"`
}

// Range is what a field is drawn from.
type Range struct {
	From int    `yaml:"from"`
	To   int    `yaml:"to"`
	Draw string `yaml:"draw"` // log or uniform; log where it is missing
}

// The defaults of tasks.
const (
	defaultSamples  = 40
	defaultHeldOut  = 32
	defaultVariants = 8
	mostShapes      = 2000
	mostVariants    = 64
)

// ReadFile reads and checks the file of a library. Its errors name the file, the line and the field.
func ReadFile(path string) (*File, error) {
	text, err := files.Read(path, files.Settings)
	if err != nil {
		return nil, err
	}
	f := &File{path: path}
	if err := yaml.Unmarshal(text, &f.root); err != nil {
		err = space.SyntaxError(text, err)
		if at, ok := errors.AsType[*space.TextError](err); ok {
			return nil, fmt.Errorf("%s:%d:%d: %s", path, at.Line, at.Column, at.Reason)
		}
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: it is empty: want name and tasks", path)
		}
		return nil, decodeFault(path, err)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

// IsFile reports whether a YAML file is that of a library: it lists tasks.
func IsFile(path string) bool {
	text, err := files.Read(path, files.Settings)
	if err != nil || !bytes.Contains(text, []byte("tasks")) {
		return false // without parsing a large file of another kind
	}
	var top map[string]yaml.Node
	return yaml.Unmarshal(text, &top) == nil && top["tasks"].Kind != 0
}

// unknownField matches what the YAML package says of a field that a struct does not have.
var unknownField = pattern.Lazy(`field (\S+) not found in type library\.(\w+)`)

// otherType matches what the YAML package says of a value of another type than the field has. Its groups are the value, if it is a text or a
// number, and the type in Go.
var otherType = pattern.Lazy("cannot unmarshal !!\\w+(?: `(.*)`)? into (.+)$")

// wanted says what stands in a field of a type in Go.
var wanted = map[string]string{
	"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number", "string": "a text", "bool": "true or false",
	"library.File": "name and tasks, each on a line", "[]library.Task": "a list of tasks, each with kernel and shapes, log or ranges",
	"library.Task": "a task, a mapping with kernel and shapes, log or ranges", "[]library.ShapeLine": "a list of shapes, as in [{m: 64, n: 64}]",
	"library.ShapeLine": "a shape, as in {m: 64, n: 64}", "map[string]string": "fields with values, as in {layout: nt}",
	"map[string]library.Range": "a range for each field, as in {m: {from: 1, to: 64}}", "library.Range": "a range, as in {from: 1, to: 64}",
}

// decodeFault words the first error of decoding.
func decodeFault(path string, err error) error {
	text := err.Error()
	if many, ok := errors.AsType[*yaml.TypeError](err); ok && len(many.Errors) > 0 {
		text = many.Errors[0]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	line, rest, found := strings.Cut(strings.TrimPrefix(text, "line "), ": ")
	if _, err := strconv.Atoi(line); found && err == nil {
		path, text = path+":"+line, rest
	}
	if m := unknownField().FindStringSubmatch(text); m != nil {
		names := objects[m[2]].names()
		hint := space.DidYouMean(m[1], names)
		if hint == "" {
			hint = ": want one of " + strings.Join(names, ", ")
		}
		return fmt.Errorf("%s: there is no field %q%s", path, m[1], hint)
	}
	if m := otherType().FindStringSubmatch(text); m != nil && wanted[m[2]] != "" {
		if m[1] == "" {
			return fmt.Errorf("%s: want %s", path, wanted[m[2]])
		}
		return fmt.Errorf("%s: %q: want %s", path, m[1], wanted[m[2]])
	}
	if strings.Contains(text, "already defined") {
		return fmt.Errorf("%s: %s: leave one of the two out", path, text)
	}
	return fmt.Errorf("%s: %s", path, text)
}

// fault is an error at a field, given as its path: names and indices.
func (f *File) fault(path []any, format string, args ...any) error {
	n, name := &f.root, ""
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			name += "." + step
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					n = n.Content[i+1]
					break
				}
			}
		case int:
			name += fmt.Sprintf("[%d]", step)
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				n = n.Content[step]
			}
		}
	}
	return fmt.Errorf("%s:%d: %s: %s", f.path, n.Line, strings.TrimPrefix(name, "."), fmt.Sprintf(format, args...))
}

func (f *File) check() error {
	switch {
	case f.Name == "":
		return f.fault([]any{"name"}, "it is missing: want the name of the library, as in name: mine")
	case native.CheckName(f.Name) != nil:
		return f.fault([]any{"name"}, "%q cannot be the name of a library: want letters, digits and _, beginning with a letter and not with tune_, and no word of C or C++", f.Name)
	case native.CheckLibraryName(f.Name) != nil:
		return f.fault([]any{"name"}, "%v", native.CheckLibraryName(f.Name))
	case len(f.Tasks) == 0:
		return f.fault([]any{"tasks"}, "there is none: want a list, each with kernel and shapes, log or ranges")
	}
	var functions []string
	for i := range f.Tasks {
		if err := f.checkTask(i); err != nil {
			return err
		}
		t := &f.Tasks[i]
		if t.Function == "" {
			t.Function = strings.NewReplacer("-", "_", ".", "_").Replace(t.baseName())
		}
		at := []any{"tasks", i, "function"}
		if err := native.CheckName(t.Function); err != nil {
			return f.fault(at, "%s", err)
		}
		if slices.Contains(functions, t.Function) {
			return f.fault(at, "two tasks have the function %s: give each a name of its own", t.Function)
		}
		functions = append(functions, t.Function)
		if err := library.CheckNames(f.Name, functions); err != nil {
			return f.fault(at, "%v", err)
		}
		if t.Function == "lock" {
			return f.fault(at, "lock: the folder of the library has a file of that name where the function has its folder: choose another name")
		}
	}
	if f.BLAS {
		return f.checkBLAS()
	}
	return nil
}

// Own reports whether the kernel is in a file of the user's.
func (t Task) Own() bool {
	return strings.HasSuffix(t.Kernel, ".yaml") || strings.HasSuffix(t.Kernel, ".yml")
}

// baseName is the name of the kernel, or of its file without what says that it is one. Of a file kernel.yaml, as 'tune init' writes it, it is the
// name of the folder: kernel names nothing.
func (t Task) baseName() string {
	if !t.Own() {
		return t.Kernel
	}
	name := filepath.Base(t.Kernel)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if folder := filepath.Base(filepath.Dir(t.Kernel)); name == "kernel" && folder != "." && folder != ".." {
		return folder
	}
	return name
}

// checkBLAS returns an error where the tasks are not those that a BLAS is made of: nn and nt, of any shape.
func (f *File) checkBLAS() error {
	const kernel = "gemm-f32"
	for _, layout := range []string{"nn", "nt"} {
		i := slices.IndexFunc(f.Tasks, func(t Task) bool { return t.Function == layout })
		if i < 0 {
			return f.fault([]any{"blas"}, "cblas_sgemm is made of two functions: add a task with function: %s, kernel: %s and fixed: {layout: %[1]s}", layout, kernel)
		}
		t := f.Tasks[i]
		at := func(field ...any) []any { return append([]any{"tasks", i}, field...) }
		if t.Kernel != kernel {
			return f.fault(at("kernel"), "%s: with blas: true, the function %s needs kernel: %s", t.Kernel, layout, kernel)
		}
		if given, ok := t.Fixed["layout"]; given != layout && (ok || layout != "nn") {
			return f.fault(at("fixed"), "with blas: true, the function %s needs layout: %[1]s", layout)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Fixed)) {
			if name == "threads" && t.Fixed[name] != "1" {
				return f.fault(at("fixed", name), "%s: with blas: true, calls divide their work among threads themselves: leave it out", t.Fixed[name])
			}
			if slices.Contains([]string{"m", "n", "k"}, name) {
				return f.fault(at("fixed", name), "%s: with blas: true, calls have any %s: leave it out", t.Fixed[name], name)
			}
		}
	}
	return nil
}

func (f *File) checkTask(i int) error {
	t := f.Tasks[i]
	at := func(field ...any) []any { return append([]any{"tasks", i}, field...) }
	if t.Kernel == "" {
		return f.fault(at("kernel"), "it is missing: want the name of a kernel, as 'tune list' has them, or the YAML file of your own")
	}
	if len(t.Shapes) == 0 && t.Log == "" && len(t.Ranges) == 0 {
		return f.fault(at(), "it has no shapes: want shapes, log or ranges")
	}
	if t.Weight != nil && !isWeight(*t.Weight) {
		return f.fault(at("weight"), "%g: want more than 0, %s", *t.Weight, weightRange)
	}
	values := map[string]*int{"samples": t.Samples, "held_out": t.HeldOut, "representatives": t.Representatives, "variants": t.Variants}
	for _, field := range taskObject {
		if value := values[field.name]; value != nil && (*value < field.least || *value > field.most) {
			return f.fault(at(field.name), "%d: want %d to %d", *value, field.least, field.most)
		}
	}
	if _, err := t.tolerated(); err != nil {
		return f.fault(at("regret"), "%v", err)
	}
	for j, s := range t.Shapes {
		if s.Weight != nil && !isWeight(*s.Weight) {
			return f.fault(at("shapes", j, "weight"), "%g: want more than 0, %s", *s.Weight, weightRange)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Ranges)) {
		r := t.Ranges[name]
		switch {
		case r.From < 1 || r.To < r.From:
			return f.fault(at("ranges", name), "from %d to %d: want 1 or more, and from no larger than to", r.From, r.To)
		case r.Draw != "" && !slices.Contains(draws, r.Draw):
			return f.fault(at("ranges", name, "draw"), "%q: want %s%s", r.Draw, strings.Join(draws, " or "), space.DidYouMean(r.Draw, draws))
		}
	}
	return nil
}

// isWeight reports whether sums and ratios of such weights are finite numbers.
func isWeight(w float64) bool { return w >= leastWeight && w <= mostWeight }

const (
	leastWeight = 1e-15
	mostWeight  = 1e15
	weightRange = "from 1e-15 to 1e15"
)

// tolerated returns the regret that is tolerated; 0 where the task does not say.
func (t Task) tolerated() (float64, error) {
	if t.Regret == "" {
		return 0, nil
	}
	number, percent := strings.CutSuffix(t.Regret, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent || !(v >= 0) || v > 1000 {
		return 0, fmt.Errorf("%q: want a percentage, such as 2%%", t.Regret)
	}
	return v / 100, nil
}

// called is a shape of a call log.
type called struct {
	fields map[string]string
	count  float64
	line   int
}

// readLog reads the log of a task: a CSV file with a column for each field of a shape, and one named count. Calls of one shape are
// added up.
func readLog(path string) ([]called, error) {
	text, err := files.Read(path, 64<<20)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff")))) // as spreadsheets write it
	r.TrimLeadingSpace = true
	names, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: want a first line with the names of the columns, such as m,n,k,count: %w", path, err)
	}
	counted := slices.Index(names, "count")
	var out []called
	at := map[string]int{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		c := called{fields: map[string]string{}, count: 1, line: line}
		for i, v := range row {
			if i != counted {
				c.fields[names[i]] = v
				continue
			}
			if c.count, err = strconv.ParseFloat(v, 64); err != nil || !isWeight(c.count) {
				return nil, fmt.Errorf("%s:%d: count: %q: want a number above 0, %s", path, line, v, weightRange)
			}
		}
		key := fmt.Sprint(c.fields)
		if j, ok := at[key]; ok {
			out[j].count += c.count
			continue
		}
		at[key] = len(out)
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: it has no calls: want a line for each shape below the names of the columns", path)
	}
	return out, nil
}

// beside returns the path of a file that is named relative to the file of the library.
func (f *File) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}
