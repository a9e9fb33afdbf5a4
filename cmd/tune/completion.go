package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tune/configs"
	"tune/kernels"
	"tune/kernels/model"
	"tune/kernels/peers"
	"tune/kernels/user"
	"tune/results"
	"tune/search/bench"
	"tune/search/strategies"
	"tune/space"
)

// typed is what stands on a command line before the cursor.
type typed struct {
	command *cobra.Command // whose flags are parsed
	args    []string       // without flags, and without the word at the cursor
	begun   string         // the word at the cursor; of a list with commas its last item
	before  []string       // the items of the list before it
}

// completer lists what an argument or a flag can be, for shells.
type completer func(a *app, t typed) []string

// words is what can be only one of some words.
func words(list ...string) completer { return func(*app, typed) []string { return list } }

// What the arguments of commands are, by the words of their usage lines, or by a command and such a word. nil is a file or folder.
var argumentWords = map[string]completer{
	"KERNEL":      kernelWords,
	"DIR":         runDirs,
	"RUN":         runDirs,
	"A":           runDirs,
	"B":           runDirs,
	"init DIR":    nil,
	"man DIR":     nil,
	"rebuild DIR": nil,
	"kernels":     words(listed...),
}

// What the flags of all commands are, by their name, or by a command and a name.
var flagWords = map[string]completer{
	"strategy":      words(strategies.Names()...),
	"kernel":        func(a *app, _ typed) []string { return a.table.Names() },
	"export format": words(exportFormats()...),
	"report format": words(reportFormats...),
	"guard format":  words("text", "md"),
	"config":        presetWords,
	"start":         startWords,
	"pin":           startWords,
	"from":          runDirs,
	"fetch from":    nil,
	"against":       runDirs,
	"progress":      words(progressForms...),
	"pass":          passWords,
	"state":         words(results.States()...),
	"schema":        words("kernel", "library"),
	"quant":         words(model.Quants()...),
	"family":        words(model.Families()...),
}

// The flags that are lists: of items with commas between them, and of such lists with semicolons.
var listWords = map[string]completer{
	"strategies": words(strategies.Names()...),
	"weights":    words(bench.Weightings...),
	"allow":      func(a *app, _ typed) []string { return a.table.Names() },
	"peers":      peerWords,
	"shape":      shapeWords,
	"shapes":     shapeWords,
	"off":        choiceWords,
	"objective":  objectiveWords,
	"metrics":    metricWords,
}

// wordsOf returns the entry of a map for a command and a name, which is stronger, or for the name alone.
func wordsOf(of map[string]completer, command, name string) completer {
	if one, found := of[command+" "+name]; found {
		return one
	}
	return of[name]
}

// kernelWords returns the kernels that come with tune, and the files of those in the working folder.
func kernelWords(a *app, _ typed) []string { return append(a.table.Names(), kernelsIn(".")...) }

// runDirs returns the runs in the folder that runs are made in: that of --out, or of the other sources of settings.
func runDirs(a *app, t typed) (dirs []string) {
	out := a.settingsHere(t).out
	entries, err := os.ReadDir(out)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if dir := filepath.Join(out, e.Name()); isRunDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// settingsHere returns the settings of a run in the working folder, with what the command line says of them so far. kernel is the path
// of the user's own, if it is one. Where they hold a mistake, they are the defaults.
func (a *app) settingsHere(t typed) settings {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addRunSettings(flags)
	if out := t.command.Flags().Lookup("out"); out != nil && out.Changed {
		flags.Set("out", out.Value.String())
	}
	var config, preset string
	var err error
	if takesSettings(t.command.Flags()) {
		config, preset, _, err = configOf(t.command.Flags().Lookup("config").Value.String(), t.args)
	}
	set, own, _, err2 := runSettings(flags, config, preset, "", a.environ)
	if own != nil {
		set.kernel = own.Path()
		own.Close()
	}
	if err != nil || err2 != nil {
		return settings{kernel: defaultKernel, out: settingDefault("out")}
	}
	return set
}

// presetWords returns what --config can name: the presets of the file that is given, or those that come with tune, and those and the YAML
// files of the working folder.
func presetWords(_ *app, t typed) (names []string) {
	var own []user.Preset
	if len(t.args) > 0 && isYAML(t.args[0]) {
		own = presetsOf(configPath(t.args[0]))
	} else {
		names, own = append(configs.Names(), yamlIn(".")...), presetsHere()
	}
	for _, p := range own {
		names = append(names, p.Name)
	}
	return names
}

// kernelOf returns the kernel that a command line is about, and its user's form, if it is one: of an argument, which may be a run, a flag
// or the settings here. nil stands for one that is not known. done ends what it has started.
func (t typed) kernelOf(a *app) (k kernels.Kernel, own *user.Kernel, done func()) {
	flag := func(name string) string {
		if f := t.command.Flags().Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	var name string
	switch file := flag("config"); {
	case len(t.args) > 0 && !strings.Contains(t.args[0], "="): // a point is of --kernel
		name = t.args[0]
	case isYAML(file) && !takesSettings(t.command.Flags()):
		name = file
	case flag("kernel") != "":
		name = flag("kernel")
	default:
		name = a.settingsHere(t).kernel
	}
	c := a.catalog(false)
	if dir := runOf(name); dir != "" {
		run, err := results.Look(dir)
		if err != nil {
			return nil, nil, func() {}
		}
		found, err := c.OfRun(dir, false)
		if err != nil {
			return nil, nil, func() {}
		}
		k, _ = found.Table.Lookup(run.Settings.Kernel)
		return k, found.Own(), func() { found.Close() }
	}
	if !isYAML(name) {
		k, _ = c.Lookup(name)
		return k, nil, func() {}
	}
	if own, _ = loadKernel(configPath(name)); own == nil {
		return nil, nil, func() {}
	}
	return own.On(a.host), own, func() { own.Close() }
}

// problemOf returns the problem that a command line is about, at the shape that it has so far; nil where it is not known.
func (t typed) problemOf(a *app) (p kernels.Problem, own *user.Kernel, done func()) {
	k, own, done := t.kernelOf(a)
	if k == nil {
		return nil, nil, done
	}
	text := ""
	if f := t.command.Flags().Lookup("shape"); f != nil {
		text = f.Value.String()
	} else if shapes, err := t.command.Flags().GetStringArray("shapes"); err == nil && len(shapes) > 0 {
		text, _, _ = strings.Cut(shapes[0], ";")
	}
	shape, err := kernels.ParseShape(k.Info().Shape, text)
	if err == nil {
		p, err = k.Problem(shape)
	}
	if err != nil {
		return nil, nil, done
	}
	return p, own, done
}

// shapeWords returns the fields of a shape that are not yet given: each with its default, or with each word that it can be.
func shapeWords(a *app, t typed) (out []string) {
	k, _, done := t.kernelOf(a)
	defer done()
	if k == nil {
		return nil
	}
	for _, f := range k.Info().Shape {
		if slices.ContainsFunc(t.before, func(item string) bool { return strings.HasPrefix(item, f.Name+"=") }) {
			continue
		}
		options := f.Options
		if len(options) == 0 {
			options = []string{f.Default}
		}
		for _, option := range options {
			out = append(out, f.Name+"="+option)
		}
	}
	return out
}

// mostOffered is up to how many values of a parameter are offered.
const mostOffered = 64

// choiceWords returns the parameters of a space that are not yet given, and behind the name of one its values.
func choiceWords(a *app, t typed) (out []string) {
	problem, _, done := t.problemOf(a)
	defer done()
	if problem == nil {
		return nil
	}
	for _, p := range problem.Space().Parameters() {
		switch {
		case slices.ContainsFunc(t.before, func(item string) bool { return strings.HasPrefix(item, p.Name+"=") }):
		case !strings.HasPrefix(t.begun, p.Name+"="):
			out = append(out, p.Name+"=")
		case p.Len() <= mostOffered:
			for i := range p.Len() {
				out = append(out, p.Name+"="+p.At(i).String())
			}
		}
	}
	return out
}

// startWords makes a point of the parameters of a space: those that are not yet given and, behind the name of one, its values.
func startWords(a *app, t typed) (out []string) {
	at := strings.LastIndexByte(t.begun, ' ') + 1
	head := t.begun[:at]
	t.before, t.begun = strings.Fields(head), t.begun[at:]
	for _, word := range choiceWords(a, t) {
		out = append(out, head+word)
	}
	return out
}

// passWords returns the passes of the generator of a kernel.
func passWords(a *app, t typed) (out []string) {
	problem, _, done := t.problemOf(a)
	defer done()
	if problem == nil || problem.Traits().Passes == nil {
		return nil
	}
	for _, preset := range problem.Presets() {
		for _, pass := range problem.Traits().Passes(preset.Point) {
			if !slices.Contains(out, pass) {
				out = append(out, pass)
			}
		}
	}
	return out
}

// peerWords returns what a kernel can be compared with; of a command that takes no kernel all libraries.
func peerWords(a *app, t typed) (out []string) {
	var libraries []string
	for _, l := range peers.List() {
		libraries = append(libraries, l.Name)
	}
	if t.command.Flags().Lookup("shapes") == nil {
		return libraries
	}
	problem, own, done := t.problemOf(a)
	defer done()
	if problem == nil || problem.Traits().Peers == nil {
		return nil
	}
	found, err := problem.Traits().Peers(nil)
	if err != nil {
		return nil
	}
	for _, p := range found {
		if own != nil || slices.Contains(libraries, p.Name) { // a library may have several ways, which have no names here
			out = append(out, p.Name)
		}
	}
	return out
}

// metricWords returns the metrics that can be measured of candidates.
func metricWords(*app, typed) (out []string) {
	for _, m := range space.Measured() {
		out = append(out, m.Name)
	}
	return out
}

// objectiveWords returns the objectives that a kernel has by its kind: the cost, and behind it the other numbers.
func objectiveWords(a *app, t typed) []string {
	k, own, done := t.kernelOf(a)
	defer done()
	if k == nil {
		return nil
	}
	unit := k.Info().Unit
	if len(t.before) == 0 {
		for _, name := range []string{"time", unit, "cost"} {
			if _, err := space.ParseGoals(name, unit); err == nil && name != "" {
				return []string{name}
			}
		}
	}
	if commands := own != nil && own.Commands(); !commands && !k.Info().Exact {
		return []string{"error", "size"} // of code in C
	}
	return k.Info().Metrics
}

// items makes a completer complete the last item of a list, and leave out those that are in it.
func items(of completer) completer {
	return func(a *app, t typed) (out []string) {
		list := strings.LastIndexByte(t.begun, ';') + 1
		at := list + strings.LastIndexByte(t.begun[list:], ',') + 1
		head := t.begun[:at]
		t.before, t.begun = strings.Split(head[list:], ","), t.begun[at:]
		t.before = t.before[:len(t.before)-1] // what is behind the last comma is begun
		for _, word := range of(a, t) {
			if !slices.Contains(t.before, word) {
				out = append(out, head+word)
			}
		}
		return out
	}
}

// places returns what the arguments of a command are, in their order, by its usage line. more says that the last may be there again.
func places(c *cobra.Command) (of []completer, more bool) {
	fields := strings.Fields(c.Use)[1:]
	for i := 0; i < len(fields); i++ {
		field := fields[i]
		switch {
		case strings.HasPrefix(field, "[--"): // a command line
			return append(of, nil), true
		case strings.HasPrefix(field, "--"):
			i++ // with its value
			continue
		case strings.HasSuffix(field, "]]"): // the file of tune list presets
			continue
		}
		name := strings.Trim(field, "[]")
		name, dots := strings.CutSuffix(name, "...")
		name, dot := strings.CutSuffix(name, "…")
		more = dots || dot
		var alternatives []completer
		for word := range strings.SplitSeq(name, "|") {
			if one := wordsOf(argumentWords, c.Name(), word); one != nil {
				alternatives = append(alternatives, one)
			}
		}
		of = append(of, func(a *app, t typed) (out []string) {
			for _, one := range alternatives {
				out = append(out, one(a, t)...)
			}
			return out
		})
	}
	return of, more
}

// begin keeps the words that begin with what is typed.
func begin(words []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, begun) })
}

// completionCommand adds cobra's command for the scripts of shells, which writes them to the output of the root. What it does not know is
// refused as elsewhere.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = noArgs
		}
	}
}

// complete makes a command and those below it complete their arguments and flags.
func (a *app) complete(c *cobra.Command) {
	if c.RunE != nil {
		of, more := places(c)
		c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 && args[0] == presetList {
				return nil, cobra.ShellCompDirectiveDefault // the file that they stand in
			}
			at := len(args)
			if more {
				at = min(at, len(of)-1)
			}
			if at >= len(of) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			if of[at] != nil {
				out = begin(of[at](a, typed{command: c, args: args, begun: begun}), begun)
			}
			return slices.DeleteFunc(out, func(word string) bool { return slices.Contains(args, word) }), cobra.ShellCompDirectiveDefault
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		of, after := wordsOf(flagWords, c.Name(), f.Name), cobra.ShellCompDirectiveDefault
		if list := listWords[f.Name]; list != nil {
			of = items(list)
		}
		if listWords[f.Name] != nil || f.Name == "start" {
			after = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		if of == nil || f.Name == "config" && !takesSettings(c.Flags()) {
			return
		}
		c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return begin(of(a, typed{command: c, args: args, begun: begun}), begun), after
		})
	})
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
}
