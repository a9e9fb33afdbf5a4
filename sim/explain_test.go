package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustRead(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustDecode(t testing.TB, p *Program) *Code {
	t.Helper()
	code, err := Decode(p)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestRunAllocatesNothing(t *testing.T) {
	p := fullProgram(100)
	p.Bundles[50].Slots[len(p.Bundles[50].Slots)-1] = Slot{Op: OpTraceWrite}
	code := mustDecode(t, p)
	m := NewMachine()
	mem := make([]uint32, fullMem)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := m.Run(code, mem, Limits{}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a run allocates %v times", n)
	}
}

const loop = `[
	{"load":[["const",1,3],["const",2,1]]},
	{"alu":[["-",1,1,2],["+",3,3,1]], "debug":[["x"]]},
	{},
	{"flow":[["cond_jump",1,1]]},
	{"flow":[["halt"]]},
	{"alu":[["+",1,1,1]]}
]`

func TestProfile(t *testing.T) {
	p := mustRead(t, loop)
	res, visits, err := NewMachine().Profile(mustDecode(t, p), nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 3, 0, 3, 1, 0}; res.Cycles != 8 || !slices.Equal(visits, want) {
		t.Errorf("%d cycles, visits %v, want 8 and %v", res.Cycles, visits, want)
	}
	u := Utilisation(p, visits)
	if u.Cycles != 8 || u.Slots != [NumEngines]int{ALU: 6, Load: 2, Flow: 4} || u.Full != [NumEngines]int{Load: 1, Flow: 4} || u.PerCycle != nil {
		t.Errorf("usage %+v", u)
	}
	if got := u.Share(Flow); got != 0.5 {
		t.Errorf("flow is used %v, want 0.5", got)
	}
	if b := BoundOf(p, visits); b.PerEngine != [NumEngines]int{ALU: 1, Load: 1, Flow: 4} || b.Cycles != 4 || b.Limiter() != "flow" {
		t.Errorf("bound %+v", b)
	}
	if b := LowerBound(p); b.PerEngine != [NumEngines]int{ALU: 1, Load: 1, Flow: 1} || b.Dependence != 3 || b.Limiter() != "dependence" {
		t.Errorf("static bound %+v", b)
	}
}

func TestUtilisationOfStraightLine(t *testing.T) {
	p := mustRead(t, `[{"load":[["const",1,3],["const",2,1]]},{},{"alu":[]},{"alu":[["+",1,1,1]],"flow":[["halt"]]},{"alu":[["+",1,1,1]]}]`)
	u := Utilisation(p, nil)
	want := Usage{
		Cycles: 3, Slots: [NumEngines]int{ALU: 1, Load: 2, Flow: 1}, Full: [NumEngines]int{Load: 1, Flow: 1},
		PerCycle: [][NumEngines]uint8{{Load: 2}, {}, {ALU: 1, Flow: 1}},
	}
	if !reflect.DeepEqual(u, want) {
		t.Errorf("got  %+v\nwant %+v", u, want)
	}
	if s := u.String(); !strings.Contains(s, "load           2         6   33.3%         1\n") {
		t.Errorf("table\n%s", s)
	}
}

func TestBoundIsSound(t *testing.T) {
	m := NewMachine()
	rapid.Check(t, func(t *rapid.T) {
		p := genProgram(t, rapid.IntRange(0, 3).Draw(t, "jumps"))
		code, err := Decode(p)
		if err != nil {
			t.Fatal(err)
		}
		mem := genMem(t)
		ref := reference{p: p, mem: slices.Clone(mem)}
		res, visits, err := m.Profile(code, mem, Limits{Cycles: 200})
		if err != nil {
			return
		}
		if ref.run(200); !slices.Equal(visits, ref.visits) {
			t.Fatalf("visits %v, want %v", visits, ref.visits)
		}
		for _, b := range []Bound{LowerBound(p), BoundOf(p, visits)} {
			if b.Cycles > res.Cycles {
				t.Fatalf("bound %+v, and the run took %d cycles", b, res.Cycles)
			}
		}
		if u := Utilisation(p, visits); u.Cycles != res.Cycles {
			t.Fatalf("usage counts %d cycles, the run %d", u.Cycles, res.Cycles)
		}
	})
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name, program string
		dependence    int
		cycles        int
	}{
		{"empty", `[]`, 0, 0},
		{"swap", `[{"alu":[["+",0,1,2],["+",1,0,2]]}]`, 1, 1},
		{"chain", `[{"alu":[["+",1,0,0]]},{"alu":[["+",2,1,1]]},{"valu":[["vbroadcast",8,2]]},{"flow":[["trace_write",15]]}]`, 4, 4},
		{"overwritten", `[{"alu":[["+",1,0,0]]},{"load":[["const",1,5]]},{"alu":[["+",2,1,1]]}]`, 2, 2},
		{"loads", `[` + repeat("load", `["const",0,0]`, 2) + `,` + repeat("load", `["const",1,0]`, 1) + `]`, 1, 2},
	} {
		b := LowerBound(mustRead(t, c.program))
		if b.Dependence != c.dependence || b.Cycles != c.cycles {
			t.Errorf("%s: %+v, want dependence %d, cycles %d", c.name, b, c.dependence, c.cycles)
		}
	}
}

func TestLint(t *testing.T) {
	for _, c := range []struct {
		name, program string
		want          []string
	}{
		{"clean", `[{"load":[["const",1,3],["const",2,1]]},{"alu":[["+",3,1,2],["+",1,2,2]]}]`, nil},
		{"double write", `[{"load":[["const",1,3],["const",1,4]]}]`,
			[]string{"bundle 0, load slot 1: writes scratch word 1, which load slot 0 writes too"}},
		{"overlap of engines", `[{"flow":[["coreid",14]],"load":[["const",0,1]],"valu":[["vbroadcast",16,0],["vbroadcast",9,0]]}]`,
			[]string{
				"bundle 0, flow slot 0: writes scratch word 14, which valu slot 1 writes too",
				"bundle 0, valu slot 0: reads scratch word 0, which nothing writes before",
				"bundle 0, valu slot 1: writes scratch word 16, which valu slot 0 writes too",
			}},
		{"double store", `[{"load":[["const",1,3]]},{"store":[["store",1,1],["vstore",1,8]]}]`,
			[]string{
				"bundle 1, store slot 1: reads scratch words 8 to 15, which nothing writes before",
				"bundle 1, store slot 1: writes memory at the address in scratch word 1, and so does store slot 0",
			}},
		{"read in the bundle that writes", `[{"load":[["const",1,3]],"alu":[["+",2,1,1]]},{"alu":[["+",2,1,1]]}]`,
			[]string{"bundle 0, alu slot 0: reads scratch word 1, which nothing writes before"}},
		{"part of a vector", `[{"load":[["const",3,1],["const",4,1]]},{"valu":[["+",8,0,0]]}]`,
			[]string{
				"bundle 1, valu slot 0: reads scratch words 0 to 2, which nothing writes before",
				"bundle 1, valu slot 0: reads scratch words 5 to 7, which nothing writes before",
			}},
		{"written on one path", `[{"load":[["const",1,1]]},{"flow":[["cond_jump",1,3]]},{"load":[["const",2,1]]},{"alu":[["+",3,2,2]]}]`, nil},
		{"written on no path", `[{"load":[["const",1,1]]},{"flow":[["jump",3]]},{"load":[["const",2,1]]},{"alu":[["+",3,2,1]]}]`,
			[]string{"bundle 3, alu slot 0: reads scratch word 2, which nothing writes before"}},
		{"written later in a loop", `[{"load":[["const",1,1]]},{"alu":[["+",3,2,1]]},{"load":[["const",2,1]]},{"flow":[["cond_jump_rel",1,-3]]}]`, nil},
		{"after a halt", `[{"flow":[["halt"]]},{"alu":[["+",3,2,1]]}]`, nil},
		{"anywhere", `[{"load":[["const",1,2]]},{"flow":[["jump_indirect",1]]},{"alu":[["+",3,2,1]]},{"alu":[["+",2,5,1]]}]`,
			[]string{
				"bundle 2, alu slot 0: reads scratch word 2, which nothing writes before",
				"bundle 3, alu slot 0: reads scratch word 5, which nothing writes before",
			}},
		{"anywhere backwards", `[{"load":[["const",1,2]]},{"alu":[["+",3,2,1]]},{"load":[["const",2,1]]},{"flow":[["jump_indirect",1]]}]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, w := range Lint(mustRead(t, c.program)) {
				got = append(got, w.String())
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestLintRun(t *testing.T) {
	p := mustRead(t, `[{"load":[["const",1,3],["const",2,10]]},{"store":[["vstore",1,8],["store",2,1]]},{"store":[["store",1,1],["store",2,1]]}]`)
	mem := make([]uint32, 16)
	got, err := LintRun(p, mem, Limits{})
	if err != nil || len(got) != 1 || got[0].String() != "bundle 1, store slot 1: writes memory word 10, which store slot 0 writes too" {
		t.Errorf("got %v, %v", got, err)
	}
	if mem[10] != 0 {
		t.Error("the image was changed")
	}
}

// A program that Lint and LintRun pass may list its slots in any order. What they report of random
// programs is compared with the slots themselves.
func TestLintFindsDoubleWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genProgram(t, 1)
		warned := make(map[int]bool)
		for _, w := range Lint(p) {
			if strings.HasPrefix(w.Reason, "writes scratch") {
				warned[w.Bundle] = true
			}
		}
		for i, b := range p.Bundles {
			writers := make(map[uint32]int)
			double := false
			for _, s := range b.Slots {
				span := s.Writes()
				for k := range span.N {
					writers[span.Addr+k]++
					double = double || writers[span.Addr+k] > 1
				}
			}
			if double != warned[i] {
				t.Fatalf("bundle %d: double %v, warned %v", i, double, warned[i])
			}
		}
	})
}

// traceFile is what a reader of traces sees.
type traceFile struct {
	TraceEvents []struct {
		Ph, Name     string
		PID, TID, TS int
		Dur          int
		Args         map[string]any
	}
	OtherData struct {
		Cycles int
		Cut    bool
	}
}

func readTrace(t *testing.T, p *Program, opt TraceOptions) traceFile {
	t.Helper()
	var text bytes.Buffer
	if err := WriteTrace(&text, p, opt); err != nil {
		t.Fatal(err)
	}
	var f traceFile
	if err := json.Unmarshal(text.Bytes(), &f); err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	return f
}

// lines lists the events that are not metadata.
func (f traceFile) lines() (out []string) {
	for _, e := range f.TraceEvents {
		if e.Ph == "X" {
			out = append(out, fmt.Sprintf("%d/%d @%d %s", e.PID, e.TID, e.TS, e.Name))
		}
	}
	return out
}

func TestTrace(t *testing.T) {
	p := mustRead(t, loop)
	p.Names = []NamedRange{{"count", Span{1, 1}}, {`pair "x"`, Span{2, 2}}, {"outside", Span{ScratchWords - 1, 1 << 31}}, {"nowhere", Span{1 << 31, 1 << 31}}}
	f := readTrace(t, p, TraceOptions{Mem: []uint32{}})
	want := []string{
		"3/1 @0 const", "3/2 @0 const", "100/1 @0 3", "100/2 @0 1 0",
		"1/1 @1 -", "1/2 @1 +", "100/1 @1 2", "100/2 @1 1 3", "5/1 @2 cond_jump",
		"1/1 @3 -", "1/2 @3 +", "100/1 @3 1", "100/2 @3 1 5", "5/1 @4 cond_jump",
		"1/1 @5 -", "1/2 @5 +", "100/1 @5 0", "100/2 @5 1 6", "5/1 @6 cond_jump",
		"5/1 @7 halt",
	}
	if got := f.lines(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if f.OtherData.Cycles != 8 || f.OtherData.Cut {
		t.Errorf("other data %+v", f.OtherData)
	}
	tracks := make(map[string]bool)
	for _, e := range f.TraceEvents {
		if e.Ph == "M" {
			tracks[fmt.Sprint(e.PID, "/", e.TID, " ", e.Name, " ", e.Args["name"], e.Args["sort_index"])] = true
		}
	}
	for _, want := range []string{
		"1/0 process_name alu<nil>", "1/0 process_sort_index <nil> 1", "1/12 thread_name alu 11<nil>", "5/1 thread_name flow 0<nil>",
		"2/6 thread_sort_index <nil> 6", "100/0 process_name scratch<nil>", `100/2 thread_name pair "x"<nil>`,
	} {
		if !tracks[want] {
			t.Errorf("no track %q", want)
		}
	}

	if f := readTrace(t, p, TraceOptions{Mem: []uint32{}, Cycles: 3}); f.OtherData.Cycles != 3 || !f.OtherData.Cut || len(f.lines()) != 9 {
		t.Errorf("cut: %+v, %q", f.OtherData, f.lines())
	}
	if f := readTrace(t, p, TraceOptions{Mem: []uint32{}, Cycles: 8}); f.OtherData.Cycles != 8 || f.OtherData.Cut {
		t.Errorf("just long enough: %+v", f.OtherData)
	}
	if err := WriteTrace(new(bytes.Buffer), p, TraceOptions{}); err == nil {
		t.Error("a program with jumps was traced without memory")
	}
}

func TestTraceWithoutRun(t *testing.T) {
	p := mustRead(t, `[{"load":[["vload",8,0]]},{"debug":[["x"]]},{"flow":[["halt"]],"valu":[["+",8,8,8]]},{"alu":[["+",0,0,0]]}]`)
	p.Names = []NamedRange{{"v", Span{8, 8}}}
	f := readTrace(t, p, TraceOptions{})
	if got, want := f.lines(), []string{"3/1 @0 vload", "100/1 @0 load vload", "2/1 @1 +", "5/1 @1 halt", "100/1 @1 valu +"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTraceOfFault(t *testing.T) {
	p := mustRead(t, `[{"load":[["const",1,9]]},{"load":[["load",2,1]]}]`)
	var text bytes.Buffer
	err := WriteTrace(&text, p, TraceOptions{Mem: make([]uint32, 4)})
	if f, ok := err.(*Fault); !ok || f.Bundle != 1 {
		t.Errorf("got %v, want the fault of bundle 1", err)
	}
	if !json.Valid(text.Bytes()) {
		t.Errorf("not JSON: %s", text.String())
	}
}

func BenchmarkTrace(b *testing.B) {
	p := fullProgram(1300)
	mem := make([]uint32, fullMem)
	slots := mustDecode(b, p).Slots()
	b.Run("bundles=1300", func(b *testing.B) {
		var text bytes.Buffer
		for b.Loop() {
			text.Reset()
			if err := WriteTrace(&text, p, TraceOptions{Mem: mem}); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b, slots)
	})
}

func BenchmarkLint(b *testing.B) {
	p := fullProgram(1300)
	slots := mustDecode(b, p).Slots()
	b.Run("bundles=1300", func(b *testing.B) {
		for b.Loop() {
			Lint(p)
		}
		perSecond(b, slots)
	})
}

func BenchmarkLowerBound(b *testing.B) {
	p := fullProgram(1300)
	slots := mustDecode(b, p).Slots()
	b.Run("bundles=1300", func(b *testing.B) {
		for b.Loop() {
			LowerBound(p)
		}
		perSecond(b, slots)
	})
}
