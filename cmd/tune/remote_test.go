package main

import (
	"bytes"
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
	"strings"
	"syscall"
	"testing"
	"time"

	"tune/kernels/native"
	"tune/kernels/remote"
	"tune/kernels/remote/natsserver"
	"tune/results"
)

// process is one that runs until it is ended.
type process struct {
	*exec.Cmd
	out bytes.Buffer
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
		for run := range killRuns {
			killWorkers(t, rand.New(rand.NewPCG(uint64(run), 1)), func(dir string, more ...string) []string { return args(dir, more...) }, want)
		}
	})
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

// awaitWorkers waits until the list of workers has some texts.
func awaitWorkers(t *testing.T, url string, want ...string) {
	t.Helper()
	list := ""
	for range 200 {
		list = tuneOK(t, "workers", url, "--wait", "100ms")
		if !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(list, text) }) {
			return
		}
	}
	t.Fatalf("the list of workers lacks one of %q:\n%s", want, list)
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
	root, own := t.TempDir(), ownKernel(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", own, "--evals", "100", "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local := filepath.Join(root, "local")
	tuneOK(t, args(local)...)
	t.Setenv("TMPDIR", t.TempDir()) // what is killed leaves files
	killWorkers(t, rand.New(rand.NewPCG(1, 2)), args, csv500(t, local))
}

// TestTimedWorkers: where the time of candidates is measured, one worker of a machine measures them, and when it is killed another one
// takes its place. The coordinator makes the final measurement.
func TestTimedWorkers(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || testing.Short() {
		t.Skip("needs gcc, and measures one candidate after the other")
	}
	address, dir := "127.0.0.1:"+freePort(t), filepath.Join(t.TempDir(), "run")
	server, err := natsserver.Start(natsserver.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url := "nats://" + address
	run := startTune(t, "run", "elementwise-f32", "--shape", "n=4096", "--evals", "16", "--final", "500ms", "--seed", "1", "--dir", dir, "--no-db", "--workers", url, "--lease", "1s")
	workers := map[string]*process{}
	for _, name := range []string{"ada", "bob"} {
		workers[name] = startTune(t, "worker", url, "--name", name)
	}
	const aside = " refuses a run of elementwise-f32: worker %s measures on the same machine"
	serving, waiting := "", ""
	for range 300 {
		list := tuneOK(t, "workers", url, "--wait", "100ms")
		for _, names := range [][2]string{{"ada", "bob"}, {"bob", "ada"}} {
			if strings.Contains(list, names[1]+fmt.Sprintf(aside, names[0])) {
				serving, waiting = names[0], names[1]
			}
		}
		if by := measuredBy(t, dir); serving != "" && by[serving] > 0 {
			break
		}
		serving = ""
	}
	if serving == "" {
		t.Fatalf("no worker measures alone\n%s%s%s", &run.out, &workers["ada"].out, &workers["bob"].out)
	}
	workers[serving].kill()
	if err := run.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &run.out)
	}
	by := measuredBy(t, dir)
	if n := by[serving] + by[waiting]; n != 16 || by[waiting] == 0 {
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

// killWorkers carries out a run whose workers, coordinator and NATS server are killed in turns.
func killWorkers(t *testing.T, r *rand.Rand, args func(dir string, more ...string) []string, want string) {
	address, dir := "127.0.0.1:"+freePort(t), filepath.Join(t.TempDir(), "run")
	url := "nats://" + address
	server, err := natsserver.Start(natsserver.Config{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { server.Close() }()
	workers := make([]*process, 3)
	for i := range workers {
		workers[i] = startTune(t, "worker", url, "--jobs", "1", "--allow-user-code")
	}
	kills := map[string]int{}
	remote := []string{"--workers", url, "--lease", "1s"}
	for sitting := 0; ; sitting++ {
		command := append([]string{"resume", dir, "-q", "--no-db"}, remote...)
		if _, err := os.Stat(filepath.Join(dir, "run.json")); err != nil {
			command = args(dir, remote...)
		}
		coordinator := startTune(t, command...)
		ended := make(chan error, 1)
		go func() { ended <- coordinator.Wait() }()
		for over := false; !over; {
			select {
			case err := <-ended:
				if err == nil {
					if got := csv500(t, dir); got != want {
						t.Errorf("killed %v: other outcomes:\n%.1500s\nwant\n%.1500s", kills, got, want)
					}
					trials := strings.Count(want, "\n") - 1
					if n := tuneOK(t, "replay", dir); n != fmt.Sprintf("%d of %d trials agree\n", trials, trials) {
						t.Error(n)
					}
					t.Logf("%d sittings, killed %v", sitting+1, kills)
					return
				}
				if coordinator.ProcessState.ExitCode() >= 0 {
					t.Fatalf("sitting %d: %v\n%s", sitting, err, &coordinator.out)
				}
				over = true // killed
			case <-time.After(time.Duration(100+r.IntN(300)) * time.Millisecond):
				switch what := r.IntN(10); {
				case what < 7:
					kills["worker"]++
					i := r.IntN(len(workers))
					workers[i].kill()
					workers[i] = startTune(t, "worker", url, "--jobs", "1", "--allow-user-code")
				case what < 8 && kills["server"] < 10:
					kills["server"]++
					server.Close()
					if server, err = natsserver.Start(natsserver.Config{Address: address}); err != nil {
						t.Fatal(err)
					}
				case kills["coordinator"] < 10:
					kills["coordinator"]++
					_ = coordinator.Process.Kill()
				}
			}
		}
	}
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
	for range 100 {
		if list := tuneOK(t, "workers", "nats://"+address, "--wait", "100ms"); strings.Contains(list, "ada") && strings.Contains(list, "treehash") {
			break
		}
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil || !strings.Contains(w.out.String(), "waiting for runs") {
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
	for range 100 {
		if strings.Contains(tuneOK(t, "workers", "nats://"+address, "--wait", "100ms"), "ada") {
			break
		}
	}
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
