package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"tune/kernels"
	"tune/kernels/treehash"
	"tune/kernels/treehash/tree"
	"tune/results"
	"tune/sim"
)

func (a *app) simCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim PROGRAM.json",
		Short: "Run a program of the VLIW machine on a fresh tree",
		Long: `sim runs a program in the exchange format on the tree of a seed and says whether it is right, its cycles, and the slots
that it uses of each engine. With --vectors it checks every program and tree image of a file of golden vectors.`,
		Example: `  tune sim best.program.json --shape height=10,rounds=16,batch=256 --seed 1
  tune sim best.program.json --shape outputs=all --trace out.json
  tune sim --vectors vliw.json`,
	}
	addSettings(c.Flags(), "shape", "seed")
	trace := c.Flags().String("trace", "", "`file` for a trace that Perfetto opens")
	vectors := c.Flags().String("vectors", "", "`file` of golden vectors to check")
	cycles := c.Flags().Int("cycles", sim.DefaultCycles, "`number` of cycles after which the run is stopped")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.Args = func(c *cobra.Command, args []string) error {
		if *vectors != "" {
			return noArgs(c, args)
		}
		return exactly(1, "the file of a program, or --vectors")(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if *vectors != "" {
			return a.checkVectors(c.Context(), *vectors)
		}
		set, err := readSettings(c.Flags(), "", nil)
		if err != nil {
			return usage(err)
		}
		if *cycles < 1 {
			return usage(fmt.Errorf("--cycles %d: want 1 or more", *cycles))
		}
		shape, err := kernels.ParseShape(treehash.Kernel{}.Info().Shape, set.shape)
		if err != nil {
			return usage(err)
		}
		return a.simulate(args[0], shape, set.seed, *cycles, *trace, *asJSON)
	}
	return c
}

func (a *app) simulate(path string, shape kernels.Shape, seed uint64, cycles int, trace string, asJSON bool) error {
	program, err := readProgram(path)
	if err != nil {
		return err
	}
	s := tree.Shape{Height: shape.Int("height"), Rounds: shape.Int("rounds"), Batch: shape.Int("batch")}
	limits := sim.Limits{Cycles: cycles}
	if trace != "" {
		_, err := results.WriteArtifact(trace, treehash.TraceWriter(program, s, seed, limits))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	e, err := treehash.Examine(program, s, seed, limits)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	indices := shape.Text("outputs") == "all"
	wrong := e.Values
	if wrong == nil && indices {
		wrong = e.Indices
	}
	if asJSON {
		err = printJSON(a.stdout, simJSON(e, indices))
	} else {
		err = a.printExamination(e, indices)
	}
	if err == nil && wrong != nil {
		err = &exitError{code: exitFailed}
	}
	return err
}

func (a *app) printExamination(e treehash.Examination, indices bool) error {
	w := a.stdout
	say := func(what string, err error) {
		if err != nil {
			fmt.Fprintf(w, "%s wrong: %v\n", what, err)
		} else {
			fmt.Fprintf(w, "%s right\n", what)
		}
	}
	say("values ", e.Values)
	if indices {
		say("indices", e.Indices)
	}
	fmt.Fprintf(w, "cycles  %s (at least %s, for %s)\n", number(float64(e.Result.Cycles)), number(float64(e.Bound.Cycles)), e.Bound.Limiter())
	if e.Result.Pauses > 0 {
		fmt.Fprintf(w, "pauses  %d, switched off\n", e.Result.Pauses)
	}
	fmt.Fprint(w, e.Usage)
	const most = 20
	for i, warning := range e.Warnings {
		if i == most {
			fmt.Fprintf(w, "warning: and %d more\n", len(e.Warnings)-most)
			break
		}
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
	return nil
}

func simJSON(e treehash.Examination, indices bool) any {
	text := func(err error) string {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	out := struct {
		Right    bool           `json:"right"`
		Values   string         `json:"values_wrong,omitempty"`
		Indices  string         `json:"indices_wrong,omitempty"`
		Cycles   int            `json:"cycles"`
		Bound    int            `json:"bound"`
		Pauses   int            `json:"pauses"`
		Slots    map[string]int `json:"slots"`
		Warnings []string       `json:"warnings,omitempty"`
	}{
		Right: e.Values == nil && (!indices || e.Indices == nil), Values: text(e.Values),
		Cycles: e.Result.Cycles, Bound: e.Bound.Cycles, Pauses: e.Result.Pauses, Slots: map[string]int{},
	}
	if indices {
		out.Indices = text(e.Indices)
	}
	for engine := range sim.Debug {
		out.Slots[engine.String()] = e.Usage.Slots[engine]
	}
	for _, w := range e.Warnings {
		out.Warnings = append(out.Warnings, w.String())
	}
	return out
}

func readProgram(path string) (*sim.Program, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	program, err := sim.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return program, nil
}

// checkVectors checks every program and every tree of a file.
func (a *app) checkVectors(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	v, err := sim.ReadVectors(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var wrong []error
	for _, p := range v.Programs {
		if err := p.Check(); err != nil {
			wrong = append(wrong, fmt.Errorf("program %s: %w", strconv.Quote(p.Name), err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	wrong = append(wrong, treehash.CheckVectors(v)...)
	for _, err := range wrong {
		fmt.Fprintln(a.stdout, err)
	}
	total := len(v.Programs) + len(v.Trees)
	fmt.Fprintf(a.stdout, "%d of %d agree\n", total-len(wrong), total)
	if total == 0 {
		return fmt.Errorf("%s holds no program and no tree", path)
	}
	if len(wrong) > 0 {
		return &exitError{code: exitFailed}
	}
	return nil
}
