package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tune/kernels/gguf"
)

// readGGUF reads the metadata of a GGUF file.
func readGGUF(path, as string) (*Config, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := ofGGUF(path, f, as)
	if _, placed := errors.AsType[*Fault](err); err != nil && !placed {
		err = &Fault{Path: path, Err: err}
	}
	if err != nil {
		return nil, err
	}
	c.Name = nameOf(path)
	return c, nil
}

// metadata reads the values of a model by their keys.
type metadata struct {
	file *gguf.File
	arch string
}

// number returns a number; ok is false where it is not there.
func (m metadata) number(key string) (v float64, ok bool, err error) {
	key = m.arch + "." + key
	value, ok := m.file.Value(key)
	if !ok {
		return 0, false, nil
	}
	switch n := value.Scalar.(type) {
	case uint8:
		v = float64(n)
	case int8:
		v = float64(n)
	case uint16:
		v = float64(n)
	case int16:
		v = float64(n)
	case uint32:
		v = float64(n)
	case int32:
		v = float64(n)
	case uint64:
		v = float64(n)
	case int64:
		v = float64(n)
	case float32:
		v = float64(n)
	case float64:
		v = n
	default:
		if value.Type == gguf.Array {
			return 0, false, fmt.Errorf("%s differs between layers: take a model whose layers are alike", key)
		}
		return 0, false, fmt.Errorf("%s is a %v: want a number", key, value.Type)
	}
	return v, true, nil
}

// ofGGUF makes the config of a file. The path is for errors.
func ofGGUF(path string, file *gguf.File, as string) (*Config, error) {
	m := metadata{file: file}
	if v, ok := file.Value("general.architecture"); ok {
		m.arch, _ = v.Scalar.(string)
	}
	if m.arch == "" {
		return nil, fmt.Errorf("general.architecture is missing: the file describes no model")
	}
	as = cmp.Or(as, m.arch)
	i := slices.IndexFunc(families, func(f family) bool { return f.name == as || slices.Contains(f.archs, as) })
	if experts, _, err := m.number("expert_count"); err != nil || i < 0 || experts > 0 {
		e := &FamilyError{Name: m.arch}
		if experts > 0 {
			e.Missing = []string{"experts among which a router chooses (expert_count)"}
		}
		return nil, e
	}
	c, err := m.config(families[i], &origin{path: path, arch: m.arch})
	if err != nil {
		return nil, err
	}
	return c, c.Validate()
}

func (m metadata) config(fam family, from *origin) (*Config, error) {
	c := &Config{Family: fam.name, family: fam, origin: from, Activation: fam.act, RopeTheta: 10000, Pairwise: fam.pairwise}
	// Engines pad the vocabulary, so that the weights say more than vocab_size.
	if t, err := m.file.Tensor("token_embd.weight"); err == nil && len(t.Dims) == 2 && t.Dims[1] <= mostOfAny {
		c.Vocab = int(t.Dims[1])
	}
	for _, n := range []struct {
		key  string
		into *int
		must bool
	}{
		{"embedding_length", &c.Embed, true}, {"attention.head_count", &c.Heads, true}, {"attention.head_count_kv", &c.KVHeads, false},
		{"attention.key_length", &c.HeadDim, false}, {"feed_forward_length", &c.Intermediate, true}, {"vocab_size", &c.Vocab, c.Vocab == 0},
		{"block_count", &c.Layers, true}, {"rope.dimension_count", &c.Rotary, false}, {"attention.sliding_window", &c.Window, false},
	} {
		v, ok, err := m.number(n.key)
		switch {
		case err != nil:
			return nil, err
		case n.into == &c.Vocab && c.Vocab > 0 || !ok && !n.must || ok && v == 0 && !n.must:
		case !ok:
			return nil, fmt.Errorf("%s.%s is missing: take a file that has it", m.arch, n.key)
		default:
			if err := from.whole(m.arch+"."+n.key, v, n.into); err != nil {
				return nil, err
			}
		}
	}
	c.KVHeads = cmp.Or(c.KVHeads, c.Heads)
	c.HeadDim = cmp.Or(c.HeadDim, c.Embed/c.Heads)
	c.Rotary = cmp.Or(c.Rotary, int(float64(c.HeadDim)*fam.partial)&^1)
	if c.Window > 0 {
		c.local(0)
	}
	eps := []string{"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}
	if fam.norm == normRMS { // where a file has both, that of the model's norm counts
		slices.Reverse(eps)
	}
	for _, key := range append(eps, "rope.freq_base") {
		v, ok, err := m.number(key)
		if err != nil {
			return nil, err
		}
		switch {
		case !ok || v <= 0 || math.IsInf(v, 0):
		case key == "rope.freq_base":
			c.RopeTheta = v
		default:
			c.Eps = v
		}
	}
	_, missing := m.file.Tensor("output.weight")
	c.Tied = missing != nil
	_, missing = m.file.Tensor("blk.0.attn_q.bias")
	c.family.biasQKV = c.family.biasQKV || missing == nil
	c.Quant = m.quant()
	return c, nil
}

// quant returns the format that most weights of the layers have.
func (m metadata) quant() string {
	counts := map[string]int{}
	best := ""
	for _, t := range m.file.Tensors() {
		f, err := t.Format()
		if err != nil || len(t.Dims) != 2 || !strings.HasPrefix(t.Name, "blk.") {
			continue
		}
		counts[f.Name]++
		if n := counts[f.Name]; best == "" || n > counts[best] {
			best = f.Name
		}
	}
	return best
}
