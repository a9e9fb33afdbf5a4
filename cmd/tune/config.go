package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tune/internal/files"
	"tune/kernels/recorded"
	"tune/kernels/user"
)

// The names of the files that tune looks for: settings, and the kernel that tune init writes.
const (
	configName = "tune.yaml"
	kernelName = "kernel.yaml"
)

// kernelBound are the settings that mean something for one kernel only.
var kernelBound = []string{"kernel", "shape", "data", "target", "objective"}

// foundFile is a file of settings, or of a kernel, that tune looks for.
type foundFile struct {
	Path string `json:"path"`
	What string `json:"what"`
	Read bool   `json:"read"` // whether it is there
	data []byte
}

// lookForFiles reads the files that tune looks for, the strongest first: the settings of the working folder, its kernel, and the user's
// settings.
func lookForFiles(environ []string) ([]foundFile, error) {
	looked := []foundFile{{Path: "./" + configName, What: "this folder"}, {Path: "./" + kernelName, What: "its kernel"}}
	if folder := configFolder(environ); folder != "" {
		looked = append(looked, foundFile{Path: filepath.Join(folder, "tune", configName), What: "the user's"})
	}
	for i := range looked {
		f := &looked[i]
		var err error
		f.data, err = files.Read(f.Path, files.YAML)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fileFault{fmt.Errorf("%w: make it readable, or move it away", err)}
		}
		f.Read = err == nil && (filepath.Base(f.Path) != kernelName || user.IsKernel(f.data)) // others use the name too
	}
	return looked, nil
}

// configFolder returns the folder of the user's settings, as the XDG Base Directory Specification says; "" where there is none.
func configFolder(environ []string) string {
	value := func(name string) (out string) {
		for _, pair := range environ {
			if v, ok := strings.CutPrefix(pair, name+"="); ok && filepath.IsAbs(v) {
				out = v
			}
		}
		return out
	}
	if home := value("HOME"); home != "" {
		return cmp.Or(value("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	}
	return value("XDG_CONFIG_HOME")
}

// runSettings are the settings of a run, and the kernel of the user's own that they name; nil for none. preset is one in the file
// config, and kernel is the one that the command line names; "" for none. The caller closes the kernel.
func runSettings(flags *pflag.FlagSet, config, preset, kernel string, environ []string) (set settings, own *user.Kernel, looked []foundFile, err error) {
	defer func() {
		if err != nil && own != nil {
			own.Close()
			own = nil
		}
	}()
	if looked, err = lookForFiles(environ); err != nil {
		return set, nil, nil, err
	}
	if own, err = loadKernel(config); err != nil {
		return set, nil, looked, err
	}
	var above []layer
	var chosenPreset user.Preset
	if preset != "" {
		if above, chosenPreset, err = presetLayers(own, config, preset); err != nil {
			return set, own, looked, err
		}
		config = ""
	}
	chosen := kernel
	if own != nil {
		chosen = own.Info().Name
	}
	if chosen == "" {
		if chosen, err = kernelOfStronger(flags, config, environ); err != nil {
			return set, own, looked, err
		}
	}
	var layers []layer
	for _, f := range looked {
		if !f.Read {
			continue
		}
		if user.IsKernel(f.data) {
			// A kernel's file says how that kernel is run, and nothing of others.
			if chosen != "" {
				continue
			}
			if own, err = loadKernel(f.Path); err != nil {
				return set, own, looked, err
			}
			chosen = own.Info().Name
		}
		l, err := newLayer(f.Path, f.data)
		if err != nil {
			return set, own, looked, err
		}
		other, _ := l.values["kernel"].(string)
		if _, has := l.values["data"]; has && other == "" {
			other = recorded.Name
		}
		if chosen != "" && other != "" && other != chosen {
			for _, key := range kernelBound {
				delete(l.values, key)
				delete(l.places, key)
			}
		}
		chosen = cmp.Or(chosen, other)
		layers = append(layers, l)
	}
	set, err = readSettings(flags, config, environ, append(above, layers...)...)
	set.preset = chosenPreset
	return set, own, looked, err
}

// kernelOfStronger returns the kernel that flags, the environment or a config name, which are stronger than the files that are
// looked for; "" for none.
func kernelOfStronger(flags *pflag.FlagSet, config string, environ []string) (string, error) {
	set, err := readSettings(flags, config, environ)
	switch {
	case err != nil:
		return "", err
	case set.from["kernel"] != "":
		return set.kernel, nil
	case set.data != "":
		return recorded.Name, nil
	}
	return "", nil
}

// shownSetting is a setting as tune config shows it.
type shownSetting struct {
	Key   string `json:"key"`
	Value string `json:"value"` // "" where it is not set
	From  string `json:"from"`
}

// unset says what a setting that has no value comes to.
var unset = map[string]string{
	"shape": "the kernel's default", "data": "none", "strategy": "the kernel's own", "objective": "the cost alone", "evals": "no limit", "target": "none",
	"jobs": "one for each core", "final": "30s, within the budget", "dir": "OUT/KERNEL-TIME-SEED",
	"db": "tune/tune.db in the user's data folder",
}

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config [KERNEL]",
		Short: "Show each setting of a run, and where it comes from",
		Long: `config shows the settings that tune run would use with the same arguments, and where each of them comes from. It runs
nothing.

The first of these sources that has a setting decides:
  1. flags
  2. the environment (TUNE_BUDGET=1h)
  3. the preset or file that --config names; below a preset in the file of your own kernel comes the rest of that file
  4. ./tune.yaml
  5. ./kernel.yaml, if it describes a kernel and nothing above names another one
  6. tune/tune.yaml in the user's config folder ($XDG_CONFIG_HOME, or ~/.config)
  7. defaults
If source 4 or 6 names another kernel than an earlier source, its kernel, shape, data, target and objective are ignored.`,
		Example: "  tune config\n  tune config gemm-f32 --shape m=512,n=512,k=512\n  tune config --config treehash-small --json",
		Args:    cobra.ArbitraryArgs,
	}
	config := addRunSettings(c.Flags())
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		set, own, looked, done, err := a.settingsOfRun(c, *config, args)
		if err != nil {
			return err
		}
		defer done()
		switch {
		case len(args) > 0:
			if _, err := a.lookup(set.kernel); own == nil && err != nil {
				return usage(err)
			}
			set.from["kernel"] = "argument"
		case own != nil:
			set.from["kernel"] = own.Path()
		case set.kernel == recorded.Name && set.from["kernel"] == "":
			set.from["kernel"] = set.from["data"]
		}
		shown := shownSettings(set)
		if *asJSON {
			return printJSON(a.stdout, struct {
				Settings []shownSetting `json:"settings"`
				Files    []foundFile    `json:"files"`
			}{shown, looked})
		}
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
		for _, s := range shown {
			value := s.Value
			if value == "" {
				value = "(" + unset[s.Key] + ")"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, value, s.From)
		}
		fmt.Fprintln(w)
		for _, f := range looked {
			is := "not found"
			if f.Read {
				is = "read"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", f.What, f.Path, is)
		}
		return w.Flush()
	}
	return c
}

// shownSettings are those of a run, in the order of the table.
func shownSettings(set settings) (shown []shownSetting) {
	for _, s := range settingTable {
		one := shownSetting{Key: s.key, Value: set.texts[s.key], From: cmp.Or(set.from[s.key], "default")}
		switch {
		case s.key == "kernel":
			one.Value = set.kernel // which an argument, a kernel's file or measurements may have named
		case s.key == "budget" && one.Value == "" && set.budget.Evaluations == 0:
			one.Value = defaultBudget.String()
		case s.key == "budget" && one.Value == "":
			one.From = "no limit, because evals is set"
		}
		shown = append(shown, one)
	}
	return shown
}

// strayFlag says which flag of a command an argument that stands alone may be the value of, as the end of a message.
func strayFlag(c *cobra.Command, arg string) string {
	has := func(flag string) bool { return c.Flags().Lookup(flag) != nil }
	meant := func(flag string) string { return fmt.Sprintf(" (did you mean --%s %s?)", flag, arg) }
	_, err := parseDuration(arg)
	info, serr := os.Stat(arg)
	name, _, assigns := strings.Cut(arg, "=")
	switch {
	case err == nil && has("budget"):
		return meant("budget")
	case assigns && name != "" && has("shape"):
		return " (a shape is one word, --shape name=value,…, without blanks)"
	case has("format") && slices.Contains(exportFormats(), arg):
		return meant("format")
	case has("output") && filepath.Ext(arg) != "" && serr != nil:
		return meant("output")
	case has("out") && serr == nil && runOf(arg) != "":
		return fmt.Sprintf(" (did you mean --out %s?)", filepath.Dir(runOf(arg)))
	case has("out") && serr == nil && info.IsDir():
		return meant("out")
	}
	return ""
}

// settingsOfRun reads the settings of a run, and puts a kernel that they bring along into the table. done closes that kernel.
func (a *app) settingsOfRun(c *cobra.Command, config string, args []string) (set settings, own *user.Kernel, looked []foundFile, done func(), err error) {
	if len(args) > 1 {
		return set, nil, nil, nil, usage(fmt.Errorf("%s takes one kernel and nothing else, but got %q%s", c.CommandPath(), args[1], strayFlag(c, args[1])))
	}
	named := len(args) > 0
	config, preset, args, err := configOf(config, args)
	if err != nil {
		return set, nil, nil, nil, usage(err)
	}
	if named && len(args) == 0 {
		if err := present(config); err != nil {
			return set, nil, nil, nil, usage(err)
		}
	}
	kernel := ""
	if len(args) == 1 {
		kernel = args[0]
		if err := folderFault(kernel, c.CommandPath()); err != nil && !slices.Contains(a.table.Names(), kernel) {
			return set, nil, nil, nil, usage(err)
		}
	}
	set, own, looked, err = runSettings(c.Flags(), config, preset, kernel, a.environ)
	if err != nil {
		if other := noKernel(config); other != nil && named {
			err = other
		}
		return set, nil, nil, nil, usage(err)
	}
	closeKernel := func() {
		if own != nil {
			a.end(own)
		}
	}
	defer func() {
		if err != nil {
			closeKernel()
		}
	}()
	if kernel != "" {
		set.kernel = kernel
		delete(set.from, "kernel")
	}
	if err := a.adoptData(&set, kernel != ""); err != nil {
		return set, own, nil, nil, err
	}
	if own != nil {
		if err := a.adopt(own, &set, args); err != nil {
			return set, own, nil, nil, usage(err)
		}
	}
	if kernel == "" && (config == "" || preset != "" && !named) {
		set.found = foundKernel(set, own)
	}
	return set, own, looked, closeKernel, nil
}

// kernelsIn returns the paths of the files of kernels in a folder; nil where the path is no folder.
func kernelsIn(path string) []string {
	return slices.DeleteFunc(yamlIn(path), func(name string) bool { return !describesKernel(name) })
}

// yamlIn returns the paths of the YAML files in a folder; nil where the path is no folder.
func yamlIn(path string) (found []string) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil
	}
	for _, ending := range []string{"*.yaml", "*.yml"} {
		names, _ := filepath.Glob(filepath.Join(path, ending)) // a pattern that is wrong matches nothing
		found = append(found, names...)
	}
	return found
}

// folderFault says what to write instead of a folder with kernels, as the argument of a command; nil where it is none.
func folderFault(path, command string) error {
	switch found := kernelsIn(path); len(found) {
	case 0:
		return nil
	case 1:
		return ofFile(fmt.Errorf("%s is a folder: for the kernel in it write '%s %s'", path, command, found[0]))
	default:
		return ofFile(fmt.Errorf("%s is a folder with several kernels: write '%s FILE' with one of %s", path, command, strings.Join(found, ", ")))
	}
}

// isYAML reports whether an argument names a YAML file.
func isYAML(arg string) bool {
	ext := strings.ToLower(filepath.Ext(arg))
	return ext == ".yaml" || ext == ".yml"
}

// foundKernel says why a run is of the kernel that it is of, where no argument, flag or variable names it.
func foundKernel(set settings, own *user.Kernel) string {
	switch from := set.from["kernel"]; {
	case own != nil:
		return "kernel " + own.Info().Name + ", from " + own.Path()
	case strings.Contains(from, configName):
		return "kernel " + set.kernel + ", from " + from
	case from == "" && set.data == "":
		return fmt.Sprintf("no ./%s or ./%s here%s: tuning %s, a kernel that comes with tune", configName, kernelName, otherEnding(), set.kernel)
	}
	return ""
}

// otherEnding says which file of the working folder is not read because of its ending.
func otherEnding() string {
	for _, name := range []string{configName, kernelName} {
		other := strings.TrimSuffix(name, ".yaml") + ".yml"
		if _, err := os.Stat(other); err == nil {
			return fmt.Sprintf(" (./%s is not read: rename it to %s)", other, name)
		}
	}
	return ""
}

// addRunSettings defines the flags of the settings of a run.
func addRunSettings(flags *pflag.FlagSet) (config *string) {
	addSettings(flags, slices.DeleteFunc(settingKeys(), func(key string) bool { return key == "kernel" || key == "db" })...)
	addDB(flags)
	return flags.StringP("config", "c", "", "`FILE|PRESET` to take settings from: a YAML file, which may describe your own kernel (see tune init), or the name of a preset (see tune list presets), also of one in the file that is run")
}
