package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tune"
	"tune/configs"
	"tune/kernels/user"
	"tune/results"
	"tune/search/strategies"
)

// completer lists what an argument or a flag can be, for shells.
// args are the arguments before it.
type completer func(a *app, args []string) []string

// What the arguments of commands are, by the words of their usage lines.
var argumentWords = map[string]completer{
	"KERNEL":   func(a *app, _ []string) []string { return a.table.Names() },
	"DIR":      runDirs,
	"SCHEDULE": runDirs,
	"kernels":  func(*app, []string) []string { return listed },
}

// What the flags of all commands are.
var flagWords = map[string]completer{
	"strategy":   func(*app, []string) []string { return strategies.Names() },
	"strategies": func(*app, []string) []string { return strategies.Names() },
	"kernel":     func(a *app, _ []string) []string { return a.table.Names() },
	"format":     func(*app, []string) []string { return tune.Formats },
	"config":     presetWords,
	"from":       runDirs,
	"progress":   func(*app, []string) []string { return progressForms },
}

// runDirs returns the runs in the default folder.
func runDirs(*app, []string) []string {
	found, err := filepath.Glob(filepath.Join(settingDefault("out"), "*", results.SettingsName))
	if err != nil {
		return nil
	}
	for i, name := range found {
		found[i] = filepath.Dir(name)
	}
	return found
}

// presetWords returns the presets that --config can name: of the file that is given, or those that come with tune and those of the
// working folder.
func presetWords(_ *app, args []string) (names []string) {
	var own []user.Preset
	if len(args) > 0 && isYAML(args[0]) {
		own = presetsOf(configPath(args[0]))
	} else {
		names, own = configs.Names(), presetsHere()
	}
	for _, p := range own {
		names = append(names, p.Name)
	}
	return names
}

// complete makes a command and those below it complete their arguments and flags.
func (a *app) complete(c *cobra.Command) {
	var words []completer
	for word := range strings.FieldsFuncSeq(c.Use, func(r rune) bool { return strings.ContainsRune(" []|", r) }) {
		words = append(words, argumentWords[word])
	}
	if c.ValidArgsFunction == nil && c.RunE != nil {
		c.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 && args[0] == presetList {
				return nil, cobra.ShellCompDirectiveDefault // the file that they stand in
			}
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			for _, of := range words {
				if of != nil {
					out = append(out, of(a, args)...)
				}
			}
			out = slices.DeleteFunc(out, func(word string) bool { return !strings.HasPrefix(word, begun) })
			return out, cobra.ShellCompDirectiveDefault
		}
	}
	for name, of := range flagWords {
		if c.Flags().Lookup(name) != nil && (name != "config" || takesSettings(c.Flags())) {
			c.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return of(a, args), cobra.ShellCompDirectiveDefault
			})
		}
	}
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
}
