package native

import (
	"context"
	"errors"
	"testing"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// TestBorrow: nobody is rejected on the word of a process that others have run in, whoever runs alone gets a fresh one
// first, and what fails in a fresh one fails once. No candidate stays loaded in an idle worker.
func TestBorrow(t *testing.T) {
	rejection := kernels.Reject(space.Crashed, "segmentation fault")
	broken := errors.New("tune failed")
	for _, c := range []struct {
		name    string
		used    bool // others have run in the process
		with    company
		fails   []error // what each turn comes to
		turns   int
		fresh   int // processes
		want    error
		retired bool
	}{
		{"right", true, shared, []error{nil}, 1, 0, nil, false},
		{"harmed by others", true, shared, []error{rejection, nil}, 2, 1, nil, false},
		{"at fault itself", true, shared, []error{rejection, rejection}, 2, 1, rejection, false},
		{"at fault in a process of its own", false, shared, []error{rejection}, 1, 0, rejection, false},
		{"alone", true, alone, []error{nil}, 1, 1, nil, false},
		{"at fault alone", true, alone, []error{rejection}, 1, 1, rejection, false},
		{"tune's failure", true, shared, []error{broken}, 1, 0, broken, true},
		{"the last in its process", true, company{last: true}, []error{nil}, 1, 1, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{shared: c.used}
			h := NewHost(HostOptions{})
			h.start = func(context.Context, worker.Options) (runner, error) { return f, nil }
			turns := 0
			err := h.borrow(t.Context(), worker.Options{}, c.with, func(runner) error {
				turns++
				return c.fails[turns-1]
			})
			if err != c.want || turns != c.turns || f.fresh != c.fresh {
				t.Errorf("got %v after %d turns in %d fresh processes; want %v, %d, %d", err, turns, f.fresh, c.want, c.turns, c.fresh)
			}
			if kept := len(h.idle[worker.Options{}]) == 1; kept == c.retired {
				t.Errorf("the worker was kept: %v", kept)
			}
			if f.unloaded == c.retired {
				t.Errorf("the candidate was unloaded: %v", f.unloaded)
			}
		})
	}
}

// TestCompany: the baseline runs alone, and so does whatever kernels.Verify has been asked about.
func TestCompany(t *testing.T) {
	p := &Problem{spec: newTester(t)}
	baseline, other := p.spec.Presets()[0].Point, space.Point{}
	if c := (&candidate{problem: p, point: baseline}); c.company() != alone {
		t.Error("the baseline shares a process with others")
	}
	if c := p.Wrap(Source{}, baseline).(*candidate); c.company() != alone {
		t.Error("the code of a library shares a process with others")
	}
	if c := p.Adopt(Source{}, baseline).(*candidate); c.company() != shared {
		t.Error("the code of another shape runs alone")
	}
	c := &candidate{problem: p, point: other}
	if c.company() != shared {
		t.Error("a candidate of a search runs alone")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := kernels.Verify(ended, c, []uint64{1}); err != context.Canceled {
		t.Error(err)
	}
	if c.company() != alone {
		t.Error("what is verified shares a process with others")
	}
	c.so = "candidate.so"
	if with := c.companyOfChecks(); with != (company{alone: true, but: c.so}) {
		t.Errorf("what is verified is checked with %v", with)
	}
}

// TestLasting: what may change its process for good is the last that runs there.
func TestLasting(t *testing.T) {
	h := NewHost(HostOptions{})
	defer h.Close()
	tools, err := h.Toolchain(t.Context())
	if err != nil {
		t.Skip(err)
	}
	p := &Problem{spec: newTester(t), host: h}
	for call, want := range map[string]bool{
		"free(malloc(8))": false, "mallopt(M_MMAP_THRESHOLD, 1)": true, "srand(1)": true, "environ = 0": true, "omp_set_num_threads(1)": true,
		"omp_get_num_threads()": false, "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)": true,
	} {
		text := "#include <malloc.h>\n#include <omp.h>\n#include <stdlib.h>\n#include <sys/prctl.h>\n#include <unistd.h>\nvoid tune_kernel(void *const *a, const long *d) { (void)a, (void)d; " + call + "; }\n"
		c := &candidate{problem: p, source: Source{Lang: "c", Text: text, Compiler: tools.Compilers()[0].Name, Flags: []string{"-fno-builtin", "-fopenmp", "-D_GNU_SOURCE"}}}
		if err := c.compile(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.lasting != want || c.company().last != want {
			t.Errorf("%s: the last in its process: %v", call, c.lasting)
		}
	}
}

// TestClaim: one holder has the machine to itself, prepare runs while checks do, and a claim that fails gives the machine back.
func TestClaim(t *testing.T) {
	h := NewHost(HostOptions{})
	check, err := h.Beside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no compiler")
	if _, err := h.claim(t.Context(), func() error { return broken }); err != broken {
		t.Errorf("a preparation that fails gives %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	if _, err := h.claim(ended, func() error { cancel(); return nil }); err != context.Canceled {
		t.Errorf("a claim beside a check ends with %v", err)
	}
	check()
	release, err := h.Alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, claim := range map[string]func(context.Context) (func(), error){"Alone": h.Alone, "Beside": h.Beside} {
		if _, err := claim(ended); err != context.Canceled {
			t.Errorf("%s gets a machine that somebody has alone: %v", name, err)
		}
	}
	release()
	if release, err = h.Beside(t.Context()); err != nil {
		t.Fatal(err)
	}
	release()
}

// TestPace: the loop of fixed work takes about as long each time.
func TestPace(t *testing.T) {
	h := NewHost(HostOptions{})
	defer h.Close()
	if _, err := h.Toolchain(t.Context()); err != nil {
		t.Skip(err)
	}
	first, err := h.Pace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.Pace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !(first > 0) || again > 10*first || first > 10*again {
		t.Errorf("it takes %g s, and then %g s", first, again)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Pace(ctx); err == nil {
		t.Error("it does not end with its context")
	}
}
