package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/results/chart"
	"tune/results/exchange"
	"tune/search/bench"
)

// dataFlags are the flags of tune bench search that are for measured spaces.
type dataFlags struct {
	data, from         []string
	spaces, csv, chart string
}

func (f *dataFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.data, "data", nil, "`file` of measurements, or folder of such files; may be given several times")
	c.Flags().StringArrayVar(&f.from, "from", nil, "with --data: earlier `run`, schedule or file of measurements that every search starts from; may be given several times")
	c.Flags().StringVar(&f.spaces, "spaces", "", "with --data: `pattern` of the spaces to use, such as 'gemm*'; separate several by commas")
	c.Flags().StringVar(&f.csv, "csv", "", "with --data: `file` to write the table to")
	c.Flags().StringVar(&f.chart, "chart", "", "with --data: `file` to draw the curves to, .svg or .png")
}

// check reports flags that make no sense together.
func (f *dataFlags) check(c *cobra.Command) error {
	if len(f.data) == 0 {
		for _, name := range []string{"from", "spaces", "csv", "chart"} {
			if c.Flags().Lookup(name).Changed {
				return fmt.Errorf("--%s is for measured spaces: give --data too", name)
			}
		}
		return nil
	}
	if c.Flags().Lookup("shape").Changed {
		return errors.New("--shape is for kernels: a measured space has none: leave it out")
	}
	if f.chart != "" && !slices.Contains(chart.Formats, strings.TrimPrefix(filepath.Ext(f.chart), ".")) {
		return fmt.Errorf("--chart: %s: want a file that ends in .%s", f.chart, strings.Join(chart.Formats, " or ."))
	}
	return checkPatterns(f.spaces)
}

// dataFiles lists the files of measurements among the given files and folders, in order and each once.
func dataFiles(paths []string) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	add := func(file string) {
		whole, err := filepath.Abs(file)
		if err == nil {
			whole, err = filepath.EvalSymlinks(whole)
		}
		if err != nil || !seen[whole] { // reading it says what is wrong with it
			files, seen[whole] = append(files, file), true
		}
	}
	for _, p := range paths {
		if err := present(p); err != nil {
			return nil, usage(fmt.Errorf("--data: %w: want a file of measurements, or a folder of some", err))
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, usage(fmt.Errorf("--data: %w", err))
		}
		if !info.IsDir() || isRunDir(p) {
			if err := noData(p); err != nil {
				return nil, fmt.Errorf("--data: %w", err)
			}
			add(p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if name := e.Name(); !e.IsDir() && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")) {
				found = true
				add(filepath.Join(p, name))
			}
		}
		if !found {
			return nil, ofFile(fmt.Errorf("--data: %s contains no .json or .json.gz file: name a file of measurements, or a folder of some", p))
		}
	}
	return files, nil
}

// readSpaces reads the files of measurements whose space matches, several at once, and shows how far that is.
func (a *app) readSpaces(paths []string, patterns string, jobs int) ([]bench.DataSpace, error) {
	w := a.work("reading measured spaces", a.quiet)
	defer w.end()
	return loadSpaces(paths, patterns, jobs, w)
}

// loadSpaces is readSpaces, shown by a work.
func loadSpaces(paths []string, patterns string, jobs int, shows *work) ([]bench.DataSpace, error) {
	files, err := dataFiles(paths)
	if err != nil {
		return nil, err
	}
	loaded := make([]*recorded.Kernel, len(files))
	read := readingOf(files, shows)
	var group errgroup.Group
	group.SetLimit(jobs)
	for i, file := range files {
		group.Go(func() (err error) {
			if loaded[i], err = recorded.LoadObserved(file, read(i)); err == nil {
				loaded[i].File().Slim() // of many files it is most of the memory
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var spaces []bench.DataSpace
	var names []string
	seen := map[string]bool{}
	for i, k := range loaded {
		name, base := k.File().Space, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(files[i]), ".gz"), ".json")
		names = append(names, name)
		if !matches(patterns, name) && !matches(patterns, base) {
			continue
		}
		if seen[name] {
			name = files[i] // which tells the two apart
		}
		seen[name] = true
		p, err := k.Problem(kernels.Shape{})
		if err != nil {
			return nil, err
		}
		spaces = append(spaces, bench.DataSpace{Name: name, Problem: p.(*recorded.Problem)})
	}
	if len(spaces) == 0 {
		return nil, usage(fmt.Errorf("--spaces: no space matches %s: there are %s", patterns, strings.Join(names, ", ")))
	}
	return spaces, nil
}

// readingOf returns observers of files that are read, by their place among the paths. They show how much of all is read and checked, each of
// which is half of a file.
func readingOf(paths []string, shows *work) func(i int) exchange.Observer {
	var mu sync.Mutex
	read, all, total := make([]int, len(paths)), 0, 0
	sizes := make([]int, len(paths))
	for i, p := range paths {
		if info, err := os.Stat(p); err == nil {
			sizes[i] = int(info.Size())
			total += sizes[i]
		}
	}
	return func(i int) exchange.Observer {
		return func(step exchange.Step, done, of int) {
			share := float64(done) / float64(max(of, 1)) / 2
			if step == exchange.Checking {
				share += 0.5
			}
			mu.Lock()
			defer mu.Unlock()
			now := int(share * float64(sizes[i]))
			all, read[i] = all+now-read[i], now
			shows.observe(phaseReadSpaces, all, total)
		}
	}
}

func matches(patterns, name string) bool {
	if patterns == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(patterns, ","), func(pattern string) bool {
		ok, err := path.Match(strings.TrimSpace(pattern), name)
		return ok && err == nil
	})
}

// benchData compares strategies on measured spaces.
func (a *app) benchData(c *cobra.Command, f *dataFlags, b bench.Data, asJSON bool) error {
	if err := cmp.Or(writable("csv", f.csv), writable("chart", f.chart)); err != nil {
		return err
	}
	spaces, err := a.readSpaces(f.data, f.spaces, b.Jobs)
	if err != nil {
		return err
	}
	b.Spaces = spaces
	if b.From, err = readEarlier(f.from); err != nil {
		return err
	}
	observe, end := a.counter("searches")
	b.Observe = observe
	r, err := b.Run(c.Context())
	end()
	if err != nil {
		return err
	}
	if f.csv != "" {
		if err := outFile("csv", f.csv, func(w io.Writer) error { return writeDataCSV(w, r) }); err != nil {
			return err
		}
	}
	if f.chart != "" {
		format := strings.TrimPrefix(filepath.Ext(f.chart), ".")
		if err := outFile("chart", f.chart, func(w io.Writer) error { return chart.Write(w, format, panels(r)) }); err != nil {
			return err
		}
	}
	if asJSON {
		return printJSON(a.stdout, r)
	}
	return a.printData(r)
}

// printData prints a table in Markdown for each space, then the one over all.
func (a *app) printData(r *bench.DataReport) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 1, ' ', 0)
	row := func(cells ...string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	head := dataHead(r, "@")
	row(head...)
	row(slices.Repeat([]string{"---"}, len(head))...)
	for _, d := range slices.Concat(r.Spaces, r.Overall) {
		cells := []string{cmp.Or(d.Space, "overall"), d.Strategy}
		for i, m := range d.Mean.Value {
			cell := fmt.Sprintf("%.4f", m)
			if i < len(d.Error.Value) {
				cell += " ±" + strings.TrimPrefix(fmt.Sprintf("%.4f", d.Error.Value[i]), "0")
			}
			cells = append(cells, cell)
		}
		row(append(cells, fmt.Sprintf("%.2f", d.Optimum), fmt.Sprintf("%.1f", d.Wasted))...)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	chance := ""
	if r.Seeds > 1 {
		chance = ", ± its standard error"
	}
	_, err := fmt.Fprintf(a.stdout, `
%d seeds, %d evaluations each. @N: the mean over seeds of optimum / best so far%s, after N evaluations,
failed ones included; optimum: the share of seeds that found it; wasted: evaluations spent on configurations that failed.
`, r.Seeds, r.Evaluations, chance)
	return err
}

func dataHead(r *bench.DataReport, prefix string) []string {
	head := []string{"space", "strategy"}
	for _, n := range r.Overall[0].Mean.At {
		head = append(head, prefix+strconv.Itoa(n))
	}
	return append(head, "optimum", "wasted")
}

func writeDataCSV(w io.Writer, r *bench.DataReport) error {
	out := csv.NewWriter(w)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	head := dataHead(r, "mean_")
	for _, n := range r.Overall[0].Error.At {
		head = append(head, fmt.Sprint("standard_error_", n))
	}
	out.Write(head) // errors are kept until Flush
	for _, d := range slices.Concat(r.Spaces, r.Overall) {
		cells := []string{cmp.Or(d.Space, "overall"), d.Strategy}
		for _, m := range d.Mean.Value {
			cells = append(cells, number(m))
		}
		cells = append(cells, number(d.Optimum), number(d.Wasted))
		for _, e := range d.Error.Value {
			cells = append(cells, number(e))
		}
		out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// panels are the drawings of a report: over all first.
func panels(r *bench.DataReport) []chart.Panel {
	var out []chart.Panel
	add := func(list []bench.DataResult) {
		for _, d := range list {
			title := cmp.Or(d.Space, "overall")
			if len(out) == 0 || out[len(out)-1].Title != title {
				out = append(out, chart.Panel{Title: title})
			}
			p := &out[len(out)-1]
			p.Curves = append(p.Curves, chart.Curve{Name: d.Strategy, Mean: d.Curve.Mean, Low: d.Curve.Low, High: d.Curve.High})
		}
	}
	if add(r.Overall); len(r.Spaces) > len(r.Overall) {
		add(r.Spaces)
	} else {
		out[0].Title = r.Spaces[0].Space
	}
	return out
}
