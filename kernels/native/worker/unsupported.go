//go:build !(linux && (amd64 || arm64))

package worker

import (
	"context"
	"errors"
	"time"
)

// errUnsupported says that native code cannot be isolated on this system.
var errUnsupported = errors.New("native kernels need Linux on amd64 or arm64: elsewhere tune cannot isolate them")

// Worker cannot be started on this system.
type Worker struct{}

// Start returns an error that says why.
func Start(context.Context, Options) (*Worker, error) { return nil, errUnsupported }

// Close does nothing.
func (*Worker) Close() error { return nil }

// Unload does nothing.
func (*Worker) Unload() {}

// Renew does nothing.
func (*Worker) Renew(string) {}

// Shared returns false.
func (*Worker) Shared() bool { return false }

// Map returns an error.
func (*Worker) Map([]Buffer, [][]byte) error { return errUnsupported }

// Outputs returns nil.
func (*Worker) Outputs() [][]byte { return nil }

// Load returns an error.
func (*Worker) Load(string) error { return errUnsupported }

// Call returns an error.
func (*Worker) Call(context.Context, []int64) error { return errUnsupported }

// CallAgain returns an error.
func (*Worker) CallAgain(context.Context, []int64) error { return errUnsupported }

// CallWithin returns an error.
func (*Worker) CallWithin(context.Context, []int64, time.Duration) error { return errUnsupported }

// Took returns 0.
func (*Worker) Took() time.Duration { return 0 }

// Time returns an error.
func (*Worker) Time(context.Context, TimeRequest) (Timing, error) { return Timing{}, errUnsupported }

// Blind returns an error.
func (*Worker) Blind(context.Context, BlindRequest) (Blind, error) { return Blind{}, errUnsupported }

// Vary returns an error.
func (*Worker) Vary(*Pool) error { return errUnsupported }

// Pool cannot be made on this system.
type Pool struct{}

// NewPool returns an error.
func NewPool([]Buffer, [][][]byte, int) (*Pool, error) { return nil, errUnsupported }

// Lacks returns nil: no native code runs here.
func Lacks() []string { return nil }

// Probe returns an error.
func Probe(context.Context) (Isolation, error) { return Isolation{Lacks: []string{}}, errUnsupported }

// Run returns an error.
func Run(context.Context, Command) (Result, error) { return Result{}, errUnsupported }
