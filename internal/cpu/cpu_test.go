package cpu

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

func TestFeaturesShrinkWithTheMachine(t *testing.T) {
	avx2 := []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3}
	avx512 := append(slices.Clone(avx2), cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL)
	for _, c := range []struct {
		has  []cpuid.FeatureID
		want string
	}{
		{nil, "generic"},
		{[]cpuid.FeatureID{cpuid.AVX2}, "generic"},
		{avx2, "generic avx2"},
		{append(slices.Clone(avx2), cpuid.AVXVNNI), "generic avx2"},
		{append(slices.Clone(avx2), cpuid.F16C, cpuid.AVXVNNI), "generic avx2 f16c avxvnni"},
		{append(slices.Clone(avx2), cpuid.AVX512F), "generic avx2"},
		{avx512, "generic avx2 avx512"},
		{append(slices.Clone(avx2), cpuid.F16C), "generic avx2 f16c"},
		{append(slices.Clone(avx512), cpuid.AVX512VNNI, cpuid.AVXVNNI), "generic avx2 avx512 avx512vnni"},
		{append(slices.Clone(avx512), cpuid.AVX512BF16), "generic avx2 avx512"},
		{append(slices.Clone(avx512), cpuid.AVX512VNNI, cpuid.AVX512BF16), "generic avx2 avx512 avx512vnni avx512bf16"},
		{append(slices.Clone(avx512), cpuid.AVX512VNNI, cpuid.AVX512BF16, cpuid.AVX512FP16, cpuid.AMXTILE, cpuid.AMXINT8, cpuid.AMXBF16),
			"generic avx2 avx512 avx512vnni avx512bf16 avx512fp16 amxint8 amxbf16"},
		{append(slices.Clone(avx512), cpuid.AVX512VNNI, cpuid.AVX512BF16, cpuid.AMXINT8), "generic avx2 avx512 avx512vnni avx512bf16"},
	} {
		got := strings.Join(FeaturesOf(func(f cpuid.FeatureID) bool { return slices.Contains(c.has, f) }), " ")
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.has, got, c.want)
		}
	}
}

// The kernel's own list of flags is another witness.
func TestFeaturesAgreeWithTheKernel(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !strings.Contains(string(text), "\nflags") {
		t.Skip("/proc/cpuinfo has no flags here")
	}
	_, line, _ := strings.Cut(string(text), "\nflags")
	line, _, _ = strings.Cut(line, "\n")
	flags := strings.Fields(line)
	for name, needs := range map[string][]string{
		AVX2:       {"avx2", "fma"},
		AVX512:     {"avx2", "fma", "avx512f", "avx512dq", "avx512bw", "avx512vl"},
		AVX512VNNI: {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni"},
		AVXVNNI:    {"avx2", "fma", "f16c", "avx_vnni"},
		F16C:       {"avx2", "fma", "f16c"},
		AVX512BF16: {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16"},
		AVX512FP16: {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_fp16"},
		AMXInt8:    {"avx512f", "avx512_vnni", "amx_tile", "amx_int8"},
		AMXBF16:    {"avx512f", "avx512_bf16", "amx_tile", "amx_bf16"},
	} {
		want := true
		for _, f := range needs {
			want = want && slices.Contains(flags, f)
		}
		if got := slices.Contains(Features(), name); got != want {
			t.Errorf("%s: got %v, the kernel says %v", name, got, want)
		}
	}
}

func TestSystemCaches(t *testing.T) {
	root := t.TempDir()
	for index, v := range [][3]string{{"1", "Data", "48K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "32M"}} {
		dir := filepath.Join(root, "cpu0", "cache", "index"+string(rune('0'+index)))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"level", "type", "size"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(v[i]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := systemCaches(root), (Caches{48 << 10, 1 << 20, 32 << 20}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := systemCaches(t.TempDir()); got != (Caches{}) {
		t.Errorf("nothing told: got %v", got)
	}
}

func TestThisMachine(t *testing.T) {
	c := CacheSizes()
	if c.L1 < 8<<10 || c.L2 < c.L1 || L2() != c.L2 || L3() != c.L3 {
		t.Errorf("the caches have %+v bytes", c)
	}
	if Cores() < 1 || !slices.IsSorted(Allowed()) {
		t.Errorf("the allowed cores are %v", Allowed())
	}
	t.Log(Model(), Features(), c, Allowed())
}

func TestInfo(t *testing.T) {
	const text = "processor\t: 0\ncpu MHz\t: 2700\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.7GHz\nflags\t\t: fpu sse\n\nmodel\t: 86\nmodel name\t: Other\n"
	if got := model(text); got != "Some CPU @ 2.7GHz" {
		t.Errorf("the model is %q", got)
	}
	if got := identity(text); got != " 85 Some CPU @ 2.7GHz fpu sse" {
		t.Errorf("the identity is %q", got)
	}
	if model, id := model(""), identity(""); model != "" || id != "" {
		t.Errorf("nothing told: model %q, identity %q", model, id)
	}
}

func FuzzBytesOf(f *testing.F) {
	f.Add("48K")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if n := bytesOf(text); n < 0 && len(text) < 10 {
			t.Errorf("%q: %d", text, n)
		}
	})
}
