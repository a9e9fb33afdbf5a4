package space_test

import (
	"slices"
	"strings"
	"testing"

	"tune/space"
)

// TestFix: the points that are left are those that have the values, or lack the parameters.
func TestFix(t *testing.T) {
	whole, err := space.New("s", []space.Parameter{
		space.Enum("kind", "plain", "tiled \"2\""), space.Range("tile", 1, 4).If(`kind != 'plain'`), space.Bool("fast"), space.Pow2("n", 1, 8),
	}, "tile < 4 or fast")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := space.FromRows("s", []space.Parameter{space.Range("a", 1, 3), space.Ints("b", 5, 7)}, [][]int{{0, 0}, {0, 1}, {2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		space  *space.Space
		values map[string]string
	}{
		{whole, nil},
		{whole, map[string]string{"tile": "3"}},
		{whole, map[string]string{"kind": `"tiled \"2\""`, "fast": "false"}},
		{whole, map[string]string{"n": "4", "tile": "4", "fast": "true"}},
		{listed, map[string]string{"b": "7"}},
		{listed, map[string]string{"a": "3", "b": "7"}},
	} {
		got, err := c.space.Fix(c.values)
		if err != nil {
			t.Fatalf("%v: %v", c.values, err)
		}
		var want, keys []string
		for p := range c.space.All() {
			texts, err := space.KeyTexts(p.Key())
			if err != nil {
				t.Fatal(err)
			}
			fits := true
			for name, text := range c.values {
				has, active := texts[name]
				fits = fits && (!active || has == text)
			}
			if fits {
				want = append(want, p.Key())
			}
		}
		for p := range got.All() {
			keys = append(keys, p.Key())
		}
		if len(want) == 0 || !slices.Equal(keys, want) {
			t.Errorf("%v leaves %v, want %v", c.values, keys, want)
		}
		if _, ok := got.Complete(slices.Repeat([]int{-1}, len(got.Parameters()))); !ok && !got.Listed() {
			t.Errorf("%v: the defaults are no point", c.values)
		}
	}
	for _, c := range []struct {
		space  *space.Space
		values map[string]string
		want   string
	}{
		{whole, map[string]string{"tiles": "3"}, `no parameter "tiles" (did you mean "tile"?)`},
		{whole, map[string]string{"tile": "9"}, `"tile" has no value 9`},
		{listed, map[string]string{"a": "2"}, `space "s" has no point with a=2: want the values of another point`},
	} {
		if _, err := c.space.Fix(c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q in it", c.values, err, c.want)
		}
	}
}
