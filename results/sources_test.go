package results

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tune/space"
)

// TestSources: what a run began with is read as it was written, and what is no point of its space is refused by its place.
func TestSources(t *testing.T) {
	s, err := space.New("here", []space.Parameter{space.Range("x", 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := []space.Source{{Name: "a", Observations: []space.Observation{
		{Point: s.At(4), Outcome: space.Outcome{Status: space.OK, Cost: 3}},
		{Point: s.At(2), Outcome: space.Fail(space.Crashed, "there")},
	}}, {Name: "b"}}
	if err := WriteSources(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSources(dir, s)
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || len(got[0].Observations) != 2 || got[1].Observations != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, o := range want[0].Observations {
		if g := got[0].Observations[i]; !g.Point.Equal(o.Point) || !reflect.DeepEqual(g.Outcome, o.Outcome) {
			t.Errorf("observation %d is %+v, not %+v", i, g, o)
		}
	}
	for text, fault := range map[string]string{
		`{"key": "x=99", "outcome": {"status": "ok", "cost": 1}}`: "sources[0].observations[1].key: ",
		`{"key": "y=1", "outcome": {"status": "ok", "cost": 1}}`:  "sources[0].observations[1].key: ",
		`{"key": "x=1", "outcome": {}}`:                           "sources[0].observations[1].outcome: ",
		`{}`:                                                      "key",
		`{"key": "x=1", "outcome": {"status": "ok", "Cost": 1}}`:  `field sources[0].observations[1].outcome.Cost: its name is written "cost"`,
	} {
		path := filepath.Join(dir, sourcesName)
		file := `{"format": 1, "sources": [{"name": "a", "observations": [{"key": "x=1", "outcome": {"status": "ok", "cost": 1}}, ` + text + `]}]}`
		if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSources(dir, s); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
}
