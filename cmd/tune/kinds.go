package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels/user"
	"tune/results/exchange"
	"tune/results/library"
)

// fileKind is what a file is, as far as a command that takes another kind can help: in words after the name of the file, and the command
// that takes it, with %s for the name.
type fileKind struct{ is, takes string }

var (
	kindUnknown  = fileKind{}
	kindKernel   = fileKind{"describes a kernel", "'tune run %s' tunes it"}
	kindLibrary  = fileKind{"lists the tasks of a library", "'tune library %s' makes it"}
	kindSpace    = fileKind{"describes a space alone", "'tune space %[1]s' shows it, and 'tune optimize %[1]s' asks for the costs of its points"}
	kindT1       = fileKind{"describes a space in the format T1", "'tune space %[1]s' shows it, and 'tune import %[1]s -o space.yaml' makes it one of tune's"}
	kindMeasured = fileKind{"holds measurements", "'tune run recorded --data %s' searches them"}
	kindSchedule = fileKind{"is the result of a run", "'tune verify %s' checks it"}
	kindSettings = fileKind{"holds settings", "'tune run --config %s' reads them"}
)

// command says which command takes the file.
func (k fileKind) command(path string) string { return fmt.Sprintf(k.takes, plain.ShellWord(path)) }

// mostTold is the size in bytes up to which a YAML file is read to tell what it is, beside the reading of the command itself.
const mostTold = 256 << 10

// kindOf tells what a file is. Settings may have the name of a file of settings alone.
func kindOf(path string) fileKind {
	data, err := files.Read(path, files.Data)
	switch {
	case err != nil:
		return kindUnknown
	case exchange.IsSpace(data):
		return kindT1
	case len(data) > mostTold:
		switch {
		case isMeasured(data):
			return kindMeasured
		case library.IsFile(path):
			return kindLibrary
		}
		return kindUnknown
	}
	root, has := topFields(data)
	switch {
	case has["source"] || has["command"]:
		return kindKernel
	case isMeasured(data):
		return kindMeasured
	case has["tasks"]:
		return kindLibrary
	case has["format"] && has["kernel"] && has["point"]:
		return kindSchedule
	case root == nil:
		return kindUnknown
	case user.IsKernelNode(root):
		return kindKernel
	case has["parameters"]:
		return kindSpace
	case filepath.Base(path) == configName || slices.ContainsFunc(settingKeys(), func(key string) bool { return has[key] }):
		return kindSettings
	}
	return kindUnknown
}

// topFields returns a YAML or JSON text that is a mapping, and its fields; nil where it is none.
func topFields(data []byte) (root *yaml.Node, has map[string]bool) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil
	}
	root, has = doc.Content[0], map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		has[root.Content[i].Value] = true
	}
	return root, has
}

// takes refuses a path that the command line names where a command takes a file of another kind: a folder, a source, and text that is
// neither YAML nor JSON. wanted says what the command takes.
func takes(path, wanted string) error {
	if err := present(path); err != nil {
		return usage(err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		is := "is a folder"
		if isRunDir(path) {
			is = "is the directory of a run"
		}
		return ofFile(fmt.Errorf("%s %s: want %s", path, is, wanted))
	}
	if isSource(path) || isProse(path) {
		return ofFile(fmt.Errorf("%s is neither YAML nor JSON: want %s", path, wanted))
	}
	return nil
}

// isSource reports whether a file is the source of a program, by its name.
func isSource(path string) bool { return slices.Contains(sourceEndings, filepath.Ext(path)) }

// isProse reports whether a file is text that in YAML is a single value, as a sentence is.
func isProse(path string) bool {
	file, _, err := files.OpenRegular(path) // what a pipe holds can be read once
	if err != nil {
		return false // who reads it says what is wrong
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostTold))
	if text := bytes.TrimSpace(data); err != nil || len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return false
	}
	var doc yaml.Node
	err = yaml.Unmarshal(data, &doc)
	return err == nil && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Tag != "!!null"
}

// What commands want, for takes.
const (
	wantsLibrary = "the file of a library, a list of tasks in YAML: see 'tune init --schema=library'"
	wantsModel   = "the config.json of a model, or a GGUF file"
	wantsAsked   = "a space in YAML or in the format T1, of which 'tune space KERNEL --yaml' shows one"
	wantsSpace   = "a kernel of 'tune list', or a file that describes a kernel or a space"
	wantsData    = "a file of measurements, such as 'tune export RUN --format recorded' writes, or one of another tuner (see 'tune help import')"
	wantsProgram = "a program of the VLIW machine in JSON, or the run of one"
	wantsForeign = "a file of another tuner: a space in the format T1, a cache of Kernel Tuner, or results in the format T4"
)

// noData refuses a path where a command takes a file of measurements.
func noData(path string) error {
	if isRunDir(path) {
		return ofFile(fmt.Errorf("%s is a run, and no file of measurements: 'tune export %s --format recorded -o FILE' makes one of it", path, plain.ShellWord(path)))
	}
	if err := takes(path, wantsData); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // what a pipe holds can be read once
	}
	if data, err := files.Read(path, files.Data); err != nil || isMeasured(data) {
		return nil // who reads it says what is wrong
	}
	switch kind := kindOf(path); kind {
	case kindUnknown:
		return nil
	default:
		return ofFile(fmt.Errorf("%s %s, and holds no measurements: %s", path, kind.is, kind.command(path)))
	}
}

// noKernel says what a file is that a command takes for the file of a kernel; nil where it may be one, or settings.
func noKernel(path string) error { return kindOf(path).noKernel(path) }

func (k fileKind) noKernel(path string) error {
	switch k {
	case kindUnknown, kindKernel, kindSettings:
		return nil
	default:
		return ofFile(fmt.Errorf("%s %s, and no kernel: %s", path, k.is, k.command(path)))
	}
}

// noImport says what a file of tune's is that import takes for one of another tuner; nil where it may be one.
func noImport(path string) error {
	switch kind := kindOf(path); kind {
	case kindKernel, kindLibrary, kindSpace, kindSchedule:
		return ofFile(fmt.Errorf("%s %s, and import reads the files of other tuners, in the formats T1, T4 and Kernel Tuner: %s", path, kind.is, kind.command(path)))
	}
	return nil
}

// readLibrary reads the file of a library that an argument names.
func readLibrary(path string) (*library.File, error) {
	if err := takes(path, wantsLibrary); err != nil {
		return nil, err
	}
	switch kind := kindOf(path); kind {
	case kindUnknown, kindLibrary, kindSettings: // without tasks, a library looks like settings
	case kindKernel:
		return nil, ofFile(fmt.Errorf("%[1]s describes a kernel, and a library is a list of tasks, each of a kernel, as in kernel: %[1]s: see 'tune init --schema=library'", path))
	default:
		return nil, ofFile(fmt.Errorf("%s %s, and no library: %s", path, kind.is, kind.command(path)))
	}
	f, err := library.ReadFile(path)
	return f, ofFile(err)
}

// ofFile marks an error as the user's, and as one that stands in a file.
func ofFile(err error) error {
	if err == nil {
		return nil
	}
	return usage(fileFault{err})
}

// fileOfKernel says how to name a kernel of the user's where a setting has the name of its file. Any other error stays as it is.
func fileOfKernel(name string, err error) error {
	if !isYAML(name) || err == nil {
		return err
	}
	return fmt.Errorf("%[1]s is a file, and this names a kernel that comes with tune: leave it out, and write 'tune run %[1]s', which reads the other settings too", strings.TrimPrefix(name, "./"))
}
