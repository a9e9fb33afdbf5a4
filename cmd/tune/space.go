package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/user"
	"tune/results/exchange"
	"tune/space"
	"tune/space/t1"
)

func (a *app) spaceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "space KERNEL|FILE",
		Short: "Show parameters, constraints and size of a space",
		Long: `space shows the space of a kernel at a shape, with the kernel's named points, or the space in a file: a space or your
own kernel in YAML, or a T1 file in JSON. It prints the number of points, the values that occur, and what each constraint
removes: alone from all combinations, and from what the other constraints leave. If the space has no points, it names a
smallest set of constraints that conflict.`,
		Example: `  tune space treehash --shape height=8,rounds=12,batch=128
  tune space my-space.yaml
  tune space hotspot.T1.json --json
  tune space treehash --yaml > treehash.yaml`,
		Args: exactly(1, "a kernel or the file of a space"),
	}
	addSettings(c.Flags(), "shape")
	asYAML := c.Flags().Bool("yaml", false, "print the space as YAML")
	asJSON := c.Flags().Bool("json", false, "print the space as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *asYAML && *asJSON {
			return usage(fmt.Errorf("--yaml and --json cannot be combined: give one of them"))
		}
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		s, presets, err := a.findSpace(args[0], set)
		switch {
		case err != nil:
			return err
		case *asYAML:
			return s.Write(a.stdout)
		case *asJSON:
			return printJSON(a.stdout, spaceJSON(s, presets))
		}
		return a.printSpace(s, presets)
	}
	return c
}

// findSpace returns the space of a kernel or a file, and the presets of the kernel, the baseline first.
func (a *app) findSpace(name string, set settings) (*space.Space, []kernels.Preset, error) {
	if strings.ContainsAny(name, "./\\") {
		if err := takes(name, wantsSpace); err != nil {
			return nil, nil, err
		}
		if kind := kindOf(name); kind == kindLibrary || kind == kindSchedule {
			return nil, nil, ofFile(fmt.Errorf("%s %s, and no space: %s", name, kind.is, kind.command(name)))
		}
		// A file of measurements may look like the kernel of a user, and would be told what it lacks.
		data, err := files.Read(name, files.Data)
		if measured := err == nil && isMeasured(data); !measured {
			own, err := loadKernel(name)
			if err != nil {
				return nil, nil, usage(err)
			}
			if own != nil {
				defer a.end(own)
				return spaceOf(own.On(a.host), set)
			}
		}
		if set.from["shape"] == "--shape" {
			return nil, nil, usage(fmt.Errorf("--shape: the space of a file has no shape: leave it out"))
		}
		s, err := readSpace(name)
		return s, nil, err
	}
	k, err := a.lookup(name)
	if err != nil {
		return nil, nil, usage(err)
	}
	return spaceOf(k, set)
}

// spaceOf returns the space of a kernel at the shape of the settings, and its presets.
func spaceOf(k kernels.Kernel, set settings) (*space.Space, []kernels.Preset, error) {
	shape, err := kernels.ParseShape(k.Info().Shape, set.shape)
	if err != nil {
		return nil, nil, set.blame("shape", err)
	}
	p, err := k.Problem(shape)
	if faults, wrong := errors.AsType[user.Faults](err); wrong {
		return nil, nil, usage(faults)
	}
	if err != nil {
		return nil, nil, err
	}
	return p.Space(), p.Presets(), nil
}

// readSpace reads a space in YAML, a T1 file, or the space of a file of measurements. Errors name the file. A fault in the
// description of a space is the user's.
func readSpace(name string) (*space.Space, error) {
	data, err := files.Read(name, files.Data)
	if err != nil && isYAML(name) {
		return nil, usage(fileFault{err})
	}
	if err != nil {
		return nil, err
	}
	if isMeasured(data) {
		f, err := exchange.Read(name, data)
		if err != nil {
			return nil, err
		}
		return f.MakeSpace()
	}
	if !isT1(name, data) {
		d, err := space.ReadDocument(bytes.NewReader(data))
		if err != nil {
			return nil, usage(fileFault{fmt.Errorf("%s: %w", name, err)})
		}
		s, err := d.Space()
		if err != nil {
			return nil, usage(fileFault{fmt.Errorf("%s: %w", name, err)})
		}
		return s, nil
	}
	return spaceOfT1(name, bytes.NewReader(data))
}

// spaceOfT1 reads the space in a T1 file. The error names the file.
func spaceOfT1(path string, r io.Reader) (s *space.Space, err error) {
	f, err := t1.Read(r)
	if err == nil {
		s, err = f.Space()
	}
	if err != nil {
		return nil, usage(fileFault{fmt.Errorf("%s: %w", path, err)})
	}
	return s, nil
}

// isMeasured tells a file of measurements, of which the compressed ones can be nothing else, from the descriptions of
// spaces.
func isMeasured(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return !exchange.IsSpace(data)
	}
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && !bytes.Contains(data, []byte(`"ConfigurationSpace"`)) &&
		slices.ContainsFunc([]string{`"rows"`, `"cache"`, `"results"`}, func(key string) bool { return bytes.Contains(data, []byte(key)) })
}

// isT1 tells a T1 file from YAML, of which JSON is a part.
func isT1(name string, data []byte) bool {
	return strings.EqualFold(filepath.Ext(name), ".json") ||
		bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && bytes.Contains(data, []byte(`"ConfigurationSpace"`))
}

// estimateDraws is how many random draws tell the share of points in a space that is too large to count.
const estimateDraws = 100_000

// estimate is Estimate with a seed of its own, so that a space is always described in the same words.
func estimate(s *space.Space) (share float64, from *big.Int) {
	accepted, from := s.Estimate(rand.New(rand.NewPCG(1, 1)), estimateDraws)
	return float64(accepted) / estimateDraws, from
}

func (a *app) printSpace(s *space.Space, presets []kernels.Preset) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "space %s, fingerprint %s\n", s.Name(), s.Fingerprint())
	analysis := s.Analyse()
	for i, p := range s.Parameters() {
		when := ""
		if p.When != "" {
			when = "  [if " + p.When + "]"
		}
		values := domain(p)
		if analysis.Used != nil && analysis.Used[i] < p.Len() {
			values += fmt.Sprintf(", of which %d can occur", analysis.Used[i])
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s%s\n", p.Name, p.TypeName(), values, p.Doc, when)
	}
	size, known := s.Size()
	for _, e := range analysis.Effects {
		fmt.Fprintf(w, "  constraint %s\n", e.Constraint)
		var left *big.Int
		if e.Last != nil {
			left = new(big.Int).Add(size, e.Last)
		}
		fmt.Fprintf(w, "    removes %s alone, and %s that the others leave\n", removed(e.Alone, analysis.Combinations), removed(e.Last, left))
	}
	product := s.Product()
	fmt.Fprintf(w, "product of the values: %s\n", product)
	if analysis.Combinations != nil && analysis.Combinations.Cmp(product) != 0 {
		fmt.Fprintf(w, "combinations under the conditions: %s\n", analysis.Combinations)
	}
	if known {
		fmt.Fprintf(w, "points: %s (%.3g%%)\n", size, 100*ratio(size, product))
	} else {
		share, from := estimate(s)
		fmt.Fprintf(w, "points: too many to count; drawn at random from %.3g combinations, %.3g%% are points (%d draws)\n",
			new(big.Float).SetInt(from), 100*share, estimateDraws)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range presets {
		if _, err := fmt.Fprintf(a.stdout, "point %s: %s\n  %s\n", p.Name, p.Doc, p.Point.Key()); err != nil {
			return err
		}
	}
	return nil
}

// removed says how many of the combinations are excluded.
func removed(n, of *big.Int) string {
	if n == nil || of == nil {
		return "an unknown number"
	}
	return fmt.Sprintf("%s of %s (%.3g%%)", n, of, 100*ratio(n, of))
}

// ratio is n / of, 0 where both are.
func ratio(n, of *big.Int) float64 {
	if of.Sign() == 0 {
		return 0
	}
	f, _ := new(big.Rat).SetFrac(n, of).Float64()
	return f
}

func spaceJSON(s *space.Space, presets []kernels.Preset) any {
	type parameter struct {
		Name   string `json:"name"`
		Type   string `json:"type"`
		Values int    `json:"values"`         // how many there are
		Used   *int   `json:"used,omitempty"` // how many occur in some point, where that is known
		Domain string `json:"domain"`
		When   string `json:"when,omitempty"`
		Doc    string `json:"doc,omitempty"`
	}
	type effect struct {
		Constraint string   `json:"constraint"`
		Alone      *big.Int `json:"removes_alone"` // null where it is not known
		Last       *big.Int `json:"removes_last"`
	}
	type preset struct {
		Name  string `json:"name"`
		Doc   string `json:"doc"`
		Key   string `json:"key"`
		Start bool   `json:"start"` // whether searches begin here
	}
	analysis := s.Analyse()
	out := struct {
		Name         string      `json:"name"`
		Fingerprint  string      `json:"fingerprint"`
		Parameters   []parameter `json:"parameters"`
		Constraints  []string    `json:"constraints"`
		Effects      []effect    `json:"effects"`
		Product      *big.Int    `json:"product"`
		Combinations *big.Int    `json:"combinations"` // under the conditions alone; null where it is not known
		Points       *big.Int    `json:"points"`       // null where they are too many to count
		Share        float64     `json:"share"`        // of points in the product; where points is null, in random draws
		Presets      []preset    `json:"presets"`
	}{
		s.Name(), s.Fingerprint(), []parameter{}, append([]string{}, s.Constraints()...), []effect{}, s.Product(), analysis.Combinations, nil, 0, []preset{},
	}
	for _, p := range presets {
		out.Presets = append(out.Presets, preset{p.Name, p.Doc, p.Point.Key(), p.Start})
	}
	for i, p := range s.Parameters() {
		j := parameter{p.Name, p.TypeName(), p.Len(), nil, domain(p), p.When, p.Doc}
		if analysis.Used != nil {
			j.Used = &analysis.Used[i]
		}
		out.Parameters = append(out.Parameters, j)
	}
	for _, e := range analysis.Effects {
		out.Effects = append(out.Effects, effect{e.Constraint, e.Alone, e.Last})
	}
	if size, ok := s.Size(); ok {
		out.Points, out.Share = size, ratio(size, out.Product)
	} else {
		out.Share, _ = estimate(s)
	}
	return out
}

// domain describes the values of a parameter.
func domain(p space.Parameter) string {
	const most = 16
	n := p.Len()
	if n <= most {
		values := make([]string, n)
		for i := range values {
			values[i] = p.At(i).String()
		}
		return strings.Join(values, " ")
	}
	return fmt.Sprintf("%s %s … %s (%d)", p.At(0), p.At(1), p.At(n-1), n)
}
