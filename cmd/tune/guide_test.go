package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guideStep is a block of the guide.
type guideStep struct {
	section  string
	line     int
	language string // after the fence; "" for commands with their output
	before   string // the paragraph before the block
	text     string
}

// guideSteps returns the blocks of a guide, in order.
func guideSteps(text string) (steps []guideStep) {
	section, paragraph := "", []string{}
	var open *guideStep
	for i, line := range strings.Split(text, "\n") {
		switch fence, found := strings.CutPrefix(line, "```"); {
		case found && open == nil:
			open = &guideStep{section: section, line: i + 1, language: fence, before: strings.Join(paragraph, " ")}
		case found:
			steps, open, paragraph = append(steps, *open), nil, nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			section = strings.TrimPrefix(line, "## ")
		case line == "" && len(paragraph) > 0 && paragraph[len(paragraph)-1] != "":
			paragraph = append(paragraph, "")
		case line != "":
			if n := len(paragraph); n > 0 && paragraph[n-1] == "" {
				paragraph = nil
			}
			paragraph = append(paragraph, line)
		}
	}
	return steps
}

var (
	guideSave    = regexp.MustCompile("[Ss]ave (?:this|it|a program that calls it) as `([^`]+)`")
	guideNumber  = regexp.MustCompile(`[0-9][0-9.,]*(?:e[-+]?[0-9]+)?`)
	guideUnit    = regexp.MustCompile(`0 (?:ns|µs|ms|s)\b`)
	guideFolder  = regexp.MustCompile(`^/[^\s:]+`)
	guideCommand = regexp.MustCompile(`(?m)^\$ `)
)

// guideTimes shortens what the guide shows, so that the test is done in a minute.
var guideTimes = strings.NewReplacer("--strategy grid --evals 14", "--strategy grid --evals 3", "--strategy grid --evals 18", "--strategy grid --evals 3",
	"--budget 30s", "--evals 2", "--limit 20s", "--limit 4s", "--seeds 20", "--seeds 3", "--evals 40", "--evals 5", "--evals 6 --dir runs/wide", "--evals 2 --dir runs/wide",
	"--evals 8 --dir runs/replayed", "--evals 2 --dir runs/replayed")

// guideElsewhere are blocks that are not run, by a part of their text, with the reason.
var guideElsewhere = map[string]string{
	"make build":                            "the test is the binary",
	"go mod init":                           "needs the network: the examples of the library are compiled by their own tests",
	"tune measure runs/":                    "depends on whether the machine is quiet: see the script measure",
	"completion":                            "see the script completion",
	"tune run gemm-i8 --shape":              "how large the front is depends on the machine: see the script objective",
	"tune guard runs/rowsum":                "on a busy machine the final measurement may have no interval: see the script guard",
	"tune compare runs/hand":                "with so few points both runs may find the same one: see the script compare",
	"tune report runs/small":                "writes a page: see the script report",
	"tune library":                          "see the script library-make",
	"tune model":                            "takes 20 minutes: see the script model",
	"words/words.yaml":                      "see TestRecipes, as of the other languages",
	"sum/sum.yaml":                          "see TestRecipes",
	"lists/lists.yaml":                      "see TestRecipes",
	"sums.yaml":                             "see TestRecipes",
	"flags/flags.yaml":                      "see TestRecipes",
	"rows/rows.yaml":                        "see TestRecipes",
	"tune export runs/small --format trace": "writes no text",
}

// TestGuide does what docs/guide.md says, as a reader would: from the top, in one folder, it saves the files, runs the commands,
// and holds what they print against what the guide shows. Numbers may differ.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	for _, tool := range []string{"cc", "gcc", "gzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	t.Parallel()
	text, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := guideReader{dir: dir, repo: repo, env: append(os.Environ(),
		"XDG_CACHE_HOME="+filepath.Join(dir, ".cache"), "XDG_STATE_HOME="+filepath.Join(dir, ".state"), "TUNE_FINAL=200ms")}
	commands := map[string]int{}
	for _, step := range guideSteps(string(text)) {
		commands[step.section] += r.follow(t, step)
	}
	for section, n := range commands {
		if n > 9 {
			t.Errorf("section %q has %d commands: a job should need fewer than ten", section, n)
		}
	}
	if r.saved < 4 || r.compared < 60 {
		t.Errorf("%d files were saved and %d lines compared: does the test still read the guide?", r.saved, r.compared)
	}
}

// guideReader follows the guide.
type guideReader struct {
	dir, repo       string
	env             []string
	saved, compared int
}

// follow does what a block says, and returns the number of commands in it.
func (r *guideReader) follow(t *testing.T, step guideStep) int {
	for part := range guideElsewhere {
		if strings.Contains(step.text, part) {
			return 0
		}
	}
	if m := guideSave.FindStringSubmatch(step.before); m != nil && step.language != "" && step.language != "sh" {
		r.saved++
		path := filepath.Join(r.dir, m[1])
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(step.text), 0o666); err != nil {
			t.Fatal(err)
		}
		return 0
	}
	switch {
	case step.language == "sh":
		r.shell(t, step)
		return strings.Count(step.text, "\n")
	case step.language == "" && strings.HasPrefix(step.text, "$ "):
		parts := guideCommand.Split(step.text, -1)[1:]
		for _, part := range parts {
			command, want, _ := strings.Cut(part, "\n")
			r.session(t, step, command, strings.Split(strings.TrimSpace(want), "\n"))
		}
		return len(parts)
	}
	return 0
}

// shell runs a block of commands without outputs. Lines whose program is missing are left out.
func (r *guideReader) shell(t *testing.T, step guideStep) {
	script := "set -e\n"
	for line := range strings.Lines(step.text) {
		program, _, _ := strings.Cut(line, " ")
		if program != "jq" && program != "python3" {
			script += line
		} else if _, err := exec.LookPath(program); err == nil {
			script += line
		}
	}
	r.run(t, step, script, nil)
}

// session runs a command and compares what it prints.
func (r *guideReader) session(t *testing.T, step guideStep, command string, want []string) {
	var interrupt func() bool
	for i, line := range want {
		switch {
		case line == "^C":
			run := regexp.MustCompile(`--dir (\S+)`).FindStringSubmatch(command)[1]
			interrupt = func() bool {
				journal, _ := os.ReadFile(filepath.Join(r.dir, run, "journal.jsonl"))
				return bytes.Count(journal, []byte(`"cost":`)) > 1
			}
			want = want[i+1:]
		case strings.HasPrefix(line, "Run it? [y/N] y"):
			command, want = command+" --yes", want[i+1:]
		default:
			continue
		}
		break
	}
	got := strings.Split(r.run(t, step, command, interrupt), "\n")
	at := 0
	for _, line := range want {
		if strings.TrimSpace(line) == "…" || strings.Contains(line, "not distinguishable from") {
			continue
		}
		r.compared++
		next := at
		for next < len(got) && !guideLike(line, got[next]) {
			next++
		}
		if next == len(got) {
			t.Errorf("guide.md, line %d: %s does not print (after the lines before it)\n  %s\nIt prints\n  %s", step.line, command, line, strings.Join(got, "\n  "))
			return
		}
		at = next + 1
	}
}

// guideLabels begin lines whose rest depends on the times that were measured.
var guideLabels = []string{"point", "verdict", "measured", "best", "build", "runs", "samples", "spread", "ratio"}

// guideLike reports whether a line of the guide and one of an output differ in numbers only, or begin with the same label.
func guideLike(want, got string) bool {
	plain := func(s string) string {
		s = strings.Replace(s, "time budget spent", "evaluations spent", 1)
		s = guideNumber.ReplaceAllString(s, "0")
		s = guideUnit.ReplaceAllString(s, "0 s")
		return strings.Join(strings.Fields(guideFolder.ReplaceAllString(s, "/")), " ")
	}
	a, b := plain(want), plain(got)
	if prefix, cut := strings.CutSuffix(a, "…"); cut && strings.HasPrefix(b, strings.TrimSpace(prefix)) {
		return true
	}
	for _, label := range guideLabels {
		if strings.HasPrefix(a, label+" ") && strings.HasPrefix(b, label+" ") {
			return true
		}
	}
	return a == b
}

// run runs commands in the reader's folder and returns what they print. Where interrupt is given, they are interrupted as soon as
// it returns true.
func (r *guideReader) run(t *testing.T, step guideStep, script string, interrupt func() bool) string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	script = strings.NewReplacer("REPO", r.repo, "/tmp/other", filepath.Join(r.dir, "other")).Replace(guideTimes.Replace(script))
	if interrupt != nil {
		script = "exec " + script
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	began := time.Now()
	defer func() { t.Logf("%.1f s: %s", time.Since(began).Seconds(), strings.TrimSpace(script)) }()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if interrupt != nil {
		for !interrupt() && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil && interrupt == nil {
		t.Errorf("guide.md, line %d: %s: %v\n%s", step.line, script, err, out.String())
	}
	return out.String()
}
