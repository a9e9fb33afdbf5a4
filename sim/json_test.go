package sim

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1, column 1: want a list of bundles, found the end of the text"},
		{"not a list", `{"alu":[]}`, "line 1, column 1: want a list of bundles, found '{'"},
		{"not a bundle", "[\n  {},\n  5]", "line 3, column 3: bundle 1: want a bundle"},
		{"unfinished", `[{"alu":[["+",0,1`, "line 1, column 18: bundle 0, alu slot 0: want ',' or ']', found the end of the text"},
		{"trailing text", "[]\n[]", "line 2, column 1: more text after the program"},
		{"trailing comma", `[{},]`, "line 1, column 5: a comma before ']'"},
		{"missing comma", `[{} {}]`, "line 1, column 5: want ',' or ']', found '{'"},
		{"unknown engine", `[{},{"vallu":[]}]`, `line 1, column 6: bundle 1: unknown engine "vallu"; did you mean "valu"?`},
		{"strange engine", `[{"something":[]}]`, `unknown engine "something"`},
		{"engine twice", `[{"alu":[],"load":[],"alu":[]}]`, "bundle 0, alu: the engine is named twice"},
		{"engine not a string", `[{5:[]}]`, "want the name of an engine, found '5'"},
		{"slots not a list", `[{"alu":{}}]`, "bundle 0, alu: want a list of slots, found '{'"},
		{"slot not a list", `[{"alu":[["+",0,0,0],"+"]}]`, "bundle 0, alu slot 1: want a slot, a list of opcode and operands, found '\"'"},
		{"no opcode", `[{"alu":[[]]}]`, "bundle 0, alu slot 0: a slot without an opcode"},
		{"opcode not a string", `[{"alu":[[1,2]]}]`, "bundle 0, alu slot 0: want an opcode, found '1'"},
		{"unknown opcode", `[{"load":[["vlaod",0,0]]}]`, `bundle 0, load slot 0: unknown opcode "vlaod"; did you mean "vload"?`},
		{"opcode of another engine", `[{"alu":[["vload",0,0]]}]`, `bundle 0, alu slot 0: unknown opcode "vload"; it belongs to load`},
		{"too few operands", `[{"alu":[["+",0,0]]}]`, "bundle 0, alu slot 0: + takes 3 operands, not 2"},
		{"too many operands", `[{"flow":[["halt",0,"x"]]}]`, "bundle 0, flow slot 0: halt takes 0 operands, not 2"},
		{"fraction", `[{"alu":[["+",0,1.5,0]]}]`, "bundle 0, alu slot 0: operand 2 is 1.5, not a whole number"},
		{"exponent", `[{"load":[["const",0,1e3]]}]`, "bundle 0, load slot 0: operand 2 is 1e3, not a whole number"},
		{"string operand", `[{"alu":[["+",0,0,"0"]]}]`, `bundle 0, alu slot 0: operand 3 is "0", not a whole number`},
		{"list operand", `[{"alu":[["+",[0],0,0]]}]`, "bundle 0, alu slot 0: operand 1 is [0], not a whole number"},
		{"null operand", `[{"alu":[["+",0,0,null]]}]`, "bundle 0, alu slot 0: operand 3 is null, not a whole number"},
		{"leading zero", `[{"alu":[["+",0,01,0]]}]`, "bundle 0, alu slot 0: invalid character '1' after top-level value"},
		{"negative address", `[{"alu":[["+",0,-1,0]]}]`, "bundle 0, alu slot 0: operand 2 is -1, out of range for an address"},
		{"large address", `[{"alu":[["+",0,4294967296,0]]}]`, "bundle 0, alu slot 0: operand 2 is 4294967296, out of range for an address"},
		{"large immediate", `[{"load":[["const",0,4294967296]]}]`, "bundle 0, load slot 0: operand 2 is 4294967296, out of range: want -2^31 to 2^32-1"},
		{"small immediate", `[{"flow":[["add_imm",0,0,-2147483649]]}]`, "bundle 0, flow slot 0: operand 3 is -2147483649, out of range"},
		{"huge immediate", `[{"load":[["const",0,` + strings.Repeat("9", 99) + `]]}]`, "bundle 0, load slot 0: operand 2 is 99999999999999999999999999999999…, out of range"},
		{"deep debug", `[{"debug":[` + strings.Repeat("[", 1e5) + `]}]`, "bundle 0, debug slot 0: nested more than 64 deep"},
		{"broken debug", `[{"debug":[["a",}]]}]`, "line 1, column 17: bundle 0, debug slot 0: invalid character '}'"},
		{"unfinished string", `[{"alu`, "line 1, column 3: bundle 0: a string without its end"},
		{"bad escape", `[{"al\x":[]}]`, "bundle 0: not a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			if _, ok := err.(*FormatError); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestWriteForm(t *testing.T) {
	text := `[{"flow": [["cond_jump_rel", 1, -1]], "debug": [["note", {"a": [1, "x y"]}], "free", 7], "store": [],
		"load": [["load_offset", 9, 9, 4294967295], ["const", 0, -1]], "a\u006cu": [["//", 1, 2, 3]]}, {}, {"debug": []}]`
	want := `[
{"alu": [["//", 1, 2, 3]], "load": [["load_offset", 9, 9, -1], ["const", 0, 4294967295]], "store": [], "flow": [["cond_jump_rel", 1, -1]], "debug": [["note",{"a":[1,"x y"]}], "free", 7]},
{},
{"debug": []}
]
`
	p, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := p.Write(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	got.Reset()
	if err := new(Program).Write(&got); err != nil || got.String() != "[]\n" {
		t.Errorf("the empty program is %q, %v", got.String(), err)
	}
}

// roundTrip writes the program and reads it back.
func roundTrip(t interface{ Fatal(...any) }, p *Program) *Program {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text.Bytes()) {
		t.Fatal("not JSON:", text.String())
	}
	q, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestRoundTrip(t *testing.T) {
	for _, v := range readVectors(t).Programs {
		if q := roundTrip(t, v.Program); !reflect.DeepEqual(q.Bundles, v.Program.Bundles) {
			t.Errorf("%s changed", v.Name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		// A generated program may name an engine that it uses, which reading does not bring back.
		q := roundTrip(t, genProgram(t, 2))
		if r := roundTrip(t, q); !reflect.DeepEqual(q, r) {
			t.Fatal("changed")
		}
	})
}

func FuzzRead(f *testing.F) {
	// Seeds are short, since the fuzzer spends its time on making long ones shorter.
	for i, v := range readVectors(f).Programs {
		from := i % len(v.Program.Bundles)
		to := min(from+2, len(v.Program.Bundles))
		var text bytes.Buffer
		if err := (&Program{Bundles: v.Program.Bundles[from:to]}).Write(&text); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
	f.Add([]byte(loop))
	f.Add([]byte(`[{"debug":[["a",[1,{"b":null}]],"c"],"alu":[]},{}]`))
	f.Add([]byte(`[{"load":[["load_offset",2000,1600,-1500]],"flow":[["jump_indirect",1]]}]`))
	f.Add([]byte(`[{"alu":[["//",1,2,3],["+",2,1,3]],"store":[["vstore",1,2],["store",1,2]],"load":[["vload",3,4]]}]`))
	m := NewMachine()
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if q := roundTrip(t, p); !reflect.DeepEqual(p, q) {
			t.Fatal("changed by writing and reading")
		}
		code, err := Decode(p)
		if err != nil {
			return
		}
		mem := make([]uint32, 64)
		res, err := m.Run(code, mem, Limits{Cycles: 1000})
		Lint(p)
		bound := LowerBound(p)
		if err == nil && bound.Cycles > res.Cycles {
			t.Fatalf("the bound is %d, and the run took %d cycles", bound.Cycles, res.Cycles)
		}
	})
}
