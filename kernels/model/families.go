package model

import (
	"fmt"
	"slices"
	"strings"

	"tune/internal/plain"
	"tune/space"
)

// The activations, as ops of the kernel rowwise.
const (
	actSilu = "silu"
	actGelu = "gelu"
	actErf  = "gelu-erf"
)

// The norms, as ops of the kernel rowwise.
const (
	normRMS   = "rmsnorm"
	normLayer = "layernorm"
)

// family is what the models of a family have in common and a config does not say.
type family struct {
	name  string
	types []string // model_type in configs, beside the name
	archs []string // general.architecture in GGUF files, beside the name

	norm      string
	act       string
	gated     bool // whether the activation is multiplied with a second product
	biasQKV   bool // whether something is added to q, k and v
	biasAll   bool // whether something is added to the result of each product
	qkNorm    bool // whether heads of q and k are normalised
	postNorms bool // whether attention and the feed-forward net have a norm behind them too
	parallel  bool // whether both take the same input, and are added up with it
	tied      bool // where the config does not say
	partial   float64
	pattern   int // of each so many layers all but the last see a window alone; 0 for all layers
	// pairwise says that weights in GGUF files are ordered so that neighbours are turned.
	pairwise bool
}

// families are those that are known, by their names.
var families = []family{
	{name: "llama", norm: normRMS, act: actSilu, gated: true, partial: 1, pairwise: true},
	{name: "mistral", norm: normRMS, act: actSilu, gated: true, partial: 1, pairwise: true},
	{name: "qwen2", types: []string{"qwen2_5"}, norm: normRMS, act: actSilu, gated: true, biasQKV: true, partial: 1},
	{name: "qwen3", norm: normRMS, act: actSilu, gated: true, qkNorm: true, partial: 1},
	{name: "gemma", norm: normRMS, act: actGelu, gated: true, tied: true, partial: 1},
	{name: "gemma2", norm: normRMS, act: actGelu, gated: true, postNorms: true, tied: true, partial: 1, pattern: 2},
	{name: "gemma3", types: []string{"gemma3_text"}, norm: normRMS, act: actGelu, gated: true, qkNorm: true, postNorms: true, tied: true, partial: 1, pattern: 6},
	{name: "phi", archs: []string{"phi2"}, norm: normLayer, act: actGelu, biasQKV: true, biasAll: true, parallel: true, partial: 0.5},
	{name: "phi3", norm: normRMS, act: actSilu, gated: true, partial: 1},
}

// Families returns the names of the families that are known.
func Families() []string {
	var names []string
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// FamilyError says that a family is not known, and what its models have that the known ones have not.
type FamilyError struct {
	Name    string   // of the family; "" where the file names none
	Missing []string // as nouns
}

func (e *FamilyError) Error() string {
	text := "it has neither model_type nor architectures"
	if e.Name != "" {
		text = fmt.Sprintf("the family %q is not known", plain.Line(e.Name))
	}
	text += ": want one of " + strings.Join(Families(), ", ")
	if len(e.Missing) > 0 {
		return text + "; no kernel here has what it computes: " + strings.Join(e.Missing, ", ")
	}
	return text + space.DidYouMean(e.Name, Families()) + "; where it computes the same as one of them, name that by --family"
}

// familyOf returns the family of a config.
func familyOf(f fields, as string) (family, error) {
	name := f.ModelType
	if name == "" && len(f.Architectures) > 0 {
		name = strings.ToLower(f.Architectures[0])
		for _, end := range []string{"forcausallm", "forconditionalgeneration", "model"} {
			name = strings.TrimSuffix(name, end)
		}
	}
	if as == "" {
		as = name
	}
	missing := f.missing()
	i := slices.IndexFunc(families, func(fam family) bool { return fam.name == as || slices.Contains(fam.types, as) })
	if i < 0 || len(missing) > 0 {
		return family{}, &FamilyError{name, missing}
	}
	return families[i], nil
}

// missing lists what a config has that no family here has.
func (f fields) missing() (out []string) {
	if f.Experts > 1 || f.MoreExperts > 1 {
		out = append(out, "experts among which a router chooses (num_local_experts, num_experts)")
	}
	if f.LatentRank > 0 {
		out = append(out, "keys and values of low rank (kv_lora_rank)")
	}
	if f.StateSize > 0 {
		out = append(out, "a state space (state_size)")
	}
	return out
}
