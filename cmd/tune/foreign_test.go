package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// emulator finds a program that runs programs of arm64; "" where there is none.
func emulator() string {
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// TestForeign: a run is tuned for a worker by a coordinator of another architecture. The space, the outcomes and the schedule are those of the
// worker's machine.
func TestForeign(t *testing.T) {
	const libraries = "/usr/aarch64-linux-gnu" // tune opens libraries of the system, also where it is built without cgo
	emulated := emulator()
	_, err := os.Stat(libraries)
	switch {
	case emulated == "" || err != nil || runtime.GOARCH == "arm64":
		t.Skip("it needs an emulator of another architecture: install qemu-user-static and libc6-arm64-cross")
	case !buildsForeign:
		t.Skip("it builds tune for arm64, which takes minutes: make stress does so")
	}
	t.Setenv("QEMU_LD_PREFIX", libraries)
	root, url := t.TempDir(), natsFor(t)
	foreign := filepath.Join(root, "tune-arm64")
	build := exec.Command("go", "build", "-o", foreign, ".")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "treehash", "--shape", small, "--evals", "40", "--seed", "1", "--dir", dir, "-q", "--no-db"}, more...)
	}
	local, dir := filepath.Join(root, "local"), filepath.Join(root, "away")
	tuneOK(t, args(local)...)
	startTune(t, "worker", url, "--name", "ada")
	awaitWorkers(t, url, "ada")
	out, err := exec.Command(emulated, append([]string{foreign}, args(dir, "--workers", url, "--for", "ada")...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, want := csv500(t, dir), csv500(t, local); got != want {
		t.Errorf("other outcomes:\n%s\nwant\n%s", got, want)
	}
	if by := measuredBy(t, dir); by["ada"] != 40 || len(by) != 1 {
		t.Errorf("evaluated by %v", by)
	}
	s := scheduleOf(t, dir)
	if machine := s["machine"].(map[string]any); s["by"] != "ada" || machine["arch"] != runtime.GOARCH {
		t.Errorf("made by %v on %v", s["by"], machine)
	}
	for _, name := range []string{"best.program.json"} {
		a, aerr := os.ReadFile(filepath.Join(local, name))
		b, berr := os.ReadFile(filepath.Join(dir, name))
		if aerr != nil || berr != nil || string(a) != string(b) {
			t.Errorf("%s differs: %v, %v", name, aerr, berr)
		}
	}
	if version, err := exec.Command(emulated, foreign, "version").CombinedOutput(); err != nil || !strings.Contains(string(version), "arm64") {
		t.Errorf("the coordinator is no program of arm64: %s, %v", version, err)
	}
	tuneOK(t, "verify", dir)
}
