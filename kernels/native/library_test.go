package native

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels/native/cc"
	"tune/space"
)

// librarySource is a program with a function that packs.
const librarySource = `// tune kernel {"format":1,"lang":"c","compiler":"","flags":["-O1","-mf16c","-mprefer-vector-width=512"],"threads":1,"point":"x=1"}
// Build: cc
//
#include <stdint.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	(void)args, (void)dims;
}
void tune_pack(uint8_t *packed, const uint8_t *w, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		packed[i] = w[i];
}
`

// libraryBuild is its build.json.
func libraryBuild() build {
	return build{
		Version: "gcc (Debian 12.2.0-14+deb12u1) 12.2.0", Dims: []int64{3}, Symbols: []string{"tune_kernel", "tune_pack"}, Overlaps: true,
		Call: &Call{Arguments: []Argument{{Name: "w", Type: "const uint8_t *"}}},
		Pack: &Pack{
			Repacking:  space.Repacking{Argument: "w", Bytes: 3, PackedBytes: 4, Alignment: 64, Layout: "As it is. " + strings.Repeat("And so on, ", 20) + "to the end."},
			Parameters: "uint8_t *packed, const uint8_t *w, int64_t n", Sizes: []int64{3},
		},
	}
}

func newLibrary(t *testing.T, b build) (Library, error) {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return NewLibrary([]byte(librarySource), text, "one", "a test")
}

// TestLibraryDamage: a program and a build.json that tune has not written so say what is wrong with them.
func TestLibraryDamage(t *testing.T) {
	for _, test := range []struct{ program, build, want string }{
		{"int x;\n", "{}", "the file does not begin with \"" + headPrefix + "\": it is no kernel that tune has exported"},
		{headPrefix + "{}\n", "{}", "line 1: the format is 0, want 1"},
		{headPrefix + `{"format":1,"lang":"rust"}` + "\n", "{}", `line 1: the language is "rust", want c or c++`},
		{headPrefix + `{"format":1,"lang":"c"}` + "\n", "{}", "line 1: it has 0 threads"},
		{headPrefix + `{"format":1,"lang":"c","threads":1}` + "\n", "{}", "the comment at the beginning has no end"},
		{headPrefix + `{"format":1,"lang":"c","threads":1}` + "\nint x;\n", "{}", `"int x;" stands in the comment at the beginning`},
		{librarySource, "{}", "build.json does not say how the kernel is called: it was exported by an earlier version; 'tune resume' writes it again"},
		{librarySource, `{"call":{},"pack":{"layout":"a\nb"}}`, "build.json: pack.layout or pack.argument is no plain text: tune has not written it"},
		{librarySource, `{"call":{"arguments":[{"name":"a b","type":"int"}]}}`, "is no argument"},
	} {
		if _, err := NewLibrary([]byte(test.program), []byte(test.build), "one", ""); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q, %s: %v, want %s", test.program, test.build, err, test.want)
		}
	}
}

// TestLibraryPack: the header says how to pack, and descriptions that tune has not written are refused.
func TestLibraryPack(t *testing.T) {
	l, err := newLibrary(t, libraryBuild())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"void one_pack(uint8_t *packed, const uint8_t *w, int64_t n);", "one_pack(packed, w, 3);", "3 bytes become 4, aligned to 64 bytes", "\n * As it is. And so on,",
		"Several threads may call it at once.",
	} {
		if !strings.Contains(string(l.Header), want) {
			t.Errorf("the header lacks %q:\n%s", want, l.Header)
		}
	}
	for want, change := range map[string]func(*build){
		"no plain text":                 func(b *build) { b.Pack.Layout = "*/ int x; /*" },
		"pack.argument":                 func(b *build) { b.Pack.Argument = "w\n*/" },
		"they are of different exports": func(b *build) { b.Pack.Parameters = "uint8_t *packed" },
		"is no symbol":                  func(b *build) { b.Symbols = append(b.Symbols, "x y") },
		"does not say how":              func(b *build) { b.Call = nil },
		"The size of packed":            func(b *build) { b.Pack = nil }, // as of earlier versions
	} {
		b := libraryBuild()
		change(&b)
		l, err := newLibrary(t, b)
		if b.Pack == nil {
			if err != nil || !strings.Contains(string(l.Header), want) || !strings.Contains(string(l.Header), "void one_pack(uint8_t *packed,") {
				t.Errorf("without a description: %v\n%s", err, l.Header)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// TestLibraryNeeds: a compiler that is not told of the instructions says which flag it needs.
func TestLibraryNeeds(t *testing.T) {
	compilers, err := cc.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	l, err := newLibrary(t, libraryBuild())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{l.SourceName: l.Source, l.HeaderName: l.Header} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Macros stand for what a processor of another kind lacks.
	const want = "compile this file with -mf16c; a compiler that does not know the flag is too old: gcc (Debian 12.2.0-14+deb12u1) 12.2.0 does"
	for flag, missing := range map[string]bool{"-U__F16C__": true, "-D__F16C__=1": false} {
		cmd := exec.CommandContext(t.Context(), compilers[0].Path, "-Wall", "-Wextra", "-Werror", flag, "-c", "-o", "one.o", l.SourceName)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if (err != nil) != missing || missing != strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", flag, err, out)
		}
	}
}
