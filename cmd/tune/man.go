package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/files"
	"tune/internal/man"
)

// manCommand writes the manual pages. It is for packages and make man, and so not among the commands that help lists.
func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a folder",
		Example: "  tune man /usr/local/share/man/man1",
		Args:    exactly(1, "a folder"),
		Hidden:  true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return fmt.Errorf("cannot make the folder of the pages: %w: choose another", err)
			}
			pages := man.Pages(root)
			for _, c := range pages {
				path := filepath.Join(args[0], man.Name(c)+".1")
				if err := files.Stream(path, false, func(w io.Writer) error { return man.Write(w, c, "tune "+tune.Version()) }); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintf(a.stdout, "%d pages in %s: man -l %s\n", len(pages), args[0], filepath.Join(args[0], man.Name(root)+".1"))
			return err
		},
	}
}
