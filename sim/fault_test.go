package sim

import (
	"errors"
	"strings"
	"testing"
)

// repeat returns n slots of an engine, as JSON.
func repeat(engine, slot string, n int) string {
	return `{"` + engine + `":[` + strings.TrimSuffix(strings.Repeat(slot+",", n), ",") + `]}`
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, program, want string
		cycles              int // limit; 0 is the default
	}{
		{"too many alu slots", `[{},` + repeat("alu", `["+",0,0,0]`, 13) + `]`, "bundle 1, alu slot 12: too many slots", 0},
		{"too many valu slots", `[` + repeat("valu", `["+",0,0,0]`, 7) + `]`, "bundle 0, valu slot 6: too many slots", 0},
		{"too many load slots", `[` + repeat("load", `["const",0,0]`, 3) + `]`, "bundle 0, load slot 2: too many slots", 0},
		{"too many store slots", `[` + repeat("store", `["store",0,0]`, 3) + `]`, "bundle 0, store slot 2: too many slots", 0},
		{"too many flow slots", `[` + repeat("flow", `["halt"]`, 2) + `]`, "bundle 0, flow slot 1: too many slots", 0},
		{"too many debug slots", `[` + repeat("debug", `["x"]`, 65) + `]`, "bundle 0, debug slot 64: too many slots", 0},
		{"scratch address", `[{"alu":[["+",0,0,0],["+",0,1536,0]]}]`, "bundle 0, alu slot 1: operand 2 of + is scratch word 1536", 0},
		{"scratch vector", `[{"valu":[["+",1529,0,0]]}]`, "bundle 0, valu slot 0: operand 1 of + is the 8 scratch words from 1529", 0},
		{"scratch third operand", `[{"valu":[["multiply_add",0,0,1529,0]]}]`, "bundle 0, valu slot 0: operand 3", 0},
		{"scratch fourth operand", `[{"flow":[["select",0,0,0,9999]]}]`, "bundle 0, flow slot 0: operand 4", 0},
		{"scratch store", `[{"store":[["vstore",0,1530]]}]`, "bundle 0, store slot 0: operand 2", 0},
		{"scratch of load_offset", `[{"load":[["load_offset",1530,0,7]]}]`, "bundle 0, load slot 0: operand 1 of load_offset is scratch word 1537", 0},
		{"scratch below 0", `[{"load":[["load_offset",7,6,-7]]}]`, "bundle 0, load slot 0: operand 2 of load_offset is scratch word -1", 0},
		{"jump", `[{"flow":[["jump",2]]}]`, "bundle 0, flow slot 0: jump to bundle 2, and the program has 1", 0},
		{"cond_jump", `[{"flow":[["cond_jump",0,-1]]}]`, "bundle 0, flow slot 0: cond_jump to bundle -1", 0},
		{"cond_jump_rel", `[{},{"flow":[["cond_jump_rel",0,-3]]}]`, "bundle 1, flow slot 0: cond_jump_rel to bundle -1", 0},

		{"load", `[{"load":[["const",1,4],["const",2,3]]},{"load":[["load",0,2],["load",0,1]]}]`, "bundle 1, load slot 1, cycle 1: memory address 4 is out of range", 0},
		{"load_offset", `[{"load":[["const",1,4]]},{"load":[["load_offset",3,0,1]]}]`, "bundle 1, load slot 0, cycle 1: memory address 4", 0},
		{"vload", `[{"load":[["vload",0,1]]}]`, "bundle 0, load slot 0, cycle 0: memory addresses from 0 to 7 are out of range", 0},
		{"vload past 2^32", `[{"load":[["const",1,-1]]},{"load":[["vload",0,1]]}]`, "bundle 1, load slot 0, cycle 1: memory addresses from 4294967295 to 4294967302", 0},
		{"store", `[{"load":[["const",1,4]]},{"store":[["store",0,0],["store",1,0]]}]`, "bundle 1, store slot 1, cycle 1: memory address 4", 0},
		{"vstore", `[{"store":[["vstore",0,1]]}]`, "bundle 0, store slot 0, cycle 0: memory addresses from 0 to 7", 0},
		{"division", `[{"alu":[["+",0,0,0],["//",1,1,2]]}]`, "bundle 0, alu slot 1, cycle 0: division by zero in //", 0},
		{"rounded division", `[{"alu":[["cdiv",1,1,2]]}]`, "bundle 0, alu slot 0, cycle 0: division by zero in cdiv", 0},
		{"remainder", `[{"alu":[["%",1,1,2]]}]`, "bundle 0, alu slot 0, cycle 0: division by zero in %", 0},
		{"one lane", `[{"load":[["const",15,0],["const",14,1]]},{"valu":[["//",16,0,8]]}]`, "bundle 1, valu slot 0, cycle 1: division by zero in //", 0},
		{"jump_indirect", `[{"load":[["const",1,3]]},{"flow":[["jump_indirect",1]]}]`, "bundle 1, flow slot 0, cycle 1: jump_indirect to bundle 3, and the program has 2", 0},
		{"cycle limit", `[{"alu":[["+",0,0,0]],"flow":[["jump",0]]}]`, "bundle 0, alu slot 0, cycle 5: the run takes more than its limit of 5 cycles", 5},
		{"cycle limit at an empty engine", `[{"flow":[["coreid",0]]},{"flow":[]}]`, "bundle 1, flow, cycle 1: the run takes more than its limit of 1 cycles", 1},
		{"default cycle limit", `[{"flow":[["jump",0]]}]`, "bundle 0, flow slot 0, cycle 10000000: the run takes more", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := runText(t, c.program, c.cycles)
			if f := new(Fault); !errors.As(err, &f) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func runText(t *testing.T, program string, cycles int) error {
	t.Helper()
	p, err := Read(strings.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	code, err := Decode(p)
	if err != nil {
		return err
	}
	_, err = NewMachine().Run(code, make([]uint32, 4), Limits{Cycles: cycles})
	return err
}

// TestEdges holds what is next to a fault and is none.
func TestEdges(t *testing.T) {
	for name, program := range map[string]string{
		"empty":                        `[]`,
		"jump past the end":            `[{"flow":[["jump",1]]}]`,
		"relative jump past the end":   `[{"flow":[["cond_jump_rel",0,0]]}]`,
		"indirect jump past the end":   `[{"load":[["const",1,2]]},{"flow":[["jump_indirect",1]]}]`,
		"last scratch word":            `[{"alu":[["+",1535,1535,1535]],"valu":[["+",1520,1528,1528]]}]`,
		"last memory word":             `[{"load":[["const",1,3]]},{"load":[["load",0,1]],"store":[["store",1,0]]}]`,
		"offset that leads back":       `[{"load":[["load_offset",2000,1600,-1500]]}]`,
		"64 debug slots":               `[` + repeat("debug", `["x"]`, 64) + `]`,
		"infinite loop of debug alone": `[{"debug":[]},{"debug":[["x"]]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := runText(t, program, 5); err != nil {
				t.Error(err)
			}
		})
	}
	if err := (&Program{Bundles: []Bundle{{Slots: []Slot{{Op: NumOps}}}}}).Write(new(strings.Builder)); err == nil {
		t.Error("a slot without an operation was written")
	}
	if _, err := Decode(&Program{Bundles: []Bundle{{Slots: []Slot{{}}}}}); err == nil {
		t.Error("a slot without an operation was decoded")
	}
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		program string
		cycles  int
	}{
		{`[{},{},{}]`, 0},
		{`[{"debug":[["x"]]},{"debug":[]}]`, 0},
		{`[{"alu":[]},{"debug":[],"store":[]}]`, 2},
		{`[{"flow":[["pause"]]},{"flow":[["halt"]]},{"flow":[["halt"]]}]`, 2},
		{`[{"flow":[["jump",3]]},{"alu":[]},{"alu":[]},{},{"alu":[]}]`, 2},
	} {
		p, err := Read(strings.NewReader(c.program))
		if err != nil {
			t.Fatal(err)
		}
		code, err := Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		res, err := NewMachine().Run(code, nil, Limits{})
		if err != nil || res.Cycles != c.cycles {
			t.Errorf("%s: %d cycles, %v, want %d", c.program, res.Cycles, err, c.cycles)
		}
	}
}
