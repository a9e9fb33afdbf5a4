package nativetest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tune/kernels/native"
	"tune/space"
)

// Generated is a spec whose code is compared with a golden file.
type Generated struct {
	Name string // of machine and shape
	Spec native.Spec
	By   string // an enumerated parameter: random points have each of its values
	// Points are compared too, beside the presets and the random ones.
	Points []map[string]any
}

// perValue is how many random points are drawn for each value of Generated.By.
const perValue = 8

// Machines are one of each kind that code is generated for, whatever this one has.
func Machines() map[string]native.Machine {
	machine := func(arch string, isas ...string) native.Machine {
		return native.Machine{Arch: arch, Compilers: []string{"gcc", "clang"}, ISAs: append([]string{"generic"}, isas...), Cache: 32 << 20}
	}
	return map[string]native.Machine{
		"arm64":      machine("arm64"),
		"generic":    machine("amd64"),
		"avx2":       machine("amd64", "avx2"),
		"f16c":       machine("amd64", "avx2", "f16c"),
		"avxvnni":    machine("amd64", "avx2", "f16c", "avxvnni"),
		"avx512":     machine("amd64", "avx2", "f16c", "avx512"),
		"avx512vnni": machine("amd64", "avx2", "f16c", "avx512", "avx512vnni"),
		"avx512bf16": machine("amd64", "avx2", "f16c", "avx512", "avx512vnni", "avx512bf16"),
		"tiles":      machine("amd64", "avx2", "f16c", "avx512", "avx512vnni", "avx512bf16", "avx512fp16", "amxint8", "amxbf16"),
	}
}

// Golden compares what specs generate with a file of hashes: a line for each preset, and for each of some random
// points, whose seed is fixed. What is hashed is text, flags, compiler, language, header and threads. update writes the file.
func Golden(t *testing.T, file string, update bool, specs []Generated) {
	t.Helper()
	var b strings.Builder
	points := map[string]space.Point{} // by line
	add := func(name string, g Generated, p space.Point) {
		src, err := g.Spec.Generate(p)
		if err != nil {
			t.Fatalf("%s: %s: %v", g.Name, p, err)
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%q\n%d\n%s\n%s", src.Lang, src.Compiler, src.Flags, src.Threads, src.Header, src.Text))
		line := fmt.Sprintf("%s %s %x\n", g.Name, name, sum[:8])
		points[line] = p
		b.WriteString(line)
	}
	for _, g := range specs {
		for _, p := range g.Spec.Presets() {
			add(p.Name, g, p.Point)
		}
		for i, values := range g.Points {
			p, err := g.Spec.Space().Make(values)
			if err != nil {
				t.Fatal(err)
			}
			add(fmt.Sprintf("point-%d", i+1), g, p)
		}
		r := rand.New(rand.NewPCG(7, 11))
		drawn := map[string]int{}
		for range 400 {
			p, err := g.Spec.Space().Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			value := p.Str(g.By)
			if drawn[value]++; drawn[value] <= perValue {
				add(fmt.Sprintf("%s-%d", value, drawn[value]), g, p)
			}
		}
	}
	want := goldenFile(t, file, update, b.String())
	if b.String() == want {
		return
	}
	known := map[string]bool{}
	for line := range strings.Lines(want) {
		known[line] = true
	}
	shown := 0
	for line := range strings.Lines(b.String()) {
		if !known[line] && shown < 5 {
			shown++
			t.Errorf("the code of %s is another than that of %s: %s", strings.TrimSpace(line), file, points[line])
		}
	}
	t.Errorf("%s differs; run the test with -update where that is meant", file)
}

// GoldenText compares the code of a point with a file, which begins with the point's key and the compiler's flags.
func GoldenText(t *testing.T, file string, update bool, spec native.Spec, values map[string]any) {
	t.Helper()
	p, err := spec.Space().Make(values)
	if err != nil {
		t.Fatal(err)
	}
	src, err := spec.Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("// %s\n// %s %s\n%s", p.Key(), src.Compiler, strings.Join(src.Flags, " "), src.Text)
	if goldenFile(t, file, update, got) != got {
		t.Errorf("%s differs; run the test with -update and look at what git says", file)
	}
	strict(t, src)
}

// strict fails where a compiler warns of text that is generated: users compile it with their own flags.
func strict(t *testing.T, src native.Source) {
	t.Helper()
	compiler, err := exec.LookPath(cmp.Or(src.Compiler, "gcc"))
	if err != nil || src.Lang != "c" || runtime.GOARCH != "amd64" {
		return // the flags are of that architecture
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kernel.c"), []byte(src.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := Compile(t, dir, compiler, slices.Concat(src.Flags, []string{"-Wall", "-Wextra", "-Werror", "-fsyntax-only", "kernel.c"})...)
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// goldenFile returns what a golden file holds, which is got where update says so.
func goldenFile(t *testing.T, file string, update bool, got string) string {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}
