package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tune/internal/plain"
	"tune/kernels/remote"
	"tune/results/report"
)

const (
	lookEvery = 2 * time.Second        // at workers
	lookFor   = 500 * time.Millisecond // while they answer
)

// watchWorkers returns what lists the workers at a NATS server, nil for no address, and what ends it.
func (a *app) watchWorkers(c *cobra.Command, address string, login *remote.Login) (list func() ([]report.Worker, string), done func(), err error) {
	if address == "" {
		for _, name := range loginFlags {
			if c.Flags().Changed(name) {
				return nil, nil, usage(fmt.Errorf("--%s has no effect without --workers: leave it out, or give both", name))
			}
		}
		return nil, func() {}, nil
	}
	login.URL = address
	if err := login.Validate(); err != nil {
		return nil, nil, usage(fmt.Errorf("--workers: %w", byFlags(err)))
	}
	if err := checkLogin(login); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(c.Context())
	w := &watchedWorkers{problem: "not asked yet"}
	var all sync.WaitGroup
	all.Go(func() { w.watch(ctx, *login) })
	return w.now, func() { cancel(); all.Wait() }, nil
}

// watchedWorkers are the workers at a server, as they were a moment ago.
type watchedWorkers struct {
	mu      sync.Mutex
	list    []report.Worker
	problem string
}

func (w *watchedWorkers) now() ([]report.Worker, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list, w.problem
}

func (w *watchedWorkers) set(list []report.Worker, problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.problem = list, problem
}

// watch asks for the workers again and again. The server may come later, go, and come back.
func (w *watchedWorkers) watch(ctx context.Context, login remote.Login) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := w.ask(ctx, login, tick.C); ctx.Err() == nil && err != nil {
			w.set(nil, err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask asks for the workers until the connection is lost.
func (w *watchedWorkers) ask(ctx context.Context, login remote.Login, tick <-chan time.Time) error {
	nc, err := login.Connect("tune serve", remote.Events{})
	if err != nil {
		return err
	}
	defer nc.Close()
	for ctx.Err() == nil {
		if !nc.IsConnected() {
			return errors.New(remote.Redact(login.URL) + " does not answer any more: is a NATS server there?")
		}
		found, err := remote.Workers(ctx, nc, lookFor)
		if err != nil {
			return err
		}
		var list []report.Worker
		for _, i := range found {
			list = append(list, workerRow(i))
		}
		w.set(list, "")
		select {
		case <-ctx.Done():
		case <-tick:
		}
	}
	return nil
}

// workerRow is a worker as a page shows it.
func workerRow(i remote.Info) report.Worker {
	row := report.Worker{
		Name: i.Name, Machine: fmt.Sprintf("%s, %s, %s", cmp.Or(i.CPU, "unknown processor"), i.Arch, plain.Count(i.Cores, "core")), Kernels: strings.Join(kernelNames(i), ", "),
		Busy: i.Busy, Jobs: i.Jobs, Evaluated: i.Evaluated, Load: i.Load,
	}
	for _, r := range i.Refuses {
		row.Aside = append(row.Aside, r.Kernel+": "+r.Why)
	}
	return row
}
