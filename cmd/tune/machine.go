package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/internal/cpu"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/native/worker"
	"tune/kernels/peers"
	"tune/results"
)

// machine is what tune finds on the machine that it runs on.
type machine struct {
	results.Machine
	Allowed    []int            `json:"allowed_cores"` // by their numbers
	TimingCore int              `json:"timing_core"`
	Caches     cpu.Caches       `json:"caches"`
	ISAs       []string         `json:"isas"`
	Compilers  []cc.Compiler    `json:"compilers"`
	Libraries  []peers.Known    `json:"libraries"` // that tune bench can compare with
	Isolation  worker.Isolation `json:"isolation"`
	Roofs      []native.Roof    `json:"roofs"`
	// Why kernels in C cannot run here, "" where they can.
	Why string `json:"why,omitempty"`
}

func (a *app) machineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "machine",
		Short: "Show what tune finds on this machine, and how kernels are isolated",
		Long: `machine shows what tune finds here: the processor, the cores that it may use and the one that it times on, the C
compilers, the libraries that tune bench can compare matrix products with, and which features of the system isolate the code of
kernels. It starts a worker process to find out.

The roofs are what one core reaches if it does nothing else: arithmetic in each unit that it has, and reads and copies in each cache
and in memory. A copied byte counts twice. The first call measures them, which takes some seconds, and keeps them for this processor.
With --measure it measures again, and keeps the higher ones.`,
		Example: "  tune machine\n  tune machine --json\n  tune machine --measure",
		Args:    noArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	measure := c.Flags().Bool("measure", false, "measure the roofs again")
	addDB(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		indexed, err := a.indexPath(c.Flags(), set)
		if err != nil {
			return err
		}
		m := machine{Machine: results.ThisMachine(), Caches: cpu.CacheSizes(), ISAs: cpu.Features(), Compilers: []cc.Compiler{}, Libraries: peers.List()}
		m.TimingCore, m.Allowed = a.host.Cores()
		if tools, err := a.host.Toolchain(c.Context()); err != nil {
			m.Why = err.Error()
		} else {
			m.Compilers = tools.Compilers()
		}
		if m.Isolation, err = worker.Probe(c.Context()); err != nil {
			m.Why = err.Error()
		}
		if m.Why == "" {
			observe, end := a.counter("loops measured")
			roofs, err := a.host.Roofs(c.Context(), *measure, observe)
			end()
			switch {
			case ofMachine(err):
				m.Why = err.Error()
			case err != nil:
				return err
			}
			m.Roofs = roofs.Roofs
			a.keepRoofs(c.Context(), indexed, m.Roofs)
		}
		if err := c.Context().Err(); err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, m)
		}
		return a.printMachine(m)
	}
	return c
}

func (a *app) printMachine(m machine) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	cores := make([]string, len(m.Allowed))
	for i, c := range m.Allowed {
		cores[i] = strconv.Itoa(c)
	}
	fmt.Fprintf(w, "processor\t%s, %s/%s\n", cmp.Or(m.CPU, m.Arch), m.OS, m.Arch)
	fmt.Fprintf(w, "cores\t%s; kernels of one thread are timed on core %d\n", strings.Join(cores, " "), m.TimingCore)
	fmt.Fprintf(w, "caches\tL1 %s, L2 %s, L3 %s\n", kibibytes(m.Caches.L1), kibibytes(m.Caches.L2), kibibytes(m.Caches.L3))
	fmt.Fprintf(w, "vectors\t%s\n", strings.Join(m.ISAs, " "))
	printRoofs(w, m.Roofs)
	for _, c := range m.Compilers {
		fmt.Fprintf(w, "compiler\t%s: %s\n", c.Name, c.Version)
	}
	for _, l := range m.Libraries {
		where := l.Path
		if where == "" {
			where = fmt.Sprintf("not found (%s)", l.Install)
		}
		fmt.Fprintf(w, "library\t%s: %s\n", strings.TrimSpace(l.Name+" "+l.Version), where)
	}
	if m.Isolation.Seccomp {
		fmt.Fprintln(w, "isolation\tsystem calls of kernels are filtered (seccomp): no processes, signals to others, connections, or changes to files or the system")
	}
	if m.Isolation.Landlock > 0 {
		fmt.Fprintf(w, "\tfiles, devices and the memory of others are closed to them (Landlock %d)\n", m.Isolation.Landlock)
	}
	for _, l := range m.Isolation.Lacks {
		fmt.Fprintf(w, "lacks\t%s\n", l)
	}
	if m.Why != "" {
		fmt.Fprintf(w, "no kernels in C\t%s\n", m.Why)
	}
	return w.Flush()
}

// printRoofs prints a line for arithmetic, and one for each way of moving bytes.
func printRoofs(w io.Writer, roofs []native.Roof) {
	for _, line := range roofLines(roofs) {
		fmt.Fprintf(w, "%s\tone core: %s\n", line[0], line[1])
	}
}

// roofLines returns for arithmetic, and for each way of moving bytes, its name and its rates.
func roofLines(roofs []native.Roof) (out [][2]string) {
	lines := map[string][]string{}
	for _, r := range roofs {
		line, name := r.Kind, r.Level
		if r.Level == "" {
			line, name = "arithmetic", r.Kind
		}
		lines[line] = append(lines[line], fmt.Sprintf("%s %.0f %s", name, r.Rate/1e9, r.Unit))
	}
	for _, line := range []string{"arithmetic", "read", "copy"} {
		if cells := lines[line]; len(cells) > 0 {
			out = append(out, [2]string{line, strings.Join(cells, ", ")})
		}
	}
	return out
}

func kibibytes(n int) string {
	if n <= 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
