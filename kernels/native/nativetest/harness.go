package nativetest

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/native/internal/testonly"
	"tune/space"
)

// Host is the host of a test binary.
var Host = sync.OnceValue(func() *native.Host { return native.NewHost(native.HostOptions{}) })

// Hasty returns a host for tests that need outcomes, and not their costs: these count as they are, although the core may be slow because
// others work too.
func Hasty() *native.Host { return native.NewHost(native.HostOptions{}, testonly.Host{Hasty: true}) }

// Brief returns a host for tests that need neither costs nor whole scores, for example of what a command prints: it is hasty, and its scores
// are brief (see native.Problem.Brief).
func Brief() *native.Host {
	return native.NewHost(native.HostOptions{}, testonly.Host{Hasty: true, Brief: true})
}

// Here returns this machine, and skips the test where the machine has no C compiler.
func Here(t testing.TB) native.Machine {
	t.Helper()
	m, err := Host().Machine()
	if err != nil {
		t.Skip(err)
	}
	return m
}

// Made returns what newSpec makes for a shape on a machine; neither may fail.
func Made[S any](t testing.TB, fields []kernels.Field, shape string, m native.Machine, newSpec func(kernels.Shape, native.Machine) (S, error)) S {
	t.Helper()
	s, err := kernels.ParseShape(fields, shape)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := newSpec(s, m)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Problem returns the problem of a spec, which must not fail.
func Problem(t testing.TB, spec native.Spec) *native.Problem {
	t.Helper()
	p, err := native.New(spec, native.Options{Host: Host()})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*native.Problem)
}

// Compiles compiles the code of points for a machine that may have more than this one: nobody should find out on theirs that a form
// does not compile. It skips compilers that are not installed.
func Compiles(t *testing.T, spec native.Spec, points []space.Point) {
	t.Helper()
	tools, err := Host().Toolchain(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the instruction sets are those of amd64")
	}
	for _, p := range points {
		src, err := spec.Generate(p)
		if err != nil {
			t.Fatalf("%s: %v", p.Key(), err)
		}
		if !slices.ContainsFunc(tools.Compilers(), func(c cc.Compiler) bool { return c.Name == src.Compiler }) {
			continue
		}
		src = Quick(src)
		if _, err := tools.Build(t.Context(), src.Lang, src.Text, src.Compiler, src.Flags); err != nil {
			t.Errorf("%s: %v", p.Key(), err)
		}
	}
}

// Quick returns a source whose code is not optimised: it compiles in about a third of the time, and computes the same within what rounding
// allows. It is for tests of deliberate mistakes, and of many forms of the code. Run and Right compile as users do where they are not asked
// for it.
func Quick(src native.Source) native.Source { return optimised(src, "-O0") }

// Brisk is Quick for tests whose code runs for longer than it compiles: it is optimised a little.
func Brisk(src native.Source) native.Source { return optimised(src, "-Og") }

// optimised returns a source with another level of optimisation.
func optimised(src native.Source, level string) native.Source {
	src.Flags = slices.Clone(src.Flags)
	for i, f := range src.Flags {
		if f == "-O2" || f == "-O3" {
			src.Flags[i] = level
		}
	}
	return src
}

// Right builds a point and checks it on the inputs of a seed. It fails the test where the point is not right. The code is changed before it is
// compiled: see Quick.
func Right(t testing.TB, spec native.Spec, p space.Point, seed uint64, changes ...func(native.Source) native.Source) {
	t.Helper()
	src, err := spec.Generate(p)
	if err == nil {
		for _, change := range changes {
			src = change(src)
		}
		err = Problem(t, spec).Wrap(src, p).Check(t.Context(), seed)
	}
	if err != nil {
		t.Errorf("%s: %v", p, err)
	}
}
