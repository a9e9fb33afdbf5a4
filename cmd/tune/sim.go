package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/files"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/treehash"
	"tune/kernels/treehash/tree"
	"tune/results"
	"tune/sim"
)

func (a *app) simCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim PROGRAM.json|DIR",
		Short: "Run a program of the VLIW machine on a fresh tree",
		Long: `sim runs a program in the exchange format on a tree made from a seed. It prints whether the result is right, the cycles,
and the used slots of each engine. Given the directory of a run of the tree hash, or the best.json in it, sim runs the program
that was exported there, at the shape of the run. With --vectors it checks every program and tree image in a file of golden vectors.`,
		Example: `  tune sim runs/treehash-20260102-150405-1 --seed 2
  tune sim best.program.json --shape height=10,rounds=16,batch=256 --seed 1
  tune sim best.program.json --shape outputs=all --trace out.json
  tune sim best.program.json --trace out.json --names names.json    # {"node 3": [120, 8], …}
  tune sim --vectors vliw.json`,
	}
	addSettings(c.Flags(), "shape")
	seed := c.Flags().String("seed", "1", "`seed` of the tree and its items")
	trace := c.Flags().String("trace", "", "`file` for a trace that Perfetto opens")
	names := c.Flags().String("names", "", "JSON `file` that names ranges of scratch for the trace: {\"NAME\": [first word, words], …}")
	vectors := c.Flags().String("vectors", "", "`file` of golden vectors to check")
	cycles := c.Flags().Int("cycles", sim.DefaultCycles, "`number` of cycles after which the run is stopped")
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.Args = func(c *cobra.Command, args []string) error {
		if *vectors != "" {
			return noArgs(c, args)
		}
		return exactly(1, "the file of a program or the directory of a run, or --vectors")(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if *vectors != "" {
			for _, name := range []string{"shape", "seed", "trace", "names", "cycles"} {
				if c.Flags().Changed(name) {
					return usage(fmt.Errorf("--%s: golden vectors have their own: leave it out", name))
				}
			}
			return a.checkVectors(c.Context(), *vectors, *asJSON)
		}
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		treeSeed, err := parseSeed(*seed)
		if err != nil {
			return usage(fmt.Errorf("--seed: %w", err))
		}
		if *cycles < 1 {
			return usage(fmt.Errorf("--cycles: %d: want 1 or more", *cycles))
		}
		if *names != "" && *trace == "" {
			return usage(errors.New("--names: names are for a trace: give --trace too"))
		}
		path, of, err := programAt(args[0])
		if err != nil {
			return err
		}
		shape, err := kernels.ParseShape(treehash.Kernel{}.Info().Shape, cmp.Or(set.shape, of))
		if err != nil {
			return set.blame("shape", err)
		}
		program, err := readProgram(path)
		if err != nil {
			return err
		}
		if *names != "" {
			if program.Names, err = readNames(*names); err != nil {
				return err
			}
		}
		return a.simulate(path, program, shape, wrongShape(set.shape, of, shape), treeSeed, *cycles, *trace, *asJSON)
	}
	return c
}

// wrongShape says why a program may be wrong at a shape: the text that the user gave, or of, that of the run of the program. Both may be "".
func wrongShape(given, of string, shape kernels.Shape) string {
	switch {
	case given == "" && of == "":
		return "is this program for another shape? --shape says which"
	case given != "" && of != "" && of != shape.String():
		return fmt.Sprintf("the run made it for %s: leave --shape out", of)
	}
	return ""
}

// programAt returns the path of the program that an argument names: a file or, for the directory of a run or the schedule in it, what
// was exported there. shape is that of the run, and "" for a file.
func programAt(arg string) (path, shape string, err error) {
	if err := absent(arg); err != nil {
		return "", "", fmt.Errorf("%w, and a program is named by its file", err)
	}
	info, serr := os.Stat(arg)
	if serr != nil || !info.IsDir() && filepath.Base(arg) != tune.ScheduleName {
		if strings.HasSuffix(arg, ".program.json") {
			return arg, "", nil
		}
		err := cmp.Or(fileOfRun(arg), takes(arg, wantsProgram))
		if kind := kindOf(arg); err == nil && isYAML(arg) && kind != kindUnknown {
			err = ofFile(fmt.Errorf("%s %s, and no program: want %s", arg, kind.is, wantsProgram))
		}
		return arg, "", err
	}
	if info.IsDir() {
		if arg, err = scheduleIn(arg); err != nil {
			return "", "", err
		}
	}
	s, err := results.ReadSchedule(arg)
	if err != nil {
		return "", "", err
	}
	if name := (treehash.Kernel{}).Info().Name; s.Kernel != name {
		return "", "", usage(fmt.Errorf("%s is of kernel %s, and tune sim runs programs of the VLIW machine, which %s has", arg, s.Kernel, name))
	}
	return results.ArtifactPath(arg, "program.json"), s.Shape, nil
}

// readNames reads the names of scratch ranges, which the exchange format does not hold.
func readNames(path string) ([]sim.NamedRange, error) {
	data, err := files.Read(path, files.Text)
	if err != nil {
		return nil, err
	}
	var ranges map[string][2]uint32
	if err := json.Unmarshal(data, &ranges); err != nil {
		return nil, fmt.Errorf("%s: want {\"NAME\": [first word, words], …}: %w", path, err)
	}
	var names []sim.NamedRange
	for _, name := range slices.Sorted(maps.Keys(ranges)) {
		r := ranges[name]
		if r[1] < 1 || r[1] > sim.ScratchWords || r[0] > sim.ScratchWords-r[1] {
			return nil, fmt.Errorf("%s: %q: %d words from %d are not in scratch, which has %d", path, name, r[1], r[0], sim.ScratchWords)
		}
		names = append(names, sim.NamedRange{Name: name, Span: sim.Span{Addr: r[0], N: r[1]}})
	}
	return names, nil
}

func (a *app) simulate(path string, program *sim.Program, shape kernels.Shape, advice string, seed uint64, cycles int, trace string, asJSON bool) error {
	s := tree.Shape{Height: shape.Int("height"), Rounds: shape.Int("rounds"), Batch: shape.Int("batch")}
	limits := sim.Limits{Cycles: cycles}
	e, err := treehash.Examine(program, s, seed, limits)
	if err != nil {
		if fault, ok := errors.AsType[*sim.Fault](err); ok && asJSON {
			err = errors.Join(err, printJSON(a.stdout, simFault{Fault: fault.Error()}))
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	indices := shape.Text("outputs") == "all"
	if asJSON {
		err = printJSON(a.stdout, simJSON(e, indices))
	} else {
		err = a.printExamination(e, indices)
	}
	if err == nil && trace != "" {
		err = outFile("trace", trace, treehash.TraceWriter(program, s, seed, limits))
	}
	if err == nil && (e.Values != nil || indices && e.Indices != nil) {
		failed := &exitError{code: exitFailed}
		if advice != "" {
			failed.err = fmt.Errorf("%s is wrong at %s: %s", path, shape, advice)
		}
		err = failed
	}
	return err
}

// simFault is what sim prints with --json for a program that faults.
type simFault struct {
	Right bool   `json:"right"` // false
	Fault string `json:"fault"`
}

// mismatch says what is wrong, without the status that the kind of the message implies.
func mismatch(err error) string {
	if r := kernels.AsRejection(err); r != nil {
		return r.Reason
	}
	return err.Error()
}

func (a *app) printExamination(e treehash.Examination, indices bool) error {
	w := a.stdout
	say := func(what string, err error) {
		if err != nil {
			fmt.Fprintf(w, "%s wrong: %s\n", what, mismatch(err))
		} else {
			fmt.Fprintf(w, "%s right\n", what)
		}
	}
	say("values ", e.Values)
	if indices {
		say("indices", e.Indices)
	}
	fmt.Fprintf(w, "cycles  %s (at least %s, for %s)\n", plain.Number(float64(e.Result.Cycles)), plain.Number(float64(e.Bound.Cycles)), e.Bound.Limiter())
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
			return mismatch(err)
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
	file, err := files.Open(path)
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
func (a *app) checkVectors(ctx context.Context, path string, asJSON bool) error {
	file, err := files.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	v, err := sim.ReadVectors(file)
	if err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			// Its own text names types of Go.
			err = fmt.Errorf("not golden vectors: a JSON %s stands where an object is expected", t.Value)
			if t.Field != "" {
				err = fmt.Errorf("not golden vectors: field %s: a JSON %s does not fit", t.Field, t.Value)
			}
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	wrong := []string{}
	for _, p := range v.Programs {
		if err := p.Check(); err != nil {
			wrong = append(wrong, fmt.Sprintf("program %q: %v", p.Name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, err := range treehash.CheckVectors(v) {
		wrong = append(wrong, err.Error())
	}
	total := len(v.Programs) + len(v.Trees)
	if total == 0 {
		return fmt.Errorf("%s holds no program and no tree", path)
	}
	if asJSON {
		err = printJSON(a.stdout, struct {
			Agree  int      `json:"agree"`
			Total  int      `json:"total"`
			Differ []string `json:"differ"`
		}{total - len(wrong), total, wrong})
	} else {
		for _, line := range wrong {
			fmt.Fprintln(a.stdout, line)
		}
		_, err = fmt.Fprintf(a.stdout, "%d of %d agree\n", total-len(wrong), total)
	}
	if err == nil && len(wrong) > 0 {
		err = &exitError{code: exitFailed}
	}
	return err
}
