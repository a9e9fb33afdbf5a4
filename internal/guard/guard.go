// Package guard calls code that may panic, such as a generator or an evaluator, and turns a panic into an error that says where
// it came from.
package guard

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Panic is a panic that was recovered.
type Panic struct {
	Value any    // what the code panicked with
	Func  string // the function that panicked, with its package
	Line  string // the name of its file and the line, as in eval.go:12
}

// Error says what the panic was and where.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v at %s", p.Value, p.Place()) }

// Place returns the function and the line that panicked.
func (p *Panic) Place() string { return fmt.Sprintf("%s (%s)", p.Func, p.Line) }

// Call calls f. Where f panics the error is a *Panic.
func Call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &Panic{Value: v}
			p.Func, p.Line = place()
			err = p
		}
	}()
	return f()
}

// ErrExited says that code neither returned nor panicked: it ended its goroutine, as the FailNow of a test does.
var ErrExited = errors.New("ended its goroutine (runtime.Goexit)")

// Apart is Call in a goroutine of its own. Where f ends that goroutine the error is ErrExited.
func Apart(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := ErrExited
		defer func() { ended <- err }()
		err = Call(f)
	}()
	return <-ended
}

// place returns the function and the line that panicked. It is called while the panic is being recovered, when the stack still
// holds the frames below it.
func place() (function, line string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return f.Function, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		panicking = panicking || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown function", "an unknown line"
		}
	}
}

// Aside calls do while the caller goes on, and returns a function that waits for it. Where do panics, that function panics: a panic in
// another goroutine would end the process.
func Aside(do func()) (wait func()) {
	done := make(chan error, 1)
	go func() {
		done <- Call(func() error {
			do()
			return nil
		})
	}()
	return func() {
		if err := <-done; err != nil {
			panic(err)
		}
	}
}
