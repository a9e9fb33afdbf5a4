package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// exitGone is the exit code where a reader of tune's output is gone, as head is when it has seen enough: that of a process which SIGPIPE ends.
const exitGone = 128 + int(syscall.SIGPIPE)

// readers are those who read what tune writes. Where one is gone, tune ends as after an interrupt, and without a word: so a run keeps what
// it has, and the cleanup of a kernel runs.
type readers struct {
	cancel context.CancelFunc
	gone   atomic.Bool
	// needless says that tune goes on without them.
	needless atomic.Bool
	// unread is the first error of what was written for them, other than that they are gone.
	unread atomic.Pointer[error]
}

// watchReaders takes SIGPIPE, which would end tune at once. Processes that tune starts have the default again.
func watchReaders(cancel context.CancelFunc) *readers {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return &readers{cancel: cancel}
}

// left reports whether a reader has left. It may be called of nil.
func (r *readers) left() bool { return r != nil && r.gone.Load() }

// lost returns an error where results could not be written, as to a file on a full disk: whoever reads them would take a part for the whole.
// It may be called of nil.
func (r *readers) lost() error {
	if r == nil || r.unread.Load() == nil {
		return nil
	}
	return *r.unread.Load()
}

// output is a file of tune's output.
type output struct {
	file    *os.File
	readers *readers
	results bool // what a reader waits for, rather than progress
}

func (o output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) && !o.readers.needless.Load() {
		o.readers.gone.Store(true)
		o.readers.cancel()
	} else if err != nil && o.results {
		o.readers.unread.CompareAndSwap(nil, &err)
	}
	return n, err
}
