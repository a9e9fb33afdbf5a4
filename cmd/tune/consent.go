package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune/kernels"
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

// tableToRun is tableOf for a command that runs the candidates of a run directory: it asks before it lets a kernel run that
// was not put there by this user on this machine.
func (a *app) tableToRun(dir string, yes bool) (table kernels.Table, closeTable func(), err error) {
	table, closeTable, err = a.tableOf(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range table {
		if own, ok := k.(*user.Kernel); ok {
			if err := a.mayRun(own, dir, yes); err != nil {
				closeTable()
				return nil, nil, err
			}
		}
	}
	return table, closeTable, nil
}

// mayRun returns nil where the kernel in a run directory was put there by this user on this machine, or the user says now
// that it may run.
func (a *app) mayRun(k *user.Kernel, dir string, yes bool) error {
	strange := results.MadeHere(dir, k.SavedFiles()...)
	if strange == nil {
		return nil
	}
	fmt.Fprintf(a.stderr, "%s was not made here: %v. Its kernel %s\n", dir, strange, k.Info().Name)
	for _, line := range k.Plan() {
		fmt.Fprintf(a.stderr, "  %s\n", line)
	}
	if yes {
		return nil
	}
	if !a.interactive {
		return fmt.Errorf("%s was not made here, and there is no terminal to ask: read above and in %s what is about to run, and give --yes to allow it",
			dir, user.CopyDir(dir))
	}
	fmt.Fprint(a.stderr, "Run it? [y/N] ")
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n') // without one it is no
	if slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return nil
	}
	return fmt.Errorf("%s is not run", dir)
}
