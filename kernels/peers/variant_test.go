package peers

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tune/internal/cpu"
)

// A processor takes the library of the newest processor whose features it has.
func TestVariants(t *testing.T) {
	haswell := words(ofHaswell)
	skylake := words(ofSkylakeX)
	for _, c := range []struct {
		has  []string
		want string
	}{
		{nil, "x64"},
		{words("SSE42"), "sse42"},
		{words("SSE42 AVX"), "sandybridge"},
		{words("SSE42 AVX F16C FMA3"), "piledriver"},
		{haswell, "haswell"},
		{append(slices.Clone(haswell), "AVXVNNI"), "alderlake"},
		{skylake, "skylakex"},
		{append(slices.Clone(skylake), "AVX512VNNI"), "cascadelake"},
		{append(slices.Clone(skylake), "AVX512VNNI", "AVX512VBMI"), "icelake"},
		{append(slices.Clone(skylake), "AVX512VNNI", "AVX512BF16"), "cooperlake"},
		{append(slices.Clone(skylake), "AVX512VNNI", "AVX512VBMI", "AVX512BF16"), "zen4"},
		{append(slices.Clone(skylake), "AVX512VNNI", "AVX512VBMI", "AVX512BF16", "AMXTILE", "AMXINT8", "AVXVNNI"), "sapphirerapids"},
	} {
		got := variantFor(func(features ...string) bool {
			return !slices.ContainsFunc(features, func(f string) bool { return !slices.Contains(c.has, f) })
		})
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.has, got, c.want)
		}
	}
	cpu.Has(slices.Concat(variants[len(variants)-1].needs, words("AVXVNNI"))...) // it knows the names of all
}

func TestFindGGML(t *testing.T) {
	dir := t.TempDir()
	if g, ok := findGGML(dir); ok {
		t.Errorf("found %+v in an empty folder", g)
	}
	library := filepath.Join(dir, libraryFile(variantFor(cpu.Has)))
	for i, path := range []string{library, filepath.Join(dir, baseFile)} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if g, ok := findGGML(dir); ok != (i == 1) || ok && g.Library != library {
			t.Errorf("after %d files: %+v, %v", i+1, g, ok)
		}
	}
}
