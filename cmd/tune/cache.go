package main

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/kernels/native/cc"
)

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of tune",
		Example: "  tune version\n  tune version --json",
		Args:    noArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return printJSON(a.stdout, struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{tune.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
		}
		_, err := fmt.Fprintln(a.stdout, versionText())
		return err
	}
	return c
}

// versionText is the version of tune, and with what it was built.
func versionText() string {
	return fmt.Sprintf("tune %s, %s, %s/%s", tune.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) cacheCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Show the cache of compiled kernels; tune cache prune empties it",
		Long: `cache shows where tune keeps compiled kernels, and how much it keeps. Beyond its limit tune removes what was not used for
the longest time, so that nobody has to look after it.`,
		Example: "  tune cache\n  tune cache prune --older 24h",
		Args:    noArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(*cobra.Command, []string) error {
		u, err := cc.CacheUsage()
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, u)
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s, %s of at most %s\n", u.Dir, plain.Count(u.Objects, "compiled kernel"), mebibytes(u.Bytes), mebibytes(u.Most))
		return err
	}
	prune := &cobra.Command{
		Use:     "prune",
		Short:   "Remove compiled kernels from the cache",
		Long:    "prune removes compiled kernels from the cache: all, or with --older those that were not used for some time. A run that needs\none compiles it again.",
		Example: "  tune cache prune\n  tune cache prune --older 24h",
		Args:    noArgs,
	}
	older := prune.Flags().String("older", "", "keep what was used within this `time`, with a unit: 30m, 24h")
	pruneJSON := prune.Flags().Bool("json", false, "print what was removed as JSON")
	prune.RunE = func(*cobra.Command, []string) error {
		var unused time.Duration // all of them
		if *older != "" {
			var err error
			if unused, err = parseDuration(*older); err != nil {
				return usage(fmt.Errorf("--older: %w", err))
			}
		}
		removed, err := cc.PruneCache(unused)
		if err != nil {
			return err
		}
		if *pruneJSON {
			return printJSON(a.stdout, removed)
		}
		_, err = fmt.Fprintf(a.stdout, "removed %s, %s, from %s\n", plain.Count(removed.Objects, "compiled kernel"), mebibytes(removed.Bytes), removed.Dir)
		return err
	}
	c.AddCommand(prune)
	return c
}

// cacheNote says where compiled kernels are kept where there is no home folder; "" where there is one.
func cacheNote() string {
	if _, err := os.UserCacheDir(); err == nil {
		return ""
	}
	u, err := cc.CacheUsage()
	if err != nil {
		return "" // what compiles says so
	}
	return fmt.Sprintf("note: HOME is not set: compiled kernels are kept in %s", u.Dir)
}

// note writes a note to standard error, unless there is none.
func (a *app) note(text string) {
	if text != "" {
		fmt.Fprintln(a.stderr, text)
	}
}

// mebibytes writes a size.
func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
