package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune/kernels/catalog"
	"tune/kernels/user"
	"tune/results"
)

// addYes defines the flag of commands that may run what a directory holds.
func addYes(c *cobra.Command) *bool {
	return c.Flags().BoolP("yes", "y", false, "run the kernel of a directory that was made elsewhere, without asking")
}

// aboutConsent is a paragraph of the help of these commands.
const aboutConsent = `

Your own kernel is run from its copy in the run directory. If you did not make that directory on this machine, or if it was
changed, tune first shows what it is about to compile and run, and asks on the terminal. Without a terminal, give --yes.`

// catalog finds the kernels of run directories and schedules. Before one runs that was put into its directory elsewhere, it asks,
// unless yes says that it may.
func (a *app) catalog(yes bool) catalog.Catalog {
	return catalog.Catalog{
		Host:    a.host,
		Table:   a.table,
		MayRun:  func(k *user.Kernel, dir string) error { return a.mayRun(k, dir, yes) },
		RunsDir: settingDefault("out"),
	}
}

// givenError makes an error of what a catalog was given the user's.
func givenError(err error) error {
	if bad, ok := errors.AsType[*catalog.GivenError](err); ok {
		return usage(fmt.Errorf("--%w", bad))
	}
	return err
}

// mayRun returns nil where the kernel in a run directory was put there by this user on this machine, or the user says now
// that it may run.
func (a *app) mayRun(k *user.Kernel, dir string, yes bool) error {
	strange := results.MadeHere(dir, k.Info().Files.Started...)
	if strange == nil {
		return nil
	}
	if hasJournal(dir) {
		if _, err := results.Look(dir); err != nil {
			return err // it would be the answer after a yes too
		}
	}
	fmt.Fprintf(a.stderr, "%s is not known to be made here: %v. Its kernel %s\n", dir, strange, k.Info().Name)
	for _, line := range k.Plan() {
		fmt.Fprintf(a.stderr, "  %s\n", line)
	}
	if yes {
		return nil
	}
	if !a.interactive {
		return fmt.Errorf("%s is not known to be made here, and there is no terminal to ask: read above and in %s what is about to run, and give --yes to allow it",
			dir, user.CopyDir(dir))
	}
	fmt.Fprint(a.stderr, "Run it? [y/N] ")
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n') // without one it is no
	if slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return nil
	}
	return fmt.Errorf("%s is not run", dir)
}

// hasJournal reports whether a directory has the journal of a run, perhaps without its settings.
func hasJournal(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, results.JournalName))
	return err == nil
}
