package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/files"
	"tune/kernels"
	"tune/results"
	"tune/results/insight"
	"tune/results/report"
	"tune/results/schedule"
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
compared at the end, and the winning program. RUN is the directory of a run, a folder of runs, a file of measurements, or a library. For a
library, the page shows its variants and its certificate, and the runs it was made from if they are still there. Several are shown
together. A run that is damaged is shown as far as it can be read, and the page says which file of measurements cannot be read; report
then says on standard error what is damaged, and exits with 1.

With --format md it prints a summary for a pull request. Nothing is run, and nothing of the run is changed.`,
		Example: `  tune report runs/treehash-20260102-150405-1 -o report.html
  tune report runs/a runs/b -o both.html
  tune report convolution.json.gz -o convolution.html
  tune report lib -o lib.html
  tune report runs/treehash-20260102-150405-1 --format md`,
		Args: cobra.ArbitraryArgs,
	}
	output := c.Flags().StringP("output", "o", "", "`file` to write; an existing one is replaced. Without it, standard output has the report")
	format := c.Flags().String("format", "html", "`form` of the report: html or md (default: what --output ends in, else html)")
	c.Flags().Lookup("format").DefValue = "" // which is that of the words above
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
		err = a.reported(args, &page, w)
		w.end()
		if err != nil {
			return err
		}
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
			err = unwritten("output", *output, files.Out(*output, false, func(w io.Writer) error {
				_, err := w.Write(text.Bytes())
				return err
			}))
		}
		return cmp.Or(err, damaged(page))
	}
	return c
}

// damaged says what of a report is not shown whole because it is damaged; nil where nothing is.
func damaged(page report.Page) error {
	var damage []string
	for _, l := range page.Libraries {
		if l.Problem != "" {
			damage = append(damage, l.Problem)
		}
	}
	for _, r := range page.Runs {
		damage = append(damage, r.Damage...)
	}
	if len(damage) == 0 {
		return nil
	}
	return fmt.Errorf("shown as far as can be read: %s", strings.Join(damage, "; "))
}

// mostReported is how many runs of a folder are shown: the newest.
const mostReported = 64

// found is what arguments name: libraries, and runs that are still to be read.
type found struct {
	libraries []*report.Library
	read      []unread
	left      int // how many older runs of folders are left out
}

// unread is a run, or a file of measurements, that is still to be read.
type unread struct {
	name string
	open func() (*report.Run, error)
}

// add adds a run or a file, once: a folder and a run in it may both be named.
func (f *found) add(name string, open func() (*report.Run, error)) {
	if !slices.ContainsFunc(f.read, func(u unread) bool { return filepath.Clean(u.name) == filepath.Clean(name) }) {
		f.read = append(f.read, unread{name, open})
	}
}

// reported reads the runs and libraries that arguments name into a page. shows is told how many of the runs are read.
func (a *app) reported(args []string, page *report.Page, shows *work) error {
	var all found
	for _, arg := range args {
		if err := a.reportedBy(arg, &all); err != nil {
			return err
		}
	}
	page.Libraries, page.Left = all.libraries, all.left
	for i, read := range all.read {
		if len(all.read) > 1 {
			shows.observe("reading", i, len(all.read))
		}
		run, err := read.open()
		if err != nil && (len(args) > 1 || isJSON(read.name)) {
			run, err = report.Unread(read.name, err), nil // the page says so, and the others are shown all the same
		}
		if err != nil {
			return err
		}
		page.Runs = append(page.Runs, run)
	}
	return nil
}

// isJSON reports whether a file is named as measurements are.
func isJSON(name string) bool { return filepath.Ext(strings.TrimSuffix(name, ".gz")) == ".json" }

// reportedBy finds what an argument names.
func (a *app) reportedBy(arg string, all *found) error {
	if err := absent(arg); err != nil && pages[endingOf(arg)] != "" {
		return usage(fmt.Errorf("%s is not a run: to write it, give --output %[1]s", arg))
	} else if err != nil {
		return err
	}
	refused := noRun
	if isJSON(arg) {
		refused = fileOfRun // the page says of measurements that they cannot be read
	}
	if err := refused(arg); err != nil {
		return err
	}
	o := a.reportOptions()
	open := func(dir string) { all.add(dir, func() (*report.Run, error) { return report.Open(dir, o), nil }) }
	info, err := os.Stat(arg)
	manifest := false
	switch {
	case err != nil:
		return err
	case !info.IsDir() && filepath.Base(arg) == tune.ScheduleName:
		arg = filepath.Dir(arg)
	case !info.IsDir() && filepath.Base(arg) == results.ManifestName:
		arg, manifest = filepath.Dir(arg), true
	case !info.IsDir():
		all.add(arg, func() (*report.Run, error) { return report.Measurements(arg, o) })
		return nil
	}
	if results.IsRun(arg) {
		open(arg)
		return nil
	}
	library := libraryAt(arg, manifest)
	if library != nil {
		all.libraries = append(all.libraries, library)
	}
	holds := library != nil
	for _, dir := range results.Folders(arg) {
		list, err := results.List(dir)
		if err != nil {
			return err
		}
		n := min(len(list), mostReported)
		for _, l := range list[:n] {
			open(l.Dir)
		}
		all.left += len(list) - n
		holds = holds || n > 0
	}
	if !holds {
		return ofFile(fmt.Errorf("%s is not a run, and holds none: give the directory of a run (see tune runs), a library, or a file of measurements", arg))
	}
	return nil
}

// reportOptions say how runs are read for a page.
func (a *app) reportOptions() report.Options {
	return report.Options{Space: a.spaceOfRun, Learn: learn, Again: a.runAgain, Explain: a.explainForPage}
}

// runAgain is the command that begins a run with the settings of the one in a directory; "" where its kernel is not known here.
func (a *app) runAgain(dir string, s results.Settings) string {
	if s.Data != nil { // the command names the file of measurements, which may be large: nothing else of it is needed
		return schedule.Again(s, kernels.Info{Files: kernels.Files{Data: (*kernels.DataFile)(s.Data)}}, dir)
	}
	found, err := a.catalog(false).OfRun(dir, false)
	if err != nil {
		return ""
	}
	defer a.end(found)
	k, err := found.Table.Lookup(s.Kernel)
	if err != nil {
		return ""
	}
	return schedule.Again(s, k.Info(), dir)
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
