package main

import (
	"strings"

	"github.com/spf13/cobra"

	"tune/kernels"
	"tune/kernels/recorded"
	"tune/kernels/user"
	"tune/space"
)

// checkSettings examines a file of settings: each of them, and the kernel and the shape that they name.
func (a *app) checkSettings(c *cobra.Command, path string) (*checkReport, error) {
	set, err := readSettings(c.Flags(), configPath(path), a.environ)
	if err != nil {
		return nil, usage(err)
	}
	if err := a.adoptData(&set, false); err != nil {
		return nil, err
	}
	k, err := a.catalog(false).Lookup(set.kernel)
	if err != nil {
		return nil, set.blame("kernel", fileOfKernel(set.kernel, err))
	}
	report := &checkReport{OK: true, Faults: []checkFault{}, Warnings: []checkFault{}, Kernel: set.kernel}
	for _, key := range settingKeys() {
		if strings.HasPrefix(set.from[key], path+":") {
			report.Settings = append(report.Settings, key+"="+set.texts[key])
		}
	}
	if set.from["kernel"] == "" && set.kernel != recorded.Name {
		// Which kernel the shape and the target are of is known when something is run.
		report.Kernel = ""
		return report, nil
	}
	shape, err := kernels.ParseShape(k.Info().Shape, set.shape)
	if err != nil {
		return nil, set.blame("shape", err)
	}
	if _, err := set.budgetIn(space.Unit(k.Info().Unit)); err != nil {
		return nil, err
	}
	report.Shape = shape.String()
	return report, nil
}

// checkFound examines the files of settings that a run of a kernel's file reads too.
func (a *app) checkFound() error {
	looked, err := lookForFiles(a.environ)
	if err != nil {
		return err
	}
	for _, f := range looked {
		if !f.Read || user.IsKernel(f.data) {
			continue
		}
		l, err := newLayer(f.Path, f.data)
		if err != nil {
			return usage(err)
		}
		set := settings{from: l.places}
		for _, s := range settingTable {
			if value, ok := l.values[s.key].(string); ok {
				if err := s.parse(&set, value); err != nil {
					return set.blame(s.key, err)
				}
			}
		}
	}
	return nil
}
