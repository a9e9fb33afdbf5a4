package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tune"
	"tune/internal/plain"
	"tune/results"
	"tune/space"
)

func (a *app) measureCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "measure DIR",
		Short: "Measure the best points of a run again, when the machine is quiet",
		Long: `measure repeats the final measurement of a run: the best points of the search are measured in turns with the baseline,
a second series confirms the winner, and best.json and its files are replaced by the result.

First it waits for the machine to be quiet, for at most --wait. If the machine stays busy, nothing is measured and the schedule
stays as it is. --wait 0 measures at once, whatever else runs. A verified verdict is never replaced by an unverified one.

A run that is tuned for the machine of a worker (tune run --for) is measured there: that needs --workers or --listen, finds the worker by
its name, and waits for nothing. The best points of any other run are measured here, also where workers evaluated its candidates.

It searches nothing, and the journal of the run does not change. Kernels with exact costs have nothing to measure.` + aboutConsent,
		Example: `  tune measure runs/gemm-f32-20260102-150405-1
  tune measure runs/gemm-f32-20260102-150405-1 --wait 8h --limit 5m
  tune measure runs/mine-20260102-150405-1 --wait 0 --json
  tune measure runs/away-20260102-150405-1 --workers nats://host:4222`,
		Args: exactly(1, "the directory of a run"),
	}
	wait := c.Flags().String("wait", "10m", "how long to wait for a quiet machine, a `time` with a unit; 0 does not wait")
	limit := c.Flags().String("limit", "1m", "roughly how long the measurement may take, a `time` with a unit")
	yes := addYes(c)
	workers := addRemote(c.Flags())
	asJSON, quiet := a.outputFlags(c)
	show := showFlag(c)
	addDB(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		o := tune.MeasureOptions{}
		set, err := readSettings(c.Flags(), "", a.environ)
		if err != nil {
			return usage(err)
		}
		indexed, err := a.indexPath(c.Flags(), set)
		if err != nil {
			return err
		}
		if o.Wait, err = patience("wait", *wait, true); err != nil {
			return err
		}
		if o.Limit, err = patience("limit", *limit, false); err != nil {
			return err
		}
		dir, found, err := a.runAt(args[0], *yes, true, "tune.Measure")
		if err != nil {
			return err
		}
		defer a.end(found)
		if *show {
			if err := showOutput(found.Own(), "the kernel of "+dir, aboveLine{a}); err != nil {
				return err
			}
		}
		farm, ctx, err := a.measureFarm(c.Context(), workers, found, dir, c.Flags().Changed("wait"), a.watch(*quiet))
		if err != nil {
			return err
		}
		if farm != nil {
			o.Wait, o.Machine = 0, farm.machine()
		}
		d := newNotice(a, *quiet)
		o.Waiting = d.waiting
		o.Measuring = d.measuring
		report, err := tune.Measure(ctx, farm.in(found.Table), dir, o)
		farm.end()
		d.end()
		if err == nil {
			a.remember(c.Context(), indexed, dir, report)
		}
		return a.finishMeasure(dir, report, workers.adviseTarget("measure", dir, err), *asJSON)
	}
	return c
}

// finishMeasure prints what a measurement came to, and turns it into an exit code.
func (a *app) finishMeasure(dir string, report *tune.Report, err error, asJSON bool) error {
	if report != nil && report.Schedule != nil {
		if asJSON {
			werr := printJSON(a.stdout, struct {
				Dir      string            `json:"dir"`
				Replaced bool              `json:"replaced"` // whether best.json is that of this measurement
				Refused  []tune.Refusal    `json:"refused,omitempty"`
				Schedule *results.Schedule `json:"schedule"`
			}{dir, err == nil, report.Refused, report.Schedule})
			err = errors.Join(err, werr)
		} else {
			a.printSchedule(report)
		}
	}
	busy, isBusy := errors.AsType[*tune.BusyError](err)
	inUse, isUsed := errors.AsType[*results.InUseError](err)
	switch {
	case isBusy:
		return fmt.Errorf("%w: try a longer --wait, or --wait 0 to measure at once", busy)
	case isUsed:
		return fmt.Errorf("%w: wait for it, or stop it", inUse)
	case errors.Is(err, tune.ErrNoValid):
		if none := withoutResult(dir); none != nil {
			return none
		}
		return &exitError{exitNoValid, err}
	case err != nil:
		return adviseSetup(dir, err)
	case report.Schedule.Verdict == space.Unverified && report.Schedule.By != "":
		return fmt.Errorf("the measurement could not be verified: repeat it when the machine of worker %s is quiet, or give it more time by --limit", plain.Line(report.Schedule.By))
	case report.Schedule.Verdict == space.Unverified:
		return fmt.Errorf("the measurement could not be verified: repeat it on a quiet machine with 'tune measure %s --wait TIME', or give it more time by --limit", plain.ShellWord(dir))
	}
	return nil
}

// patience reads the time of a flag.
func patience(flag, text string, zero bool) (time.Duration, error) {
	if text == "0" && zero {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d == 0 && !zero {
		return 0, usage(fmt.Errorf("--%s: %s is not a time: want one with a unit, such as 90s, 10m or 2h", flag, quoted(text)))
	}
	return d, nil
}
