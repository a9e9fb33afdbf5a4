package user

import (
	"fmt"
	"strings"
	"testing"

	"tune/kernels"
)

// withStarts returns a file with two parameters and start points.
func withStarts(starts string) string {
	return strings.Replace(withParameter("{name: UNROLL, type: int, from: 1, to: 4, when: TILE > 1}", "{name: mode, type: enum, values: [row, it's]}"),
		"source:", "  constraints: [TILE <= n]\n  start:\n"+starts+"source:", 1)
}

func keysOf(presets []kernels.Preset) string {
	var out []string
	for _, p := range presets {
		out = append(out, fmt.Sprintf("%s %t %t: %s", p.Name, p.Start, p.First, p.Point.Key()))
	}
	return strings.Join(out, "\n")
}

func TestStarts(t *testing.T) {
	k, err := read("my.yaml", []byte(withStarts("    - {TILE: 8, UNROLL: 2}\n    - TILE=2\n    - 'UNROLL=3 TILE=4 mode=\"it''s\"'\n    - {mode: \"it's\"}\n")), library)
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Warnings()) > 0 {
		// Nothing but the flags of the space would be wrong with it.
		for _, w := range k.Warnings() {
			if !strings.Contains(w.Text, "is used nowhere: its values make the same program: name it in the source or in flags") {
				t.Errorf("warning: %s", w)
			}
		}
	}
	for n, want := range map[int]string{
		8: `baseline false false: TILE=1 mode=row
start-1 true true: TILE=8 UNROLL=2 mode=row
start-2 true true: TILE=2 UNROLL=1 mode=row
start-3 true true: TILE=4 UNROLL=3 mode="it's"
start-4 true true: TILE=1 mode="it's"`,
		3: `baseline false false: TILE=1 mode=row
start-2 true true: TILE=2 UNROLL=1 mode=row
start-4 true true: TILE=1 mode="it's"`,
	} {
		sp, err := k.d.space.make(map[string]int{"n": n})
		if err != nil {
			t.Fatal(err)
		}
		if got := keysOf(k.d.space.presets(sp)); got != want {
			t.Errorf("at n=%d:\n%s\nwant\n%s", n, got, want)
		}
	}
	// What does not exist at a shape is told.
	if left := k.LeftOut(shapeOf(t, k, "")); len(left) != 0 {
		t.Errorf("at the default shape %v is left out", left)
	}
	got := Faults(k.LeftOut(shapeOf(t, k, "n=3"))).Error()
	want := `my.yaml:11:7: space.start[0]: this start point is left out, because it does not exist here: constraint TILE <= 3 is broken by TILE=8
my.yaml:13:7: space.start[2]: this start point is left out, because it does not exist here: constraint TILE <= 3 is broken by TILE=4`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStartFaults(t *testing.T) {
	for _, test := range []struct{ starts, want string }{
		{"    - {TIEL: 8}\n", `my.yaml:11:8: space.start[0].TIEL: there is no parameter "TIEL" (did you mean "TILE"?)`},
		{"    - {TILE: 3}\n", `my.yaml:11:14: space.start[0].TILE: parameter "TILE" has no value 3; its domain is 1..8 (powers of two)`},
		{"    - {TILE: [3]}\n", `my.yaml:11:14: space.start[0].TILE: want one value of the parameter`},
		{"    - {TILE: 2, mode: rwo}\n", `my.yaml:11:23: space.start[0].mode: parameter "mode" has no value rwo (did you mean "row"?); its domain is row, "it's"`},
		{"    - {}\n", `my.yaml:11:7: space.start[0]: it names no parameter: leave it out, or name values that differ from the defaults`},
		{"    - {TILE: 1}\n", `my.yaml:11:7: space.start[0]: it is the baseline, which is measured anyway: leave it out`},
		{"    - {UNROLL: 2}\n", `my.yaml:11:7: space.start[0]: parameter "UNROLL" is inactive here: its condition TILE > 1 is not true: leave it out: other values are needed, perhaps for a parameter that it leaves at its default`},
		{"    - {TILE: 2}\n    - TILE=2 UNROLL=1 mode=row\n", `my.yaml:12:7: space.start[1]: it is the same point as space.start[0]: leave it out`},
		{"    - TILE\n", `my.yaml:11:7: space.start[0]: key "TILE": expected name=value at "TILE": want values such as {tile: 16, unroll: 4} or "tile=16 unroll=4"`},
		{"    - {compiler: gcc}\n", `my.yaml:11:8: space.start[0].compiler: there is no parameter "compiler" (want one of TILE, UNROLL, mode)`},
	} {
		if got := faultsOf(withStarts(test.starts), library); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.starts, got, test.want)
		}
	}
	if got := faultsOf(strings.Replace(withStarts("    - {TILE: 8}\n"), "shape: {n: 8}", "shape: {n: 4}", 1), library); !strings.HasPrefix(got, "my.yaml:11:7: space.start[0]: constraint TILE <= n is broken by TILE=8 n=4") &&
		!strings.HasPrefix(got, "my.yaml:11:7: space.start[0]: constraint TILE <= 4 is broken by TILE=8") {
		t.Errorf("got %s", got)
	}
	// With two compilers there is a parameter of that name.
	if got := faultsOf(withStarts("    - {compiler: clang}\n")+"  compilers: [gcc, clang]\n", library); got != "" {
		t.Errorf("got %s", got)
	}
	if got := faultsOf(withStarts("    - {compiler: icc}\n")+"  compilers: [gcc, clang]\n", library); got != `my.yaml:11:18: space.start[0].compiler: parameter "compiler" has no value icc (did you mean "gcc"?); its domain is gcc, clang` {
		t.Errorf("got %s", got)
	}
}

// TestPresets: a preset has settings for the tool, and start points as a run takes them, at its own shape and whatever their values are.
func TestPresets(t *testing.T) {
	k, err := read("my.yaml", []byte(withStarts("    - TILE=2\n")+"presets:\n  one:\n    doc: a first look\n    shape: n=4\n"+
		"    start: [{TILE: 4}, 'UNROLL=3 TILE=2 mode=\"it''s\"']\n    evals: 20\n"), library)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := k.Preset("one")
	if _, none := k.Preset("two"); !ok || none || len(k.Presets()) != 1 {
		t.Fatalf("presets %v", k.Presets())
	}
	if got := fmt.Sprintf("%q", p.Start); p.Doc != "a first look" || got != fmt.Sprintf("%q", []string{"TILE=4", `TILE=2 UNROLL=3 mode="it's"`}) {
		t.Errorf("doc %q, start %s", p.Doc, got)
	}
	if n := len(p.Settings.Content); n != 4 {
		t.Errorf("%d keys and values of settings, want those of shape and evals", n)
	}
	want := "my.yaml:23:13: presets.one.start[0]: "
	if got := faultsOf(withStarts("    - TILE=2\n")+"presets:\n  one:\n    shape: n=4\n    start: [{TILE: 8}]\n", library); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s…", got, want)
	}
}
