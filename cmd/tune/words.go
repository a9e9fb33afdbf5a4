package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// inWords is the text of an error, with what Go says of files, programs and connections in the words of users. advise says what to do where
// the text ends with that.
func inWords(err error, advise bool) string {
	text := err.Error()
	for _, part := range causes(err) {
		said, words, remedy := part.Error(), "", ""
		switch e := part.(type) {
		case *fs.PathError:
			words, remedy = fmt.Sprintf("%s: %v", e.Path, e.Err), remedyOf(e.Err)
		case *os.LinkError:
			words, remedy = fmt.Sprintf("%s: %v", e.New, e.Err), remedyOf(e.Err)
		case *exec.Error:
			words, remedy = fmt.Sprintf("there is no program %s on the PATH", e.Name), ": install it, or write its path"
			if !errors.Is(e.Err, exec.ErrNotFound) {
				words, remedy = fmt.Sprintf("%s: %v", e.Name, e.Err), remedyOf(e.Err)
			}
		case *net.OpError:
			if words, remedy = e.Err.Error(), remedyOf(e.Err); errors.Is(e.Err, fs.ErrPermission) {
				remedy = ": choose another address, or a port from 1024 on"
			}
			if call, ok := errors.AsType[*os.SyscallError](e.Err); ok {
				words = call.Err.Error()
			}
			if e.Op == "dial" && e.Addr != nil {
				words = e.Addr.String() + ": " + words
			}
		case *net.DNSError:
			words, remedy = fmt.Sprintf("the host %s is not known", e.Name), ": check the name, and the network"
		default:
			continue
		}
		if before, ends := strings.CutSuffix(text, said); ends && advise {
			text = before + words + remedy
		}
		text = strings.ReplaceAll(text, said, words)
	}
	return text
}

// causes lists the errors that an error is made of.
func causes(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return append([]error{err}, causes(inner)...)
		}
	case interface{ Unwrap() []error }:
		all := []error{err}
		for _, inner := range e.Unwrap() {
			all = append(all, causes(inner)...)
		}
		return all
	}
	return []error{err}
}

// remedyOf says what to do about an error of the system, as the end of a message.
func remedyOf(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return ": check the name"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ": change its permissions, or use another"
	case isFull(err):
		return ": make room on the disk"
	case errors.Is(err, syscall.EMFILE):
		return ": raise the limit on open files (ulimit -n)"
	case errors.Is(err, syscall.EADDRINUSE):
		return ": choose another port"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": is a server there?"
	}
	return ""
}

// notStarted says why the program of a client could not be started.
func notStarted(program string, err error) error {
	info, serr := os.Stat(program)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("tune optimize -- %s: there is no such program on the PATH: install it, or write its path, as in ./%[1]s", program)
	case serr != nil:
		return fmt.Errorf("tune optimize -- %s: there is no file of that name: name the program that gives the costs", program)
	case info.IsDir():
		return fmt.Errorf("tune optimize -- %s: it is a folder: name the program that gives the costs", program)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("tune optimize -- %s: it is not marked as a program: 'chmod +x %[1]s' does that, or name its interpreter before it", program)
	}
	return fmt.Errorf("tune optimize -- %s: the system cannot start it (%w): a script needs a first line that names its interpreter, such as #!/bin/sh", program, err)
}
