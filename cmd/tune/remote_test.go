package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tune/kernels/native"
	"tune/kernels/remote"
	"tune/kernels/remote/natsserver"
	"tune/results"
)

// process is one that runs until it is ended.
type process struct {
	*exec.Cmd
	out said
}

// said is what a process has printed so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed when there is more; nil where nobody waits
}

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
	return s.text.Write(p)
}

// String returns all of it.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the process has printed one of the texts.
func (s *said) await(t *testing.T, want ...string) {
	t.Helper()
	patience := time.After(2 * time.Minute)
	for {
		s.mu.Lock()
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more, text := s.more, s.text.String()
		s.mu.Unlock()
		if slices.ContainsFunc(want, func(w string) bool { return strings.Contains(text, w) }) {
			return
		}
		select {
		case <-more:
		case <-patience:
			t.Fatalf("%q is not printed:\n%s", want, text)
		}
	}
}

// interrupt sends a process what Ctrl-C does, and waits for its end.
func (s *process) interrupt(t *testing.T) (code int) {
	t.Helper()
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = s.Process.Kill() })
	defer late.Stop()
	return exitCode(s.Wait())
}

// startTune starts tune as a process that goes on.
func startTune(t *testing.T, args ...string) *process {
	t.Helper()
	s := &process{Cmd: exec.Command("tune", args...)}
	s.Stdout, s.Stderr = &s.out, &s.out
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func (s *process) kill() {
	_ = s.Process.Kill()
	_ = s.Wait()
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// TestWorkers: a run gives byte for byte the same outcomes for any number of jobs and of workers, and however often its workers, its
// coordinator and the NATS server are killed. No outcome is lost, and none counts twice.
func TestWorkers(t *testing.T) {
	t.Parallel()
	root, evals := t.TempDir(), "500"
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "treehash", "--shape", small, "--evals", evals, "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	csv := func(dir string) string { return tuneOK(t, "export", dir, "--format", "csv") }
	local := filepath.Join(root, "local")
	tuneOK(t, args(local, "--jobs", "1")...)
	want := csv(local)
	for _, jobs := range []string{"2", "8"} {
		dir := filepath.Join(root, "jobs"+jobs)
		if tuneOK(t, args(dir, "--jobs", jobs)...); csv(dir) != want {
			t.Errorf("other outcomes with %s jobs", jobs)
		}
	}
	for _, workers := range fleets {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			url, dir := "nats://127.0.0.1:"+freePort(t), filepath.Join(root, fmt.Sprint("workers", workers))
			for range workers {
				startTune(t, "worker", url, "--jobs", "2")
			}
			if tuneOK(t, args(dir, "--listen", strings.TrimPrefix(url, "nats://"))...); csv(dir) != want {
				t.Errorf("other outcomes with %d workers", workers)
			}
		})
	}
	t.Run("kills", func(t *testing.T) {
		killed := 0
		for run := 0; run < killRuns || killed < leastKills; run++ {
			killed += killWorkers(t, rand.New(rand.NewPCG(uint64(run), 1)), nil, run%3 == 1, func(dir string, more ...string) []string { return args(dir, more...) }, want)
		}
		t.Logf("%d kills", killed)
	})
}

// TestRunsApart: workers know a run again when it goes on, and tell it from another run in a folder of the same path on a machine of the
// same name, which they may serve at the same time.
func TestRunsApart(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(natsserver.Config{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, dir := fmt.Sprintf("nats://127.0.0.1:%d", server.Port()), filepath.Join(t.TempDir(), "run")
	nc, err := remote.Login{URL: url}.Connect("test", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	announced := func(args ...string) string {
		heard, err := nc.SubscribeSync("tune.v1.run")
		if err != nil {
			t.Fatal(err)
		}
		defer heard.Unsubscribe()
		run := startTune(t, append(args, "--workers", url)...)
		run.out.await(t, "baseline: ")
		m, err := heard.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var job remote.Job
		if err := json.Unmarshal(m.Data, &job); err != nil {
			t.Fatal(err)
		}
		run.kill()
		return job.ID
	}
	first := announced("run", "treehash", "--shape", small, "--evals", "10", "--no-db", "--dir", dir)
	if again := announced("resume", dir); again != first {
		t.Errorf("the run is %s, and when it goes on %s", first, again)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if other := announced("run", "treehash", "--shape", small, "--evals", "10", "--no-db", "--dir", dir); other == first {
		t.Errorf("two runs are %s", first)
	}
}

// TestUnserved: a run that all workers refuse says why, and how to log in where they are.
func TestUnserved(t *testing.T) {
	t.Parallel()
	address, token := "127.0.0.1:"+freePort(t), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	startTune(t, "worker", "nats://"+address, "--token-file", token, "--name", "ada")
	for want, args := range map[string][]string{
		"worker ada refuses it: the run wants cpu=*Nobody* (see 'tune workers nats://" + address + " --token-file FILE')": {"treehash", "--on", "cpu=*Nobody*"},
		"worker ada refuses it: it is the code of a user, which its owner does not allow":                                 {ownKernel(t)},
	} {
		run := startTune(t, append([]string{"run", "--evals", "5", "--dir", filepath.Join(t.TempDir(), "run"), "--no-db", "--listen", address, "--token-file", token}, args...)...)
		run.out.await(t, "no worker serves this run yet: "+want)
		run.kill()
		_ = run.Wait()
	}
}

// ownKernel writes a kernel of commands whose cost is exact, with the files that it needs, and returns the path of its file. Some of its
// points fail.
func ownKernel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"own.yaml": `kernel: {name: own}
space: {parameters: [{name: x, type: int, from: 0, to: 31}, {name: y, type: int, from: 0, to: 31}]}
command:
  files: [cost.sh, data/offset]
  run: [sh, cost.sh, "{{x}}", "{{y}}"]
  check: 'test {{x}} != 13'
  metric: {exact: true}
`,
		"cost.sh":     "read -r offset < data/offset\ntest $(($1 % 7)) != 5 || { echo \"no $1\" >&2; exit 3; }\necho $((($1 - offset) * ($1 - offset) + ($2 - 3) * ($2 - 3)))\n",
		"data/offset": "11\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "own.yaml")
}

// awaitWorkers waits until the list of workers, as 'tune workers' prints it, has some texts. It asks again and again, and starts no process for
// that: it would take time from those that it waits for.
func awaitWorkers(t *testing.T, url string, want ...string) {
	t.Helper()
	nc, err := remote.Login{URL: url}.Connect("test", remote.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	var list bytes.Buffer
	a := &app{stdout: &list}
	for began := time.Now(); time.Since(began) < 2*time.Minute; {
		found, err := remote.Workers(t.Context(), nc, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		list.Reset()
		if err := a.printWorkers(found); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(list.String(), text) }) {
			return
		}
		if len(found) == 0 {
			time.Sleep(20 * time.Millisecond) // the server says at once that nobody is there
		}
	}
	t.Fatalf("the list of workers lacks one of %q:\n%s", want, &list)
}

// TestOwnKernelTravels: a kernel of commands gives the same outcomes on workers, which get its files, as on one machine. A worker runs it
// only where its owner says so.
func TestOwnKernelTravels(t *testing.T) {
	root, own := t.TempDir(), ownKernel(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", own, "--evals", "60", "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local, dir := filepath.Join(root, "local"), filepath.Join(root, "workers")
	tuneOK(t, args(local)...)
	want := csv500(t, local)
	if !strings.Contains(want, "crashed") || !strings.Contains(want, "wrong answer") || !strings.Contains(want, "no 5") {
		t.Fatal(want)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	address := "127.0.0.1:" + freePort(t)
	server, err := natsserver.Start(natsserver.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url := "nats://" + address
	strict := startTune(t, "worker", url, "--name", "strict")
	other := startTune(t, "worker", url, "--name", "other", "--allow", "treehash,theirs", "--allow-user-code")
	run := startTune(t, args(dir, "--workers", url)...)
	awaitWorkers(t, url, "strict refuses a run of own: it is the code of a user, which its owner does not allow: tune worker --allow-user-code",
		"other refuses a run of own: its owner does not allow it")
	workers := []*process{
		startTune(t, "worker", url, "--name", "ada", "--allow-user-code", "--jobs", "1"),
		startTune(t, "worker", url, "--name", "bob", "--allow-user-code", "--allow", "own", "--jobs", "1"),
	}
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &run.out)
	}
	if got := csv500(t, dir); got != want {
		t.Errorf("other outcomes than on one machine:\n%s\nwant\n%s", got, want)
	}
	tuneOK(t, "verify", dir)
	for _, w := range append(workers, strict, other) {
		if err := w.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := w.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &w.out)
		}
	}
	server.Close()
	if left, err := filepath.Glob(filepath.Join(temp, "tune-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, w := range workers {
		if text := w.out.String(); !strings.Contains(text, "own: the code of a user: 3 files, ") || !strings.Contains(text, "cost.sh (") || !strings.Contains(text, "own: serving") {
			t.Error(text)
		}
	}
}

// TestOwnKernelKilled: a kernel of commands gives the same outcomes also where workers, coordinator and server are killed.
func TestOwnKernelKilled(t *testing.T) {
	t.Parallel()
	root, own := t.TempDir(), ownKernel(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", own, "--evals", ownEvals, "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local := filepath.Join(root, "local")
	tuneOK(t, args(local)...)
	environ := []string{"TMPDIR=" + t.TempDir()} // what is killed leaves files
	killWorkers(t, rand.New(rand.NewPCG(1, 2)), environ, false, args, csv500(t, local))
}

// TestTimedWorkers: where the time of candidates is measured, one worker of a machine measures them, and when it is killed another one
// takes its place. The coordinator makes the final measurement.
func TestTimedWorkers(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || testing.Short() {
		t.Skip("needs gcc, and measures one candidate after the other")
	}
	t.Parallel()
	address, dir := "127.0.0.1:"+freePort(t), filepath.Join(t.TempDir(), "run")
	server, err := natsserver.Start(natsserver.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url := "nats://" + address
	const evals = 3
	run := startTune(t, "run", "elementwise-f32", "--shape", "n=4096", "--evals", strconv.Itoa(evals), "--final", "20ms", "--seed", "1", "--dir", dir, "--no-db", "--workers", url, "--lease", "1s")
	workers := map[string]*process{}
	for _, name := range []string{"ada", "bob"} {
		workers[name] = startTune(t, "worker", url, "--name", name)
	}
	run.out.await(t, " measures on the same machine, and two at once would disturb each other")
	var by map[string]int
	for began := time.Now(); len(by) == 0; by = measuredBy(t, dir) { // a worker may be set aside for a while, where the machine does other work too
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("nothing is measured\n%s%s%s", &run.out, &workers["ada"].out, &workers["bob"].out)
		}
		time.Sleep(5 * time.Millisecond)
	}
	for serving := range by {
		workers[serving].kill()
	}
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &run.out)
	}
	if by = measuredBy(t, dir); by["ada"]+by["bob"] != evals || len(by) != 2 {
		t.Errorf("measured by %v\n%s", by, &run.out)
	}
	tuneOK(t, "verify", dir)
}

// measuredBy counts the outcomes in the journal of a run by the worker that measured them.
func measuredBy(t *testing.T, dir string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, results.JournalName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	by := map[string]int{}
	for _, m := range regexp.MustCompile(`"by":"([^"]*)"`).FindAllStringSubmatch(string(data), -1) {
		by[m[1]]++
	}
	return by
}

// TestOwnKernelStays: what cannot travel is refused before the run, with what to do.
func TestOwnKernelStays(t *testing.T) {
	for text, want := range map[string]string{
		"command: {run: 'echo {{x}}', metric: {exact: true}}":                                  "list the files that they need in ",
		"command: {files: [../outside.sh], run: 'sh outside.sh {{x}}', metric: {exact: true}}": "its file ../outside.sh is outside of the folder of ",
	} {
		dir := filepath.Join(t.TempDir(), "kernel")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"k.yaml": "space: {parameters: [{name: x, type: int, from: 0, to: 3}]}\n" + text + "\n", "../outside.sh": "echo $1\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command("tune", "run", filepath.Join(dir, "k.yaml"), "--evals", "3", "--dir", filepath.Join(dir, "run"), "--listen", "127.0.0.1:0").CombinedOutput()
		if exitCode(err) != exitUsage || !strings.Contains(string(out), "--listen: kernel k cannot travel: ") || !strings.Contains(string(out), want) {
			t.Errorf("%v\n%s", err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
			t.Error("a directory is left")
		}
	}
}

// killWorkers carries out a run whose workers, coordinator and NATS server are killed in turns. environ are variables of these processes. With
// listens, the server is a part of the coordinator. It returns how many processes it killed.
func killWorkers(t *testing.T, r *rand.Rand, environ []string, listens bool, args func(dir string, more ...string) []string, want string) int {
	server := &killedServer{t: t, address: "127.0.0.1:" + freePort(t), folder: t.TempDir()}
	url, dir := "nats://"+server.address, filepath.Join(t.TempDir(), "run")
	remote := []string{"--workers", url, "--lease", "1s"}
	if listens {
		remote = []string{"--listen", server.address, "--lease", "1s"}
	} else {
		server.begin()
	}
	workers := make([]*process, 3)
	for i := range workers {
		workers[i] = startWith(t, environ, "worker", url, "--jobs", "1", "--allow-user-code")
	}
	kills := map[string]int{}
	for sitting := 0; ; sitting++ {
		command := append([]string{"resume", dir, "-q", "--no-db"}, remote...)
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err != nil {
			command = args(dir, remote...)
		}
		coordinator := startWith(t, environ, command...)
		ended := make(chan error, 1)
		go func() { ended <- coordinator.Wait() }()
		without := false // whether there was no server for a moment
		for over := false; !over; {
			select {
			case err := <-ended:
				if err == nil {
					survived(t, dir, want, kills)
					t.Logf("%d sittings, killed %v", sitting+1, kills)
					return kills["worker"] + kills["coordinator"] + kills[keptServer] + kills[emptyServer]
				}
				unserved := without && strings.Contains(coordinator.out.String(), "tune: --workers: ") // it began while there was no server
				if coordinator.ProcessState.ExitCode() >= 0 && !unserved {
					t.Fatalf("sitting %d: %v\n%s", sitting, err, &coordinator.out)
				}
				over = true // killed
			case <-time.After(time.Duration(100+r.IntN(300)) * time.Millisecond):
				what := r.IntN(10)
				switch n := kills[keptServer] + kills[emptyServer]; {
				case !listens && (n < 2 || what == 7 && n < mostKills): // with its storage, and then without
					kills[server.kill(n%2 == 0)]++
					without = true
				case what < 8 && kills["worker"] < mostWorkers:
					kills["worker"]++
					i := r.IntN(len(workers))
					workers[i].kill()
					workers[i] = startWith(t, environ, "worker", url, "--jobs", "1", "--allow-user-code")
				case kills["coordinator"] < mostKills:
					kills["coordinator"]++
					_ = coordinator.Process.Kill()
				}
			}
		}
	}
}

// survived compares a run whose processes were killed with what it had to be.
func survived(t *testing.T, dir, want string, kills map[string]int) {
	t.Helper()
	if got := csv500(t, dir); got != want {
		t.Errorf("killed %v: other outcomes:\n%.1500s\nwant\n%.1500s", kills, got, want)
	}
	trials := strings.Count(want, "\n") - 1
	if n := tuneOK(t, "replay", dir); n != fmt.Sprintf("%d of %d trials agree\n", trials, trials) {
		t.Error(n)
	}
}

// What is killed of a NATS server.
const (
	keptServer  = "server with its storage kept"
	emptyServer = "server with its storage lost"
)

// killedServer is a NATS server in a process of its own, as users have one.
type killedServer struct {
	t               *testing.T
	address, folder string // folder is that of its storage
	*process
}

// begin starts the server, and waits until it answers.
func (s *killedServer) begin() {
	s.t.Helper()
	s.process = &process{Cmd: exec.Command(natsServer, s.address, s.folder)}
	s.Stdout, s.Stderr = &s.out, &s.out
	if err := s.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.process.kill)
	for range 1000 {
		if c, err := net.Dial("tcp", s.address); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("the NATS server does not answer\n%s", &s.out)
}

// kill ends the server by kill -9, and starts it again: with what it has stored, or with nothing.
func (s *killedServer) kill(keep bool) (what string) {
	s.t.Helper()
	s.process.kill()
	what = keptServer
	if !keep {
		what = emptyServer
		if err := os.RemoveAll(s.folder); err != nil {
			s.t.Fatal(err)
		}
	}
	s.begin()
	return what
}

// natsServer is the name of a program that is a NATS server with JetStream. Its arguments are an address and the folder of its storage.
const natsServer = "nats-server"

// serveNATS is that program.
func serveNATS() {
	host, text, err := net.SplitHostPort(os.Args[1])
	if err != nil {
		panic(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: os.Args[2], NoSigs: true, NoLog: true})
	if err != nil {
		panic(err)
	}
	s.Start() // which ends the process where it cannot listen
	s.WaitForShutdown()
}

func csv500(t *testing.T, dir string) string { return tuneOK(t, "export", dir, "--format", "csv") }

// TestStoppedWorker: a worker that is stopped gives back what it has in hand, and ends with 0.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + freePort(t)
	server, err := natsserver.Start(natsserver.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := startTune(t, "worker", "nats://"+address, "--name", "ada", "--allow", "treehash")
	w.out.await(t, "waiting for runs")
	awaitWorkers(t, "nats://"+address, "ada", "treehash")
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &w.out)
	}
	if list := tuneOK(t, "workers", "nats://"+address, "--wait", "200ms"); !strings.HasPrefix(list, "no workers") {
		t.Errorf("%s", list)
	}
}

// TestTokenChanged: a worker that the server no longer takes ends, and says why.
func TestTokenChanged(t *testing.T) {
	t.Parallel()
	address := "127.0.0.1:" + freePort(t)
	config := natsserver.Config{Address: address}
	server, err := natsserver.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	w := startTune(t, "worker", "nats://"+address, "--name", "ada")
	awaitWorkers(t, "nats://"+address, "ada")
	server.Close()
	config.Token = "secret"
	if server, err = natsserver.Start(config); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := w.Wait(); exitCode(err) != exitFailed || !strings.Contains(w.out.String(), "--token-file, --creds or --nkey is no longer accepted: ") {
		t.Errorf("%v\n%s", err, &w.out)
	}
}

// TestWorkersRoofs: the list of workers has the roofs that they announce, with nothing that a terminal would obey.
func TestWorkersRoofs(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out}
	found := []remote.Info{{Name: "ada", Roofs: []native.Roof{
		{Kind: "f32", Rate: 117e9, Unit: "GFLOP/s"}, {Kind: "read", Level: "L1", Rate: 210e9, Unit: "GB/s"}, {Kind: "read", Level: "memory\x1b[2J", Rate: 21e9, Unit: "GB/s"},
	}}, {Name: "bob"}}
	if err := a.printWorkers(found); err != nil {
		t.Fatal(err)
	}
	const want = "\nada, arithmetic of one core: f32 117 GFLOP/s\nada, read of one core: L1 210 GB/s, memory 21 GB/s\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q", out.String())
	}
}
