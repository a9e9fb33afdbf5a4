// Package configs holds the presets that tune can be started from: settings of the tool, one file for each
// kernel and purpose. They are built into the binary.
package configs

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"tune/space"
)

//go:embed *.yaml
var files embed.FS

// Names lists the presets.
func Names() []string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // the files are part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Doc returns what a preset is for: the comment that it begins with, in one line.
func Doc(name string) string {
	text, err := Read(name)
	if err != nil {
		return ""
	}
	var words []string
	for line := range strings.Lines(string(text)) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	return strings.Join(words, " ")
}

// Read returns the text of a preset. The error of an unknown name says which is nearest.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("unknown preset %q: want %s%s", name, strings.Join(Names(), ", "), space.DidYouMean(name, Names()))
	}
	return text, nil
}
