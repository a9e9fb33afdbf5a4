package main

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"tune/internal/files"
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
)

// command says which command takes the file.
func (k fileKind) command(path string) string { return fmt.Sprintf(k.takes, path) }

// mostTold is the size in bytes up to which a YAML file is read to tell what it is, beside the reading of the command itself.
const mostTold = 256 << 10

// kindOf tells what a file is.
func kindOf(path string) fileKind {
	data, err := files.Read(path, files.Data)
	switch {
	case err != nil:
		return kindUnknown
	case exchange.IsSpace(data):
		return kindT1
	case len(data) > mostTold:
		if isMeasured(data) {
			return kindMeasured
		}
		return kindUnknown
	}
	has := topFields(data)
	switch {
	case has["source"] || has["command"]:
		return kindKernel
	case isMeasured(data):
		return kindMeasured
	case has["tasks"]:
		return kindLibrary
	case has["format"] && has["kernel"] && has["point"]:
		return kindSchedule
	case user.IsKernel(data):
		return kindKernel
	case has["parameters"]:
		return kindSpace
	}
	return kindUnknown
}

// topFields returns the fields of a YAML or JSON text that is a mapping.
func topFields(data []byte) map[string]bool {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	has := map[string]bool{}
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		has[doc.Content[0].Content[i].Value] = true
	}
	return has
}

// noKernel says what a file is that a command takes for the file of a kernel; nil where it may be one, or settings.
func noKernel(path string) error {
	switch kind := kindOf(path); kind {
	case kindUnknown, kindKernel:
		return nil
	default:
		return fmt.Errorf("%s %s, and no kernel: %s", path, kind.is, kind.command(path))
	}
}

// noImport says what a file of tune's is that import takes for one of another tuner; nil where it may be one.
func noImport(path string) error {
	switch kind := kindOf(path); kind {
	case kindKernel, kindLibrary, kindSpace, kindSchedule:
		return fmt.Errorf("%s %s, and import reads the files of other tuners, in the formats T1, T4 and Kernel Tuner: %s", path, kind.is, kind.command(path))
	}
	return nil
}

// readLibrary reads the file of a library that an argument names.
func readLibrary(path string) (*library.File, error) {
	if err := present(path); err != nil {
		return nil, usage(err)
	}
	switch kind := kindOf(path); kind {
	case kindUnknown, kindLibrary:
	case kindKernel:
		return nil, usage(fmt.Errorf("%[1]s describes a kernel, and a library is a list of tasks, each of a kernel, as in kernel: %[1]s: see 'tune init --schema=library'", path))
	default:
		return nil, usage(fmt.Errorf("%s %s, and no library: %s", path, kind.is, kind.command(path)))
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
