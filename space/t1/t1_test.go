package t1

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHub reads the hub's own files where they are at hand.
func TestHub(t *testing.T) {
	for name, points := range map[string]uint64{"hotspot": 82984, "gemm": 116928, "dedispersion": 11130, "convolution": 4362} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(filepath.Join("/work/shared/tuning-data/kernel-tuner", name+"_milo.T1.json"))
			if err != nil {
				t.Skip(err)
			}
			defer file.Close()
			f, err := Read(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(f.Document.Constraints)
			s, err := f.Space()
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := s.Len(); n != points || !ok {
				t.Errorf("it has %d points, not %d", n, points)
			}
		})
	}
}
