package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tune"
	"tune/internal/cpu"
	"tune/internal/plain"
	"tune/kernels"
	"tune/kernels/catalog"
	"tune/kernels/remote"
	"tune/kernels/remote/natsserver"
	"tune/kernels/user"
	"tune/results"
	"tune/search"
	"tune/space"
)

// loginFlags are the names of the flags of addLogin.
var loginFlags = []string{"token-file", "creds", "nkey", "tls-ca", "tls-cert", "tls-key"}

// addLogin defines the flags by which a command logs in at a NATS server.
func addLogin(flags *pflag.FlagSet) *remote.Login {
	var l remote.Login
	flags.StringVar(&l.TokenFile, "token-file", "", "`file` that holds the token of the NATS server")
	flags.StringVar(&l.Creds, "creds", "", "`file` of NATS credentials, with a JWT and its seed")
	flags.StringVar(&l.NKey, "nkey", "", "`file` with the seed of an nkey")
	flags.StringVar(&l.CA, "tls-ca", "", "`file` with the certificates of authorities to trust (default: the system's)")
	flags.StringVar(&l.Cert, "tls-cert", "", "`file` with the certificate of this side")
	flags.StringVar(&l.Key, "tls-key", "", "`file` with the key of that certificate")
	return &l
}

// byFlags names the flags of addLogin where an error of a login is about one of them, and not about the address.
func byFlags(err error) error {
	_, absent := errors.AsType[*remote.AbsentError](err)
	_, unsafe := errors.AsType[*remote.UnsafeError](err)
	_, unknown := errors.AsType[*net.DNSError](err)
	_, plainly := errors.AsType[*remote.AddressError](err)
	switch {
	case absent || unsafe || unknown || plainly:
		return err
	case errors.Is(err, remote.ErrPair):
		return fmt.Errorf("%w (--tls-cert, --tls-key)", err)
	}
	return fmt.Errorf("%w (--token-file, --creds, --nkey, --tls-ca)", err)
}

// checkLogin refuses a file of a login that is not there or is a folder, by its flag.
func checkLogin(l *remote.Login) error {
	for i, path := range []string{l.TokenFile, l.Creds, l.NKey, l.CA, l.Cert, l.Key} {
		if path == "" {
			continue
		}
		if err := present(path); err != nil {
			return usage(fmt.Errorf("--%s: %w", loginFlags[i], err))
		}
		if err := noFolder(loginFlags[i], path); err != nil {
			return err
		}
	}
	if info, err := os.Stat(l.TokenFile); err != nil || !info.Mode().IsRegular() {
		return nil // there is none, or it is a pipe, which can be read once
	}
	if _, err := remote.ReadToken(l.TokenFile); err != nil {
		return ofFile(fmt.Errorf("--token-file: %w", err))
	}
	return nil
}

// remoteFlags are the flags of a run whose candidates workers evaluate.
type remoteFlags struct {
	login               *remote.Login
	workers, listen, on string
	target              string // the name of a worker; "" for none
	leaseText           string
	lease               time.Duration // of leaseText, once asked has read it
	flags               *pflag.FlagSet
}

// addRemote defines the flags of commands that can use workers.
func addRemote(flags *pflag.FlagSet) *remoteFlags {
	r := &remoteFlags{flags: flags}
	flags.StringVar(&r.workers, "workers", "", "`address` of a NATS server, such as nats://host:4222: the workers that are connected to it evaluate the candidates (see tune help worker)")
	flags.StringVar(&r.listen, "listen", "", "`address` to start a NATS server on, such as :4222, to which workers connect; on a network it needs --token-file")
	flags.StringVar(&r.leaseText, "lease", "10s", "`time` after which the candidates of a silent worker go to others")
	r.login = addLogin(flags)
	return r
}

// addOn defines the flag that chooses among the workers of a search.
func (r *remoteFlags) addOn() *remoteFlags {
	r.flags.StringVar(&r.on, "on", "", "which workers to use: `conditions` such as 'isa=avx512vnni, cpu=*EPYC*, cores=8'; not for a run that --for tunes for one worker")
	return r
}

// addTarget defines the flag by which a run is tuned for the machine of a worker.
func (r *remoteFlags) addTarget() {
	r.flags.StringVar(&r.target, "for", "", "`worker` whose machine the run is tuned for: it opens the kernel, and evaluates, checks, measures and exports; this machine only searches (see tune help worker)")
	keep(r.flags, "for", "worker")
}

// inFlight is how many candidates are with workers at once where --jobs does not say. A strategy asks for fewer at a time.
const inFlight = 1000

// jobsFor is how many candidates are evaluated at once where the user does not say.
func jobsFor(remotely bool) int {
	if remotely {
		return inFlight
	}
	return runtime.NumCPU()
}

// asked reports whether the command line asks for workers, and refuses what has no effect without them.
func (r *remoteFlags) asked() (bool, error) {
	if r.workers != "" && r.listen != "" {
		return false, usage(errors.New("--workers and --listen exclude each other: give one of them"))
	}
	lease, err := parseDuration(r.leaseText)
	if err != nil {
		return false, usage(fmt.Errorf("--lease: %w", err))
	}
	if lease < time.Second || lease > time.Hour {
		return false, usage(fmt.Errorf("--lease: %v: want 1s to 1h", lease))
	}
	if r.lease = lease; r.workers != "" || r.listen != "" {
		login := *r.login
		if login.URL = r.workers; r.workers != "" {
			if err := login.Validate(); err != nil {
				return false, usage(fmt.Errorf("--workers: %w", byFlags(err)))
			}
		}
		if _, err := remote.ParseWants(r.on); err != nil {
			return false, usage(fmt.Errorf("--on: %w", err))
		}
		switch {
		case r.target != "" && r.on != "":
			return false, usage(errors.New("--for and --on exclude each other: --for names the one worker that evaluates, and --on chooses among several: leave one of them out"))
		case r.flags.Changed("for") && (strings.TrimSpace(r.target) != r.target || r.target == ""):
			return false, usage(fmt.Errorf("--for: %q: want the name of a worker, as 'tune workers' lists it", r.target))
		}
		return true, nil
	}
	for _, name := range append([]string{"on", "lease", "for"}, loginFlags...) {
		if r.flags.Changed(name) {
			return false, usage(fmt.Errorf("--%s has no effect without --workers or --listen: leave it out, or give one of them", name))
		}
	}
	return false, nil
}

// farm is the connection of a run to its workers.
type farm struct {
	*remote.Coordinator
	nc     *nats.Conn
	server *natsserver.Server // nil where it is somebody else's
	lost   context.CancelCauseFunc
	stop   chan struct{}

	job    remote.Job
	kernel kernels.Kernel // of the run: that of the target, where it has one
	opened *kernels.Opened
	target *remote.Target // nil where the run has none
	since  time.Time      // when the target had opened the kernel
	pace   func(context.Context) (float64, error)
	out    io.Writer // for what the user should know
}

// farmed is the run of a farm.
type farmed struct {
	kernel     kernels.Kernel
	shape      kernels.Shape
	seed       uint64
	objectives string
	metrics    []string
	dir        string
	created    time.Time
	target     string           // the name of the worker that it is tuned for; "" for none
	machine    *results.Machine // that the target had before; nil for a new run
}

// travels returns the files that travel to workers, and refuses a run that they cannot evaluate.
func (r *remoteFlags) travels(run farmed) (bring []remote.File, err error) {
	info := run.kernel.Info()
	why := remote.Serves(info)
	if why == "" {
		why = remote.ServesShape(info, run.shape)
	}
	if why != "" {
		return nil, usage(r.blame(fmt.Errorf("kernel %s cannot be evaluated by workers: %s", info.Name, why)))
	}
	if own, ok := run.kernel.(*user.Kernel); ok {
		list, err := own.Travel()
		if err != nil {
			return nil, usage(r.blame(err))
		}
		for _, f := range list {
			bring = append(bring, remote.File(f))
		}
	}
	return bring, nil
}

// id identifies the run to workers, now and when it goes on. Two machines with one name, such as copies of an image, may have a run in
// folders of the same path: the time when it was made tells them apart. A target says when that was, so there the machine does.
func (r farmed) id() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	path, err := filepath.Abs(r.dir)
	if err != nil {
		path = r.dir
	}
	apart := r.created.UTC().Format(time.RFC3339Nano)
	if r.target != "" {
		apart = remote.MachineID()
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(host+"\x00"+path+"\x00"+apart)))[:16]
}

// jobOf describes a run to workers. Where it has a target, that is its only worker.
func (a *app) jobOf(ctx context.Context, r *remoteFlags, run farmed, f *farm) remote.Job {
	info := run.kernel.Info()
	goals, err := space.ParseGoals(run.objectives, info.Unit)
	if err != nil {
		goals = nil // what is wrong with them the run says
	}
	own, isOwn := run.kernel.(*user.Kernel)
	job := remote.Job{
		ID: run.id(), Tool: tune.Version(), Kernel: info.Name, Version: info.Version,
		Shape: run.shape.String(), Space: f.opened.Problem.Space().Fingerprint(), CheckSeed: kernels.CheckSeed(run.seed), Metrics: goals.Measures(run.metrics), On: r.on, Lease: r.lease,
		Only: run.target, Joins: run.target == "" && (isOwn || !info.Exact), Timed: !info.Exact,
	}
	switch {
	case !job.Timed:
	case f.target != nil:
		job.Fingerprint = f.target.Info().Fingerprint
	default:
		if job.Fingerprint = cpu.Fingerprint(); !isOwn || !own.Commands() {
			job.Compilers = a.compilers(ctx)
		}
	}
	return job
}

// compilers lists the compilers of this machine, with their versions; nil where there are none.
func (a *app) compilers(ctx context.Context) []string {
	tools, err := a.host.Toolchain(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range tools.Compilers() {
		out = append(out, c.Name+": "+c.Version)
	}
	return out
}

// begin measures what workers are compared with, when the run has its baseline.
func (f *farm) begin(ctx context.Context, s tune.Start) {
	if f == nil || !f.job.Joins {
		return
	}
	point, err := f.opened.Problem.Space().Parse(s.Baseline.Key)
	costs := remote.Costs{Reference: []float64{s.Baseline.Cost}}
	var again func(context.Context) (remote.Costs, error)
	if err == nil && f.job.Timed {
		again = func(ctx context.Context) (remote.Costs, error) {
			return remote.Measure(ctx, &kernels.Evaluator{Problem: f.opened.Problem, CheckSeed: f.job.CheckSeed}, point, true, f.pace)
		}
		costs, err = again(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(f.out, "the run stops, because the baseline, which workers are compared with, fails: %v\n", err)
		}
		f.lost(err)
		return
	}
	f.Measured(point, costs, again)
}

// farmOf connects a run to workers; nil where the command line asks for none. The context ends when the server refuses the connection.
func (a *app) farmOf(ctx context.Context, r *remoteFlags, run farmed, d *display) (*farm, context.Context, error) {
	if asked, err := r.asked(); err != nil || !asked {
		return nil, ctx, err
	}
	bring, err := r.travels(run)
	if err != nil {
		return nil, ctx, err
	}
	f := &farm{stop: make(chan struct{}), kernel: run.kernel, pace: a.host.Pace, out: d, lost: func(error) {}}
	if run.target == "" {
		if f.opened, err = kernels.Open(run.kernel, run.shape); err != nil {
			return nil, ctx, err
		}
	}
	if err := checkLogin(r.login); err != nil {
		return nil, ctx, err
	}
	login := *r.login
	login.URL = r.workers
	if r.listen != "" {
		if f.server, login, err = a.listen(r, d); err != nil {
			return nil, ctx, err
		}
	}
	ctx, f.lost = context.WithCancelCause(ctx)
	restored := make(chan struct{}, 1)
	f.nc, err = login.Connect("tune run "+filepath.Base(run.dir), remote.Events{
		Reached: func() {
			select {
			case restored <- struct{}{}:
			default:
			}
		},
		Lost: func(error) { fmt.Fprintln(d, "the NATS server is gone: waiting for it") },
		Abandoned: func(err error) {
			fmt.Fprintf(d, "the run stops, because the NATS server no longer takes it: %v\n", err)
			f.lost(err)
		},
	})
	if err != nil {
		f.end()
		return nil, ctx, r.blame(err)
	}
	if run.target != "" {
		if err := f.aim(ctx, r, run, bring, remote.Redact(login.URL)); err != nil {
			f.end()
			return nil, ctx, err
		}
	}
	f.job = a.jobOf(ctx, r, run, f)
	f.Coordinator, err = remote.NewCoordinator(ctx, f.nc, f.job, bring, func(text string) { fmt.Fprintln(d, text) })
	if err != nil {
		f.end()
		return nil, ctx, r.blame(err)
	}
	d.workers = f.Workers
	go f.attend(ctx, restored, d, remote.Redact(login.URL)+r.loginHint())
	if f.target != nil {
		go f.mind(ctx)
	}
	return f, ctx, nil
}

// resumeFarm is farmOf for a run that goes on. It also says how many candidates are evaluated at once, where the user does not.
func (a *app) resumeFarm(ctx context.Context, r *remoteFlags, set *settings, found *catalog.Found, dir string, d *display) (*farm, context.Context, error) {
	remotely, err := r.asked()
	if err != nil {
		return nil, ctx, err
	}
	run, err := results.Look(dir)
	if err != nil {
		return nil, ctx, err
	}
	if set.jobs == 0 && (remotely || run.Settings.Jobs == inFlight) { // workers had them
		set.jobs = jobsFor(remotely)
	}
	if !remotely {
		return nil, ctx, tunedElsewhere(run, "add --workers URL or --listen ADDRESS, where that worker is")
	}
	return a.farmAgain(ctx, r, run, found, d)
}

// farmAgain is farmOf for a run that is there.
func (a *app) farmAgain(ctx context.Context, r *remoteFlags, run *results.Run, found *catalog.Found, d *display) (*farm, context.Context, error) {
	if r.on != "" && run.Settings.For != "" {
		return nil, ctx, usage(fmt.Errorf("--on has no effect: %w: leave it out", tunedElsewhere(run, "it evaluates alone")))
	}
	k, err := found.Lookup(run.Settings.Kernel)
	if err != nil {
		return nil, ctx, err
	}
	shape, err := kernels.ParseShape(k.Info().Shape, run.Settings.Shape)
	if err != nil {
		return nil, ctx, err
	}
	return a.farmOf(ctx, r, farmed{
		kernel: k, shape: shape, seed: run.Settings.Seed, objectives: run.Settings.Objectives, metrics: run.Settings.Metrics, dir: run.Dir,
		created: run.Settings.Created, target: run.Settings.For, machine: &run.Settings.Machine,
	}, d)
}

// blame says which flag an error of a connection is about.
func (r *remoteFlags) blame(err error) error {
	if r.listen != "" {
		return fmt.Errorf("--listen: %w", err)
	}
	return fmt.Errorf("--workers: %w", err)
}

// listen starts a server, and returns the login of this run there.
func (a *app) listen(r *remoteFlags, d *display) (*natsserver.Server, remote.Login, error) {
	c := natsserver.Config{Address: r.listen, Cert: r.login.Cert, Key: r.login.Key}
	if r.login.TokenFile != "" {
		token, err := remote.ReadToken(r.login.TokenFile)
		if err != nil {
			return nil, remote.Login{}, fmt.Errorf("--token-file: %w", err)
		}
		c.Token = token
	}
	if err := c.Validate(); err != nil {
		if _, open := errors.AsType[*natsserver.OpenError](err); open {
			err = fmt.Errorf("%w (--token-file)", err)
		}
		return nil, remote.Login{}, usage(fmt.Errorf("--listen: %w", err))
	}
	server, err := natsserver.Start(c)
	if err != nil {
		return nil, remote.Login{}, fmt.Errorf("--listen: %w", err)
	}
	scheme := "nats"
	if c.Cert != "" {
		scheme = "tls"
	}
	host, _, _ := net.SplitHostPort(r.listen)
	port := strconv.Itoa(server.Port())
	shown := cmp.Or(host, "HOST")
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		shown = "HOST"
	}
	how := ""
	if c.Token != "" {
		how = " --token-file FILE"
	}
	if c.Cert != "" {
		how += " --tls-ca FILE"
	}
	fmt.Fprintf(d, "listening: start workers with 'tune worker %s://%s%s'\n", scheme, net.JoinHostPort(shown, port), how)
	login := *r.login
	login.URL, login.Cert, login.Key = scheme+"://"+net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), "", ""
	if shown == "HOST" {
		login.URL = scheme + "://" + net.JoinHostPort("127.0.0.1", port)
	}
	login.CA = cmp.Or(login.CA, c.Cert) // its own certificate
	return server, login, nil
}

// loginHint are the flags by which a worker logs in where this run does.
func (r *remoteFlags) loginHint() (flags string) {
	for _, name := range loginFlags {
		switch {
		case !r.flags.Changed(name) || r.listen != "" && name == "tls-key":
		case r.listen != "" && name == "tls-cert": // the server's
			flags += " --tls-ca FILE"
		default:
			flags += " --" + name + " FILE"
		}
	}
	return flags
}

// mostRefusals is how many workers that refuse a run are named.
const mostRefusals = 3

// unserved says why no worker serves the run, and whether workers refuse it. at is the address, with the flags to log in there.
func (f *farm) unserved(ctx context.Context, at string) (text string, refused bool) {
	found, err := remote.Workers(ctx, f.nc, time.Second)
	if err != nil {
		found = nil // the server is not there
	}
	var refusals []string
	for _, w := range found {
		for _, r := range w.Refuses {
			if r.Run == f.job.ID {
				refusals = append(refusals, fmt.Sprintf("worker %s refuses it: %s", plain.Line(w.Name), plain.Clip(plain.Line(r.Why), 300)))
			}
		}
	}
	switch n := len(refusals); {
	case n > mostRefusals:
		refusals = append(refusals[:mostRefusals], fmt.Sprintf("and %d more", n-mostRefusals))
		fallthrough
	case n > 0:
		return fmt.Sprintf("no worker serves this run yet: %s (see 'tune workers %s')", strings.Join(refusals, "; "), at), true
	}
	return fmt.Sprintf("no worker serves this run yet: start one with 'tune worker %s', and see 'tune workers %s'", at, at), false
}

// attend restores the queue when the server is back, and says when no worker is there.
func (f *farm) attend(ctx context.Context, restored <-chan struct{}, d *display, url string) {
	alone, patient := time.NewTimer(5*time.Second), f.job.Joins // workers have to be compared first
	defer alone.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-ctx.Done():
			return
		case <-restored:
			fmt.Fprintln(d, "the NATS server is back")
			f.Restore(ctx)
		case <-alone.C:
			if f.Workers() > 0 {
				continue
			}
			if text, refused := f.unserved(ctx, url); refused || !patient {
				fmt.Fprintln(d, text)
			} else {
				patient = false
				alone.Reset(time.Minute)
			}
		}
	}
}

// evaluator is what evaluates the candidates of a run: nil stands for this machine.
func (f *farm) evaluator() search.Evaluator {
	if f == nil {
		return nil
	}
	return f.Coordinator
}

// end ends the connection.
func (f *farm) end() {
	if f == nil {
		return
	}
	close(f.stop)
	if f.Coordinator != nil {
		f.Coordinator.Close()
	}
	if f.target != nil {
		f.target.Close()
	}
	if f.nc != nil {
		f.nc.Close()
	}
	if f.server != nil {
		f.server.Close()
	}
	f.lost(nil)
}

func (a *app) workerCommand() *cobra.Command {
	w := &remote.Worker{Tool: tune.Version(), Table: a.table, Pace: a.host.Pace, Machine: remote.MachineID()}
	c := &cobra.Command{
		Use:   "worker URL",
		Short: "Evaluate candidates of runs on other machines",
		Long: `worker evaluates the candidates of runs on other machines until it is stopped. It connects to the NATS server at URL, which may be one
with JetStream that you run, or the one of 'tune run --listen'. Runs and workers find each other there; a worker serves all runs whose
kernel and version it has, several at once too.

--allow names the kernels that this worker evaluates. It generates the candidates of tune's own kernels itself. It runs code that comes
over the wire, a user's kernel with its files, only with --allow-user-code, and names the files first. That code may do everything that the user
who started the worker may do: give the flag only if you trust all who may connect to the server.

Kernels with exact costs, such as treehash, are evaluated on every machine. Kernels whose time is measured are evaluated on machines that
have the processor and the compilers of the run's own, and that measure its baseline as the others do; see docs/distributed.md.

A run can also be tuned for the machine of one worker, which 'tune run --for NAME' names: give that worker a --name. It then opens the
kernel, measures the baseline and the winner, and makes the exported files.

It refuses a server that accepts connections without authentication (a token, users, nkeys or client certificates), unless the address is a
loopback address.

A worker may be stopped or killed at any time. What it had in hand goes to another one, and counts once. docs/distributed.md has the details.`,
		Example: `  tune worker nats://build-host:4222 --token-file token
  tune worker tls://build-host:4222 --tls-ca ca.pem --creds worker.creds --jobs 8
  tune worker nats://127.0.0.1:4222 --allow treehash`,
		Args: exactly(1, "the address of a NATS server"),
	}
	login := addLogin(c.Flags())
	c.Flags().IntVarP(&w.Jobs, "jobs", "j", 0, jobsUsage)
	c.Flags().StringVar(&w.Name, "name", "", "`name` of this worker, which journals keep (default: the host's name and the process)")
	allow := c.Flags().StringSlice("allow", nil, "`kernels` that this worker evaluates, with commas (default: all that can be)")
	code := c.Flags().Bool("allow-user-code", false, "evaluate kernels of users too, whose files come over the wire and run with your rights")
	quiet := c.Flags().BoolP("quiet", "q", false, "say nothing of runs that begin and end")
	c.RunE = func(c *cobra.Command, args []string) error {
		if w.Jobs < 0 || w.Jobs > inFlight || w.Jobs == 0 && c.Flags().Changed("jobs") {
			return usage(fmt.Errorf("--jobs: %d: want 1 to %d", w.Jobs, inFlight))
		}
		for _, name := range *allow {
			_, err := a.table.Lookup(name)
			if err != nil && *code {
				continue // it is a user's
			}
			if err != nil {
				return usage(fmt.Errorf("--allow: %w; for a kernel of a user's add --allow-user-code", err))
			}
		}
		if w.Allow = *allow; *code {
			w.User = a.userKernel
		}
		if strings.TrimSpace(w.Name) != w.Name || len(w.Name) > 100 || plain.Line(w.Name) != w.Name {
			return usage(fmt.Errorf("--name: %q: want at most 100 printable characters", w.Name))
		}
		say := func(text string) {
			if !*quiet {
				fmt.Fprintln(a.stderr, text)
			}
		}
		w.Note = say
		login.URL = args[0]
		if err := login.Validate(); err != nil {
			return usage(fmt.Errorf("tune worker: %w", byFlags(err)))
		}
		if err := checkLogin(login); err != nil {
			return err
		}
		w.Compilers, w.Roofs = a.compilers(c.Context()), a.host.KeptRoofs(c.Context()).Roofs
		return a.runWorker(c.Context(), w, *login, say)
	}
	return c
}

// userKernel loads a user's kernel that came over the wire.
func (a *app) userKernel(path string) (kernels.Kernel, func() error, error) {
	k, err := user.Load(path)
	if err != nil {
		return nil, nil, err
	}
	return k.On(a.host), k.Close, nil
}

// runWorker connects a worker, and lets it work until it is stopped.
func (a *app) runWorker(ctx context.Context, w *remote.Worker, login remote.Login, say func(string)) error {
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	on := remote.Events{
		Lost:      func(error) { say("the NATS server is gone: waiting for it") },
		Reached:   func() { say("the NATS server is back") },
		Abandoned: abandon,
	}
	nc, err := login.Connect("tune worker", on)
	for said := false; ctx.Err() == nil; said = true {
		absent, ok := errors.AsType[*remote.AbsentError](err)
		if !ok {
			break
		}
		if !said {
			say(absent.URL + " does not answer: waiting for it")
		}
		select { // the run that has the server may begin later
		case <-ctx.Done():
		case <-time.After(time.Second):
			nc, err = login.Connect("tune worker", on)
		}
	}
	if ctx.Err() != nil && nc == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tune worker: %w", byFlags(err))
	}
	say(fmt.Sprintf("connected to %s: waiting for runs", remote.Redact(login.URL)))
	err = w.Serve(ctx, nc)
	why := context.Cause(ctx)
	_ = nc.FlushTimeout(time.Second) // what is given back
	nc.Close()
	if err == nil && why != nil && !errors.Is(why, context.Canceled) {
		return fmt.Errorf("--token-file, --creds or --nkey is no longer accepted: %w", why)
	}
	return err
}

func (a *app) workersCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "workers URL",
		Short: "List the workers at a NATS server",
		Long: `workers asks which workers are connected to the NATS server at URL, and lists what each is: processor, cores, the load of its machine, how
many of its jobs are at work, the kernels that it evaluates, the roofs of one core if 'tune machine' has measured them there, and the runs that it
refuses, with the reason.`,
		Example: "  tune workers nats://build-host:4222 --token-file token\n  tune workers nats://127.0.0.1:4222 --json",
		Args:    exactly(1, "the address of a NATS server"),
	}
	login := addLogin(c.Flags())
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	wait := c.Flags().String("wait", "1s", "`time` to wait for answers")
	c.RunE = func(c *cobra.Command, args []string) error {
		patience, err := parseDuration(*wait)
		if err != nil {
			return usage(fmt.Errorf("--wait: %w", err))
		}
		login.URL = args[0]
		if err := login.Validate(); err != nil {
			return usage(fmt.Errorf("tune workers: %w", byFlags(err)))
		}
		if err := checkLogin(login); err != nil {
			return err
		}
		nc, err := login.Connect("tune workers", remote.Events{})
		if err != nil {
			return fmt.Errorf("tune workers: %w", byFlags(err))
		}
		defer nc.Close()
		found, err := remote.Workers(c.Context(), nc, patience)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(a.stdout, found)
		}
		if len(found) == 0 {
			_, err := fmt.Fprintf(a.stdout, "no workers: start one with 'tune worker %s'\n", remote.Redact(login.URL))
			return err
		}
		return a.printWorkers(found)
	}
	return c
}

// kernelNames lists what a worker evaluates.
func kernelNames(i remote.Info) (names []string) {
	for _, k := range i.Kernels {
		names = append(names, k.Name)
	}
	if i.UserCode {
		names = append(names, "those of users")
	}
	return names
}

func (a *app) printWorkers(found []remote.Info) error {
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKER\tBUSY\tEVALUATED\tLOAD\tCORES\tPROCESSOR\tKERNELS")
	for _, w := range found {
		fmt.Fprintf(t, "%s\t%d of %d\t%s\t%.1f\t%d\t%s, %s\t%s\n", plain.Line(w.Name), w.Busy, w.Jobs, plain.Number(float64(w.Evaluated)), w.Load, w.Cores,
			plain.Line(cmp.Or(w.CPU, "unknown")), plain.Line(w.Arch), plain.Line(strings.Join(kernelNames(w), ", ")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, w := range found {
		for _, line := range roofLines(w.Roofs) {
			fmt.Fprintf(a.stdout, "%s, %s of one core: %s\n", plain.Line(w.Name), line[0], plain.Line(line[1]))
		}
		for _, r := range w.Refuses {
			fmt.Fprintf(a.stdout, "%s refuses a run of %s: %s\n", plain.Line(w.Name), plain.Line(r.Kernel), plain.Line(r.Why))
		}
	}
	return nil
}
