package user

import (
	"embed"
	"path"
)

//go:embed example
var examples embed.FS

// File is a file of an example.
type File struct {
	Name string
	Text []byte
}

// Example returns a commented example that runs without changes, for a source or for a command. The first file is the kernel's.
func Example(command bool) []File {
	names := []string{"kernel.yaml", "kernel.c"}
	if command {
		names = []string{"command.yaml"}
	}
	var out []File
	for _, name := range names {
		text, err := examples.ReadFile(path.Join("example", name))
		if err != nil {
			panic(err) // the files are part of the binary
		}
		out = append(out, File{name, text})
	}
	return out
}
