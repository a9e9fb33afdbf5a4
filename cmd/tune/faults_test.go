package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExitCodesOfFiles: what is wrong with a file or a folder has one exit code, whichever command is given it: 2 where it is not there or is
// of another kind than the command takes, 1 where it is a run that is damaged. Only what is not there is followed by a hint at tune help.
func TestExitCodesOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, filepath.Join(t.TempDir(), name))
	}
	call := func(line string) (code int, said string) {
		a, _, stderr := testApp()
		defer a.host.Close()
		code = a.run(t.Context(), strings.Fields(line))
		return code, stderr.String()
	}
	if code, said := call("run treehash --shape height=4,rounds=4,batch=16 --evals 2 --dir good --no-db -q"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if err := os.CopyFS("damaged", os.DirFS("good")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"damaged/run.json": `{"format": 1,`, "damaged/best.json": `{"format": 1,`, "text.txt": "dear reader\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}

	// Each command stands before what it is given. Those of the first list take runs, and those of the second other files.
	ofRuns := []string{"resume", "measure", "verify", "replay", "export", "explain", "report", "guard", "compare good", "sim", "run treehash --no-db --evals 2 --from"}
	ofFiles := []string{
		"run", "check", "space", "bench", "library", "model", "optimize", "import", "gguf",
		"run recorded --data", "bench search --data", "bench race --data", "bench tasks --data",
	}
	for _, fault := range []struct {
		path     string
		commands []string
		code     int
		hinted   bool
	}{
		{"none", ofRuns, exitUsage, true}, {"none", []string{"serve"}, exitUsage, true}, {"none.yaml", ofFiles, exitUsage, true},
		{"folder", ofRuns, exitUsage, false}, {"folder", ofFiles, exitUsage, false},
		{"text.txt", ofRuns, exitUsage, false}, {"text.txt", []string{"serve"}, exitUsage, false}, {"text.txt", ofFiles, exitUsage, false},
		{"good/run.json", ofRuns, exitUsage, false}, {"good/run.json", []string{"serve"}, exitUsage, false},
		{"damaged", ofRuns, exitFailed, false},
	} {
		for _, command := range fault.commands {
			line := command + " " + fault.path
			code, said := call(line)
			if code != fault.code || strings.Contains(said, hint) != fault.hinted {
				t.Errorf("tune %s: exit code %d, want %d; a hint at tune help: want %v\n%s", line, code, fault.code, fault.hinted, said)
			}
		}
	}
	if _, err := fs.Stat(os.DirFS("."), "runs"); err == nil {
		t.Error("a command that was refused has made a run")
	}
}
