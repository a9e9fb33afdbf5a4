package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"tune/internal/files"
	"tune/internal/plain"
	"tune/space"
)

// Config is what the operations of a model follow from.
type Config struct {
	Name   string `json:"name"`   // of the file or its directory
	Family string `json:"family"` // llama, qwen2, …

	Embed        int `json:"embed"` // elements of a token between the layers
	Heads        int `json:"heads"` // of queries
	KVHeads      int `json:"kv_heads"`
	HeadDim      int `json:"head_dim"`
	Rotary       int `json:"rotary"` // elements of a head that are turned, the first ones
	Intermediate int `json:"intermediate"`
	Vocab        int `json:"vocab"`
	Layers       int `json:"layers"`

	// Window is how many keys the attention of Local layers sees at most; 0 where all layers see all.
	Window int `json:"window,omitempty"`
	Local  int `json:"local_layers,omitempty"`

	Tied       bool    `json:"tied"`       // whether the embeddings are the weights of the product with the vocabulary
	Activation string  `json:"activation"` // an op of the kernel rowwise: silu, gelu or gelu-erf
	Eps        float64 `json:"eps"`        // of the norms
	RopeTheta  float64 `json:"rope_theta"`
	// Pairwise says that neighbours are turned, and not the halves of a head.
	Pairwise bool `json:"pairwise,omitempty"`
	// Quant is the format that most weights of a GGUF file have; "" where the file does not say.
	Quant string `json:"quant,omitempty"`
	// Notes are sentences about what the operations leave out.
	Notes []string `json:"notes,omitempty"`

	family family
	origin *origin
}

// mostConfig is the size of a config that is read, in bytes.
const mostConfig = 4 << 20

// ReadFile reads a config.json, or the metadata of a GGUF file. as, if not "", is the name of the family that the model is read as.
func ReadFile(path, as string) (*Config, error) {
	if as != "" && !slices.Contains(Families(), as) {
		return nil, &FamilyError{Name: as}
	}
	isModel, err := startsWith(path, "GGUF")
	if err != nil {
		return nil, err
	}
	if isModel {
		return readGGUF(path, as)
	}
	text, err := files.Read(path, mostConfig)
	if err != nil {
		return nil, err
	}
	c, err := parse(path, text, as)
	if err != nil {
		return nil, err
	}
	c.Name = nameOf(path)
	return c, nil
}

// startsWith reports whether a file begins with a word.
func startsWith(path, word string) (bool, error) {
	f, err := files.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	got := make([]byte, len(word))
	n, _ := f.ReadAt(got, 0) // a shorter file is none
	return string(got[:n]) == word, nil
}

// nameOf makes a name from a path: that of the file, or of its directory for a config.json.
func nameOf(path string) string {
	base := filepath.Base(path)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if name == "config" {
		if abs, err := filepath.Abs(path); err == nil {
			name = filepath.Base(filepath.Dir(abs))
		}
	}
	return plain.Line(name)
}

// fields are the entries of a config.json that are read. Numbers are float64, so that 1e6 is one.
type fields struct {
	origin *origin

	ModelType     string   `json:"model_type"`
	Architectures []string `json:"architectures"`
	Text          *fields  `json:"text_config"`

	Embed        float64  `json:"hidden_size"`
	Heads        float64  `json:"num_attention_heads"`
	KVHeads      *float64 `json:"num_key_value_heads"`
	HeadDim      *float64 `json:"head_dim"`
	Intermediate float64  `json:"intermediate_size"`
	Vocab        float64  `json:"vocab_size"`
	Layers       float64  `json:"num_hidden_layers"`

	Tied      *bool    `json:"tie_word_embeddings"`
	Act       string   `json:"hidden_act"`
	GemmaAct  string   `json:"hidden_activation"`
	RMSEps    float64  `json:"rms_norm_eps"`
	LayerEps  float64  `json:"layer_norm_eps"`
	RopeTheta *float64 `json:"rope_theta"`
	Rope      *struct {
		Theta   *float64 `json:"rope_theta"`
		Partial *float64 `json:"partial_rotary_factor"`
	} `json:"rope_parameters"`
	Partial *float64 `json:"partial_rotary_factor"`
	QKNorm  bool     `json:"qk_layernorm"`
	Bias    bool     `json:"attention_bias"`

	Window        *float64 `json:"sliding_window"`
	UseWindow     *bool    `json:"use_sliding_window"`
	MaxWindow     float64  `json:"max_window_layers"`
	WindowPattern float64  `json:"sliding_window_pattern"`
	LayerTypes    []string `json:"layer_types"`

	Experts      float64 `json:"num_local_experts"`
	MoreExperts  float64 `json:"num_experts"`
	LatentRank   float64 `json:"kv_lora_rank"`
	StateSize    float64 `json:"state_size"`
	AttnSoftcap  float64 `json:"attn_logit_softcapping"`
	FinalSoftcap float64 `json:"final_logit_softcapping"`
}

// parse reads the text of a config.json. The path is for errors.
func parse(path string, text []byte, as string) (*Config, error) {
	var f fields
	f.origin = &origin{path: path, text: text}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, f.origin.explain(err)
	}
	f.origin.keys = keysOf(text, keysDeep)
	if f.Text != nil && f.Embed == 0 {
		// A model that also sees or hears: what writes text is described inside.
		inner := *f.Text
		if inner.ModelType == "" {
			inner.ModelType = f.ModelType
		}
		if inner.Tied == nil {
			inner.Tied = f.Tied
		}
		inner.origin = f.origin
		inner.origin.in = "text_config."
		f = inner
	}
	fam, err := familyOf(f, as)
	if err != nil {
		return nil, f.origin.wrap("model_type architectures", err)
	}
	return f.config(fam)
}

// explain says what is wrong with the text of a config.json, and where.
func (o *origin) explain(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		other := ""
		if !bytes.HasPrefix(bytes.TrimSpace(o.text), []byte("{")) {
			other = "; want the config.json of a model, or a GGUF file"
		}
		return o.offset(int(syntax.Offset)-1, fmt.Errorf("not valid JSON: %s%s", plain.NotJSON(o.text, err), other))
	}
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && other.Field == "" {
		return o.offset(0, fmt.Errorf("it is a JSON %s: want the config.json of a model, an object such as {\"model_type\": \"llama\", …}", other.Value))
	} else if ok {
		o.keys = keysOf(o.text, keysDeep)
		kind := map[reflect.Kind]string{reflect.Float64: "a number", reflect.String: "a text in quotes", reflect.Bool: "true or false", reflect.Slice: "a list"}[other.Type.Kind()]
		return o.at(other.Field, "%s is a JSON %s: want %s", other.Field, other.Value, cmp.Or(kind, "an object"))
	}
	return o.offset(0, fmt.Errorf("it is no config.json of a model: %w", err))
}

// config makes the config of a family from the entries of a file.
func (f fields) config(fam family) (*Config, error) {
	c := &Config{Family: fam.name, family: fam, origin: f.origin, RopeTheta: 10000, Eps: max(f.RMSEps, f.LayerEps), Notes: f.origin.doubtful()}
	for _, n := range []struct {
		name string
		from float64
		into *int
	}{
		{"hidden_size", f.Embed, &c.Embed}, {"num_attention_heads", f.Heads, &c.Heads}, {"intermediate_size", f.Intermediate, &c.Intermediate},
		{"vocab_size", f.Vocab, &c.Vocab}, {"num_hidden_layers", f.Layers, &c.Layers},
	} {
		if n.from == 0 && !f.origin.has(n.name) {
			return nil, f.origin.missing(n.name)
		}
		if err := f.origin.whole(n.name, n.from, n.into); err != nil {
			return nil, err
		}
	}
	c.KVHeads = c.Heads
	if f.KVHeads != nil {
		if err := f.origin.whole("num_key_value_heads", *f.KVHeads, &c.KVHeads); err != nil {
			return nil, err
		}
	}
	if c.HeadDim = c.Embed / c.Heads; f.HeadDim != nil {
		if err := f.origin.whole("head_dim", *f.HeadDim, &c.HeadDim); err != nil {
			return nil, err
		}
	} else if c.Embed%c.Heads != 0 {
		return nil, f.origin.at("num_attention_heads", "hidden_size %d is not a multiple of num_attention_heads %d, and there is no head_dim: give head_dim, or correct one of them", c.Embed, c.Heads)
	}
	partial := fam.partial
	if err := f.ranges(); err != nil {
		return nil, err
	}
	inner, theta := f.rope()
	for _, p := range []*float64{f.Partial, inner} {
		if p != nil {
			partial = *p
		}
	}
	c.Rotary = int(float64(c.HeadDim)*partial) &^ 1
	if t := cmp.Or(f.RopeTheta, theta); t != nil {
		c.RopeTheta = *t
	}
	if c.Tied = fam.tied; f.Tied != nil {
		c.Tied = *f.Tied
	}
	c.family.qkNorm = fam.qkNorm || f.QKNorm
	c.family.biasQKV = fam.biasQKV || f.Bias
	act := f.Act
	if f.GemmaAct != "" || act == "" {
		act = f.GemmaAct
	}
	var err error
	if c.Activation, err = activation(act, fam); err != nil {
		key := "hidden_act"
		if act == f.GemmaAct {
			key = "hidden_activation"
		}
		return nil, f.origin.wrap(key, fmt.Errorf("%s is %w", key, err))
	}
	if err := f.layerTypes(c.Layers); err != nil {
		return nil, err
	}
	c.windows(f)
	if f.AttnSoftcap > 0 || f.FinalSoftcap > 0 {
		c.Notes = append(c.Notes, "the caps of scores (attn_logit_softcapping, final_logit_softcapping) are left out")
	}
	return c, c.Validate()
}

// ranges reports a number that is no size and not in its range.
func (f fields) ranges() error {
	partial, theta := f.rope()
	for _, n := range []struct {
		key  string
		is   *float64
		most float64
		want string
	}{
		{"partial_rotary_factor", f.Partial, 1, "above 0 and at most 1"},
		{"rope_parameters.partial_rotary_factor", partial, 1, "above 0 and at most 1"},
		{"rope_theta", f.RopeTheta, math.MaxFloat64, "above 0, such as 10000"},
		{"rope_parameters.rope_theta", theta, math.MaxFloat64, "above 0, such as 10000"},
		{"rms_norm_eps", &f.RMSEps, 1, "above 0 and at most 1, such as 1e-6"},
		{"layer_norm_eps", &f.LayerEps, 1, "above 0 and at most 1, such as 1e-5"},
	} {
		if f.origin.has(n.key) && (*n.is <= 0 || *n.is > n.most) {
			return f.origin.at(n.key, "%s is %v: want %s", n.key, *n.is, n.want)
		}
	}
	return nil
}

// rope returns what rope_parameters say.
func (f fields) rope() (partial, theta *float64) {
	if f.Rope == nil {
		return nil, nil
	}
	return f.Rope.Partial, f.Rope.Theta
}

// The types of layers that are known.
const (
	fullLayer   = "full_attention"
	windowLayer = "sliding_attention"
)

// layerTypes reports a type of a layer that no kernel here computes, and a list that is not of all layers.
func (f fields) layerTypes(layers int) error {
	known := []string{fullLayer, windowLayer}
	for i, t := range f.LayerTypes {
		if !slices.Contains(known, t) {
			return f.origin.at("layer_types", "layer_types[%d] is %q: want %s; no kernel here has what other layers compute",
				i, plain.Line(t), strings.Join(known, " or "))
		}
	}
	if n := len(f.LayerTypes); n > 0 && n != layers {
		return f.origin.at("layer_types", "layer_types has %d entries, and num_hidden_layers is %d: list one for each layer", n, layers)
	}
	return nil
}

// windows finds out which layers see only the last keys.
func (c *Config) windows(f fields) {
	if f.Window == nil || *f.Window < 1 || f.UseWindow != nil && !*f.UseWindow || *f.Window > math.MaxInt32 {
		return
	}
	c.Window = int(*f.Window)
	if len(f.LayerTypes) > 0 {
		for _, t := range f.LayerTypes {
			if t == windowLayer {
				c.Local++
			}
		}
		c.Local = min(c.Local, c.Layers)
		return
	}
	c.local(int(f.WindowPattern))
	if f.UseWindow != nil && f.MaxWindow > 0 { // the layers from that one on
		c.Local = max(c.Layers-int(f.MaxWindow), 0)
	}
}

// local counts the layers that see only the last keys, by the rule of the family: of each pattern the last layer sees all.
func (c *Config) local(pattern int) {
	if pattern <= 0 {
		pattern = c.family.pattern
	}
	if c.Local = c.Layers; pattern > 0 {
		c.Local = c.Layers - c.Layers/pattern
	}
}

// whole reads the size that a key of the file has.
func (o *origin) whole(key string, from float64, into *int) error {
	if from != math.Trunc(from) || from < 1 || from > mostOfAny {
		return o.at(key, "%s is %.15g: want a whole number from 1 to %d", key, from, mostOfAny)
	}
	*into = int(from)
	return nil
}

const mostOfAny = 1 << 20

// activation returns the op of the kernel rowwise for the name of an activation.
func activation(name string, fam family) (string, error) {
	switch name {
	case "":
		return fam.act, nil
	case "silu", "swish":
		return actSilu, nil
	case "gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_tanh":
		return actGelu, nil
	case "gelu":
		if fam.act == actGelu {
			return actGelu, nil // the first configs of Gemma say gelu and mean the other form
		}
		return actErf, nil
	}
	const known = "silu, gelu, gelu_new, gelu_pytorch_tanh"
	return "", fmt.Errorf("%s: want one of %s%s", plain.Line(name), known, space.DidYouMean(name, strings.Split(known, ", ")))
}

// Validate reports what is wrong with the numbers.
func (c *Config) Validate() error {
	o := c.origin
	for _, n := range []struct {
		key string
		is  int
	}{
		{"hidden_size", c.Embed}, {"num_attention_heads", c.Heads}, {"num_key_value_heads", c.KVHeads}, {"head_dim", c.HeadDim},
		{"intermediate_size", c.Intermediate}, {"vocab_size", c.Vocab}, {"num_hidden_layers", c.Layers},
	} {
		if n.is < 1 || n.is > mostOfAny {
			return o.at(n.key, "%s is %d: want 1 to %d", o.name(n.key), n.is, mostOfAny)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return o.at("num_key_value_heads num_attention_heads", "%s %d is not a multiple of %s %d: correct one of them", o.name("num_attention_heads"), c.Heads, o.name("num_key_value_heads"), c.KVHeads)
	case c.HeadDim%8 != 0:
		return o.at("head_dim hidden_size", "%s is %d: want a multiple of 8, which the kernel attention needs", o.name("head_dim"), c.HeadDim)
	case c.Rotary < 2 || c.Rotary > c.HeadDim:
		return o.at("partial_rotary_factor rope_parameters.partial_rotary_factor head_dim hidden_size", "%d of the %d elements of a head are turned, by %s: want 2 to all of them", c.Rotary, c.HeadDim, o.name("partial_rotary_factor"))
	}
	return nil
}

// aligned is how many floats are 64 bytes.
const aligned = 16

// Align rounds the vocabulary and the intermediate size up to rows of whole 64 bytes of float32, as engines pad them. It returns what it
// changed.
func (c *Config) Align() (changed []string) {
	for _, n := range []struct {
		name string
		at   *int
	}{{"intermediate", &c.Intermediate}, {"vocab", &c.Vocab}} {
		if up := roundUp(*n.at); up != *n.at {
			changed = append(changed, fmt.Sprintf("%s %d is padded to %d", n.name, *n.at, up))
			*n.at = up
		}
	}
	return changed
}

func roundUp(n int) int { return (n + aligned - 1) / aligned * aligned }
