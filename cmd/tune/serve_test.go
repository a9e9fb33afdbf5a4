package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels/remote/natsserver"
)

// TestServe: the page shows the runs of a folder until Ctrl-C, also while a browser listens to it.
func TestServe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tuneOK(t, "run", "treehash", "--shape", "height=4,rounds=4,batch=16", "--evals", "8", "-q", "--no-db", "--dir", filepath.Join(root, "a"))
	cmd := exec.Command("tune", "serve", root, "--listen", "127.0.0.1:0")
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, ok := strings.CutPrefix(strings.TrimSuffix(line, ", until Ctrl-C\n"), "runs at ")
	if !ok {
		t.Fatalf("it says %q", line)
	}
	at := strings.Trim(strings.TrimPrefix(address, "http://"), "/")
	want := "tune: --listen " + at + ": the address is in use: choose another port, or 0 for a free one\n"
	if said, err := exec.Command("tune", "serve", root, "--listen", at).CombinedOutput(); err == nil || string(said) != want {
		t.Errorf("at the same address: %v, %q, want %q", err, said, want)
	}
	for _, path := range []string{"", "events"} {
		answer, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() // the second is open until the end
		text := make([]byte, 1<<16)
		n, _ := answer.Body.Read(text)
		if answer.StatusCode != http.StatusOK || path == "" && !strings.Contains(string(text[:n]), "tune: runs") {
			t.Errorf("%s: %d: %s", path, answer.StatusCode, text[:n])
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C it ends with %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it ended after %v", took)
	}
}

// TestLiveEnds: the page of a run that is shown live ends as the run does, also where Ctrl-C ends the run.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "my.yaml")
	const kernel = `kernel: {name: my}
space: {parameters: [{name: n, type: enum, values: [1, 2, 3, 4]}]}
command:
  run: sleep 0.5; echo {{n}}
  metric: {from: output, unit: steps, exact: true}
`
	if err := os.WriteFile(file, []byte(kernel), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"whole": "finished: ", "interrupted": "interrupted"} {
		cmd := exec.Command("tune", "run", file, "--strategy", "grid", "--no-db", "--live", "--progress", "plain", "--dir", filepath.Join(root, name))
		pipe, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		said := bufio.NewReader(pipe)
		line, err := said.ReadString('\n')
		address, ok := strings.CutPrefix(strings.TrimSpace(line), "live at ")
		if !ok {
			t.Fatalf("%s: it says %q: %v", name, line, err)
		}
		go func() { _, _ = io.Copy(io.Discard, said) }()
		answer, err := http.Get(strings.Replace(address, "/run?", "/events?", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		events, last, word, sent := bufio.NewReader(answer.Body), "", "", false
		for {
			text, err := events.ReadString('\n')
			if err != nil {
				break
			}
			switch {
			case strings.HasPrefix(text, `data: {"id":"content"`):
				last = text
			case strings.HasPrefix(text, "data: "):
				word = text
			}
			if name == "interrupted" && !sent && strings.Contains(last, "running") {
				if sent = true; cmd.Process.Signal(os.Interrupt) != nil {
					t.Error("the run has ended before Ctrl-C")
				}
			}
		}
		_ = cmd.Wait() // the page says how it ended
		if !strings.Contains(last, want) || strings.Contains(last, "running") {
			t.Errorf("%s: the last page is %.2000s", name, last)
		}
		if !strings.Contains(word, "the run has ended") {
			t.Errorf("%s: the page does not say that the run has ended: %s", name, word)
		}
	}
}

// TestServeShowsWorkers: with --workers the page lists who is connected to a NATS server, also where that comes later.
func TestServeShowsWorkers(t *testing.T) {
	t.Parallel()
	at := "127.0.0.1:" + freePort(t)
	cmd := exec.Command("tune", "serve", t.TempDir(), "--listen", "127.0.0.1:0", "--workers", "nats://"+at)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(strings.TrimSuffix(line, ", until Ctrl-C\n"), "runs at ")
	// The page sends what has changed.
	answer, err := http.Get(address + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events := bufio.NewReader(answer.Body)
	await := func(want string) {
		t.Helper()
		for {
			text, err := events.ReadString('\n')
			if err != nil {
				t.Fatalf("%q does not come: %v", want, err)
			}
			if strings.Contains(text, want) {
				return
			}
		}
	}
	await("does not answer: is a NATS server there?")
	server, err := natsserver.Start(natsserver.Config{Address: at})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	await("No worker is connected.")
	startTune(t, "worker", "nats://"+at, "--name", "ada", "--allow", "treehash")
	await("ada")
}

// TestListenHints: what is wrong with an address comes before what a right one would need.
func TestListenHints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for address, want := range map[string]string{
		"4222":     `"4222" is no address: want HOST:PORT or :PORT, such as :4222`,
		":http":    `":http" is no address: want HOST:PORT or :PORT, such as :4222`,
		":4222":    ":4222 is open to the network, and anybody could give work to your workers: give a token, or listen on 127.0.0.1:4222 (--token-file)",
		"[::1]:-1": `"[::1]:-1" is no address: want HOST:PORT or :PORT, such as :4222`,
	} {
		out, err := exec.Command("tune", "run", "treehash", "--evals", "1", "--no-db", "--dir", dir, "--listen", address).CombinedOutput()
		if first, _, _ := strings.Cut(string(out), "\n"); exitCode(err) != exitUsage || first != "tune: --listen: "+want {
			t.Errorf("tune run --listen %s: %v\n%s", address, err, out)
		}
	}
	for _, address := range []string{"8117", ":http", "127.0.0.1:65536"} {
		if _, err := checkListen(address, ""); err == nil || err.Error() != fmt.Sprintf("--listen: %q: want host:port, such as %s", address, defaultListen) {
			t.Errorf("tune serve --listen %s: %v", address, err)
		}
	}
}

// TestListenEverywhere: an address without a host is all addresses of this machine, which the page is then asked at, with its token.
func TestListenEverywhere(t *testing.T) {
	for address, want := range map[string]string{":8117": "::", "0.0.0.0:8117": "0.0.0.0", "192.168.1.7:8117": "192.168.1.7"} {
		if host, err := checkListen(address, "0123456789abcdef"); host != want || err != nil {
			t.Errorf("%s: %q, %v", address, host, err)
		}
		if _, err := checkListen(address, ""); err == nil || !strings.Contains(err.Error(), "give --token") {
			t.Errorf("%s without a token: %v", address, err)
		}
	}
	one := func(text string) net.Addr { return &net.IPNet{IP: net.ParseIP(text)} }
	all := []net.Addr{one("127.0.0.1"), one("fe80::1"), one("2001:db8::7"), one("192.168.1.7")}
	for at, want := range map[string]string{"0.0.0.0": "192.168.1.7", "::": "2001:db8::7"} {
		if got := reachable(net.ParseIP(at), all); got.String() != want {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
		if got := reachable(net.ParseIP(at), all[:2]); got.String() != at {
			t.Errorf("without an address: %s", got)
		}
	}
}
