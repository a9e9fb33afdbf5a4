package user

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

const scaleYAML = `
kernel: {name: scale, shape: {n: 256}}
space: {parameters: [{name: LANES, type: pow2, from: 1, to: 2}]}
source:
  text: |
    void f(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }
  function: f
  arguments:
    - {name: x, type: float, length: n, access: read}
    - {name: y, type: float, length: n, access: write}
    - {name: n, type: int, value: n}
  reference: {function: f}
  compilers: COMPILERS
`

// TestCompilersByPath: a compiler may be a path, relative to the file, or any name on PATH, and becomes a value of the parameter as it
// is written.
func TestCompilersByPath(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc")
	}
	bin := t.TempDir()
	if err := os.Symlink(gcc, filepath.Join(bin, "gcc-99")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	host := native.NewHost(native.HostOptions{}) // which looks for compilers on this path
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	k, _ := loadOn(t, host, strings.Replace(scaleYAML, "COMPILERS", "[./wrapped, no-such-gcc, gcc-99, gcc]", 1), "wrapped", "#!/bin/sh\nexec gcc -DWRAPPED \"$@\"\n")
	const left = "there is no program no-such-gcc on this machine, so that it is left out"
	if w := k.Warnings(); len(w) == 0 || w[len(w)-1].Text != left || w[len(w)-1].Field != "source.compilers[1]" {
		t.Errorf("the warnings are %v", w)
	}
	p := problem(t, k, "").(*SourceProblem)
	if domain, _ := p.Space().Parameter("compiler"); domain.Domain() != "./wrapped, gcc-99, gcc" {
		t.Errorf("the compilers are %s", domain.Domain())
	}
	if err := p.Examine(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.Reference().Compiler; got != "gcc" {
		t.Errorf("the reference is compiled by %s", got)
	}
	for _, key := range []string{"compiler=./wrapped LANES=1", "compiler=gcc-99 LANES=1"} {
		if out := evaluate(t, p, key); out.Status != space.OK {
			t.Errorf("%s: %+v", key, out)
		}
	}
}

// TestNoCompilers: what is no compiler is told at its place, when the kernel may run and not before.
func TestNoCompilers(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	for _, test := range []struct{ name, script, want string }{
		{"fails", "touch ran; exit 3", "fails (exit status 3)"},
		{"says nothing", "touch ran", "does not define __GNUC__"},
		{"says a version", "touch ran; echo fake-gcc 1.0", "does not define __GNUC__"},
	} {
		k, dir := load(t, strings.Replace(scaleYAML, "COMPILERS", "[gcc, ./fake]", 1), "fake", "#!/bin/sh\ncd \"${0%/*}\"\n"+test.script+"\n")
		p := problem(t, k, "").(*SourceProblem)
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("%s: it ran before anything may", test.name)
		}
		err := p.Examine(t.Context())
		want := "kernel.yaml:13:20: source.compilers[1]: ./fake is no C compiler that takes the options of gcc, as clang does: '" + filepath.Join(dir, "fake") + " -E -dM -x c /dev/null' " + test.want
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant …%s", test.name, err, want)
		}
	}
	k, _ := load(t, strings.Replace(scaleYAML, "COMPILERS", "[no-such-gcc]", 1))
	shape, err := kernels.ParseShape(k.Info().Shape, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Problem(shape); err == nil || err.Error() != "source.compilers: none of these compilers is installed: no-such-gcc: install one, or list another" {
		t.Errorf("got %v", err)
	}
}
