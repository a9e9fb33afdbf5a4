package main

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"tune/search/bench"
)

// measuredFlags are the flags that the comparisons on measured spaces share.
type measuredFlags struct {
	data   []string
	spaces string
	seeds  int
	jobs   int
	asJSON bool
}

// add adds the flags to a command. jobs says what --jobs counts.
func (f *measuredFlags) add(c *cobra.Command, leastSeeds int, jobs string) {
	least := ""
	if leastSeeds > 1 {
		least = fmt.Sprintf(", %d or more", leastSeeds)
	}
	c.Flags().StringArrayVar(&f.data, "data", nil, "`file` of measurements, or folder of such files; may be given several times")
	c.Flags().StringVar(&f.spaces, "spaces", "", "`pattern` of the spaces to use, such as 'gemm*'; separate several by commas")
	c.Flags().IntVar(&f.seeds, "seeds", 20, "`number` of seeds"+least)
	c.Flags().IntVar(&f.jobs, "jobs", 1, "`number` of "+jobs+" at once; it changes no result")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the result as JSON")
}

// check returns the seeds, or what is wrong with the flags.
func (f *measuredFlags) check() ([]uint64, error) {
	if len(f.data) == 0 {
		return nil, errors.New("--data is missing: want files of measurements, or a folder of them")
	}
	return f.checkRest()
}

// checkRest is check for a command that needs no data.
func (f *measuredFlags) checkRest() ([]uint64, error) {
	if err := atLeastOne("jobs", f.jobs); err != nil {
		return nil, err
	}
	if err := checkPatterns(f.spaces); err != nil {
		return nil, err
	}
	return firstSeeds(f.seeds)
}

// checkPatterns checks the flag --spaces.
func checkPatterns(patterns string) error {
	for _, pattern := range strings.Split(patterns, ",") {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("--spaces: %s is not a pattern: %w", pattern, err)
		}
	}
	return nil
}

// onMeasured reads measured spaces, runs a comparison on them, whose progress counts something, and prints its report. more are files and
// folders beside those of the flags.
func onMeasured[R any](a *app, f *measuredFlags, more []string, counts string,
	run func(spaces []bench.DataSpace, observe func(done, total int)) (R, error), show func(R) error) error {
	var spaces []bench.DataSpace
	if files := append(f.data, more...); len(files) > 0 {
		var err error
		if spaces, err = a.readSpaces(files, f.spaces, f.jobs); err != nil {
			return err
		}
	}
	observe, end := a.counter(counts)
	r, err := run(spaces, observe)
	end()
	if err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(a.stdout, r)
	}
	return show(r)
}
