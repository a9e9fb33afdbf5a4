package user

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tune/kernels"
	"tune/space"
)

const peersC = `
void axpy_plain(float a, const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] += a * x[i]; }
void axpy_wrong(float a, const float *x, float *y, long n) { for (long i = 1; i < n; i++) y[i] += a * x[i]; }
#ifndef STRICT
void axpy_flagged(float a, const float *x, float *y, long n) { }
#else
void axpy_flagged(float a, const float *x, float *y, long n) { axpy_plain(a, x, y, n); }
#endif
`

// TestPeers: the functions of a file that results are compared with are checked as candidates are, with flags of their own.
func TestPeers(t *testing.T) {
	needCompiler(t)
	text := strings.Replace(axpyYAML, "FUNCTION", "axpy", 1) + `  peers:
    - {name: plain, function: axpy_plain, file: peers.c}
    - {name: itself, function: axpy}
    - {name: wrong, function: axpy_wrong, file: peers.c}
    - {name: flagged, function: axpy_flagged, file: peers.c, flags: [-O1, -DSTRICT=1]}
    - {name: lacking, function: axpy_flagged, file: peers.c, flags: [-O1]}
`
	k, _ := load(t, text, "axpy.c", strings.Replace(axpyC, "this does not compile", "", 1), "helper.h", helperH, "peers.c", peersC)
	for _, shape := range []string{"n=1000", "n=77"} {
		p, err := k.Problem(shapeOf(t, k, shape))
		if err != nil {
			t.Fatal(err)
		}
		peers, err := p.Traits().Peers(nil)
		if err != nil || len(peers) != 5 {
			t.Fatal(peers, err)
		}
		for _, one := range peers {
			err := kernels.Verify(t.Context(), one.Candidate, []uint64{1})
			bad := slices.Contains([]string{"wrong", "lacking"}, one.Name)
			if r := kernels.AsRejection(err); (r != nil) != bad || bad && r.Status != space.WrongAnswer || !bad && err != nil {
				t.Errorf("%s, peer %s: %v", shape, one.Name, err)
			}
		}
		if some, err := p.Traits().Peers([]string{"itself"}); err != nil || len(some) != 1 || some[0].Name != "itself" {
			t.Errorf("one peer: %v, %v", some, err)
		}
		if _, err := p.Traits().Peers([]string{"plein"}); err == nil || err.Error() != `unknown peer "plein": source.peers in `+k.Path()+` has plain, itself, wrong, flagged, lacking (did you mean "plain"?)` {
			t.Errorf("error %v", err)
		}
	}
}

// TestFlagPaths: folders and libraries in flags are relative to the file of the kernel, also of one that a run has a copy of.
func TestFlagPaths(t *testing.T) {
	text := strings.Replace(axpyYAML, "FUNCTION", "axpy", 1)
	k, _ := load(t, text, "axpy.c", strings.Replace(axpyC, "this does not compile", "", 1), "helper.h", helperH)
	run := t.TempDir()
	if err := k.Save(run); err != nil {
		t.Fatal(err)
	}
	kept, err := Open(run)
	if err != nil {
		t.Fatal(err)
	}
	flags := []template{
		parseTemplate("-O2 -Iinclude -I include -L lib -L../lib -L/usr/lib -lfast lib/libfast.a /usr/lib/libfast.so"),
		parseTemplate("-Wl,-rpath,lib"), parseTemplate("-Wl,-rpath,$ORIGIN"), parseTemplate("-I=/sys"), parseTemplate("-DLIB=lib/libfast.a"),
	}
	dir := k.dir
	want := strings.Fields("-O2 -I" + dir + "/include -I " + dir + "/include -L " + dir + "/lib -L" + filepath.Dir(dir) + "/lib -L/usr/lib -lfast " +
		dir + "/lib/libfast.a /usr/lib/libfast.so -Wl,-rpath," + dir + "/lib -Wl,-rpath,$ORIGIN -I=/sys -DLIB=lib/libfast.a")
	for _, k := range []*Kernel{k, kept} {
		if got := k.d.source.expandFlags(flags, nil); !slices.Equal(got, want) {
			t.Errorf("the flags are\n%q, want\n%q", got, want)
		}
	}
}
