package sim

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func readVectors(t testing.TB) *Vectors {
	t.Helper()
	f, err := os.Open("testdata/vliw.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := ReadVectors(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectors(t *testing.T) {
	v := readVectors(t)
	if len(v.Programs) != 120 || len(v.Trees) != 9 {
		t.Fatalf("%d programs and %d trees, want 120 and 9", len(v.Programs), len(v.Trees))
	}
	for _, p := range v.Programs {
		t.Run(p.Name, func(t *testing.T) {
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

const smallVector = `{"extra":1,"programs":[{"name":"small","mem":[5,6],"note":"","program":[{"load":[["const",1,1]]},{"load":[["load",2,1]]},{"flow":[["trace_write",2]]},{"flow":[["pause"]],"store":[["store",3,1]]}],` +
	`"want":{"cycles":4,"pauses":1,"trace":[6],"scratch":{"1":1,"2":6},"mem":[1,6]}}],"trees":[{"height":1,"rounds":1,"batch":1,"image":[1],"values":[1],"indices":[0]}]}`

func TestReadVectors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{`"cycles":4`, `"cycles":5`, "small: 4 cycles, want 5"},
		{`"pauses":1`, `"pauses":0`, "small: control returned at 1 pauses, want 0"},
		{`"trace":[6]`, `"trace":[6,7]`, "small: trace has 1 words, want 2"},
		{`"2":6`, `"2":6,"9":1`, "small: scratch word 9 is 0, want 1"},
		{`"mem":[1,6]`, `"mem":[1,7]`, "small: memory word 1 is 6, want 7"},
		{`["const",1,1]`, `["const",1,9]`, "small: bundle 1, load slot 0, cycle 1: memory address 9"},
		{`["const",1,1]`, `["const",9999,9]`, "small: bundle 0, load slot 0: operand 1"},
		{`["const",1,1]`, `["konst",1,9]`, "vectors: line 1"},
		{`"2":6`, `"1536":6`, `vectors: program 0 (small): scratch has no word "1536"`},
		{`"cycles":4,`, ``, "vectors: program 0 (small): a key is missing"},
		{`"image":[1],`, ``, "vectors: tree 0: a key is missing"},
		{`"batch":1`, `"batch":2`, "vectors: tree 0: 1 values"},
		{`"indices":[0]}]}`, `"indices":[0]}]} x`, "vectors: more text"},
		{`{"extra"`, "\x1f\x8b", "vectors: gzip"},
	} {
		v, err := ReadVectors(strings.NewReader(strings.Replace(smallVector, c.old, c.new, 1)))
		if err == nil {
			err = v.Programs[0].Check()
		}
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
}

func TestResume(t *testing.T) {
	code := mustDecode(t, mustRead(t, `[{"flow":[["pause"]]},{"flow":[["trace_write",0]]},{"flow":[["pause"]],"store":[["store",0,1]]}]`))
	m := NewMachine()
	var got []Result
	res, err := m.Run(code, make([]uint32, 1), Limits{Pause: true})
	got = append(got, res)
	for err == nil && res.Paused {
		res, err = m.Resume()
		got = append(got, res)
	}
	want := []Result{{1, 1, true, nil}, {3, 2, true, []uint32{0}}, {3, 2, false, []uint32{0}}}
	if err != nil || !slices.EqualFunc(got, want, func(a, b Result) bool {
		return a.Cycles == b.Cycles && a.Pauses == b.Pauses && a.Paused == b.Paused && slices.Equal(a.Trace, b.Trace)
	}) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if res, err := m.Resume(); err != nil || res.Cycles != 3 || res.Paused {
		t.Errorf("a machine that is not paused went on: %v, %v", res, err)
	}
}

func TestCodeIsShared(t *testing.T) {
	for _, v := range readVectors(t).Programs[:20] {
		code := mustDecode(t, v.Program)
		errs := make(chan error)
		for range 4 {
			go func() {
				m := NewMachine()
				mem := slices.Clone(v.Mem)
				res, err := m.Run(code, mem, Limits{})
				if err == nil {
					err = v.Want.compare(State{res.Cycles, res.Pauses, res.Trace, m.Scratch(), mem})
				}
				errs <- err
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
}
