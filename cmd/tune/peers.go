package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/kernels/peers"
	"tune/kernels/peers/fetch"
)

func (a *app) peersCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "peers",
		Short: "Show the libraries that bench compares kernels with; tune peers fetch gets ggml",
		Long: `peers shows which libraries tune bench can compare kernels with, and where they are. Each is loaded at run time, in a process
of its own; tune needs none of them.`,
		Example: "  tune peers\n  tune peers fetch",
		Args:    noArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print the list as JSON")
	c.RunE = func(*cobra.Command, []string) error {
		list := peers.List()
		if *asJSON {
			return printJSON(a.stdout, list)
		}
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
		for _, k := range list {
			switch {
			case k.Path == "":
				fmt.Fprintf(w, "%s\tnot installed (%s)\n", k.Name, k.Install)
			case k.CPU != "":
				fmt.Fprintf(w, "%s\t%s, for %s, of version %s\n", k.Name, k.Path, k.CPU, k.Version)
			default:
				fmt.Fprintf(w, "%s\t%s\n", k.Name, k.Path)
			}
		}
		return w.Flush()
	}
	c.AddCommand(a.fetchCommand())
	return c
}

func (a *app) fetchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fetch",
		Short: "Get ggml, which language models run on, to compare kernels with",
		Long: `fetch downloads the libraries of ggml, 11 MB, as version ` + peers.GGMLVersion + ` of the npm package @node-llama-cpp/linux-x64 ships them, for
Linux on amd64. It checks the checksum of the package and keeps the libraries, 17 MB, in your cache, where tune finds them from
any folder. The package comes from the registry that npm is configured for (npm_config_registry, or npm's own files), which is
the public one otherwise. tune downloads nothing else.
The package and ggml have the MIT licence.`,
		Example: "  tune peers fetch\n  tune peers fetch --from linux-x64-" + peers.GGMLVersion + ".tgz",
		Args:    noArgs,
	}
	from := c.Flags().String("from", "", "archive `file` of the package, instead of a download; npm pack makes it")
	c.RunE = func(c *cobra.Command, _ []string) error {
		dir, err := peers.Directory()
		if err != nil {
			return err
		}
		if err := present(*from); *from != "" && err != nil {
			return usage(fmt.Errorf("--from: %w", err))
		}
		source := fetch.Source{File: *from}
		if source.File == "" {
			source.Registry = fetch.Registry(c.Context(), a.environ)
		}
		if err := fetch.GGML(c.Context(), source, dir); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "ggml of version %s is in %s\n", peers.GGMLVersion, dir)
		return err
	}
	return c
}
