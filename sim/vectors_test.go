package sim

import (
	"os"
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
