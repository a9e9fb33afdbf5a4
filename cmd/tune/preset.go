package main

import (
	"fmt"
	"slices"
	"strings"

	"tune/configs"
	"tune/internal/plain"
	"tune/kernels/user"
	"tune/space"
)

// isPresetName reports whether the value of --config names a preset, and not a file.
func isPresetName(config string) bool { return config != "" && !strings.ContainsAny(config, "./\\") }

// configOf returns the file or preset that a run has its settings from, and the preset in that file; "" for none. rest are the
// arguments that name no file.
func configOf(config string, args []string) (file, preset string, rest []string, err error) {
	switch {
	case len(args) == 1 && isYAML(args[0]) && isPresetName(config):
		return args[0], config, nil, nil
	case len(args) == 1 && isYAML(args[0]) && config != "":
		return "", "", nil, fmt.Errorf("--config: %s is given as well, and only one file can be run", quoted(args[0]))
	case len(args) == 1 && isYAML(args[0]):
		return args[0], "", nil, nil
	case len(args) == 0 && isPresetName(config) && slices.ContainsFunc(presetsHere(), func(p user.Preset) bool { return p.Name == config }):
		return "./" + kernelName, config, nil, nil
	}
	return config, "", args, nil
}

// presetsHere returns the presets of the kernel in the working folder. A file with mistakes has none; who runs it says which.
func presetsHere() []user.Preset { return presetsOf("./" + kernelName) }

// presetsOf returns the presets of the kernel in a file; nil where it is not one, or has mistakes.
func presetsOf(path string) []user.Preset {
	k, err := loadKernel(path)
	if err != nil || k == nil {
		return nil
	}
	defer k.Close()
	return k.Presets()
}

// presetLayers returns the settings of a preset in the file of a kernel, and below them those of the rest of that file. own is
// nil where the file describes none.
func presetLayers(own *user.Kernel, path, name string) ([]layer, user.Preset, error) {
	if own == nil {
		return nil, user.Preset{}, fmt.Errorf("--config: %s describes no kernel, so that it has no presets: leave %q out", path, name)
	}
	p, ok := own.Preset(name)
	if !ok {
		var names []string
		for _, other := range own.Presets() {
			names = append(names, other.Name)
		}
		if names == nil {
			return nil, p, fmt.Errorf("--config: %s has no presets: leave %q out, or write it under presets in the file", path, name)
		}
		return nil, p, fmt.Errorf("--config: unknown preset %q of %s: want %s%s", name, path, strings.Join(names, ", "), space.DidYouMean(name, names))
	}
	l := layer{name: path, places: map[string]string{}}
	values, lines, err := parseSettings(p.Settings, embeddedKeys(), user.PresetFields()...)
	if err != nil {
		return nil, p, fileFault{fmt.Errorf("%s: %w", path, err)}
	}
	l.values = values
	for key, line := range lines {
		l.places[key] = fmt.Sprintf("%s: line %d: presets.%s.%s", path, line, name, key)
	}
	rest, err := readConfig(path)
	return []layer{l, rest}, p, err
}

// settingsText says in a line what the settings and start points of a preset are.
func settingsText(p user.Preset) string {
	var words []string
	for i := 0; i+1 < len(p.Settings.Content); i += 2 {
		words = append(words, p.Settings.Content[i].Value+" "+settingValue(p.Settings.Content[i+1]))
	}
	if n := len(p.Start); n > 0 {
		words = append(words, plain.Count(n, "start point"))
	}
	return strings.Join(words, ", ")
}

// presetLine is what a list says of a preset beside its name.
func presetLine(p user.Preset) string {
	settings := settingsText(p)
	if p.Doc == "" || settings == "" {
		return p.Doc + settings
	}
	return p.Doc + ": " + settings
}

// presetFaults finds what is wrong with the settings of a kernel's presets.
func presetFaults(path string, presets []user.Preset) (faults []checkFault) {
	for _, p := range presets {
		faults = append(faults, settingFaults(path, "presets."+p.Name, p.Settings, user.PresetFields()...)...)
	}
	return faults
}

// presetNames refuses presets of a user's file that are called like those that come with tune.
func presetNames(k *user.Kernel) error {
	for _, p := range k.Presets() {
		if slices.Contains(configs.Names(), p.Name) {
			return usage(fileFault{fmt.Errorf("%s: presets.%s: a preset that comes with tune is called so: choose another name", k.Path(), p.Name)})
		}
	}
	return nil
}
