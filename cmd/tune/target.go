package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/catalog"
	"tune/kernels/remote"
	"tune/results"
)

// aim has the target of a run open the kernel. With a server of its own the run waits for the target.
func (f *farm) aim(ctx context.Context, r *remoteFlags, run farmed, bring []remote.File, url string) error {
	start := fmt.Sprintf("start it with 'tune worker %s --name %s'", url, plain.ShellWord(run.target))
	if r.listen != "" { // whose line says at which address
		start = "start it with --name " + plain.ShellWord(run.target)
	}
	var found remote.Info
	for said := ""; ; {
		var err error
		found, err = remote.Lookup(ctx, f.nc, run.target)
		unknown, absent := errors.AsType[*remote.UnknownWorkerError](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case absent && r.listen == "" && run.machine == nil:
			return usage(fmt.Errorf("--for: %w: %s", unknown, start))
		case absent && r.listen == "":
			return fmt.Errorf("%s is tuned for worker %s: %w: %s", run.dir, plain.Line(run.target), unknown, start)
		case err != nil && !absent:
			return run.aimed(err)
		}
		if !absent {
			break
		}
		waits := "waiting for worker " + run.target + ": " + start
		if len(unknown.There) > 0 {
			waits += "; others are there: " + strings.Join(unknown.There, ", ")
		}
		if waits != said {
			fmt.Fprintln(f.out, waits)
			said = waits
		}
	}
	if was := run.machine; was != nil && !run.kernel.Info().Exact && was.Fingerprint != found.Fingerprint {
		return fmt.Errorf("%s was measured on %s (fingerprint %s), and worker %s has %s (%s) now: costs of two processors cannot be compared, start a new run", run.dir,
			cmp.Or(was.CPU, "another processor"), was.Fingerprint, plain.Line(run.target), plain.Line(cmp.Or(found.CPU, "an unknown one")), plain.Line(found.Fingerprint))
	}
	f.target = remote.NewTarget(f.nc, found, run.id(), r.lease)
	var err error
	if f.kernel, err = f.target.Open(ctx, run.kernel, run.shape, bring); err != nil {
		return run.aimed(err)
	}
	if f.opened, err = kernels.Open(f.kernel, run.shape); err != nil {
		return run.aimed(err)
	}
	f.since = time.Now()
	return nil
}

// aimed says whose target an error is about.
func (run farmed) aimed(err error) error {
	if run.machine != nil {
		return fmt.Errorf("%s is tuned for worker %s: %w", run.dir, plain.Line(run.target), err)
	}
	return fmt.Errorf("--for: %w", err)
}

// of returns the kernel of a run: that of its target, if it has one.
func (f *farm) of(k kernels.Kernel) kernels.Kernel {
	if f == nil {
		return k
	}
	return f.kernel
}

// in returns a table with the kernel of the target, if there is one.
func (f *farm) in(table kernels.Table) kernels.Table {
	if f == nil || f.target == nil {
		return table
	}
	table = slices.Clone(table)
	for i, k := range table {
		if k.Info().Name == f.kernel.Info().Name {
			table[i] = f.kernel
		}
	}
	return table
}

// began returns when the budget of a run begins to count: where its target had to be found, when that was there.
func (f *farm) began(at time.Time) time.Time {
	if f == nil || f.since.IsZero() {
		return at
	}
	return f.since
}

// machine describes the machine of the target; nil where there is none.
func (f *farm) machine() *results.Machine {
	if f == nil || f.target == nil {
		return nil
	}
	i := f.target.Info()
	text := func(s string) string { return plain.Clip(plain.Line(s), 200) }
	return &results.Machine{OS: text(i.OS), Arch: text(i.Arch), CPU: text(i.CPU), Cores: max(i.Cores, 1), Go: text(i.Go), Fingerprint: text(i.Fingerprint)}
}

// searched is called when the search of a run is over: its final measurement may move to a worker like the target.
func (f *farm) searched() {
	if f != nil && f.target != nil {
		f.target.MayMove(func(text string) { fmt.Fprintln(f.out, text) })
	}
}

// measurer returns what says who makes the final measurement of a run; nil where it has no target.
func (f *farm) measurer() func() (*results.Machine, string) {
	if f == nil || f.target == nil {
		return nil
	}
	return func() (*results.Machine, string) { return f.machine(), f.target.Info().Name }
}

// tunedElsewhere says that a run is tuned for the machine of a worker, and what to do; nil where it is not.
func tunedElsewhere(run *results.Run, do string) error {
	if run.Settings.For == "" {
		return nil
	}
	return fmt.Errorf("%s is tuned for the machine of worker %s: %s", run.Dir, plain.Line(run.Settings.For), do)
}

// measuredElsewhere refuses to measure a run here whose costs are measured on the machine of a worker.
func measuredElsewhere(dir string) error {
	run, err := results.Look(dir)
	if err != nil || !run.Settings.Measured {
		return err
	}
	return tunedElsewhere(run, fmt.Sprintf("'tune measure %s --workers URL' measures its best points there", plain.ShellWord(dir)))
}

// measureFarm connects to the worker whose machine a run is tuned for, to measure there; nil for a run that is measured here. waits says that
// the command line tells how long to wait for a quiet machine.
func (a *app) measureFarm(ctx context.Context, r *remoteFlags, found *catalog.Found, dir string, waits bool, d *display) (*farm, context.Context, error) {
	remotely, err := r.asked()
	if err != nil {
		return nil, ctx, err
	}
	run, err := results.Look(dir)
	switch {
	case err != nil:
		return nil, ctx, err
	case !remotely && !run.Settings.Measured: // what measures says that there is nothing to measure
		return nil, ctx, nil
	case !remotely:
		return nil, ctx, tunedElsewhere(run, "add --workers URL or --listen ADDRESS, where that worker is")
	case run.Settings.For == "":
		return nil, ctx, usage(r.blame(fmt.Errorf("%s is not tuned for a worker, so that this machine measures its best points: leave it out", dir)))
	case waits:
		return nil, ctx, usage(fmt.Errorf("--wait has no effect: whether the machine of worker %s is quiet is not known here: leave it out", plain.Line(run.Settings.For)))
	}
	return a.farmAgain(ctx, r, run, found, d)
}

// mind says when the target has left, and when it is back.
func (f *farm) mind(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for there, seen := false, false; ; {
		select {
		case <-f.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := f.Workers() > 0; now != there {
			switch there = now; {
			case !there:
				fmt.Fprintf(f.out, "worker %s is silent: waiting for it\n", plain.Line(f.job.Only))
			case seen:
				fmt.Fprintf(f.out, "worker %s is back\n", plain.Line(f.job.Only))
			}
			seen = true
		}
	}
}

// adviseTarget says what to do where the worker that a run is tuned for is gone. command goes on with the run in a directory.
func (r *remoteFlags) adviseTarget(command, dir string, err error) error {
	gone, is := errors.AsType[*remote.GoneError](err)
	if !is {
		return err
	}
	where := "--workers " + plain.ShellWord(remote.Redact(r.workers))
	if r.listen != "" {
		where = "--listen " + plain.ShellWord(r.listen)
	}
	return fmt.Errorf("%w: nothing that was measured is lost; start it again, and continue with 'tune %s %s %s'", gone, command, plain.ShellWord(dir), where)
}
