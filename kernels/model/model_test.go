package model

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/all"
)

func read(t *testing.T, name string) *Config {
	t.Helper()
	c, err := ReadFile("../../configs/models/"+name+".json", "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func scenarios(t *testing.T, c *Config, o Options) []Scenario {
	t.Helper()
	out, _, err := c.Scenarios(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// table writes a scenario as lines: role, kernel, shape, calls.
func table(s Scenario) string {
	var b strings.Builder
	for _, o := range s.Operations {
		fmt.Fprintf(&b, "%s | %s | %s | %d\n", o.Role, o.Kernel, o.Shape, o.Calls)
	}
	return b.String()
}

// The tables were worked out by hand from the sizes of the models.
var tables = []struct {
	model, scenario string
	options         Options
	want            string
	weights         float64 // bytes that a step reads
}{
	{"0.5b", "decode-b1-c512", Options{Quant: "q4_0", Contexts: []int{512}, Batches: []int{1}}, `
norm | rowwise | op=rmsnorm,rows=1,cols=896,eps=1e-6 | 1
q | qgemm | m=1,n=896,k=896,format=q4_0,cache=cold | 24
k | qgemm | m=1,n=128,k=896,format=q4_0,cache=cold | 24
v | qgemm | m=1,n=128,k=896,format=q4_0,cache=cold | 24
bias q | elementwise-f32 | op=add,n=896 | 24
bias k, v | elementwise-f32 | op=add,n=128 | 48
rope q | rowwise | op=rope,rows=14,cols=64,heads=14 | 24
rope k | rowwise | op=rope,rows=2,cols=64,heads=2 | 24
attention | attention | queries=1,context=512,heads=14,kv_heads=2,head=64,kv=f16,cache=cold | 24
o | qgemm | m=1,n=896,k=896,format=q4_0,cache=cold | 24
add-norm | rowwise | op=add-rmsnorm,rows=1,cols=896,eps=1e-6 | 48
gate | qgemm | m=1,n=4864,k=896,format=q4_0,cache=cold | 24
up | qgemm | m=1,n=4864,k=896,format=q4_0,cache=cold | 24
activation | rowwise | op=swiglu,rows=1,cols=4864 | 24
down | qgemm | m=1,n=896,k=4864,format=q4_0,cache=cold | 24
vocabulary | qgemm | m=1,n=151936,k=896,format=q4_0,cache=cold | 1
argmax | rowwise | op=argmax,rows=1,cols=151936 | 1
`, 277853184}, // (24·(2·896² + 2·128·896 + 3·4864·896) + 151936·896) · 18/32
	{"7b", "decode-b32-c4096", Options{Quant: "q4_k", Contexts: []int{4096}, Batches: []int{32}}, `
norm | rowwise | op=rmsnorm,rows=32,cols=4096,eps=1e-5 | 1
q | qgemm | m=32,n=4096,k=4096,format=q4_k,cache=cold | 32
k | qgemm | m=32,n=4096,k=4096,format=q4_k,cache=cold | 32
v | qgemm | m=32,n=4096,k=4096,format=q4_k,cache=cold | 32
rope q | rowwise | op=rope,rows=1024,cols=128,heads=32 | 32
rope k | rowwise | op=rope,rows=1024,cols=128,heads=32 | 32
attention | attention | queries=1,context=4096,heads=32,kv_heads=32,head=128,kv=f16,cache=cold | 1024
o | qgemm | m=32,n=4096,k=4096,format=q4_k,cache=cold | 32
add-norm | rowwise | op=add-rmsnorm,rows=32,cols=4096,eps=1e-5 | 64
gate | qgemm | m=32,n=11008,k=4096,format=q4_k,cache=cold | 32
up | qgemm | m=32,n=11008,k=4096,format=q4_k,cache=cold | 32
activation | rowwise | op=swiglu,rows=32,cols=11008 | 32
down | qgemm | m=32,n=4096,k=11008,format=q4_k,cache=cold | 32
vocabulary | qgemm | m=32,n=32000,k=4096,format=q4_k,cache=cold | 1
argmax | rowwise | op=argmax,rows=32,cols=32000 | 1
`, 3716481024}, // (32·(4·4096² + 3·11008·4096) + 32000·4096) · 144/256
	{"8b", "prompt-512", Options{Quant: "bf16", Prompt: 512, Threads: 2}, `
norm | rowwise | op=rmsnorm,rows=512,cols=4096,eps=1e-5,threads=2 | 1
q | gemm-bf16 | m=512,n=4096,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 32
k | gemm-bf16 | m=512,n=1024,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 32
v | gemm-bf16 | m=512,n=1024,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 32
rope q | rowwise | op=rope,rows=16384,cols=128,heads=32,threads=2 | 32
rope k | rowwise | op=rope,rows=4096,cols=128,heads=8,threads=2 | 32
attention | attention | queries=512,context=512,heads=32,kv_heads=8,head=128,kv=f16,threads=2 | 32
o | gemm-bf16 | m=512,n=4096,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 32
add-norm | rowwise | op=add-rmsnorm,rows=512,cols=4096,eps=1e-5,threads=2 | 64
gate | gemm-bf16 | m=512,n=14336,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 32
up | gemm-bf16 | m=512,n=14336,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 32
activation | rowwise | op=swiglu,rows=512,cols=14336,threads=2 | 32
down | gemm-bf16 | m=512,n=4096,k=14336,layout=nt,inputs=f32,weights=packed,threads=2 | 32
vocabulary | gemm-bf16 | m=1,n=128256,k=4096,layout=nt,inputs=f32,weights=packed,threads=2 | 1
argmax | rowwise | op=argmax,rows=1,cols=128256,threads=2 | 1
`, 15009316864}, // (32·(2·4096² + 2·1024·4096 + 3·14336·4096) + 128256·4096) · 2
}

// TestTables: the operations of the three models of configs/models are those worked out by hand, and each is a shape that its kernel takes.
func TestTables(t *testing.T) {
	known := all.Table(nil)
	for _, test := range tables {
		t.Run(test.model, func(t *testing.T) {
			one := scenarios(t, read(t, test.model), test.options)
			if len(one) != 1 || one[0].Name != test.scenario {
				t.Fatalf("%d scenarios, the first %s", len(one), one[0].Name)
			}
			if got := "\n" + table(one[0]); got != test.want {
				t.Errorf("got%swant%s", got, test.want)
			}
			sum := 0.0
			for _, o := range one[0].Operations {
				sum += o.Weights * float64(o.Calls)
				k, err := known.Lookup(o.Kernel)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := kernels.ParseShape(k.Info().Shape, o.Shape); err != nil {
					t.Errorf("%s: %v", o.Shape, err)
				}
			}
			if sum != test.weights {
				t.Errorf("weights of %.0f bytes, want %.0f", sum, test.weights)
			}
		})
	}
}

// TestWork: what a call computes and moves, by hand.
func TestWork(t *testing.T) {
	s := scenarios(t, read(t, "0.5b"), Options{Quant: "q4_0", Contexts: []int{512}, Batches: []int{1}, Prompt: 4})
	want := map[string][2]float64{ // by role: ops and bytes in decode-b1-c512
		RoleNorm: {0, 4 * 3 * 896}, RoleK: {2 * 128 * 896, 128*896/32*18 + 4*(896+128)}, RoleBiasQ: {896, 3 * 4 * 896},
		RoleRopeQ: {0, 4 * (2*14*64 + 64)}, RoleAttention: {4 * 512 * 64 * 14, 2*4*14*64 + 2*2*2*512*64},
		RoleAddNorm: {0, 4 * 5 * 896}, RoleAct: {0, 3 * 4 * 4864}, RoleArgmax: {0, 4*151936 + 4},
	}
	for role, w := range want {
		o := s[0].Operations[slices.IndexFunc(s[0].Operations, func(o Operation) bool { return o.Role == role })]
		if o.Ops != w[0] || o.Bytes != w[1] {
			t.Errorf("%s: %.0f ops and %.0f bytes, want %.0f and %.0f", role, o.Ops, o.Bytes, w[0], w[1])
		}
	}
	// Four queries of a prompt see 1 + 2 + 3 + 4 keys.
	o := s[1].Operations[slices.IndexFunc(s[1].Operations, func(o Operation) bool { return o.Role == RoleAttention })]
	if want := 4. * 10 * 64 * 14; o.Ops != want {
		t.Errorf("attention of a prompt: %.0f ops, want %.0f", o.Ops, want)
	}
}

// TestFamilies: what each family has beside the plain transformer, by the roles of one token and their calls.
func TestFamilies(t *testing.T) {
	const sizes = `"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100, "num_hidden_layers": 6`
	plain := "norm 1, q 6, k 6, v 6, rope q 6, rope k 6, attention 6, o 6, add-norm 12, gate 6, up 6, activation 6, down 6, vocabulary 1, argmax 1"
	for _, test := range []struct{ config, as, want string }{
		{`{"model_type": "llama", ` + sizes + `}`, "", plain},
		{`{"architectures": ["LlamaForCausalLM"], ` + sizes + `}`, "", plain},
		{`{"model_type": "olmo", ` + sizes + `}`, "llama", plain},
		{`{"model_type": "mistral", "sliding_window": null, ` + sizes + `}`, "", plain},
		{`{"model_type": "phi3", "sliding_window": 512, ` + sizes + `}`, "", plain},
		{`{"model_type": "mistral", "sliding_window": 16, ` + sizes + `}`, "", strings.Replace(plain, "attention 6", "attention, window 6", 1)},
		{`{"model_type": "qwen2", "sliding_window": 16, "use_sliding_window": true, "max_window_layers": 4, ` + sizes + `}`, "",
			strings.NewReplacer("v 6", "v 6, bias q 6, bias k, v 12", "attention 6", "attention 4, attention, window 2").Replace(plain)},
		{`{"model_type": "qwen3", ` + sizes + `}`, "", strings.Replace(plain, "v 6", "v 6, norm q 6, norm k 6", 1)},
		{`{"model_type": "gemma", "hidden_act": "gelu", ` + sizes + `}`, "", strings.Replace(plain, "activation 6", "activation 6, gate · up 6", 1)},
		{`{"model_type": "gemma2", "sliding_window": 16, "attn_logit_softcapping": 50.0, ` + sizes + `}`, "",
			strings.NewReplacer("activation 6", "activation 6, gate · up 6", "attention 6", "attention 3, attention, window 3", "o 6", "o 6, norm behind 12").Replace(plain)},
		{`{"model_type": "gemma3", "text_config": {"sliding_window": 16, ` + sizes + `}}`, "",
			strings.NewReplacer("v 6", "v 6, norm q 6, norm k 6", "activation 6", "activation 6, gate · up 6", "attention 6", "attention 1, attention, window 5", "o 6", "o 6, norm behind 12").Replace(plain)},
		{`{"model_type": "phi", "hidden_act": "gelu_new", ` + sizes + `}`, "",
			"norm 7, q 6, k 6, v 6, bias q 6, bias k, v 12, rope q 6, rope k 6, attention 6, o 6, up 6, bias up 6, activation 6, down 6, bias o, down 12, residual 12, vocabulary 1, bias vocabulary 1, argmax 1"},
	} {
		c, err := parse("config.json", []byte(test.config), test.as)
		if err != nil {
			t.Errorf("%s: %v", test.config, err)
			continue
		}
		var got []string
		for _, o := range scenarios(t, c, Options{Quant: "q8_0", Contexts: []int{64}, Batches: []int{1}})[0].Operations {
			got = append(got, fmt.Sprintf("%s %d", o.Role, o.Calls))
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.config, text, test.want)
		}
	}
}

// TestPromptWindow: a prompt that is longer than the window has the attention of every layer, also where all layers have the window.
func TestPromptWindow(t *testing.T) {
	const sizes = `"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100, "num_hidden_layers": 6`
	for _, family := range []string{"mistral", "gemma2"} {
		c, err := parse("config.json", []byte(`{"model_type": "`+family+`", "sliding_window": 16, `+sizes+`}`), "")
		if err != nil {
			t.Fatal(err)
		}
		all, notes, err := c.Scenarios(Options{Quant: "q8_0", Prompt: 64})
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]int{}
		for _, o := range all[0].Operations {
			calls[o.Role] = o.Calls
		}
		if calls[RoleAttention] != 6 || calls[RoleRopeK] != 6 || calls[RoleWindow] != 0 {
			t.Errorf("%s: %v", family, calls)
		}
		if !slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n, "layers see 16 keys at most; they are measured with all keys")
		}) {
			t.Errorf("%s: no note says it: %q", family, notes)
		}
	}
}

// TestFaults: what is wrong with a config is said by its entry.
func TestFaults(t *testing.T) {
	const sizes = `"hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100, "num_hidden_layers": 6`
	for _, test := range []struct{ config, want string }{
		{"{\n  \"model_type\": \"llama\" # one\n}", "bad.json:2:25: not valid JSON: JSON has no comments: leave it out"},
		{"{\n  \"model_type\": llama\n}", "bad.json:2:17: not valid JSON: llama is no value of JSON: write a text in double quotes"},
		{"model_type: llama", "bad.json:1:1: not valid JSON: model_type is no value of JSON: write a text in double quotes; want the config.json of a model, or a GGUF file"},
		{`{"model_type": "llama", "layer_types": ["full_attention", "linear_attention"], ` + sizes + `}`, `bad.json:1:25: layer_types[1] is "linear_attention": want full_attention or sliding_attention; no kernel here has what other layers compute`},
		{`{"model_type": "llama", "layer_types": ["full-attention"], ` + sizes + `}`, `bad.json:1:25: layer_types[0] is "full-attention": want full_attention or sliding_attention; no kernel`},
		{`{"model_type": "llama", "layer_types": ["full_attention", "sliding_attention"], ` + sizes + `}`, "bad.json:1:25: layer_types has 2 entries, and num_hidden_layers is 6: list one for each layer"},
		{`{`, "bad.json:1:1: not valid JSON: it ends too early: a quote, bracket or brace is not closed"},
		{`[]`, `bad.json:1:1: it is a JSON array: want the config.json of a model, an object such as {"model_type": "llama", …}`},
		{`{}`, "bad.json: it has neither model_type nor architectures: want one of llama, mistral"},
		{`{"model_type": "lama", ` + sizes + `}`, `bad.json:1:2: the family "lama" is not known: want one of llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, phi, phi3 (did you mean "llama"?); where it computes the same as one of them, name that by --family`},
		{`{"model_type": "mixtral", "num_local_experts": 8, ` + sizes + `}`, "no kernel here has what it computes: experts among which a router chooses"},
		{`{"model_type": "deepseek_v3", "kv_lora_rank": 512, "num_experts": 256, ` + sizes + `}`, "keys and values of low rank (kv_lora_rank)"},
		{`{"model_type": "llama", "num_local_experts": 8, ` + sizes + `}`, "experts among which a router chooses"},
		{`{"model_type": "mamba", "state_size": 16, ` + sizes + `}`, "a state space (state_size)"},
		{`{"model_type": "llama"}`, "bad.json: hidden_size is missing: add it, a whole number from 1 to 1048576"},
		{`{"model_type": "llama", "hidden_size": null}`, "bad.json: hidden_size is missing"},
		{`{"model_type": "llama", "hidden_size": 64.5}`, "bad.json:1:25: hidden_size is 64.5: want a whole number from 1 to 1048576"},
		{`{"model_type": "llama", "hidden_size": -64}`, "bad.json:1:25: hidden_size is -64"},
		{"{\"model_type\": \"llama\",\n\t\"hidden_size\": 0}", "bad.json:2:2: hidden_size is 0: want a whole number from 1 to 1048576"},
		{"{\"model_type\": \"llama\",\n\"hiden_size\": 64}", "bad.json:2:1: unknown key hiden_size, and hidden_size is missing (did you mean that?)"},
		{"{\"model_type\": \"llama\",\n\"n_embd\": 64}", "bad.json:2:1: unknown key n_embd, and hidden_size is missing (did you mean that?)"},
		{`{"model_type": "llama", "hidden_size": 16000000000}`, "hidden_size is 16000000000: want"},
		{"{\"model_type\": \"gemma3\", \"text_config\": {\n\"model_type\": null, \"hidden_size\": 64,\n \"num_attention_heads\": 0}}", "bad.json:3:2: num_attention_heads is 0: want"},
		{"{\"model_type\": \"llama\",\n\"hidden_size\": \"64\"}", "bad.json:2:1: hidden_size is a JSON string: want a number"},
		{"{\"model_type\": \"llama\",\n\"rope_parameters\": {\"rope_theta\": -1}, " + sizes + "}", "bad.json:2:21: rope_parameters.rope_theta is -1: want above 0, such as 10000"},
		{`{"model_type": "llama", "rope_theta": 0, ` + sizes + `}`, "bad.json:1:25: rope_theta is 0: want above 0"},
		{`{"model_type": "llama", "rms_norm_eps": -1e-6, ` + sizes + `}`, "bad.json:1:25: rms_norm_eps is -1e-06: want above 0 and at most 1, such as 1e-6"},
		{`{"model_type": "phi", "layer_norm_eps": 5, ` + sizes + `}`, "bad.json:1:23: layer_norm_eps is 5: want above 0 and at most 1, such as 1e-5"},
		{`{"model_type": "llama", "num_key_value_heads": 0, ` + sizes + `}`, "bad.json:1:25: num_key_value_heads is 0: want a whole number from 1 to 1048576"},
		{`{"model_type": "llama", "num_key_value_heads": 3, ` + sizes + `}`, "bad.json:1:25: num_attention_heads 4 is not a multiple of num_key_value_heads 3"},
		{`{"model_type": "llama", "head_dim": 12, ` + sizes + `}`, "bad.json:1:25: head_dim is 12: want a multiple of 8, which the kernel attention needs"},
		{"{\"model_type\": \"llama\",\n" + strings.Replace(sizes, "64", "60", 1) + "}", "bad.json:2:1: head_dim is 15: want a multiple of 8"},
		{"{\"model_type\": \"llama\",\n" + strings.Replace(sizes, "64", "66", 1) + "}", "bad.json:2:20: hidden_size 66 is not a multiple of num_attention_heads 4, and there is no head_dim"},
		{`{"model_type": "llama", "hidden_act": "gelu_mew", ` + sizes + `}`, `bad.json:1:25: hidden_act is gelu_mew: want one of silu, gelu, gelu_new, gelu_pytorch_tanh (did you mean "gelu_new"?)`},
		{`{"model_type": "gemma", "hidden_activation": "x", ` + sizes + `}`, `bad.json:1:25: hidden_activation is x: want one of silu`},
		{`{"model_type": "llama", "partial_rotary_factor": 2, ` + sizes + `}`, "bad.json:1:25: partial_rotary_factor is 2: want above 0 and at most 1"},
		{`{"model_type": "llama", "partial_rotary_factor": 0.01, ` + sizes + `}`, "bad.json:1:25: 0 of the 16 elements of a head are turned, by partial_rotary_factor: want 2"},
	} {
		if _, err := parse("bad.json", []byte(test.config), ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.config, err, test.want)
		}
	}
	near := `{"model_type": "llama", "num_kv_heads": 2, "head_dims": 16, "rope_parameters": {"rope_type": "default"}, "x": [{"hiden_act": null}], ` + sizes + `}`
	if c, err := parse("near.json", []byte(near), ""); err != nil || !slices.Equal(c.Notes, []string{
		`near.json:1:44: the key head_dims is not read (did you mean "head_dim"?)`, `near.json:1:25: the key num_kv_heads is not read (did you mean "num_key_value_heads"?)`,
	}) {
		t.Errorf("a key that resembles another: %q, %v", c.Notes, err)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.json"), ""); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadFile("doc.go", "bert"); err == nil || !strings.Contains(err.Error(), `the family "bert" is not known`) {
		t.Errorf("an unknown family: %v", err)
	}
}

// TestQuants: every format has products at every model; where rows are no whole blocks another one takes its place, and a note says so.
func TestQuants(t *testing.T) {
	for _, name := range []string{"0.5b", "7b", "8b"} {
		for _, quant := range Quants() {
			if s := scenarios(t, read(t, name), Options{Quant: quant, Contexts: []int{64}, Batches: []int{1, 2, 1}, Prompt: 8}); len(s) != 3 {
				t.Errorf("%s: %d scenarios", quant, len(s))
			}
		}
	}
	_, notes, err := read(t, "0.5b").Scenarios(Options{Quant: "q4_k", Contexts: []int{64}, Batches: []int{1}})
	if err != nil || !slices.Contains(notes, "rows of 896 weights are q5_0, because q4_k has blocks of 256") || len(notes) != 1 {
		t.Errorf("%q, %v", notes, err)
	}
	c := read(t, "0.5b")
	c.Embed = 24
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Quant: "q8_0", Contexts: []int{64}, Batches: []int{1}}, "the rows of q have 24 weights: q8_0 needs a multiple of 32: choose another --quant"},
		{Options{Quant: "q8_k"}, `unknown format of weights "q8_k"`},
		{Options{Quant: "q8_0", Contexts: []int{0}, Batches: []int{1}}, "contexts: 0: want 1 to 1048576"},
	} {
		if _, _, err := c.Scenarios(test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.o, err, test.want)
		}
	}
}

// TestTasks: each kernel and shape is a task once, with a name of its own, and no call is lost.
func TestTasks(t *testing.T) {
	all := scenarios(t, read(t, "0.5b"), Options{Quant: "q4_0", Contexts: []int{512, 4096}, Batches: []int{1, 32}, Prompt: 32})
	tasks := Tasks(all)
	names, shapes := map[string]bool{}, map[string]bool{}
	sums := make([]int, len(all))
	for _, task := range tasks {
		if names[task.Name] || shapes[task.Kernel+task.Shape] {
			t.Errorf("%s %s comes twice", task.Name, task.Shape)
		}
		names[task.Name], shapes[task.Kernel+task.Shape] = true, true
		for i, n := range task.Calls {
			sums[i] += n
		}
	}
	for i, s := range all {
		want := 0
		for _, o := range s.Operations {
			want += o.Calls
		}
		if sums[i] != want {
			t.Errorf("%s: %d calls, want %d", s.Name, sums[i], want)
		}
	}
	i := slices.IndexFunc(tasks, func(t Task) bool { return t.Name == "qgemm_m1_n896_k896_q4_0" })
	if i < 0 || !slices.Equal(tasks[i].Roles, []string{RoleQ, RoleOut}) || !slices.Equal(tasks[i].Calls, []int{48, 48, 0, 0, 0}) {
		t.Errorf("the square product is not one task of q and o: %v", names)
	}
}

// TestAlign: padded sizes are whole lines of 64 bytes.
func TestAlign(t *testing.T) {
	c := read(t, "0.5b")
	if changed := c.Align(); changed != nil {
		t.Errorf("%q", changed)
	}
	c.Vocab, c.Intermediate = 50257, 100
	if changed := c.Align(); !slices.Equal(changed, []string{"intermediate 100 is padded to 112", "vocab 50257 is padded to 50272"}) {
		t.Errorf("%q", changed)
	}
}

// FuzzParse: no text makes a config whose operations are not shapes.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"0.5b", "7b", "8b"} {
		text, err := os.ReadFile("../../configs/models/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse("config.json", text, "")
		if err != nil {
			return
		}
		all, _, err := c.Scenarios(Options{Quant: "f16", Contexts: []int{64}, Batches: []int{1}, Prompt: 8})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			for _, o := range s.Operations {
				if o.Calls < 1 || o.Bytes <= 0 || strings.Contains(o.Shape, "embed") || strings.Contains(o.Shape, "=0") {
					t.Fatalf("%+v", o)
				}
			}
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
	})
}
