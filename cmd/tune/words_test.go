package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestInWords: what Go says of files and programs comes in the words of users, wherever it stands in an error, with a remedy where nothing
// follows it.
func TestInWords(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	_, absent := os.Open(none)
	path := &os.PathError{Op: "mkdir", Path: "a/b", Err: syscall.EACCES}
	link := &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EROFS}
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, inUse := net.Listen("tcp", open.Addr().String())
	open.Close()
	_, closed := net.Dial("tcp", open.Addr().String())
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "none.example", IsNotFound: true}}
	program := exec.Command("no-such-program").Run()
	for _, c := range []struct {
		err         error
		want, alone string // with advice, and without
	}{
		{absent, none + ": no such file or directory: check the name", none + ": no such file or directory"},
		{fmt.Errorf("cannot make it: %w: choose another", path), "cannot make it: a/b: permission denied: choose another", ""},
		{fmt.Errorf("here: %w", path), "here: a/b: permission denied: change its permissions, or use another", "here: a/b: permission denied"},
		{errors.Join(errors.New("first"), fmt.Errorf("then: %w", link)), "first\nthen: b: read-only file system: change its permissions, or use another", "first\nthen: b: read-only file system"},
		{&os.PathError{Op: "write", Path: "c", Err: syscall.ENOSPC}, "c: no space left on device: make room on the disk", "c: no space left on device"},
		{&os.PathError{Op: "fork/exec", Path: "d", Err: syscall.EMFILE}, "d: too many open files: raise the limit on open files (ulimit -n)", "d: too many open files"},
		{&os.PathError{Op: "read", Path: "c", Err: syscall.EIO}, "c: input/output error", ""},
		{program, "there is no program no-such-program on the PATH: install it, or write its path", "there is no program no-such-program on the PATH"},
		{fmt.Errorf("cannot listen: %w", inUse), "cannot listen: address already in use: choose another port", "cannot listen: address already in use"},
		{closed, open.Addr().String() + ": connection refused: is a server there?", open.Addr().String() + ": connection refused"},
		{&net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)}, "permission denied: choose another address, or a port from 1024 on", "permission denied"},
		{lookup, "the host none.example is not known: check the name, and the network", "the host none.example is not known"},
		{errors.New("open the file"), "open the file", ""},
	} {
		if c.alone == "" {
			c.alone = c.want
		}
		if got := inWords(c.err, true); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if got := inWords(c.err, false); got != c.alone {
			t.Errorf("without advice\ngot  %s\nwant %s", got, c.alone)
		}
	}
}
