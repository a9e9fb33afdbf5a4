package user

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tune/kernels"
)

// Preset is a way to run a kernel that has a name in its file: settings of the tool and start points.
type Preset struct {
	Name string
	Doc  string // one line; may be empty
	// Start are the points that a search evaluates first, each with the values of some parameters; the rest have their defaults.
	Start []string
	// Settings are a mapping, as under run. Their values are the tool's to check, but for the shape.
	Settings *yaml.Node
}

// The fields of a preset that are no settings of the tool.
const (
	presetDoc   = "doc"
	presetStart = "start"
)

// PresetFields are the fields that a preset has beside settings.
func PresetFields() []string { return []string{presetDoc, presetStart} }

// presets reads the presets of a file.
func (r *reader) presets(n node, d *definition, ns *names) {
	for _, p := range r.pairs(n, "names to settings, such as small: {shape: n=1000}") {
		switch {
		case !isPresetName(p.name):
			r.fault(p.key, "%q cannot name a preset: want letters, digits, - and _", p.name)
		case p.value.Kind != yaml.MappingNode:
			r.fault(p.value, "want settings in braces, such as {shape: n=1000, budget: 20s}, or one on each line")
		default:
			d.presets = append(d.presets, r.preset(p, d, ns))
		}
	}
}

// isPresetName reports whether a text may name a preset, and can be told from the name of a file.
func isPresetName(name string) bool {
	return name != "" && !strings.HasPrefix(name, "-") &&
		!strings.ContainsFunc(name, func(c rune) bool { return c > 127 || !isLetter(byte(c)) && !isDigit(byte(c)) && c != '-' })
}

func (r *reader) preset(p pair, d *definition, ns *names) Preset {
	out := Preset{Name: p.name, Settings: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: p.value.Line, Column: p.value.Column}}
	shape, err := kernels.ParseShape(d.shape, "")
	var starts []node
	for _, one := range r.pairs(p.value, "settings to values") {
		switch one.name {
		case presetDoc:
			if out.Doc = r.text(one.value, nil); strings.ContainsAny(out.Doc, "\n\r") {
				r.fault(one.value, "want one line")
			}
			continue
		case presetStart:
			starts = r.list(one.value)
			continue
		case "shape":
			if one.value.Kind != yaml.ScalarNode {
				r.fault(one.value, "want a text, such as n=1000,m=20")
				continue
			}
			var wrong error
			if shape, wrong = kernels.ParseShape(d.shape, one.value.Value); wrong != nil && err == nil {
				if err = wrong; !ns.shapeless {
					r.fault(one.value, "%s", strings.TrimPrefix(wrong.Error(), "shape: "))
				}
			}
		}
		out.Settings.Content = append(out.Settings.Content, one.key.Node, one.value.Node)
	}
	if err != nil {
		return out // where the points would have to exist is not known
	}
	for _, s := range r.startsAt(starts, d, ns, shape) {
		out.Start = append(out.Start, s.key())
	}
	return out
}

// Preset returns one of the presets of the file by its name.
func (k *Kernel) Preset(name string) (p Preset, ok bool) {
	i := slices.IndexFunc(k.d.presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return k.d.presets[i], true
}
