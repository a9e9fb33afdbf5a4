package earlier

import (
	"testing"

	"tune/space"
)

// of returns the values of a point, by parameter.
func of(p space.Point) func(space.Parameter) (space.Value, bool) {
	return func(parameter space.Parameter) (space.Value, bool) { return p.Value(parameter.Name) }
}

func TestAdapt(t *testing.T) {
	in, err := space.New("in", []space.Parameter{
		space.Pow2("tile", 1, 64), space.Range("unroll", 2, 8), space.Enum("order", "row", "column"),
		space.Bool("packed"), space.Range("lanes", 1, 4).If("packed").WithDefault(2), space.Range("wide", 0, 1<<20),
	}, "tile * unroll <= 128")
	if err != nil {
		t.Fatal(err)
	}
	from, err := space.New("from", []space.Parameter{
		space.Floats("unroll", 3, 7.8, 20), space.Ints("tile", 3, 16, 90), space.Enum("order", "column", "diagonal"),
		space.Bool("packed"), space.Ints("wide", -4, 500, 1<<30), space.Range("other", 0, 3),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, want string }{
		{"unroll=3.0 tile=16 order=column packed=false wide=500 other=0", "tile=16 unroll=3 order=column packed=false wide=500"},
		// 3 is as near to 2 as to 4; the new parameter takes its default.
		{"unroll=7.8 tile=3 order=diagonal packed=true wide=-4 other=1", "tile=2 unroll=8 order=row packed=true lanes=2 wide=0"},
		{"unroll=3.0 tile=3 order=column packed=false wide=1073741824 other=0", "tile=2 unroll=3 order=column packed=false wide=1048576"},
		{"unroll=20.0 tile=90 order=column packed=false wide=500 other=0", ""},
	} {
		p, err := from.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := adapt(in, of(p))
		if ok != (c.want != "") || got.Key() != c.want {
			t.Errorf("adapt of %q is %q, %v, not %q", c.from, got, ok, c.want)
		}
	}
	alien, err := space.New("alien", []space.Parameter{space.Range("x", 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []space.Point{{}, alien.Default()} {
		if got, ok := adapt(in, of(p)); ok {
			t.Errorf("adapt of %q is %q", p, got)
		}
	}
	for _, p := range []string{"tile=64 unroll=2 order=column packed=true lanes=4 wide=7"} {
		own, err := in.Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := adapt(in, of(own)); !ok || !got.Equal(own) {
			t.Errorf("a point of the space becomes %q, %v", got, ok)
		}
	}
}
