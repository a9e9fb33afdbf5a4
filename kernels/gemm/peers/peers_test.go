package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels/gemm"
	"tune/kernels/native"
	"tune/kernels/native/worker"
)

func TestMain(m *testing.M) {
	if worker.IsChild() {
		worker.Main()
	}
	os.Exit(m.Run())
}

// A library that is installed computes what the generated kernels do, in both layouts.
func TestPeersAreRight(t *testing.T) {
	m, err := gemm.Host()
	if err != nil {
		t.Skip(err)
	}
	found := Find()
	if len(found) == 0 {
		t.Skip("no library is installed")
	}
	for _, layout := range []string{gemm.LayoutNN, gemm.LayoutNT} {
		spec, err := gemm.NewSpec(m, layout, gemm.Dims{M: 70, N: 45, K: 90}, 2)
		if err != nil {
			t.Fatal(err)
		}
		made, err := native.New(spec, native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		problem := made.(*native.Problem)
		for _, p := range found {
			for _, threads := range []int{1, 2} {
				c := problem.Wrap(p.Source(layout == gemm.LayoutNT, threads), problem.Presets()[0].Point)
				if err := c.Check(t.Context(), 1); err != nil {
					t.Errorf("%s, layout %s, %d threads: %v", p.Name, layout, threads, err)
				}
			}
		}
	}
}

func TestFind(t *testing.T) {
	empty, dir := t.TempDir(), t.TempDir()
	if found := find([]string{empty}); len(found) != 0 {
		t.Errorf("found %v in an empty directory", found)
	}
	path := filepath.Join(dir, "libblis.so.4")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	found := find([]string{empty, dir})
	if len(found) != 1 || found[0] != (Peer{Name: "blis", Path: path}) {
		t.Errorf("found %v, want blis at %s", found, path)
	}
	if text := found[0].Source(true, 3).Text; !strings.Contains(text, path) || !strings.Contains(text, `setenv("BLIS_NUM_THREADS", "3", 1)`) {
		t.Errorf("the source does not load %s with 3 threads:\n%s", path, text)
	}
}
