package user

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// Kernel is a kernel that a user has described in a file.
type Kernel struct {
	path     string // of the file, as the user named it
	dir      string // the absolute directory of the original file, where its commands run
	text     []byte
	files    []loaded
	d        *definition
	warnings Faults
	version  string
	saved    []string // the paths of the copies in a run directory, for a kernel read by Open
	host     *native.Host
	show     func(what, stdout, stderr string) // nil shows nothing

	mu      sync.Mutex
	closes  []func() error // of the problems made from it
	ownHost *native.Host   // with the compilers that only its file names; nil where there are none
}

// loaded is a file that the kernel's file names.
type loaded struct {
	name string // as it is named there
	mode fs.FileMode
	data []byte
}

// world provides the files that a kernel's file names.
type world interface {
	// read returns a file's content. Its errors name it.
	read(name string) ([]byte, fs.FileMode, error)
	exists(name string) bool
	// directory reports a directory that does not exist.
	directory(name string) error
}

// disk is the world below a directory. It caches what it has read.
type disk struct {
	dir   string
	files []loaded
	total int64 // bytes of the files
}

func (d *disk) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.dir, name)
}

func (d *disk) read(name string) ([]byte, fs.FileMode, error) {
	for _, f := range d.files {
		if f.name == name {
			return f.data, f.mode, nil
		}
	}
	data, mode, err := readFile(d.path(name), limitOf(name))
	if err != nil {
		return nil, 0, err
	}
	if d.total += int64(len(data)); d.total > files.Data {
		return nil, 0, fmt.Errorf("%s: with this file, the files of the kernel are larger than %s together, the limit for one kernel", d.path(name), files.Size(files.Data))
	}
	d.files = append(d.files, loaded{name, mode, data})
	return data, mode, nil
}

// limitOf returns the maximum size of a file in bytes: source text is smaller than files of numbers.
func limitOf(name string) int64 {
	if languages[filepath.Ext(name)] != "" {
		return files.Text
	}
	return files.Data
}

// readFile reads a regular file, and no pipe, which would be empty the second time.
func readFile(path string, limit int64) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := files.Read(path, limit)
	return data, info.Mode().Perm(), err
}

func (d *disk) exists(name string) bool {
	info, err := os.Stat(d.path(name))
	return err == nil && info.Mode().IsRegular()
}

func (d *disk) directory(name string) error {
	info, err := os.Stat(d.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s", d.path(name))
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", d.path(name))
	}
	return err
}

// Load reads the kernel in a file, with all files that it names. Errors in them are Faults.
func Load(path string) (*Kernel, error) {
	text, _, err := readFile(path, files.YAML)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	w := &disk{dir: dir}
	k, err := read(path, text, w)
	if err != nil {
		return nil, err
	}
	k.files = w.files
	k.standsIn(dir)
	k.version = k.hash()
	return k, nil
}

// standsIn sets the absolute directory of the original file.
func (k *Kernel) standsIn(dir string) {
	k.dir = dir
	if k.d.source != nil {
		k.d.source.dir = dir
	}
}

// read reads the text of a file.
func read(path string, text []byte, w world) (*Kernel, error) {
	_, made := w.(*copies)
	r := &reader{file: path, made: made}
	var doc yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	err := decoder.Decode(&doc)
	if err == nil {
		if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
			if err != nil {
				return nil, Faults{syntaxFault(path, text, err)}
			}
			return nil, Faults{{File: path, Text: "it holds more than one document: want one"}}
		}
	}
	switch {
	case errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null"):
		return nil, Faults{{File: path, Text: "it is empty: 'tune init' writes an example"}}
	case err != nil:
		return nil, Faults{syntaxFault(path, text, err)}
	}
	if err := space.Unread(text, &doc); err != nil {
		return nil, Faults{syntaxFault(path, text, err)}
	}
	root := node{resolve(doc.Content[0]), ""}
	k := &Kernel{path: path, text: text}
	k.d = r.define(root, w)
	if len(r.faults) == 0 {
		r.try(k, root)
	}
	if k.d.command != nil {
		f := (&reader{}).fields(root, fileObject)
		r.checkPrograms((&reader{}).fields(f.at["command"], commandObject), k.d.command, func(name string) error {
			_, err := exec.LookPath(name)
			return err
		})
	}
	if k.d.source != nil {
		source := (&reader{}).fields(root, fileObject).at["source"]
		r.checkCompilers((&reader{}).fields(source, sourceObject), func(name string) error {
			_, err := exec.LookPath(name)
			return err
		})
	}
	if len(r.faults) > 0 {
		return nil, r.faults.sorted(path)
	}
	k.warnings = r.warnings.sorted(path)
	return k, nil
}

// try makes the problem at the default shape, as far as that needs neither a compiler nor a process.
func (r *reader) try(k *Kernel, root node) {
	shape, err := kernels.ParseShape(k.d.shape, "")
	if err != nil {
		r.fault(root, "%v", err)
		return
	}
	values := constants(k.d.shape, shape)
	sp, err := k.d.space.make(values)
	if err != nil {
		r.fault(valueOf(root, "space"), "%v", err)
		return
	}
	if k.d.source == nil {
		return
	}
	source := valueOf(root, "source")
	list := valueOf(source, "arguments")
	fail := func(err error) {
		if a, ok := errors.AsType[*argumentError](err); ok && a.index < len(list.Content) {
			n := node{resolve(list.Content[a.index]), fmt.Sprintf("%s[%d]", list.path, a.index)}
			r.fault(valueOf(n, a.field), "%v", a.err)
			return
		}
		r.fault(source, "%v", err)
	}
	c, err := k.d.source.shapeCase(sp.Default(), values)
	if err != nil {
		fail(err)
		return
	}
	if err := k.d.source.room(c); err != nil {
		fail(err)
	}
	if _, err := k.d.source.inputs(c, 0, false); err != nil {
		fail(err)
	}
	if len(r.faults) == 0 {
		r.checkVariation(list, k.d.source, c)
	}
	if _, err := k.d.source.threadsOf(sp.Default(), values); err != nil {
		r.fault(valueOf(source, "threads"), "%s", strings.TrimPrefix(kernels.AsRejection(err).Reason, "threads: "))
	}
	reference := valueOf(source, "reference")
	_, err = k.d.source.standardOf(k.d.space, values, k.d.source.compilers)
	if flags, ok := errors.AsType[*referenceFlagsError](err); ok {
		r.fault(reference, "%v: state others in reference.parameters or reference.flags", flags)
	} else if err != nil {
		r.fault(valueOf(reference, "parameters"), "no point has these values: change one of them, or leave it out")
	}
	if _, err := k.d.source.work(values); err != nil {
		r.fault(valueOf(source, "metric"), "%v", err)
	}
}

// hash identifies everything that decides which program a point builds to.
func (k *Kernel) hash() string {
	h := sha256.New()
	h.Write(k.text)
	for _, f := range k.files {
		fmt.Fprintf(h, "\x00%s\x00%d\x00%o\x00", f.name, len(f.data), f.mode)
		h.Write(f.data)
	}
	return hex.EncodeToString(h.Sum(nil)[:versionBytes])
}

// versionBytes is the length of the version of a kernel, which is a hash.
const versionBytes = 8

// IsVersion reports whether a text has the form of the version of a kernel.
func IsVersion(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == versionBytes
}

// Info describes the kernel. Its version changes with the file, and with each file that it names.
func (k *Kernel) Info() kernels.Info {
	info := kernels.Info{
		Name: k.d.name, Doc: k.d.doc, Version: k.version, Unit: "ns", Shape: k.d.shape,
		Files: kernels.Files{Path: k.path, Save: k.Save, Started: []string{savedIn.ListPath()}},
	}
	if c := k.d.command; c != nil {
		info.Unit, info.Exact = c.metric.costUnit(), c.metric.exact
		for _, m := range c.others {
			if info.Metrics = append(info.Metrics, m.name); m.maximise {
				info.Maximised = append(info.Maximised, m.name)
			}
		}
	}
	return info
}

// Warnings returns what looks wrong in the file but is not an error.
func (k *Kernel) Warnings() []Fault { return k.warnings }

// Settings returns the settings of the tool that the file has under run, nil where it has none.
func (k *Kernel) Settings() *yaml.Node { return k.d.settings }

// Presets returns the presets of the file, in their order.
func (k *Kernel) Presets() []Preset { return slices.Clone(k.d.presets) }

// Path returns the name of the file that the kernel was read from.
func (k *Kernel) Path() string { return k.path }

// Problem returns the kernel at a shape, on the machine of On.
func (k *Kernel) Problem(shape kernels.Shape) (kernels.Problem, error) {
	if k.host == nil {
		return nil, fmt.Errorf("kernel %s has no machine to run on: see user.Kernel.On", k.Info().Name)
	}
	values := constants(k.d.shape, shape)
	if k.d.command != nil {
		return newCommandProblem(k, values)
	}
	return newSourceProblem(k, values)
}

// Close removes what the kernel's problems keep on disk. They cannot be used after that.
func (k *Kernel) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	for _, f := range k.closes {
		err = errors.Join(err, f())
	}
	k.closes = nil
	return err
}

// On sets the host that the kernel is compiled and run on, and returns the kernel. Call it before Problem.
func (k *Kernel) On(h *native.Host) *Kernel {
	k.host = h
	return k
}

// ShowOutput makes the commands of the kernel's later problems write what they print to w, after each has ended. It reports
// whether the kernel has commands.
func (k *Kernel) ShowOutput(w io.Writer) bool {
	var mu sync.Mutex
	k.show = func(what, stdout, stderr string) {
		var text strings.Builder
		for _, output := range []struct{ where, text string }{{"", stdout}, {" on standard error", stderr}} {
			if output.text != "" {
				fmt.Fprintf(&text, "%s printed%s:\n%s\n", what, output.where, strings.TrimRight(output.text, "\n"))
			}
		}
		if text.Len() == 0 {
			fmt.Fprintf(&text, "%s printed nothing\n", what)
		}
		mu.Lock()
		defer mu.Unlock()
		io.WriteString(w, text.String())
	}
	return k.d.command != nil
}

func (k *Kernel) onClose(f func() error) {
	k.mu.Lock()
	k.closes = append(k.closes, f)
	k.mu.Unlock()
}

// savedIn is the copy of the kernel in a run directory. Its list covers everything that the kernel starts, because it has the checksums
// of the other files.
var savedIn = files.Saved{What: "kernel", Folder: "kernel", List: "kernel.json", Format: 1}

// CopyDir returns where Save puts its copy of a kernel in a run directory.
func CopyDir(runDir string) string { return filepath.Join(runDir, savedIn.Folder) }

// saved is the list of a saved kernel: its files and their places.
type saved struct {
	Format    int         `json:"format"`
	File      string      `json:"file"`      // the name of the kernel's file, as the user gave it
	Directory string      `json:"directory"` // of the original; commands run there
	Files     []savedFile `json:"files"`     // the kernel's file first
}

type savedFile struct {
	Name   string      `json:"name"`  // as the kernel's file names it
	Saved  string      `json:"saved"` // the name of the copy beside the list
	Mode   fs.FileMode `json:"mode"`
	SHA256 string      `json:"sha256"`
}

// Save copies the kernel into a run directory: its file, and every file that it names. Open reads the copy.
func (k *Kernel) Save(runDir string) error {
	dir := CopyDir(runDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot save the kernel: %w", err)
	}
	list := saved{Format: savedIn.Format, File: k.path, Directory: k.dir}
	all := append([]loaded{{filepath.Base(k.path), 0o666, k.text}}, k.files...)
	for i, f := range all {
		name := fmt.Sprintf("%d-%s", i, filepath.Base(f.name))
		if err := files.Write(filepath.Join(dir, name), f.data); err != nil {
			return fmt.Errorf("cannot save the kernel: %w", err)
		}
		sum := sha256.Sum256(f.data)
		list.Files = append(list.Files, savedFile{f.name, name, f.mode, hex.EncodeToString(sum[:])})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	// The list is written last: where it exists, the rest does.
	if err := files.Write(filepath.Join(runDir, savedIn.ListPath()), append(text, '\n')); err != nil {
		return fmt.Errorf("cannot save the kernel: %w", err)
	}
	return nil
}

// copies is the world of a saved kernel.
type copies struct {
	disk
	known map[string]loaded
}

func (c *copies) read(name string) ([]byte, fs.FileMode, error) {
	f, ok := c.known[name]
	if !ok {
		return nil, 0, fmt.Errorf("the saved kernel has no file %s", name)
	}
	return f.data, f.mode, nil
}

func (c *copies) exists(name string) bool { _, ok := c.known[name]; return ok }

// Open reads the kernel that Save has put into a run directory. A directory without one is an error that is
// fs.ErrNotExist.
func Open(runDir string) (*Kernel, error) {
	return files.ReadSaved(savedIn, runDir, func(list saved, file func(string, int64) ([]byte, error)) (*Kernel, error) {
		if len(list.Files) == 0 {
			return nil, errors.New("kernel.json: field files is empty")
		}
		if !filepath.IsAbs(list.Directory) || strings.ContainsRune(list.Directory, 0) {
			return nil, fmt.Errorf("kernel.json: field directory: %q is not an absolute path of a directory", list.Directory)
		}
		w := &copies{disk: disk{dir: list.Directory}, known: map[string]loaded{}}
		var paths []string
		for i, f := range list.Files {
			if err := files.Beside(f.Saved); err != nil {
				return nil, fmt.Errorf("kernel.json: field files[%d].saved: %w", i, err)
			}
			data, err := file(f.Saved, files.Data)
			if err != nil {
				return nil, err
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
				return nil, fmt.Errorf("%s was changed since it was saved: put it back, or start a new run", f.Saved)
			}
			w.files = append(w.files, loaded{f.Name, f.Mode, data})
			w.known[f.Name] = w.files[len(w.files)-1]
			paths = append(paths, filepath.Join(CopyDir(runDir), f.Saved))
		}
		k, err := read(list.File, w.files[0].data, w)
		if err != nil {
			return nil, err
		}
		k.files, k.saved = w.files[1:], paths
		k.standsIn(list.Directory)
		k.version = k.hash()
		return k, nil
	})
}

// directory finds every directory: where it is gone, what needs no command still works.
func (c *copies) directory(string) error { return nil }
