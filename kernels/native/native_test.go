package native_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/nativetest"
	"tune/kernels/native/timing"
	"tune/kernels/native/worker"
	"tune/space"
)

// testHost returns the host that all tests share, as a process should have only one. It skips the test where there is no compiler.
func testHost(t testing.TB) *native.Host {
	t.Helper()
	nativetest.Here(t)
	return nativetest.Host()
}

// poly evaluates y[i] = x[i]·x[i]·3 + x[i] in one of several ways, most of them wrong.
type poly struct {
	n     int
	space *space.Space
	floor float64
}

func newPoly(t testing.TB, n int) *poly {
	t.Helper()
	s, err := space.New("poly", []space.Parameter{
		space.Enum("form", "plain", "repeat", "state", "later", "wrong", "crash", "loop", "typo", "refuse", "threads", "heap", "pages"),
		space.Range("work", 1, 512),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &poly{n: n, space: s}
}

func (p *poly) point(t testing.TB, form string, work int) space.Point {
	t.Helper()
	point, err := p.space.Parse(fmt.Sprintf("form=%s work=%d", form, work))
	if err != nil {
		t.Fatal(err)
	}
	return point
}

func (p *poly) Space() *space.Space { return p.space }

func (p *poly) Presets() []kernels.Preset {
	plain, _ := p.space.Parse("form=plain work=4")
	return []kernels.Preset{{Name: "baseline", Doc: "a plain loop", Point: plain}}
}

func (p *poly) Generate(point space.Point) (native.Source, error) {
	form := point.Str("form")
	head, extra, last := "", "", ""
	s := native.Source{Lang: "c", Flags: []string{"-O2"}}
	switch form {
	case "refuse":
		return s, kernels.Reject(space.Invalid, "this form is refused")
	case "state":
		extra = "static int calls; if (i == 0 && calls++) v = 2;"
	case "later":
		extra = "static int64_t calls; if (i == 0 && ++calls > 1000) v = 0;"
	case "wrong":
		extra = "if (i == n - 1) v += 1;"
	case "crash":
		extra = "if (i == n - 1) *(volatile int *)8 = 1;"
	case "loop":
		extra = "for (;;) __asm__ volatile(\"\");"
	case "pages":
		// It gives its pages back, so that each call finds them empty.
		s.Flags = append(s.Flags, "-D_DEFAULT_SOURCE")
		head = fmt.Sprintf("#include <sys/mman.h>\nenum { pages = %d };\nstatic char empty[pages * 4096] __attribute__((aligned(4096)));\n", facedPages)
		extra = "if (i == 0) { madvise(empty, sizeof empty, MADV_DONTNEED); for (int k = 0; k < pages; k++) ((volatile char *)empty)[k * 4096] = 1; }"
	case "typo":
		extra = "no_such_function(;"
	case "heap":
		// What it writes past its own memory is found by whoever asks for some next.
		// Threads of the same process have one of a few heaps each.
		s.Flags = append(s.Flags, "-pthread", "-w")
		head = `#include <pthread.h>
static char *volatile gaps[4], *volatile keep[4];
static void *leave_gap(void *p) { int i = (char *volatile *)p - gaps; gaps[i] = malloc(5000); keep[i] = malloc(5000); free(gaps[i]); return 0; }
static void damage(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, leave_gap, (void *)&gaps[i]);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	for (int i = 0; i < 4; i++) memset(gaps[i], 'A', 16);
}
`
		extra = "if (!gaps[0]) damage();"
	case "threads":
		s.Threads = 2
		s.Flags = append(s.Flags, "-pthread")
	}
	s.Text = fmt.Sprintf(`#include <stdint.h>
#include <stdlib.h>
#include <string.h>
%sstatic void body(const float *x, float *y, int64_t from, int64_t to, int64_t n)
{
	for (int64_t i = from; i < to; i++) {
		float v = 0;
		for (int r = 0; r < %d; r++) {
			float z = x[i];
			__asm__ volatile("" : "+x"(z));
			v = z * z * 3 + z;
		}
		%s
		y[i] = v;
	}
	(void)n;
}
`, head, point.Int("work"), extra)
	if form == "threads" {
		s.Text += `#include <pthread.h>
struct half { const float *x; float *y; int64_t n; };
static void *other(void *p) { struct half *h = p; body(h->x, h->y, h->n / 2, h->n, h->n); return 0; }
`
		last = "struct half h = {args[0], args[1], dims[0]}; pthread_t t; pthread_create(&t, 0, other, &h); body(args[0], args[1], 0, dims[0] / 2, dims[0]); pthread_join(t, 0);"
	} else {
		last = "body(args[0], args[1], 0, dims[0], dims[0]);"
	}
	s.Text += fmt.Sprintf("void tune_kernel(void *const *args, const int64_t *dims)\n{\n\t%s\n}\n", last)
	return s, nil
}

func (p *poly) CaseClass(space.Point) string { return "" }

func (p *poly) Cases(_ context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	var cases []native.Case
	for _, n := range []int{p.n, 1, 17} {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		x := make([]byte, 4*n)
		want := make([]float32, n)
		for i := range n {
			v := 2*r.Float32() - 1
			binary.NativeEndian.PutUint32(x[4*i:], math.Float32bits(v))
			want[i] = v*v*3 + v
		}
		cases = append(cases, native.Case{
			Name: fmt.Sprintf("n=%d", n), Dims: []int64{int64(n)},
			Buffers: []native.Buffer{{Name: "x", Elem: native.F32, Len: n, Mode: native.In}, {Name: "y", Elem: native.F32, Len: n, Mode: native.Out}},
			Inputs:  [][]byte{x, nil},
			Verify: func(b [][]byte) (found kernels.Deviation, err error) {
				for i := range n {
					got := math.Float32frombits(binary.NativeEndian.Uint32(b[1][4*i:]))
					d := math.Abs(float64(got - want[i]))
					if !(d <= 1e-5) {
						return found, kernels.Reject(space.WrongAnswer, "y[%d] is %v, want %v", i, got, want[i])
					}
					found.Add(d, 1e-5)
				}
				return found, nil
			},
		})
	}
	return cases, nil
}

func (p *poly) Work() native.Work {
	return native.Work{Ops: 3 * float64(p.n), OpsName: "GFLOP/s", Bytes: 8 * float64(p.n), MinSeconds: p.floor}
}

// conforming is poly without its wrong forms.
type conforming struct{ *poly }

func newConforming(t testing.TB, n int) conforming {
	p := newPoly(t, n)
	s, err := space.New("poly", []space.Parameter{space.Enum("form", "plain", "repeat", "refuse", "threads"), space.Range("work", 1, 8)})
	if err != nil {
		t.Fatal(err)
	}
	p.space = s
	return conforming{p}
}

func TestConformance(t *testing.T) {
	nativetest.Run(t, newConforming(t, 100), nativetest.Options{Host: testHost(t), Points: 5})
}

func problem(t testing.TB, s native.Spec, h *native.Host) *native.Problem {
	t.Helper()
	p, err := native.New(s, native.Options{Host: h, Limits: worker.Limits{Wall: 2 * time.Second, CPU: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*native.Problem)
}

// TestOutcomes: whatever a candidate does wrong is its outcome, and the next candidate is none the worse for it.
func TestOutcomes(t *testing.T) {
	spec := newPoly(t, 1000)
	p, err := native.New(spec, native.Options{Host: testHost(t), Limits: worker.Limits{Wall: 2 * time.Second, CPU: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	e := &kernels.Evaluator{Problem: p, CheckSeed: 1}
	tests := []struct {
		form   string
		status space.Status
		reason string
	}{
		{"plain", space.OK, ""},
		{"later", space.WrongAnswer, "in a timed call"},
		{"typo", space.CompileFailed, "kernel.c:"}, // from here on the scores are brief
		{"wrong", space.WrongAnswer, "n=1000: y[999]"},
		{"state", space.WrongAnswer, "in the second call"},
		{"crash", space.Crashed, ""},
		{"loop", space.Timeout, ""},
		{"refuse", space.Invalid, "refused"},
		{"repeat", space.OK, ""},
		{"threads", space.OK, ""},
	}
	for _, test := range tests {
		if test.form == "typo" {
			p.(*native.Problem).Brief()
		}
		out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: spec.point(t, test.form, 2)}})
		if err != nil {
			t.Fatalf("%s: %v", test.form, err)
		}
		if err := out.Validate(); err != nil {
			t.Errorf("%s: %v", test.form, err)
		}
		if out.Status != test.status || !strings.Contains(out.Reason, test.reason) {
			t.Errorf("%s: %v (%s), want %v with %q", test.form, out.Status, out.Reason, test.status, test.reason)
		}
		if out.Status != space.OK {
			continue
		}
		names := ""
		for _, m := range out.Metrics {
			names += m.Name + " "
		}
		if names != "error_share gbs gflops max_error samples spread threads unverified " {
			t.Errorf("%s: the metrics are %s", test.form, names)
		}
		if ns := out.Cost; ns < 10 || ns > 1e7 {
			t.Errorf("%s: a call costs %v ns", test.form, ns)
		}
	}
}

func score(t testing.TB, p *native.Problem, point space.Point) map[string]float64 {
	t.Helper()
	e := &kernels.Evaluator{Problem: p, CheckSeed: 1}
	out, err := e.Evaluate(t.Context(), space.Trial{Proposal: space.Proposal{Point: point}})
	if err != nil || out.Status != space.OK {
		t.Fatalf("%s: %v (%s), %v", point, out.Status, out.Reason, err)
	}
	m := map[string]float64{"cost": out.Cost}
	for _, metric := range out.Metrics {
		m[metric.Name] = metric.Value
	}
	return m
}

// quietly takes a score until the machine was quiet, or until that takes too long.
func quietly(t *testing.T, take func() map[string]float64) map[string]float64 {
	t.Helper()
	for start := time.Now(); ; {
		m := take()
		if m["unverified"] == 0 {
			return m
		}
		if time.Since(start) > 10*time.Second {
			t.Skip("the machine is not quiet")
		}
	}
}

// inPlace is poly in one buffer that is read and written. Its forms are right in their first calls.
type inPlace struct{ *poly }

func (p inPlace) Generate(point space.Point) (native.Source, error) {
	extra := map[string]string{
		"later": "if (calls > 6) return;", "state": "if (calls % 2 == 0) return;",
	}[point.Str("form")]
	return native.Source{Lang: "c", Text: fmt.Sprintf(`#include <stdint.h>
#include <time.h>
void tune_kernel(void *const *args, const int64_t *dims)
{
	static int64_t calls;
	clock_t end = clock() + %d * CLOCKS_PER_SEC / 1000;
	float *y = args[0];
	calls++;
	%s
	while (clock() < end)
		;
	for (int64_t i = 0; i < dims[0]; i++)
		y[i] = y[i] * y[i] * 3 + y[i];
}
`, point.Int("work")-1, extra)}, nil
}

func (p inPlace) Cases(ctx context.Context, point space.Point, seed uint64) ([]native.Case, error) {
	cases, err := p.poly.Cases(ctx, point, seed)
	if err != nil {
		return nil, err
	}
	c := cases[0]
	c.Buffers, c.Inputs = []native.Buffer{c.Buffers[0]}, c.Inputs[:1]
	c.Buffers[0].Mode = native.InOut
	verify := c.Verify
	c.Verify = func(b [][]byte) (kernels.Deviation, error) { return verify([][]byte{nil, b[0]}) }
	return []native.Case{c}, nil
}

// TestInPlace: an in-place kernel that stops working after some calls, or works in every other one, is wrong, in the search
// and in the final. Calls that are too long to be made twice in the check are no way out.
func TestInPlace(t *testing.T) {
	spec := inPlace{newPoly(t, 2000)}
	p := problem(t, spec, testHost(t))
	const long = 1 + 52 // milliseconds
	for _, test := range []struct {
		form   string
		work   int
		status space.Status
	}{
		{"plain", 1, space.OK}, {"later", 1, space.WrongAnswer}, {"state", 1, space.WrongAnswer},
		{"plain", long, space.OK}, {"later", long, space.WrongAnswer}, {"state", long, space.WrongAnswer},
	} {
		// Each is the first of its problem, so that none is given up because it is behind.
		alone := problem(t, spec, testHost(t))
		if test.work == long && test.status == space.OK {
			alone.Brief()
		}
		out, err := (&kernels.Evaluator{Problem: alone, CheckSeed: 1}).Evaluate(t.Context(),
			space.Trial{Proposal: space.Proposal{Point: spec.point(t, test.form, test.work)}})
		refused := test.status != space.OK && out.Status == space.Invalid && strings.Contains(out.Reason, "implausible") // its times were looked at first
		if err != nil || out.Status != test.status && !refused {
			t.Errorf("%s %d: %v (%s), %v", test.form, test.work, out.Status, out.Reason, err)
		}
	}
	baseline := p.Wrap(mustGenerateOf(t, spec, "plain", 2), spec.point(t, "plain", 2))
	final, err := p.Compare(t.Context(), baseline, []kernels.Candidate{
		p.Wrap(mustGenerateOf(t, spec, "later", 1), spec.point(t, "later", 1)),
		p.Wrap(mustGenerateOf(t, spec, "plain", 1), spec.point(t, "plain", 1)),
	}, kernels.Series{Limit: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r := kernels.AsRejection(final.Comparisons[0].Err); r == nil || r.Status != space.WrongAnswer || final.Best != 1 {
		t.Errorf("in the final the wrong one has %v, and finalist %d is best", final.Comparisons[0].Err, final.Best)
	}
}

func mustGenerateOf(t *testing.T, p inPlace, form string, work int) native.Source {
	t.Helper()
	s, err := p.Generate(p.point(t, form, work))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// slowCases is a spec whose reference takes until it is allowed to end.
type slowCases struct {
	*poly
	calls   atomic.Int64
	started chan struct{}
}

func (s *slowCases) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	if s.calls.Add(1) == 1 {
		close(s.started)
		<-ctx.Done()
		return nil, fmt.Errorf("the reference: %w", ctx.Err())
	}
	return s.poly.Cases(ctx, p, seed)
}

// TestSlowReference: a reference ends with the context, and what was ended is not kept for those that come after.
func TestSlowReference(t *testing.T) {
	spec := &slowCases{poly: newPoly(t, 100), started: make(chan struct{})}
	p := problem(t, spec, testHost(t))
	c, err := p.Build(t.Context(), spec.point(t, "plain", 1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- c.Check(ctx, 1) }()
	<-spec.started
	other, err := p.Build(t.Context(), spec.point(t, "repeat", 1))
	if err != nil {
		t.Fatal(err)
	}
	go func() { second <- other.Check(t.Context(), 1) }()
	time.Sleep(50 * time.Millisecond) // so that it waits for the first
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the check that was ended returned %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the one that waited for it returned %v", err)
	}
	if n := spec.calls.Load(); n != 2 {
		t.Errorf("the cases were asked for %d times", n)
	}
}

// TestScore: costs grow with the work, and a candidate that is behind gets few samples.
func TestScore(t *testing.T) {
	spec := newPoly(t, 2000)
	var p *native.Problem
	fast := quietly(t, func() map[string]float64 {
		p = problem(t, spec, testHost(t)) // what was scored before would be one to be behind of
		return score(t, p, spec.point(t, "plain", 2))
	})
	if fast["samples"] < 5 {
		t.Errorf("the first candidate has %v", fast)
	}
	if fast["max_error"] < 0 || fast["max_error"] > 1e-5 || fast["error_share"] < 0 || fast["error_share"] > 1 {
		t.Errorf("the error is %v, %v of the tolerance", fast["max_error"], fast["error_share"])
	}
	slow := score(t, p, spec.point(t, "plain", 32))
	if r := slow["cost"] / fast["cost"]; r < 6 || r > 60 {
		t.Errorf("16 times the work takes %.1f times as long", r)
	}
	if slow["samples"] > 3 {
		t.Errorf("a candidate that is far behind got %v samples", slow["samples"])
	}
	if again := quietly(t, func() map[string]float64 { return score(t, p, spec.point(t, "plain", 2)) }); again["samples"] < 5 && again["cost"] < 1.2*fast["cost"] {
		t.Errorf("the best candidate got %v the second time, and at first %v", again, fast)
	}
	if rate := fast["gflops"] * fast["cost"]; math.Abs(rate-3*2000) > 1 {
		t.Errorf("gflops · ns is %v, want the operations of a call", rate)
	}
}

// TestHopeless: a call that takes many times as long as the best is not waited for, but one that is short is.
func TestHopeless(t *testing.T) {
	spec := newPoly(t, 2000)
	// On a busy machine a call gets a small share of a core: its wall time must not be what ends it.
	made, err := native.New(spec, native.Options{Host: testHost(t), Limits: worker.Limits{Wall: time.Minute, CPU: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*native.Problem)
	score(t, p, spec.point(t, "plain", 2))
	check := func(form string, work int) error {
		c, err := p.Build(t.Context(), spec.point(t, form, work))
		if err != nil {
			t.Fatal(err)
		}
		return c.Check(t.Context(), 1)
	}
	if err := check("plain", 512); err != nil {
		t.Errorf("256 times the work: %v", err)
	}
	const want = "ran past its limit of 1s of CPU time, more than 10 times what the best takes"
	if r := kernels.AsRejection(check("loop", 1)); r == nil || r.Status != space.Timeout || !strings.Contains(r.Reason, want) {
		t.Errorf("an endless loop: %v", r)
	}
}

// TestMinSeconds: what is faster than the machine can be is not believed.
func TestMinSeconds(t *testing.T) {
	spec := newPoly(t, 1000)
	spec.floor = 0.001
	p := problem(t, spec, testHost(t))
	if m := score(t, p, spec.point(t, "plain", 1)); m["unverified"] != 1 || m["cost"] < 1e6 {
		t.Errorf("times below the least possible one gave %v", m)
	}
}

// TestSymbols: an object has the one function that is called, and no other name of tune's.
func TestSymbols(t *testing.T) {
	p := problem(t, newPoly(t, 10), testHost(t))
	const kernel = "void tune_kernel(void *const *args, const long *dims) { (void)args; (void)dims; }\n"
	for text, want := range map[string]string{
		kernel + "void tune_time(void *t) { (void)t; }\n": "defines tune_time",
		kernel + "int tune_harness;\n":                    "defines tune_harness",
		"int tune_kernel;\n":                              "no plain function",
		"int nothing;\n":                                  "no function tune_kernel",
		kernel + "static void tune_own(void) {}\nvoid tune_pack(void) { tune_own(); }\n": "y[0] is ",
	} {
		err := p.Wrap(native.Source{Text: text}, p.Space().Default()).Check(t.Context(), 1)
		if r := kernels.AsRejection(err); r == nil || !strings.Contains(r.Reason, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestArtifacts: the exported source compiles as its comment says, with what a user has, and loads back to the same.
func TestArtifacts(t *testing.T) {
	spec := newPoly(t, 50)
	p := problem(t, spec, testHost(t))
	point := spec.point(t, "plain", 3)
	c, err := p.Build(t.Context(), point)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	artifacts, err := c.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, a := range artifacts {
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		texts[a.Name] = b.Bytes()
		if err := os.WriteFile(filepath.Join(dir, "best."+a.Name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(artifacts) == 0 || artifacts[0].Name != "kernel.c" || texts["kernel.h"] == nil || texts["build.json"] == nil {
		t.Fatalf("the artifacts are %v", artifacts)
	}
	for line := range strings.SplitSeq(string(texts["kernel.c"]), "\n") {
		command, ok := strings.CutPrefix(line, "// Build: ")
		if !ok {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
	main := "#include \"best.kernel.h\"\nint main(void) { float x[1] = {1}, y[1]; void *a[] = {x, y}; int64_t d[] = {1}; tune_kernel(a, d); return y[0] != 4; }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "cc -o main main.c best.kernel.c && ./main")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a program that uses the kernel: %v: %s", err, out)
	}

	loaded, err := p.Load(bytes.NewReader(texts["kernel.c"]))
	if err != nil {
		t.Fatal(err)
	}
	if err := kernels.Verify(t.Context(), loaded, []uint64{5, 6}); err != nil {
		t.Error(err)
	}
	again, err := loaded.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := again[0].Write(&b); err != nil || !bytes.Equal(b.Bytes(), texts["kernel.c"]) {
		t.Errorf("a loaded kernel is written differently (%v)", err)
	}
	tampered := strings.Replace(string(texts["kernel.c"]), "z * z * 3 + z", "z * z * 3 + 1", 1)
	if loaded, err = p.Load(strings.NewReader(tampered)); err != nil {
		t.Fatal(err)
	}
	if r := kernels.AsRejection(loaded.Check(t.Context(), 5)); r == nil || r.Status != space.WrongAnswer {
		t.Errorf("a kernel that was tampered with is %v", r)
	}
	for _, text := range []string{"", "int x;", "// tune kernel {}\n//\n", "// tune kernel {\"format\":1", strings.Replace(string(texts["kernel.c"]), "form=plain", "form=none", 1)} {
		if _, err := p.Load(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q was loaded", text)
		}
	}
}

// limits are those of the series that are tried until one has no fault: other work on the machine may last as long as a series, and
// makes it need more pairs.
var limits = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 10 * time.Second}

// TestCompare: finalists are ranked by their ratio to the baseline, equal ones are not told apart, and one that dies
// is refused without harm to the others. What others run here can make equal ones differ for a while, so one of several
// comparisons has to find the ratios right.
func TestCompare(t *testing.T) {
	spec := newPoly(t, 2000)
	p := problem(t, spec, testHost(t))
	build := func(form string, work int) kernels.Candidate {
		c, err := p.Build(t.Context(), spec.point(t, form, work))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	baseline := build("plain", 64)
	finalists := []kernels.Candidate{build("repeat", 64), build("plain", 16), build("crash", 1), build("repeat", 16), build("later", 1)}
	var wrong []string
	for _, limit := range limits[1:] { // the first is too short for an interval of each of so many
		final, err := p.Compare(t.Context(), baseline, finalists, kernels.Series{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		c := final.Comparisons
		for i, c := range c {
			t.Logf("%d: %+v", i, c)
		}
		t.Logf("%+v", final.Machine)
		if c[2].Err == nil || c[4].Err == nil || kernels.AsRejection(c[2].Err).Status != space.Crashed {
			t.Errorf("the finalists that are wrong have %v and %v", c[2].Err, c[4].Err)
		}
		if final.Best != 1 && final.Best != 3 {
			t.Fatalf("finalist %d is best", final.Best)
		}
		for _, i := range []int{0, 1, 3} {
			within := c[i].Low <= c[i].Ratio && c[i].Ratio <= c[i].High
			if c[i].Err != nil || !within && !c[i].TooFew || c[i].Cost <= 0 || c[i].Baseline <= 0 {
				t.Errorf("finalist %d has %+v", i, c[i])
			}
		}
		if m := final.Machine; m.Probes < 6 || m.Drift < 0 || m.Busy <= 0 || m.Steal < 0 {
			t.Errorf("the state of the machine is %+v", m)
		}
		if wrong = misjudged(final); len(wrong) == 0 {
			break
		}
		t.Logf("wrong: %q", wrong)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if _, err := p.Compare(t.Context(), finalists[2], finalists[:1], kernels.Series{Limit: time.Second}); kernels.AsRejection(err) == nil {
		t.Errorf("a baseline that dies gave %v", err)
	}
}

// facedPages is how many page faults a call of the form "pages" has.
const facedPages = 64

// TestMeasures: what counters count of a candidate is what its calls do, without the harness.
func TestMeasures(t *testing.T) {
	spec := newPoly(t, 2000)
	p := problem(t, spec, testHost(t))
	p.Brief()
	scored := map[string]kernels.Candidate{}
	measure := func(form string, work int, names ...string) []space.Metric {
		t.Helper()
		point := spec.point(t, form, work)
		c := scored[point.Key()]
		if c == nil {
			var err error
			if c, err = p.Build(t.Context(), point); err == nil {
				err = c.Check(t.Context(), 1)
			}
			if err == nil {
				_, err = c.Score(t.Context(), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			scored[point.Key()] = c
		}
		metrics, err := c.Abilities().Measure(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		return metrics
	}
	of := func(metrics []space.Metric, name string) float64 {
		t.Helper()
		v, ok := space.FindMetric(metrics, name)
		if !ok {
			t.Fatalf("no %s in %+v", name, metrics)
		}
		return v
	}
	if n := of(measure("plain", 4, space.MetricCodeBytes), space.MetricCodeBytes); n < 50 || n > 50_000 {
		t.Errorf("its code has %v bytes", n)
	}
	measures := p.Traits().Measures
	for _, m := range space.Measured() {
		err := measures(m.Name)
		if err != nil {
			t.Logf("%s: %v", m.Name, err)
		}
		if got := measure("plain", 4, m.Name); len(got) > 1 || (len(got) == 1) != (err == nil) || len(got) == 1 && (got[0].Name != m.Name || got[0].Value < 0) {
			t.Errorf("%s, where Measures says %v: %+v", m.Name, err, got)
		}
	}
	if measures("bogus") == nil {
		t.Error("an unknown metric can be measured")
	}
	if measures(space.MetricPageFaults) == nil {
		few, many := of(measure("plain", 4, space.MetricPageFaults), space.MetricPageFaults), of(measure("pages", 4, space.MetricPageFaults), space.MetricPageFaults)
		if few > 2 || math.Abs(many-facedPages) > 4 { // the system may take pages away from whoever does not use them for a while
			t.Errorf("%v and %v page faults a call, want 0 and %d", few, many, facedPages)
		}
	}
	if measures(space.MetricInstructions) == nil {
		few, many := of(measure("plain", 16, space.MetricInstructions), space.MetricInstructions), of(measure("plain", 64, space.MetricInstructions), space.MetricInstructions)
		if r := many / few; r < 3 || r > 5 {
			t.Errorf("four times the work takes %.2f times the instructions", r)
		}
	}
}

// TestCompareReused: a finalist of another problem, found to reuse results there, is timed apart, and so is the
// baseline. Two libraries are compared
// like that.
func TestCompareReused(t *testing.T) {
	spec := newPoly(t, 2000)
	host := testHost(t)
	p, other := problem(t, spec, host), problem(t, spec, host)
	baseline, err := p.Build(t.Context(), spec.point(t, "plain", 64))
	if err != nil {
		t.Fatal(err)
	}
	reused, err := other.Build(t.Context(), spec.point(t, "plain", 16))
	if err != nil {
		t.Fatal(err)
	}
	native.NoteReuse(reused)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	final, err := p.Compare(ctx, baseline, []kernels.Candidate{reused}, kernels.Series{Limit: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if c := final.Comparisons[0]; c.Err != nil || c.Pairs == 0 || c.Ratio < 1.5 {
		t.Errorf("a quarter of the work is %+v", c)
	}
}

// TestCompareBrief: calls of some ten nanoseconds are compared by calls that are timed apart, where one of them was taken for code that
// reuses results. The same code is no faster than itself.
func TestCompareBrief(t *testing.T) {
	spec := newPoly(t, 16)
	p := problem(t, spec, testHost(t))
	build := func(work int) kernels.Candidate {
		c, err := p.Build(t.Context(), spec.point(t, "plain", work))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	baseline, same, less := build(64), build(64), build(8)
	native.NoteReuse(same)
	var wrong []string
	for _, limit := range limits {
		final, err := p.Compare(t.Context(), baseline, []kernels.Candidate{same, less}, kernels.Series{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		wrong = nil
		for i, want := range [][2]float64{{0.85, 1.15}, {2, math.Inf(1)}} {
			if c := final.Comparisons[i]; c.Err != nil || c.Pairs == 0 || c.Ratio < want[0] || c.Ratio > want[1] {
				wrong = append(wrong, fmt.Sprintf("want %.2f to %.2f times as fast: %+v", want[0], want[1], c))
			}
		}
		if len(wrong) == 0 {
			break
		}
		t.Logf("wrong: %q", wrong)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestConfirm: a series that confirms sees a gain, and refuses what is wrong in any of its processes.
func TestConfirm(t *testing.T) {
	spec := newPoly(t, 2000)
	p := problem(t, spec, testHost(t))
	build := func(form string, work int) kernels.Candidate {
		c, err := p.Build(t.Context(), spec.point(t, form, work))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	baseline := build("plain", 64)
	less := build("plain", 16)
	for i, limit := range limits {
		pairs := 0
		final, err := p.Compare(t.Context(), baseline, []kernels.Candidate{less}, kernels.Series{Limit: limit, Confirm: true, Seed: 1, Observe: func(int, int) { pairs++ }})
		if err != nil {
			t.Fatal(err)
		}
		c := final.Comparisons[0]
		t.Logf("%+v", c)
		if c.Faster() && c.Ratio >= 2 && c.Pairs >= timing.LeastPairs && pairs >= c.Pairs && math.Abs(c.Cost*c.Ratio/c.Baseline-1) <= 1e-9 {
			break
		}
		if i == len(limits)-1 {
			t.Errorf("a quarter of the work is %+v, after %d pairs", c, pairs)
		}
	}
	for _, form := range []string{"later", "crash"} {
		final, err := p.Compare(t.Context(), baseline, []kernels.Candidate{build(form, 1)}, kernels.Series{Limit: limits[0], Confirm: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if c := final.Comparisons[0]; kernels.AsRejection(c.Err) == nil {
			t.Errorf("%s: %+v", form, c)
		}
	}
}

// misjudged says what is wrong with the ratios of TestCompare.
func misjudged(final kernels.Final) (wrong []string) {
	c := final.Comparisons
	best, other := c[final.Best], c[4-final.Best]
	if best.Ratio < 1.2 || best.Indistinct {
		wrong = append(wrong, fmt.Sprintf("a quarter of the work is %.2f times as fast, told apart from the baseline: %v", best.Ratio, !best.Indistinct))
	}
	for _, i := range []int{0, 1, 3} {
		if c[i].Pairs < 6 {
			wrong = append(wrong, fmt.Sprintf("finalist %d has %d pairs", i, c[i].Pairs))
		}
	}
	if c[0].Ratio < 0.8 || c[0].Ratio > 1.25 || c[0].Indistinct {
		wrong = append(wrong, fmt.Sprintf("the same as the baseline has %+v", c[0]))
	}
	if !other.Indistinct && math.Abs(c[1].Ratio/c[3].Ratio-1) > 0.05 {
		wrong = append(wrong, fmt.Sprintf("two that are equal were told apart: %+v", other))
	}
	return wrong
}

// TestThreads: a threaded kernel is timed by the wall, and says so where the machine was not idle.
func TestThreads(t *testing.T) {
	spec := newPoly(t, 200_000)
	p := problem(t, spec, testHost(t))
	p.Brief()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for x := 1.0; ; x = math.Sqrt(x + 1) {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	m := score(t, p, spec.point(t, "threads", 8))
	close(stop)
	wg.Wait()
	if m["unverified"] != 1 {
		t.Errorf("timed on a busy machine a threaded kernel has %v", m)
	}
	final, err := p.Compare(t.Context(), p.Wrap(mustGenerate(t, spec, "plain", 8), spec.point(t, "plain", 8)),
		[]kernels.Candidate{p.Wrap(mustGenerate(t, spec, "threads", 8), spec.point(t, "threads", 8))}, kernels.Series{Limit: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", final)
	if c := final.Comparisons[0]; c.Err != nil || c.Pairs == 0 {
		t.Errorf("two threads against one: %+v", c)
	}
}

func mustGenerate(t *testing.T, p *poly, form string, work int) native.Source {
	t.Helper()
	s, err := p.Generate(p.point(t, form, work))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCanceled: a context that is done ends everything, soon and with its own error.
func TestCanceled(t *testing.T) {
	spec := newPoly(t, 1000)
	h := testHost(t)
	p := problem(t, spec, h)
	c, err := p.Build(t.Context(), spec.point(t, "loop", 1))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := kernels.Verify(ctx, c, []uint64{1}); err != context.DeadlineExceeded {
		t.Errorf("Verify returned %v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
	for what, err := range map[string]error{"Check": c.Check(ctx, 1), "Score": func() error { _, err := c.Score(ctx, 0); return err }()} {
		if err == nil || kernels.AsRejection(err) != nil {
			t.Errorf("%s with a context that is done returned %v", what, err)
		}
	}
	if _, err := p.Build(ctx, spec.point(t, "plain", 1)); err == nil {
		t.Error("Build ignores a context that is done")
	}
}

func TestPeak(t *testing.T) {
	h := testHost(t)
	peaks, err := h.Peak(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f GFLOP/s, %.1f GOP/s", peaks.F32/1e9, peaks.I8/1e9)
	if peaks.F32 < 1e9 || peaks.F32 > 1e12 || peaks.I8 < 0 || peaks.I8 > 1e13 {
		t.Errorf("the peaks are %+v", peaks)
	}
	again, err := h.Peak(t.Context())
	if err != nil || again != peaks {
		t.Errorf("measured again: %+v, %v", again, err)
	}
}

// BenchmarkCandidates is how many candidates a minute become outcomes, and where the time of one goes.
func BenchmarkCandidates(b *testing.B) {
	h := testHost(b)
	spec := &variants{poly: newPoly(b, 20000)}
	e := &kernels.Evaluator{Problem: problem(b, spec, h), CheckSeed: 1}
	tools, err := h.Toolchain(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	const jobs, each = 3, 4
	start, done := time.Now(), 0
	for b.Loop() {
		var wg sync.WaitGroup
		for range jobs {
			wg.Go(func() {
				for k := range each {
					if _, err := e.Evaluate(b.Context(), space.Trial{Proposal: space.Proposal{Point: spec.point(b, "plain", 4+k)}}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		done += jobs * each
	}
	s := tools.Stats()
	b.ReportMetric(float64(done)/time.Since(start).Minutes(), "candidates/min")
	b.ReportMetric(s.Time.Seconds()/float64(s.Compiled)*1e3, "compile-ms")
	for what, d := range h.Spent() {
		if what != "compile" {
			b.ReportMetric(d.Seconds()/float64(done)*1e3, what+"-ms")
		}
	}
}

// variants is poly with another text each time, so that nothing is in the cache.
type variants struct {
	*poly
	n atomic.Int64
}

func (v *variants) Generate(p space.Point) (native.Source, error) {
	s, err := v.poly.Generate(p)
	s.Text = fmt.Sprintf("#include <immintrin.h>\n%s// %d\n", s.Text, v.n.Add(1))
	return s, err
}

// batched is poly with variants that are made several at once.
type batched struct {
	*poly
	calls, made atomic.Int64
}

func (b *batched) VariantClass(space.Point) string { return "" }

func (b *batched) Variant(ctx context.Context, p space.Point, seed uint64) (native.Case, error) {
	cases, err := b.Variants(ctx, p, []uint64{seed})
	return cases[0], err
}

func (b *batched) Variants(ctx context.Context, p space.Point, seeds []uint64) (out []native.Case, err error) {
	b.calls.Add(1)
	for _, seed := range seeds {
		b.made.Add(1)
		cases, err := b.Cases(ctx, p, seed)
		if err != nil {
			return nil, err
		}
		out = append(out, cases[0])
	}
	return out, nil
}

func (b *batched) Sizes() ([]native.Buffer, int64) {
	return []native.Buffer{{Name: "x", Elem: native.F32, Len: b.n, Mode: native.In}, {Name: "y", Elem: native.F32, Len: b.n, Mode: native.Out}}, int64(8 * b.n)
}

// TestVariantsBesideCheck: the variants of the baseline are made at once, and while it is checked; those of another candidate when it is
// timed.
func TestVariantsBesideCheck(t *testing.T) {
	for form, beside := range map[string]int64{"plain": 1, "repeat": 0} {
		spec := &batched{poly: newPoly(t, 1000)}
		c, err := problem(t, spec, testHost(t)).Build(t.Context(), spec.point(t, form, 4))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if spec.calls.Load() != beside {
			t.Errorf("%s: %d calls beside the check, want %d", form, spec.calls.Load(), beside)
		}
		if _, err := c.Score(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if spec.calls.Load() != 1 || spec.made.Load() != 3 {
			t.Errorf("%s: %d variants in %d calls, want 3 in one", form, spec.made.Load(), spec.calls.Load())
		}
	}
}

// TestDamagedHeap: a candidate that damages the heap of its process is the only one to suffer, whoever comes next.
func TestDamagedHeap(t *testing.T) {
	spec := newPoly(t, 100)
	p, err := native.New(spec, native.Options{Host: testHost(t)})
	if err != nil {
		t.Fatal(err)
	}
	p.(*native.Problem).Brief()
	evaluate := func(form string, work int) error {
		c, err := p.Build(t.Context(), spec.point(t, form, work))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			if err := c.Check(t.Context(), seed); err != nil {
				return err
			}
		}
		_, err = c.Score(t.Context(), 0)
		return err
	}
	for i := range damages {
		if err := evaluate("heap", i+1); err != nil && kernels.AsRejection(err) == nil {
			t.Errorf("the damage: %v", err)
		}
		if err := evaluate("plain", i+5); err != nil {
			t.Errorf("the one that follows: %v", err)
		}
	}
}
