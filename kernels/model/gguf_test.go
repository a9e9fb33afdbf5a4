package model

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// saved writes a GGUF file of version 3 without the data of its tensors' last bytes: keys with a uint32, a float32 or a string, and
// two-dimensional tensors of q4_0.
func saved(t *testing.T, values []any, tensors map[string][2]uint64) string {
	t.Helper()
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	word := func(s string) { put(uint64(len(s))); b.WriteString(s) }
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(len(tensors)))
	put(uint64(len(values) / 2))
	for i := 0; i < len(values); i += 2 {
		word(values[i].(string))
		switch v := values[i+1].(type) {
		case string:
			put(uint32(8))
			word(v)
		case float32:
			put(uint32(6))
			put(v)
		default:
			put(uint32(4))
			put(v)
		}
	}
	var names []string
	for name := range tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	offset := uint64(0)
	for _, name := range names {
		word(name)
		put(uint32(2))
		put(tensors[name])
		put(uint32(2))
		put(offset)
		offset += (tensors[name][0]*tensors[name][1]/32*18 + 31) / 32 * 32
	}
	b.Write(make([]byte, (32-b.Len()%32)%32+int(offset)))
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGGUF: the metadata of a file says the same as a config.
func TestGGUF(t *testing.T) {
	path := saved(t, []any{
		"general.architecture", "qwen2", "qwen2.embedding_length", uint32(64), "qwen2.attention.head_count", uint32(4),
		"qwen2.attention.head_count_kv", uint32(2), "qwen2.feed_forward_length", uint32(96), "qwen2.block_count", uint32(2),
		"qwen2.attention.layer_norm_rms_epsilon", float32(1e-6), "qwen2.rope.freq_base", float32(1e6),
	}, map[string][2]uint64{"token_embd.weight": {64, 160}, "blk.0.attn_q.weight": {64, 64}})
	c, err := ReadFile(path, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Name: "tiny", Family: "qwen2", Embed: 64, Heads: 4, KVHeads: 2, HeadDim: 16, Rotary: 16, Intermediate: 96, Vocab: 160, Layers: 2,
		Tied: true, Activation: "silu", Eps: float64(float32(1e-6)), RopeTheta: 1e6, Quant: "q4_0",
	}
	got := *c
	got.family = family{}
	if got.Notes = nil; !equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !c.family.biasQKV {
		t.Error("qwen2 has no bias")
	}
	llama := saved(t, []any{
		"general.architecture", "llama", "llama.embedding_length", uint32(64), "llama.attention.head_count", uint32(4),
		"llama.feed_forward_length", uint32(96), "llama.block_count", uint32(2), "llama.vocab_size", uint32(100),
	}, map[string][2]uint64{"output.weight": {64, 100}})
	c, err = ReadFile(llama, "")
	if err != nil || c.Tied || !c.Pairwise || c.Vocab != 100 || c.KVHeads != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	// Of two numbers for the norms, that of the model's own norm counts, in each reading.
	for arch, want := range map[string]float32{"llama": 1e-6, "phi2": 1e-5} {
		both := saved(t, []any{
			"general.architecture", arch, arch + ".embedding_length", uint32(64), arch + ".attention.head_count", uint32(4), arch + ".feed_forward_length", uint32(96),
			arch + ".block_count", uint32(2), arch + ".vocab_size", uint32(100), arch + ".attention.layer_norm_rms_epsilon", float32(1e-6), arch + ".attention.layer_norm_epsilon", float32(1e-5),
		}, nil)
		for range 20 {
			if c, err := ReadFile(both, ""); err != nil || c.Eps != float64(want) {
				t.Fatalf("%s: %+v, %v: want eps %v", arch, c, err, want)
			}
		}
	}
	for _, test := range []struct {
		values []any
		want   string
	}{
		{[]any{"general.name", "x"}, "general.architecture is missing"},
		{[]any{"general.architecture", "bert"}, `the family "bert" is not known`},
		{[]any{"general.architecture", "llama", "llama.expert_count", uint32(8)}, "experts among which a router chooses (expert_count)"},
		{[]any{"general.architecture", "llama"}, "llama.embedding_length is missing: take a file that has it"},
		{[]any{"general.architecture", "llama", "llama.embedding_length", uint32(64), "llama.attention.head_count", uint32(0)},
			"tiny.gguf: llama.attention.head_count is 0: want a whole number from 1 to 1048576"},
		{[]any{"general.architecture", "llama", "llama.embedding_length", uint32(64), "llama.attention.head_count", uint32(4), "llama.attention.head_count_kv", uint32(3),
			"llama.feed_forward_length", uint32(96), "llama.block_count", uint32(2), "llama.vocab_size", uint32(100)},
			"tiny.gguf: llama.attention.head_count 4 is not a multiple of llama.attention.head_count_kv 3: correct one of them"},
		{[]any{"general.architecture", "llama", "llama.embedding_length", "64"}, "llama.embedding_length is a string: want a number"},
	} {
		if _, err := ReadFile(saved(t, test.values, nil), ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %s", test.values, err, test.want)
		}
	}
}

func equal(a, b Config) bool {
	return a.Name == b.Name && a.Family == b.Family && a.Embed == b.Embed && a.Heads == b.Heads && a.KVHeads == b.KVHeads && a.HeadDim == b.HeadDim &&
		a.Rotary == b.Rotary && a.Intermediate == b.Intermediate && a.Vocab == b.Vocab && a.Layers == b.Layers && a.Tied == b.Tied &&
		a.Activation == b.Activation && a.Eps == b.Eps && a.RopeTheta == b.RopeTheta && a.Quant == b.Quant
}
