package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tune/kernels/remote/natsserver"
	"tune/results"
)

// withoutCompilers returns a folder for PATH in which tune is the only program.
func withoutCompilers(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("tune")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(path, filepath.Join(dir, "tune")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startWith is startTune with other variables of the environment.
func startWith(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	path, err := exec.LookPath("tune")
	if err != nil {
		t.Fatal(err)
	}
	s := &process{Cmd: exec.Command(path, args...)}
	s.Stdout, s.Stderr, s.Env = &s.out, &s.out, append(os.Environ(), environ...)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

// natsFor starts a NATS server, and returns its address.
func natsFor(t *testing.T) (url string) {
	t.Helper()
	server, err := natsserver.Start(natsserver.Config{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return fmt.Sprintf("nats://127.0.0.1:%d", server.Port())
}

// scheduleOf reads the schedule of a run as it is written, without what differs in every run.
func scheduleOf(t *testing.T, dir string, without ...string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "best.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(without, "created", "elapsed_seconds", "run") {
		delete(s, name)
	}
	return s
}

// TestTarget: a run that is tuned for a worker has the outcomes, the schedule and the files of a run on that machine. The schedule
// says by whom they were made.
func TestTarget(t *testing.T) {
	t.Parallel()
	root, url := t.TempDir(), natsFor(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "treehash", "--shape", small, "--evals", "60", "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local, dir := filepath.Join(root, "local"), filepath.Join(root, "away")
	tuneOK(t, args(local)...)
	startTune(t, "worker", url, "--name", "ada")
	bob := startTune(t, "worker", url, "--name", "bob")
	awaitWorkers(t, url, "ada", "bob")
	tuneOK(t, args(dir, "--workers", url, "--for", "ada")...)
	if got, want := csv500(t, dir), csv500(t, local); got != want {
		t.Errorf("other outcomes:\n%s\nwant\n%s", got, want)
	}
	out, err := exec.Command("tune", args(dir+"-bad", "--workers", url, "--for", "adda")...).CombinedOutput()
	if want := `tune: --for: no worker "adda" is there: want one of ada, bob (did you mean "ada"?): start it with 'tune worker ` + url + " --name adda'\n"; exitCode(err) != exitUsage || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(dir + "-bad"); err == nil {
		t.Error("a directory is left")
	}
	if by := measuredBy(t, dir); by["ada"] != 60 || len(by) != 1 {
		t.Errorf("evaluated by %v\n%s", by, &bob.out)
	}
	got, want := scheduleOf(t, dir), scheduleOf(t, local)
	if got["by"] != "ada" {
		t.Errorf("made by %v", got["by"])
	}
	delete(got, "by")
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("another schedule:\n%s\nwant\n%s", a, b)
	}
	files, err := filepath.Glob(filepath.Join(local, "best.*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		if filepath.Base(path) == "best.json" {
			continue
		}
		a, aerr := os.ReadFile(path)
		b, berr := os.ReadFile(filepath.Join(dir, filepath.Base(path)))
		if aerr != nil || berr != nil || string(a) != string(b) {
			t.Errorf("%s differs: %d and %d bytes, %v, %v", filepath.Base(path), len(a), len(b), aerr, berr)
		}
	}
	tuneOK(t, "verify", dir)
	tuneOK(t, "replay", dir)
}

// TestTargetOwnKernel: a kernel of one's own travels to the target with its files, if the owner of that worker allows it.
func TestTargetOwnKernel(t *testing.T) {
	t.Parallel()
	root, own, url := t.TempDir(), ownKernel(t), natsFor(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", own, "--evals", "30", "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local, dir := filepath.Join(root, "local"), filepath.Join(root, "away")
	tuneOK(t, args(local)...)
	startTune(t, "worker", url, "--name", "strict")
	ada := startTune(t, "worker", url, "--name", "ada", "--allow-user-code")
	awaitWorkers(t, url, "ada", "strict")
	out, err := exec.Command("tune", args(dir, "--workers", url, "--for", "strict")...).CombinedOutput()
	if exitCode(err) != exitFailed || !strings.Contains(string(out), "--for: worker strict: it is the code of a user, which its owner does not allow: tune worker --allow-user-code") {
		t.Errorf("%v\n%s", err, out)
	}
	tuneOK(t, args(dir, "--workers", url, "--for", "ada")...)
	if got, want := csv500(t, dir), csv500(t, local); got != want {
		t.Errorf("other outcomes:\n%s\nwant\n%s\n%s", got, want, &ada.out)
	}
	if s := scheduleOf(t, dir); s["by"] != "ada" || s["checked"] != "check command" {
		t.Errorf("%v", s)
	}
	tuneOK(t, "verify", dir)
}

// TestTargetResumed: neither a worker nor a coordinator that is killed loses an outcome of a run with a target, and the run goes on with
// that worker alone.
func TestTargetResumed(t *testing.T) {
	t.Parallel()
	root, url := t.TempDir(), natsFor(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "treehash", "--shape", small, "--evals", "120", "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local, dir := filepath.Join(root, "local"), filepath.Join(root, "away")
	tuneOK(t, args(local)...)
	begin := func() *process {
		w := startTune(t, "worker", url, "--name", "ada", "--jobs", "1")
		awaitWorkers(t, url, "ada")
		return w
	}
	startTune(t, "worker", url, "--name", "bob")
	ada := begin()
	run := startTune(t, args(dir, "--workers", url, "--for", "ada", "--lease", "1s")...)
	outcomes := func(n int) {
		for range 600 {
			if measuredBy(t, dir)["ada"] >= n {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("ada does not evaluate\n%s\n%s", &run.out, &ada.out)
	}
	outcomes(1)
	ada.kill()
	if measuredBy(t, dir)["ada"] < 100 {
		// The run looks every second, and does not see a worker that served it for less.
		run.out.await(t, "worker ada is silent: waiting for it\n", "no worker serves this run yet: worker bob refuses it")
	}
	ada = begin()
	outcomes(5)
	run.kill()
	out, err := exec.Command("tune", "resume", dir, "--no-db", "-q").CombinedOutput()
	if exitCode(err) != exitFailed || !strings.Contains(string(out), dir+" is tuned for the machine of worker ada: add --workers URL or --listen ADDRESS") {
		t.Errorf("%v\n%s", err, out)
	}
	ada.kill()
	out, err = exec.Command("tune", "resume", dir, "--no-db", "-q", "--workers", url).CombinedOutput()
	if exitCode(err) != exitFailed || !strings.Contains(string(out), dir+` is tuned for worker ada: no worker "ada" is there: want one of bob: start it with 'tune worker `+url+" --name ada'") {
		t.Errorf("%v\n%s", err, out)
	}
	begin()
	tuneOK(t, "resume", dir, "--no-db", "-q", "--workers", url, "--lease", "1s")
	if got, want := csv500(t, dir), csv500(t, local); got != want {
		t.Errorf("other outcomes:\n%s\nwant\n%s", got, want)
	}
	if by := measuredBy(t, dir); by["ada"] != 120 || len(by) != 1 {
		t.Errorf("evaluated by %v", by)
	}
	if s := scheduleOf(t, dir); s["by"] != "ada" {
		t.Errorf("made by %v", s["by"])
	}
}

// TestTargetMeasures: a kernel in C is tuned by a coordinator without a compiler: the worker compiles and measures, in the final too, and its
// program comes back. Ctrl-C in the final ends the run soon, with a short final, and leaves the worker free. Where the worker is stopped during
// the final, the run says so. In both cases it goes on when it is resumed. Where another worker has the same processor, it makes the final.
func TestTargetMeasures(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || testing.Short() {
		t.Skip("needs gcc, and measures one candidate after the other")
	}
	t.Parallel()
	url, dir := natsFor(t), filepath.Join(t.TempDir(), "run")
	begin := func() *process {
		w := startTune(t, "worker", url, "--name", "ada")
		awaitWorkers(t, url, "ada")
		return w
	}
	ada := begin()
	bare := []string{"PATH=" + withoutCompilers(t), "CC=", "CXX="}
	out, err := exec.Command("env", append(bare, "tune", "run", "elementwise-f32", "--shape", "n=4096", "--evals", "1", "--dir", dir+"-here", "--no-db")...).CombinedOutput()
	if err == nil {
		t.Fatalf("the coordinator has a compiler:\n%s", out)
	}
	run := startWith(t, bare, "run", "elementwise-f32", "--shape", "n=4096", "--evals", "2", "--final", "10m", "--seed", "1", "--dir", dir, "--no-db", "--workers", url, "--for", "ada", "--lease", "2s")
	run.out.await(t, ", pair ") // of the final
	if code := run.interrupt(t); code != exitInterrupted || !strings.HasSuffix(run.out.String(), "tune: interrupted: continue with 'tune resume "+dir+" --workers URL'\n") {
		t.Fatalf("exit code %d\n%s", code, &run.out)
	}
	if s := scheduleOf(t, dir); s["by"] != "ada" {
		t.Errorf("%v", s)
	}
	tuneOK(t, "run", "treehash", "--shape", small, "--evals", "1", "--dir", dir+"-other", "--no-db", "-q", "--workers", url, "--for", "ada") // which is free
	run = startWith(t, bare, "resume", dir, "--final", "10m", "--no-db", "--workers", url, "--lease", "2s")
	run.out.await(t, ", pair ")
	if code := ada.interrupt(t); code != exitOK {
		t.Errorf("exit code %d\n%s", code, &ada.out)
	}
	if err := run.Wait(); exitCode(err) != exitFailed {
		t.Fatalf("%v\n%s", err, &run.out)
	}
	const want = "nothing that was measured is lost; start it again, and continue with 'tune resume %s --workers %s'"
	if text := run.out.String(); !strings.Contains(text, "worker ada ") || !strings.Contains(text, fmt.Sprintf(want, dir, url)) {
		t.Errorf("%s", text)
	}
	if by := measuredBy(t, dir); by["ada"] != 2 {
		t.Errorf("measured by %v", by)
	}
	out, err = exec.Command("tune", "measure", dir, "--wait", "0", "--no-db").CombinedOutput()
	if exitCode(err) != exitFailed || !strings.Contains(string(out), dir+" is tuned for the machine of worker ada: add --workers URL or --listen ADDRESS, where that worker is") {
		t.Errorf("%v\n%s", err, out)
	}
	// A worker that is lost in the final has its place taken by one like it.
	ada = begin()
	bob := startTune(t, "worker", url, "--name", "bob")
	awaitWorkers(t, url, "bob")
	run = startWith(t, bare, "resume", dir, "--final", "10m", "--no-db", "--workers", url, "--lease", "2s")
	run.out.await(t, ", pair ")
	ada.kill()
	run.out.await(t, "worker ada has left: worker bob, which has the same processor, takes its place for the final measurement\n")
	if code := run.interrupt(t); code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", code, &run.out)
	}
	if s := scheduleOf(t, dir); s["by"] != "bob" {
		t.Errorf("%v", s)
	}
	bob.kill()
	begin()
	again := startWith(t, bare, "resume", dir, "--final", "100ms", "--no-db", "--workers", url)
	if err := again.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &again.out)
	}
	s := scheduleOf(t, dir)
	if s["by"] != "ada" || s["pairs"] == nil || s["machine"].(map[string]any)["fingerprint"] != results.ThisMachine().Fingerprint {
		t.Errorf("%v", s)
	}
	program, err := os.ReadFile(filepath.Join(dir, "best.kernel.c"))
	if err != nil || !strings.Contains(string(program), "tune_kernel") {
		t.Errorf("%.300s, %v", program, err)
	}
	// Its final measurement is repeated there too, by the coordinator that has no compiler.
	made := s["created"]
	if out, err = exec.Command("env", append(bare, "tune", "measure", dir, "--limit", "100ms", "--no-db", "--workers", url, "-q")...).CombinedOutput(); exitCode(err) > exitFailed {
		t.Errorf("%v\n%s", err, out)
	}
	if s = scheduleOf(t, dir); s["by"] != "ada" || s["created"] == made && !strings.Contains(string(out), "could not be verified") || s["machine"].(map[string]any)["fingerprint"] != results.ThisMachine().Fingerprint {
		t.Errorf("%v\n%s", s, out)
	}
	tuneOK(t, "verify", dir)
	path := filepath.Join(dir, results.SettingsName)
	settings, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(settings), results.ThisMachine().Fingerprint, "0123456789abcdef", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err = exec.Command("tune", "resume", dir, "--no-db", "--workers", url).CombinedOutput()
	if exitCode(err) != exitFailed || !strings.Contains(string(out), ") now: costs of two processors cannot be compared, start a new run") {
		t.Errorf("%v\n%s", err, out)
	}
}
