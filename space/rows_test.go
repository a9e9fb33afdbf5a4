package space

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func rowParameters() []Parameter {
	return []Parameter{Ints("a", 8, 4, 2), Enum("kind", "x", "y"), Ints("n", 1, 2, 3, 4)}
}

// TestFromRows: whatever the rows and their order, the space has them as its points and no others.
func TestFromRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all [][]int
		for a := range 3 {
			for k := range 2 {
				for n := range 4 {
					all = append(all, []int{a, k, n})
				}
			}
		}
		shuffled := rapid.Permutation(all).Draw(t, "rows")
		rows := shuffled[:rapid.IntRange(1, len(all)).Draw(t, "count")]
		s, err := FromRows("rows", rowParameters(), rows)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.SortedFunc(slices.Values(rows), slices.Compare)
		if n, ok := s.Len(); !ok || n != uint64(len(rows)) {
			t.Fatalf("%d points, %v; want %d", n, ok, len(rows))
		}
		for _, ords := range all { // also those that differ from a row in one value
			if _, ok := s.AppendComplete(nil, slices.Clone(ords), rows[0], s.appendPacked(nil, rows[0])); ok != slices.ContainsFunc(rows, func(row []int) bool { return slices.Equal(row, ords) }) {
				t.Fatalf("%v is completed: %t", ords, ok)
			}
		}
		at := 0
		for p := range s.All() {
			if !slices.Equal(p.ords, want[at]) || !slices.Equal(s.At(uint64(at)).ords, want[at]) {
				t.Fatalf("point %d is %v, want %v", at, p.ords, want[at])
			}
			if i, ok := s.Index(p); !ok || i != uint64(at) {
				t.Fatalf("%v has index %d, %v; want %d", p.ords, i, ok, at)
			}
			if q, err := s.Parse(p.Key()); err != nil || !q.Equal(p) {
				t.Fatalf("%s reads back as %v, %v", p.Key(), q, err)
			}
			at++
		}
		has := func(row []int) bool {
			return slices.ContainsFunc(rows, func(r []int) bool { return slices.Equal(r, row) })
		}
		for _, row := range all {
			_, err := s.FromOrdinals(row)
			if _, complete := s.Complete(row); (err == nil) != has(row) || complete != has(row) || (s.Explain(row) == nil) != has(row) {
				t.Fatalf("%v: a row %v, but the space says %v", row, has(row), err)
			}
		}
		p, err := s.Sample(rand.New(rand.NewPCG(1, 1)))
		if err != nil || !has(p.ords) || !has(s.Default().ords) {
			t.Fatalf("sample %v, default %v, %v", p, s.Default(), err)
		}
		for _, q := range s.Neighbours(p, AnyValue) {
			if !has(q.ords) {
				t.Fatalf("neighbour %v of %v is no row", q, p)
			}
		}
		again, err := FromRows("again", rowParameters(), want)
		if err != nil || again.Fingerprint() != s.Fingerprint() {
			t.Fatalf("the same rows in another order have another fingerprint: %v", err)
		}
	})
}

// TestFromRowsFingerprint: another list of points is another space.
func TestFromRowsFingerprint(t *testing.T) {
	all := [][]int{{0, 0, 0}, {1, 1, 1}, {2, 0, 3}}
	a, err := FromRows("a", rowParameters(), all)
	if err != nil {
		t.Fatal(err)
	}
	b, err := FromRows("a", rowParameters(), all[:2])
	if err != nil {
		t.Fatal(err)
	}
	whole, err := New("a", rowParameters())
	if err != nil {
		t.Fatal(err)
	}
	if a.Fingerprint() == b.Fingerprint() || a.Fingerprint() == whole.Fingerprint() {
		t.Error("different points, one fingerprint")
	}
	if !a.Listed() || whole.Listed() {
		t.Error("Listed says the wrong thing")
	}
	if err := a.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "list of rows") {
		t.Errorf("written as YAML: %v", err)
	}
}

func TestFromRowsErrors(t *testing.T) {
	tests := []struct {
		params []Parameter
		rows   [][]int
		row    int // at fault, -1 for none
		want   string
	}{
		{rowParameters(), nil, -1, "it has no rows"},
		{rowParameters(), [][]int{{0, 0, 0}, {0, 0}}, 1, "2 ordinals for 3 parameters"},
		{rowParameters(), [][]int{{0, 0, 0}, {0, 2, 0}}, 1, `parameter "kind" has no value with ordinal 2`},
		{rowParameters(), [][]int{{0, 1, 0}, {0, 0, 0}, {0, 1, 0}}, 2, "row 3: it has the values of row 1: a=8 kind=y n=1"},
		{[]Parameter{Range("a", 1, 2), Range("b", 1, 2).If("a == 1")}, [][]int{{0, 0}}, -1, "a space of rows has no conditions"},
		{nil, [][]int{{}}, -1, "no parameters"},
	}
	for _, test := range tests {
		_, err := FromRows("s", test.params, test.rows)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.rows, err, test.want)
		}
		e, ok := errors.AsType[*RowError](err)
		if ok != (test.row >= 0) || ok && e.Row != test.row {
			t.Errorf("%v: the row at fault is %v, want %d", test.rows, e, test.row)
		}
	}
}
