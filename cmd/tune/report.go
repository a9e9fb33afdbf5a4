package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/cpu"
	"tune/internal/files"
	"tune/kernels"
	"tune/kernels/native"
	"tune/results"
	"tune/results/insight"
	"tune/results/report"
	"tune/search/surrogate"
	"tune/sim"
	"tune/space"
)

// reportFormats are the forms of a report.
var reportFormats = []string{"html", "md"}

func (a *app) reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Show runs in one HTML file, or as Markdown",
		Long: `report writes one HTML file that opens offline: what was tuned and where, how to reproduce it, every outcome over evaluations and over
time, the distribution of the costs, which parameters mattered, the costs by value and by pair, the failures with their causes, what was
compared at the end, and the winning program. RUN is the directory of a run, a folder of runs such as that of a library, or a file of
measurements. Several are shown together. A run that is damaged is shown as far as it can be read; report then says on standard error what
is damaged, and exits with 1.

With --format md it prints a summary for a pull request. Nothing is run, and nothing of the run is changed.`,
		Example: `  tune report runs/treehash-20260102-150405-1 -o report.html
  tune report runs/a runs/b -o both.html
  tune report convolution.json.gz -o convolution.html
  tune report runs/treehash-20260102-150405-1 --format md`,
		Args: cobra.ArbitraryArgs,
	}
	output := c.Flags().StringP("output", "o", "", "`file` to write; an existing one is replaced. Without it, standard output has the report")
	format := c.Flags().String("format", "html", "`form` of the report: html or md (default: what --output ends in, else html)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(errors.New("no run is given: want the directory of a run, or a file of measurements: 'tune report RUN... -o report.html'"))
		}
		if !slices.Contains(reportFormats, *format) {
			return usage(fmt.Errorf("--format: %q: want %s", *format, strings.Join(reportFormats, " or ")))
		}
		chosen, err := reportFormat(*format, *output, c.Flags().Changed("format"))
		if err != nil {
			return usage(err)
		}
		if err := noFolder("output", *output); err != nil {
			return err
		}
		page := report.Page{Version: tune.Version()}
		w := a.work("reading the runs", false)
		runs, left, err := a.reported(args, w)
		w.end()
		if err != nil {
			return err
		}
		page.Runs, page.Left = runs, left
		var text bytes.Buffer
		write := page.HTML
		if chosen == "md" {
			write = page.Markdown
		}
		if err := write(&text); err != nil {
			return err
		}
		if *output == "" {
			_, err = a.raw.Write(text.Bytes())
		} else {
			err = unwritten("output", *output, files.Stream(*output, false, func(w io.Writer) error {
				_, err := w.Write(text.Bytes())
				return err
			}))
		}
		return cmp.Or(err, damagedRuns(runs))
	}
	return c
}

// damagedRuns says which of the runs of a report are not shown whole because they are damaged; nil where none is.
func damagedRuns(runs []*report.Run) error {
	var damage []string
	for _, r := range runs {
		damage = append(damage, r.Damage...)
	}
	if len(damage) == 0 {
		return nil
	}
	return fmt.Errorf("shown as far as can be read: %s", strings.Join(damage, "; "))
}

// mostReported is how many runs of a folder are shown: the newest.
const mostReported = 64

// reported reads the runs that arguments name, and counts the older ones that are left out. shows is told how many of them are read.
func (a *app) reported(args []string, shows *work) (runs []*report.Run, left int, err error) {
	var all []func() (*report.Run, error)
	for _, arg := range args {
		read, older, err := a.reportedBy(arg)
		if err != nil {
			return nil, 0, err
		}
		all, left = append(all, read...), left+older
	}
	for i, read := range all {
		if len(all) > 1 {
			shows.observe("reading", i, len(all))
		}
		run, err := read()
		if err != nil {
			return nil, 0, err
		}
		runs = append(runs, run)
	}
	return runs, left, nil
}

// reportedBy returns what reads the runs that an argument names, and how many older ones of a folder it leaves out.
func (a *app) reportedBy(arg string) (read []func() (*report.Run, error), left int, err error) {
	if err := absent(arg); err != nil && pages[endingOf(arg)] != "" {
		return nil, 0, usage(fmt.Errorf("%s is not a run: to write it, give --output %[1]s", arg))
	} else if err != nil {
		return nil, 0, err
	}
	if err := noRun(arg); err != nil {
		return nil, 0, err
	}
	o := a.reportOptions()
	open := func(dir string) { read = append(read, func() (*report.Run, error) { return report.Open(dir, o), nil }) }
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return nil, 0, err
	case !info.IsDir() && filepath.Base(arg) == tune.ScheduleName:
		arg = filepath.Dir(arg)
	case !info.IsDir() && filepath.Base(arg) == "manifest.json":
		return a.reportedBy(filepath.Dir(arg))
	case !info.IsDir():
		return append(read, func() (*report.Run, error) { return report.Measurements(arg, o) }), 0, nil
	}
	if results.IsRun(arg) {
		open(arg)
		return read, 0, nil
	}
	for _, dir := range results.Folders(arg) {
		list, err := results.List(dir)
		if err != nil {
			return nil, 0, err
		}
		n := min(len(list), mostReported)
		for _, l := range list[:n] {
			open(l.Dir)
		}
		left += len(list) - n
	}
	if len(read) == 0 {
		return nil, 0, ofFile(fmt.Errorf("%s is no run, and has none: give the directory of a run (see tune runs), or a file of measurements", arg))
	}
	return read, left, nil
}

// reportOptions say how runs are read for a page.
func (a *app) reportOptions() report.Options {
	return report.Options{Space: a.spaceOfRun, Learn: learn, Explain: a.explainForPage}
}

// learn learns what matters as the default strategy does.
func learn(s *space.Space, right []space.Observation, log bool) (insight.Model, bool) {
	return surrogate.Learn(s, 1, right, log)
}

// spaceOfRun returns the space of the kernel of a run; nil where the kernel has another one now. It runs nothing of the run.
func (a *app) spaceOfRun(dir string) (*space.Space, error) {
	look, err := results.Look(dir)
	if err != nil {
		return nil, err
	}
	found, err := a.catalog(false).OfRun(dir, false)
	if err != nil {
		return nil, err
	}
	defer a.end(found)
	k, err := found.Table.Lookup(look.Settings.Kernel)
	if err != nil {
		return nil, err
	}
	opened, err := kernels.OpenText(k, look.Settings.Shape)
	if err == nil {
		err = opened.Pin(look.Settings.Pinned)
	}
	if err != nil {
		return nil, err
	}
	if s := opened.Problem.Space(); s.Fingerprint() == look.Settings.SpaceFingerprint {
		return s, nil
	}
	return nil, nil
}

// explainForPage adds what depends on the kind of kernel: how a program uses the machine that tune simulates, and how near to the roofs of
// this processor a kernel in C is, where they were measured before.
func (a *app) explainForPage(dir string, r *report.Run) {
	for _, artifact := range r.Schedule.Artifacts {
		if !strings.HasSuffix(artifact.Name, ".program.json") {
			continue
		}
		text, err := files.In(dir).Read(artifact.Name, 1<<28)
		if err != nil {
			continue // the page of the run says so of the schedule
		}
		if program, err := sim.Read(bytes.NewReader(text)); err == nil && program.StraightLine() {
			r.Usage = usageOf(program)
		}
	}
	a.roofline(dir, r)
}

// usageOf is what a program uses of the machine.
func usageOf(p *sim.Program) *report.Usage {
	used, bound := sim.Utilisation(p, nil), sim.LowerBound(p)
	u := &report.Usage{Bound: bound.Cycles, Limiting: bound.Limiter()}
	for e := sim.Engine(0); e < sim.NumEngines; e++ {
		if e != sim.Debug {
			u.Units, u.Limits, u.Bounds = append(u.Units, e.String()), append(u.Limits, sim.SlotLimit[e]), append(u.Bounds, bound.PerEngine[e])
		}
	}
	for _, cycle := range used.PerCycle {
		var slots []uint8
		for e := sim.Engine(0); e < sim.NumEngines; e++ {
			if e != sim.Debug {
				slots = append(slots, cycle[e])
			}
		}
		u.Cycles = append(u.Cycles, slots)
	}
	return u
}

// roofline places a kernel in C below the roofs of this processor, where these are known and the run was made on one like it.
func (a *app) roofline(dir string, r *report.Run) {
	s := r.Schedule
	threads := 0
	for _, artifact := range s.Artifacts {
		var b builtWith
		if !strings.HasSuffix(artifact.Name, ".build.json") {
			continue
		}
		if text, err := files.In(dir).Read(artifact.Name, files.Settings); err == nil && json.Unmarshal(text, &b) == nil {
			threads = max(b.Threads, 1)
		}
	}
	here := results.ThisMachine()
	if threads == 0 || s.Machine.CPU != here.CPU || s.Machine.Arch != here.Arch {
		return
	}
	roofs := a.host.KeptRoofs(context.Background())
	r.Limits = limitWords(s, threads, roofs.Roofs, cpu.CacheSizes())
	flops, isFlops := space.FindMetric(s.Metrics, space.MetricGFLOPS)
	if ops, ok := space.FindMetric(s.Metrics, space.MetricGOPS); !isFlops && ok {
		flops = ops
	}
	bytes, ok := space.FindMetric(s.Metrics, space.MetricGBS)
	if !ok || flops == 0 {
		return
	}
	f := &report.Roofline{Intensity: flops / bytes, Reached: flops, Unit: "GOP/s"}
	wanted := func(one native.Roof) bool { return one.Unit == "GOP/s" }
	if isFlops {
		f.Unit, wanted = "GFLOP/s", func(one native.Roof) bool { return one.Kind == "f32" }
	}
	for _, one := range roofs.Roofs {
		most := one.Rate / 1e9 * float64(threads)
		switch {
		case wanted(one) && most > f.Peak.Most:
			f.Peak = report.Roof{Name: one.Kind, Most: most}
		case one.Kind == "read":
			f.Memory = append(f.Memory, report.Roof{Name: one.Level, Most: most})
		}
	}
	r.Roofline = f
}
