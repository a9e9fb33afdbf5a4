package corpus

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tune/kernels/native/cc"
	"tune/kernels/user"
)

// sources returns the names of all sources.
func sources() (names []string, err error) {
	all, err := fs.ReadDir(files, "sources")
	for _, f := range all {
		if !strings.HasSuffix(f.Name(), ".h") {
			names = append(names, strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
		}
	}
	return names, err
}

func TestList(t *testing.T) {
	entries, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	sources, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return cmp.Or(e.Source, e.Name) == name }) {
			t.Errorf("sources/%s is not in corpus.yaml", name)
		}
	}
	for _, e := range entries {
		config, err := e.Write(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		k, err := user.Load(config)
		if e.FileRefused != "" {
			if err == nil || !strings.Contains(err.Error(), e.FileRefused) {
				t.Errorf("%s: %v, want %q", e.Name, err, e.FileRefused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		k.Close()
	}
}

// TestCounts: README.md and docs/trust.md say how many kernels the list has of each class.
func TestCounts(t *testing.T) {
	entries, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	of := map[Class]int{}
	for _, e := range entries {
		of[e.Class]++
	}
	all := len(entries)
	for file, sentences := range map[string][]string{
		"README.md": {
			fmt.Sprintf("`make trust` tries %d kernels ", all),
			fmt.Sprintf(": %d skip work, hide time or harm others, and %d are honest.", all-of[Honest], of[Honest]),
		},
		"docs/trust.md": {
			fmt.Sprintf("`make trust` runs %d kernels through tune ", all),
			fmt.Sprintf(". %d skip work, %d hide time, %d harm others, and %d are honest.", of[SkipsWork], of[HidesTime], of[HarmsOthers], of[Honest]),
		},
	} {
		data, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(data)), " ")
		for _, sentence := range sentences {
			if strings.Count(text, sentence) != 1 {
				t.Errorf("%s does not say once, as corpus.yaml has it: %q", file, sentence)
			}
		}
	}
}

// A source with a slip of the pen would be refused for that, and pass for what it does not do.
func TestSourcesCompile(t *testing.T) {
	if _, err := cc.Find(t.Context()); err != nil {
		t.Skip(err)
	}
	if testing.Short() {
		t.Skip("compiles every source")
	}
	entries, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for _, e := range entries {
		dir := t.TempDir()
		if _, err := e.Write(dir); err != nil {
			t.Fatal(err)
		}
		compiler, source := "gcc", "kernel.c"
		if found, _ := filepath.Glob(filepath.Join(dir, "kernel.cpp")); found != nil {
			compiler, source = "g++", "kernel.cpp"
		}
		if _, err := exec.LookPath(compiler); err != nil {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			c := exec.CommandContext(t.Context(), compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-D_GNU_SOURCE", "-DVARIANT=CHEAT", source)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", e.Name, err, out)
			}
		})
	}
	wait.Wait()
}
