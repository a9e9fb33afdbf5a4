package guard

import (
	"errors"
	"regexp"
	"runtime"
	"testing"
)

func TestApart(t *testing.T) {
	want := errors.New("no")
	for _, c := range []struct {
		f  func() error
		is error
	}{
		{func() error { return want }, want},
		{func() error { return nil }, nil},
		{func() error { runtime.Goexit(); return nil }, ErrExited},
	} {
		if err := Apart(c.f); err != c.is {
			t.Errorf("the error is %v, want %v", err, c.is)
		}
	}
	if _, ok := errors.AsType[*Panic](Apart(func() error { panic("boom") })); !ok {
		t.Error("a panic is none")
	}
}

func TestCall(t *testing.T) {
	want := errors.New("no")
	if err := Call(func() error { return want }); err != want {
		t.Errorf("an error becomes %v", err)
	}
	if err := Call(func() error { return nil }); err != nil {
		t.Errorf("no error becomes %v", err)
	}
}

// What a panic says does not depend on who began it, the code or the runtime.
func TestPanicSaysWhere(t *testing.T) {
	zero, none := 0, []int(nil)
	for text, f := range map[string]func(){
		"boom":                                  func() { panic("boom") },
		"runtime error: integer divide by zero": func() { _ = 1 / zero },
		"runtime error: invalid memory address or nil pointer dereference": func() { var p *Panic; p.Value = 1 },
		"runtime error: index out of range [0] with length 0":              func() { none[zero] = 1 },
	} {
		err := Call(func() error { f(); return nil })
		p, ok := errors.AsType[*Panic](err)
		if !ok {
			t.Errorf("%s: the error is %v", text, err)
			continue
		}
		said := regexp.MustCompile(`^panic: ` + regexp.QuoteMeta(text) + ` at tune/internal/guard\.TestPanicSaysWhere\.func\d+ \(guard_test\.go:\d+\)$`)
		if !said.MatchString(p.Error()) {
			t.Errorf("the panic says %q", p)
		}
	}
}

// A panic after another one was recovered has a place of its own.
func TestPanicWhileRecovering(t *testing.T) {
	err := Call(func() error {
		defer func() {
			recover()
			second()
		}()
		panic("first")
	})
	p, ok := errors.AsType[*Panic](err)
	if !ok || p.Value != "second" || p.Func != "tune/internal/guard.second" {
		t.Errorf("the error is %v", err)
	}
}

func second() { panic("second") }

// What panics aside panics where that is waited for.
func TestAside(t *testing.T) {
	did := false
	Aside(func() { did = true })()
	if !did {
		t.Error("the function was not waited for")
	}
	wait := Aside(func() { panic("broken") })
	defer func() {
		if p, ok := recover().(*Panic); !ok || p.Value != "broken" {
			t.Errorf("recovered %v", p)
		}
	}()
	wait()
	t.Error("there was no panic")
}
