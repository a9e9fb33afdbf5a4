package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tune/internal/pattern"
)

// recipeNeeds are the programs that each recipe of the guide needs, each as a command that succeeds where it is installed.
var recipeNeeds = map[string][]string{
	"Python": {"python3 --version"}, "Rust": {"rustc --version"}, "Java": {"javac -version", "java -version"},
	"Shell":        {"xargs true", "cksum /dev/null", "cmp /dev/null /dev/null"},
	"Flags of gcc": {"gcc --version"},
	"SQLite":       {"python3 -c __import__('sqlite3')"},
}

// recipeStress are the recipes whose check takes seconds, and whose run does it several times more. Only make stress runs them.
var recipeStress = map[string]bool{"Java": true, "SQLite": true}

// The parts of a recipe: a name in a sentence before a block is that of the file in it, and a block may hold commands.
var (
	recipeHeading = pattern.Lazy(`(?m)^### (.+)$`)
	recipeFile    = pattern.Lazy("(?s)Save this as\\s+`([^`]+)`:\n\n```[a-z]+\n(.*?)\n```")
	recipeCommand = pattern.Lazy(`(?m)^\$ (tune .+)$`)
)

// recipeSizes makes the recipes smaller than the guide shows, so that a run takes less time.
var recipeSizes = strings.NewReplacer("n = 4000\n", "n = 500\n", "[50, 500, 4000]", "[50, 100, 500]", "sum 7998000", "sum 124750",
	"300_000", "30_000", "44999853000", "449985300", "1 << 22", "1 << 18", "12582907", "786429", "seq 20000 ", "seq 2000 ", "words 100000'", "words 10000'",
	"files: 50", "files: 10", "seq $i 20000", "seq $i 2000", "times < 10", "times < 1", "166464000", "16646400", "repeats: 5", "repeats: 2")

// TestRecipes: the recipes of the guide for other languages run as they stand there, where the language is installed.
func TestRecipes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Python, Rust, Java and shell\n")
	section, _, _ = strings.Cut(section, "\n## ")
	headings := recipeHeading().FindAllStringSubmatchIndex(section, -1)
	if !found || len(headings) != len(recipeNeeds) {
		t.Fatalf("the guide has %d recipes, want %d", len(headings), len(recipeNeeds))
	}
	dir := t.TempDir()
	for i, h := range headings {
		name, body := section[h[2]:h[3]], section[h[1]:]
		if i+1 < len(headings) {
			body = section[h[1]:headings[i+1][0]]
		}
		files, commands := recipeFile().FindAllStringSubmatch(body, -1), recipeCommand().FindAllStringSubmatch(body, -1)
		if len(files) == 0 || len(commands) != 2 || recipeNeeds[name] == nil {
			t.Fatalf("recipe %s has %d files and %d commands, and needs %q", name, len(files), len(commands), recipeNeeds[name])
		}
		var script strings.Builder
		for _, command := range recipeNeeds[name] {
			words := strings.Fields(command)
			if err := exec.CommandContext(t.Context(), words[0], words[1:]...).Run(); err != nil {
				fmt.Fprintf(&script, "skip 'needs %s, of which this says: %v'\n", words[0], err)
			}
		}
		// Some compilers look for themselves in the home of the user.
		fmt.Fprintf(&script, "env HOME=%s\nenv XDG_CONFIG_HOME=$WORK/.config\nenv TUNE_EVALS=1\nenv TUNE_FINAL=50ms\n", os.Getenv("HOME"))
		for _, c := range commands {
			says := "^best "
			if strings.HasPrefix(c[1], "tune check") {
				says = "right by its own check command"
			}
			where := ""
			if says == "^best " && recipeStress[name] {
				where = "[stress] "
			}
			fmt.Fprintf(&script, "%[1]sexits 0 %[2]s\n%[1]sstdout '%[3]s'\n", where, c[1], says)
		}
		for _, f := range files {
			fmt.Fprintf(&script, "-- %s --\n%s\n", f[1], recipeSizes.Replace(f[2]))
		}
		if err := os.WriteFile(filepath.Join(dir, strings.ToLower(strings.Fields(name)[0])+".txtar"), []byte(script.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, scriptsIn(dir))
}
