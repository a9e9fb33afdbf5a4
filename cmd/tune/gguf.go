package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/internal/plain"
	"tune/kernels/gguf"
)

func (a *app) ggufCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "gguf FILE",
		Short: "List the tensors of a model file in GGUF format",
		Long: `gguf lists the tensors of a model file: name, type, dimensions and bytes. The first dimension is the length of a row, the
second the number of rows: k and n of the kernel qgemm, which takes a tensor by weights=FILE:NAME. Nothing but the header of the
file is read.`,
		Example: "  tune gguf model.gguf\n  tune gguf model.gguf --json",
		Args:    exactly(1, "a model file"),
	}
	asJSON := c.Flags().Bool("json", false, "print the list as JSON")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := present(args[0]); err != nil {
			return usage(err)
		}
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			return ofFile(fmt.Errorf("%s is a folder: want a GGUF file", args[0]))
		}
		if isSource(args[0]) || isYAML(args[0]) || isProse(args[0]) {
			return ofFile(fmt.Errorf("%s is text: want a GGUF file", args[0]))
		}
		f, err := gguf.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		if *asJSON {
			return printJSON(a.stdout, ggufJSON(f))
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		for _, t := range f.Tensors() {
			bytes := "unknown"
			if t.Bytes >= 0 {
				bytes = fmt.Sprint(t.Bytes)
			}
			fmt.Fprintf(w, "%s\t%v\t%s\t%s\n", tensorName(t.Name), t.Type, dimensions(t.Dims), bytes)
		}
		if len(f.Tensors()) == 0 {
			fmt.Fprintf(w, "no tensors in %s\n", args[0])
		}
		return w.Flush()
	}
	return c
}

// tensorName writes a name as it is or, where it has what terminals would obey, in quotes.
func tensorName(name string) string {
	const most = 200
	if name == "" || plain.Line(name) != name {
		name = strconv.Quote(name)
	}
	return plain.Clip(name, most)
}

// dimensions writes the dimensions of a tensor.
func dimensions(dims []uint64) string {
	if len(dims) == 0 {
		return "1"
	}
	var words []string
	for _, d := range dims {
		words = append(words, fmt.Sprint(d))
	}
	return strings.Join(words, " × ")
}

func ggufJSON(f *gguf.File) any {
	type tensor struct {
		Name  string   `json:"name"`
		Type  string   `json:"type"`
		Dims  []uint64 `json:"dims"`            // the length of a row first
		Bytes *int64   `json:"bytes,omitempty"` // left out where the type is unknown
	}
	out := struct {
		Version int      `json:"version"` // of the format
		Tensors []tensor `json:"tensors"`
	}{f.Version, []tensor{}}
	for _, t := range f.Tensors() {
		j := tensor{Name: t.Name, Type: t.Type.String(), Dims: t.Dims}
		if t.Bytes >= 0 {
			j.Bytes = &t.Bytes
		}
		out.Tensors = append(out.Tensors, j)
	}
	return out
}
