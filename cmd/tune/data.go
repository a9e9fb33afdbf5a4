package main

import (
	"errors"
	"fmt"
	"slices"

	"tune/kernels/recorded"
)

// adoptData puts the kernel of a data file into the table, where the settings name one. A data file alone stands for
// the kernel too; named says that the command line names one.
func (a *app) adoptData(set *settings, named bool) error {
	switch {
	case set.data == "" && set.kernel == recorded.Name:
		return usage(errors.New("the kernel recorded needs a file of measurements: give one by --data FILE"))
	case set.data == "":
		return nil
	case !named && set.from["kernel"] == "":
		set.kernel = recorded.Name
	case set.kernel != recorded.Name:
		return set.blame("data", fmt.Errorf("kernel %s does not take measurements: they are for %s", set.kernel, recorded.Name))
	}
	if err := noData(set.data); err != nil {
		return set.blame("data", err)
	}
	k, err := recorded.Load(set.data)
	if err != nil {
		return err
	}
	a.table = append(slices.Clone(a.table), k)
	return nil
}
