package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tune/kernels/remote/natsserver"
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
		workers[i] = startTune(t, "worker", url, "--jobs", "1")
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
					if n := tuneOK(t, "replay", dir); n != "500 of 500 trials agree\n" {
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
					workers[i] = startTune(t, "worker", url, "--jobs", "1")
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
