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
	"unicode/utf8"

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
	c, err := parse(text, as)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
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

// parse reads the text of a config.json.
func parse(text []byte, as string) (*Config, error) {
	var f fields
	if err := json.Unmarshal(bytes.TrimSpace(text), &f); err != nil {
		return nil, explain(bytes.TrimSpace(text), err)
	}
	if f.Text != nil && f.Embed == 0 {
		// A model that also sees or hears: what writes text is described inside.
		inner := *f.Text
		if inner.ModelType == "" {
			inner.ModelType = f.ModelType
		}
		if inner.Tied == nil {
			inner.Tied = f.Tied
		}
		f = inner
	}
	fam, err := familyOf(f, as)
	if err != nil {
		return nil, err
	}
	return f.config(fam)
}

// explain says what is wrong with the text of a config.json, and where.
func explain(text []byte, err error) error {
	place := func(offset int64) string {
		before := text[:min(max(offset-1, 0), int64(len(text)))]
		return fmt.Sprintf("line %d, column %d", 1+bytes.Count(before, []byte("\n")), utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s: it is no JSON: %w: want the config.json of a model, or a GGUF file", place(syntax.Offset), err)
	}
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && other.Field == "" {
		return fmt.Errorf("it is a JSON %s: want the config.json of a model, an object such as {\"model_type\": \"llama\", …}", other.Value)
	} else if ok {
		kind := map[reflect.Kind]string{reflect.Float64: "a number", reflect.String: "a text in quotes", reflect.Bool: "true or false", reflect.Slice: "a list"}[other.Type.Kind()]
		return fmt.Errorf("%s: %s is a JSON %s: want %s", place(other.Offset), other.Field, other.Value, cmp.Or(kind, "an object"))
	}
	return fmt.Errorf("it is no config.json of a model: %w", err)
}

// config makes the config of a family from the entries of a file.
func (f fields) config(fam family) (*Config, error) {
	c := &Config{Family: fam.name, family: fam, RopeTheta: 10000, Eps: max(f.RMSEps, f.LayerEps)}
	for _, n := range []struct {
		name string
		from float64
		into *int
	}{
		{"hidden_size", f.Embed, &c.Embed}, {"num_attention_heads", f.Heads, &c.Heads}, {"intermediate_size", f.Intermediate, &c.Intermediate},
		{"vocab_size", f.Vocab, &c.Vocab}, {"num_hidden_layers", f.Layers, &c.Layers},
	} {
		if err := whole(n.name, n.from, n.into); err != nil {
			return nil, err
		}
	}
	c.KVHeads = c.Heads
	if f.KVHeads != nil {
		if err := whole("num_key_value_heads", *f.KVHeads, &c.KVHeads); err != nil {
			return nil, err
		}
	}
	if c.HeadDim = c.Embed / c.Heads; f.HeadDim != nil {
		if err := whole("head_dim", *f.HeadDim, &c.HeadDim); err != nil {
			return nil, err
		}
	} else if c.Embed%c.Heads != 0 {
		return nil, fmt.Errorf("hidden_size %d is not a multiple of num_attention_heads %d, and there is no head_dim: give head_dim, or correct one of them", c.Embed, c.Heads)
	}
	partial := fam.partial
	for _, p := range []*float64{f.Partial, f.partialOfRope()} {
		if p != nil {
			partial = *p
		}
	}
	if partial <= 0 || partial > 1 {
		return nil, fmt.Errorf("partial_rotary_factor is %v: want above 0 and at most 1", partial)
	}
	c.Rotary = int(float64(c.HeadDim)*partial) &^ 1
	if t := f.theta(); t != nil {
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
		return nil, err
	}
	c.windows(f)
	if f.AttnSoftcap > 0 || f.FinalSoftcap > 0 {
		c.Notes = append(c.Notes, "the caps of scores (attn_logit_softcapping, final_logit_softcapping) are left out")
	}
	return c, c.Validate()
}

func (f fields) partialOfRope() *float64 {
	if f.Rope == nil {
		return nil
	}
	return f.Rope.Partial
}

func (f fields) theta() *float64 {
	if f.RopeTheta == nil && f.Rope != nil {
		return f.Rope.Theta
	}
	return f.RopeTheta
}

// windows finds out which layers see only the last keys.
func (c *Config) windows(f fields) {
	if f.Window == nil || *f.Window < 1 || f.UseWindow != nil && !*f.UseWindow || *f.Window > math.MaxInt32 {
		return
	}
	c.Window = int(*f.Window)
	if len(f.LayerTypes) > 0 {
		for _, t := range f.LayerTypes {
			if t == "sliding_attention" {
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

// whole reads a number that has to be there.
func whole(name string, from float64, into *int) error {
	switch {
	case from == 0:
		return fmt.Errorf("%s is missing: want a whole number", name)
	case from != math.Trunc(from) || from < 1 || from > mostOfAny:
		return fmt.Errorf("%s is %v: want a whole number from 1 to %d", name, from, mostOfAny)
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
	return "", fmt.Errorf("hidden_act is %s: want one of %s%s", plain.Line(name), known, space.DidYouMean(name, strings.Split(known, ", ")))
}

// Validate reports what is wrong with the numbers.
func (c *Config) Validate() error {
	for _, n := range []struct {
		name string
		is   int
	}{
		{"hidden_size", c.Embed}, {"num_attention_heads", c.Heads}, {"num_key_value_heads", c.KVHeads}, {"head_dim", c.HeadDim},
		{"intermediate_size", c.Intermediate}, {"vocab_size", c.Vocab}, {"num_hidden_layers", c.Layers},
	} {
		if n.is < 1 || n.is > mostOfAny {
			return fmt.Errorf("%s is %d: want 1 to %d", n.name, n.is, mostOfAny)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("num_attention_heads %d is not a multiple of num_key_value_heads %d: correct one of them", c.Heads, c.KVHeads)
	case c.HeadDim%8 != 0:
		return fmt.Errorf("head_dim is %d: want a multiple of 8, which the kernel attention needs", c.HeadDim)
	case c.Rotary < 2 || c.Rotary > c.HeadDim:
		return fmt.Errorf("%d of the %d elements of a head are turned: want 2 to all of them", c.Rotary, c.HeadDim)
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
