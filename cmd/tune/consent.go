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
	return c.Flags().BoolP("yes", "y", false, "run what a directory holds that was made elsewhere, without a question")
}

// aboutConsent is a paragraph of the help of these commands.
const aboutConsent = `

A kernel of your own is run from its copy in the run's directory. Where that directory was not made by you on this machine,
or was changed since, what is about to be compiled and run is shown first, and a terminal is asked; without one, --yes has
to be given.`

// tableToRun is tableOf for a command that runs the candidates of a run directory: it asks before it lets a kernel run that
// was not put there by this user on this machine.
func (a *app) tableToRun(dir string, yes bool) (table kernels.Table, closeTable func(), err error) {
	table, closeTable, err = a.tableOf(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range table {
		if err := a.mayRun(k.Info(), dir, yes); err != nil {
			closeTable()
			return nil, nil, err
		}
	}
	return table, closeTable, nil
}

// mayRun returns nil where a kernel starts nothing that a run directory holds, was put there by this user on this machine, or
// the user says now that it may run.
func (a *app) mayRun(k kernels.Info, dir string, yes bool) error {
	if len(k.Files.Started) == 0 {
		return nil
	}
	strange := results.MadeHere(dir, k.Files.Started...)
	if strange == nil {
		return nil
	}
	fmt.Fprintf(a.stderr, "%s was not made here: %v. Its kernel %s\n", dir, strange, k.Name)
	for _, line := range k.Files.Plan() {
		fmt.Fprintf(a.stderr, "  %s\n", line)
	}
	if yes {
		return nil
	}
	if !a.interactive {
		return fmt.Errorf("%s was not made here, and there is no terminal to ask: read what is about to run, above and in %s, and give --yes if it may",
			dir, user.CopyDir(dir))
	}
	fmt.Fprint(a.stderr, "Run it? [y/N] ")
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n') // without one it is no
	if slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return nil
	}
	return fmt.Errorf("%s is not run", dir)
}
