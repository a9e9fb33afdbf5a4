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

	"tune/internal/pattern"
)

// guideStep is a block of the guide.
type guideStep struct {
	section  string // its heading; a recipe has one of its own
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
			open = &guideStep{section: section, line: i + 1, language: fence, before: strings.TrimSpace(strings.Join(paragraph, " "))}
		case found:
			steps, open, paragraph = append(steps, *open), nil, nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			section = strings.TrimPrefix(line, "## ")
		case strings.HasPrefix(line, "### ") && recipeNeeds[strings.TrimPrefix(line, "### ")] != nil:
			section = strings.TrimPrefix(line, "### ")
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
	guideSave    = pattern.Lazy("[Ss]ave (?:this|it|a program that calls it) as `([^`]+)`")
	guideNumber  = pattern.Lazy(`[0-9][0-9.,]*(?:e[-+]?[0-9]+)?`)
	guideUnit    = pattern.Lazy(`0 (?:ns|µs|ms|s)\b`)
	guideFolder  = pattern.Lazy(`^/[^\s:]+`)
	guideCommand = pattern.Lazy(`(?m)^\$ `)
	guidePrints  = pattern.Lazy(`prints (\S+):$`)
	guidePreset  = pattern.Lazy(`(?m)^  (\w+):`)
	guideAdd     = pattern.Lazy("Add this at the end of `([^`]+)`:$")
	guideRatio   = pattern.Lazy(`, 0 % interval .*|, unverified.*`)
)

// guideTimes shortens what the guide shows, so that the test is done in a minute. What needs the network is replaced by what the
// clone has, and what takes 20 minutes by a check of its file.
var guideTimes = strings.NewReplacer("--strategy grid --evals 14", "--strategy grid --start LANES=32 --evals 2", "--strategy grid --evals 18", "--strategy grid --evals 2",
	"--budget 30s", "--evals 1", "lines: 300000", "lines: 2000", "repeats: 5", "repeats: 2", "--limit 20s", "--limit 100ms", "--seeds 20", "--seeds 3",
	"my-kernel/kernel.yaml --budget 5m", "my-kernel/kernel.yaml --shape n=4096 --budget 5m", "--evals 40", "--evals 3", "--evals 10 --dir downloaded", "--evals 1 --dir downloaded",
	"--evals 6 --dir runs/wide", "--evals 1 --dir runs/wide", "--evals 8 --dir runs/replayed", "--evals 2 --dir runs/replayed",
	"Budget: 30 * time.Second", "Budget: 8 * time.Second, Evaluations: 2", "go mod tidy", "sed -n '/^require (/,/^)/p' REPO/go.mod >> go.mod && cp REPO/go.sum .",
	"tune library products.yaml --budget 20m --out products-lib", "tune check products.yaml")

// guideJobs are the sections of which every command is run.
var guideJobs = []string{
	"Tune your own C or C++ function", "Tune your own program", "Tune a built-in kernel", "Your own Go function or kernel", "Read the results", "Stop and resume",
	"Compare two results", "Start from earlier runs", "Measurements of Kernel Tuner",
}

// guideElsewhere are commands that are not run, by a part of their text, with the reason.
var guideElsewhere = map[string]string{
	"make build":               "the test is the binary",
	"tune measure runs/":       "depends on whether the machine is quiet: see the script measure",
	"tune run gemm-i8 --shape": "how large the front is depends on the machine: see the script objective",
	"tune guard runs/rowsum":   "on a busy machine the final measurement may have no interval: see the script guard",
	"make -C products-lib":     "takes 20 minutes: see the script library-make",
	"tune verify products-lib": "the same",
	"--out model-lib":          "takes 20 minutes: see the script model",
	"make -C model-lib":        "the same",
	"model-lib/bench":          "the same",
	"sort/sort.yaml":           "needs valgrind: see the script examples",
	"tune guard runs/sort":     "the same",
	"words/words.yaml":         "see TestRecipes, as of the other languages",
	"sum/sum.yaml":             "see TestRecipes",
	"lists/lists.yaml":         "see TestRecipes",
	"sums.yaml":                "see TestRecipes",
	"flags/flags.yaml":         "see TestRecipes",
	"rows/rows.yaml":           "see TestRecipes",
}

// TestGuide does what docs/guide.md says, as a reader would: from the top, in one folder, it saves the files, runs the commands,
// and holds what they print against what the guide shows. Numbers may differ.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	for _, tool := range []string{"cc", "gcc", "gzip", "go"} {
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
	// The go command keeps what it has compiled below XDG_CACHE_HOME, unless it is told where.
	cache, err := goCache()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := guideReader{dir: dir, repo: repo, left: map[string]int{}, skipped: map[string]bool{}, env: append(os.Environ(),
		"XDG_CACHE_HOME="+sharedCache, "XDG_STATE_HOME="+filepath.Join(dir, ".state"), "TUNE_FINAL=20ms",
		"GOCACHE="+cache, "GOFLAGS=-mod=mod", "GOPROXY=off")}
	commands := map[string]int{}
	for _, step := range guideSteps(string(text)) {
		commands[step.section] += len(step.commands())
		r.follow(t, step)
	}
	for section, n := range commands {
		if n > 9 {
			t.Errorf("section %q has %d commands: a job should need fewer than ten", section, n)
		}
	}
	for _, job := range guideJobs {
		if commands[job] == 0 || r.left[job] > 0 {
			t.Errorf("section %q has %d commands, of which %d are not run", job, commands[job], r.left[job])
		}
	}
	for part := range guideElsewhere {
		if !r.skipped[part] {
			t.Errorf("the guide has no command with %q any more: remove it from guideElsewhere", part)
		}
	}
	if r.saved < 6 || r.compared < 70 || r.programs != 2 {
		t.Errorf("%d files were saved, and %d lines and what %d programs print compared: does the test still read the guide?", r.saved, r.compared, r.programs)
	}
}

// guideReader follows the guide.
type guideReader struct {
	dir, repo       string
	env             []string
	printed         string // by the last block of commands without outputs
	saved, compared int
	programs        int             // of the guide whose output was compared: that of the C function, and that of the Go function
	left            map[string]int  // how many commands of a section are not run
	skipped         map[string]bool // the entries of guideElsewhere that were met
}

// guideShown is a command and the lines that it prints.
type guideShown struct {
	command string
	lines   []string
}

// commands returns the commands in a block.
func (s guideStep) commands() (all []guideShown) {
	switch {
	case s.language == "sh":
		for line := range strings.Lines(s.text) {
			all = append(all, guideShown{command: line})
		}
	case s.language == "" && strings.HasPrefix(s.text, "$ "):
		for _, part := range guideCommand().Split(s.text, -1)[1:] {
			command, lines, _ := strings.Cut(part, "\n")
			all = append(all, guideShown{command, strings.Split(strings.TrimSpace(lines), "\n")})
		}
	}
	return all
}

// leaveOut reports whether a command is one of guideElsewhere.
func (r *guideReader) leaveOut(step guideStep, command string) bool {
	for part := range guideElsewhere {
		if strings.Contains(command, part) {
			r.left[step.section]++
			r.skipped[part] = true
			return true
		}
	}
	return false
}

// follow does what a block says.
func (r *guideReader) follow(t *testing.T, step guideStep) {
	commands := step.commands()
	m, added := guideSave().FindStringSubmatch(step.before), guideAdd().FindStringSubmatch(step.before)
	switch {
	case step.language == "sh":
		r.shell(t, step, commands)
	case len(commands) > 0:
		for _, one := range commands {
			if !r.leaveOut(step, one.command) {
				r.session(t, step, one.command, one.lines)
			}
		}
	case step.language == "" && strings.HasSuffix(step.before, "It prints, for example,"):
		r.compareRatio(t, step)
	case step.language != "" && added != nil:
		r.add(t, step, added[1])
	case step.language != "" && m != nil:
		r.saved++
		path := filepath.Join(r.dir, m[1])
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(guideTimes.Replace(step.text)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// add adds a block to a file, which has the presets of the block then.
func (r *guideReader) add(t *testing.T, step guideStep, name string) {
	r.saved++
	path := filepath.Join(r.dir, name)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, "\n"+step.text...), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	listed := r.run(t, step, "tune list presets "+name, nil)
	for _, preset := range guidePreset().FindAllStringSubmatch(step.text, -1) {
		r.compared++
		if !strings.Contains(listed, preset[1]) {
			t.Errorf("guide.md, line %d: there is no preset %s in\n%s", step.line, preset[1], listed)
		}
	}
}

// shell runs a block of commands without outputs. Lines whose program is missing are left out. Where the sentence before the block
// says what it prints, the last line has to be that.
func (r *guideReader) shell(t *testing.T, step guideStep, commands []guideShown) {
	script := "set -e\n"
	for _, one := range commands {
		program, _, _ := strings.Cut(one.command, " ")
		if r.leaveOut(step, one.command) {
			continue
		}
		if program != "jq" && program != "python3" {
			script += one.command
		} else if _, err := exec.LookPath(program); err == nil {
			script += one.command
		}
	}
	r.printed = strings.TrimSpace(r.run(t, step, script, nil))
	if m := guidePrints().FindStringSubmatch(step.before); m != nil {
		r.programs++
		if lastLine(r.printed) != m[1] {
			t.Errorf("guide.md, line %d: want %s, and this is printed:\n%s", step.line, m[1], r.printed)
		}
	}
}

// compareRatio compares the line that a program of the guide prints with the one that the guide shows. The program may also find
// that nothing is proven to be faster than the baseline, or measure too few pairs for an interval.
func (r *guideReader) compareRatio(t *testing.T, step guideStep) {
	r.programs++
	plain := func(line string) string {
		return guideRatio().ReplaceAllString(guidePlain(strings.TrimSpace(line)), "")
	}
	want, got := plain(step.text), plain(lastLine(r.printed))
	before, _, hasRatio := strings.Cut(want, ", 0× as fast as the baseline (")
	if !hasRatio || got != want && got != before+", the baseline itself: nothing is proven to be faster" {
		t.Errorf("guide.md, line %d: want a line like\n  %s\nThe program prints\n  %s", step.line, want, r.printed)
	}
}

// lastLine returns the last line of a text that does not end with one.
func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

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
	out := r.run(t, step, command, interrupt)
	got, unsure, at := strings.Split(out, "\n"), guideUnsure(out), 0
	for _, line := range want {
		if strings.TrimSpace(line) == "…" || strings.Contains(line, "not distinguishable from") || unsure && strings.HasPrefix(line, "fail-over") {
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
var guideLabels = []string{"point", "verdict", "measured", "best", "build", "runs", "samples", "spread", "ratio", "search"}

// guidePlain replaces what may differ between a line of the guide and one of an output: numbers, units of time, and folders.
func guidePlain(s string) string {
	s = strings.Replace(s, "time budget spent", "evaluations spent", 1)
	s = guideNumber().ReplaceAllString(s, "0")
	s = guideUnit().ReplaceAllString(s, "0 s")
	return strings.Join(strings.Fields(guideFolder().ReplaceAllString(s, "/")), " ")
}

// guideLike reports whether a line of the guide and one of an output differ in numbers only, or begin with the same label.
func guideLike(want, got string) bool {
	a, b := guidePlain(want), guidePlain(got)
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

// guideUnsure reports whether a comparison has no verdict, because the machine is busy.
func guideUnsure(out string) bool { return strings.Contains(out, "\nverdict   unverified") }

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
	defer func() {
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("%.1f s, %.1f s of CPU: %s", time.Since(began).Seconds(), used.Seconds(), strings.TrimSpace(script))
	}()
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
	err := cmd.Wait()
	if strings.Contains(script, "--fail-over") && cmd.ProcessState.ExitCode() == exitUnsure && guideUnsure(out.String()) {
		err = nil
	}
	if err != nil && interrupt == nil {
		t.Errorf("guide.md, line %d: %s: %v\n%s", step.line, script, err, out.String())
	}
	return out.String()
}
