package user

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tune/kernels/native"
	"tune/kernels/native/cc"
)

// compilers reads the compilers that a file lists: names of programs, or paths, which are relative to the file.
func (r *reader) compilers(f *fields, w world) (names []string, nodes []node) {
	names, nodes = f.texts("compilers")
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			r.fault(nodes[i], "%s is listed already: leave one of the two out", name)
		case isPath(name) && !r.made && !w.exists(name):
			r.fault(nodes[i], "there is no file %s: want the path of a compiler, or the name of one such as gcc or clang-18", name)
		}
	}
	return names, nodes
}

// checkCompilers warns of compilers by name that are not installed. gcc and clang may be missing: a file that lists both is for machines
// with either.
func (r *reader) checkCompilers(f *fields, find func(string) error) {
	names, nodes := f.texts("compilers")
	for i, name := range names {
		if !isPath(name) && !slices.Contains(cc.Names, name) && find(name) != nil {
			r.warn(nodes[i], "there is no program %s on this machine, so that it is left out", name)
		}
	}
}

func isPath(name string) bool { return strings.ContainsRune(name, '/') }

// located returns a compiler of the file that is none of those that every host finds. It runs nothing, because a file from elsewhere
// may name any program: until the kernel runs, it is told from other versions of itself by its file. ok is false where there is
// none.
func located(name, dir string) (c cc.Compiler, ok bool) {
	path := name
	if isPath(name) && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := exec.LookPath(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return cc.Compiler{}, false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return cc.Compiler{}, false
	}
	info, err := os.Stat(real)
	if err != nil {
		return cc.Compiler{}, false
	}
	// Package cc gives options of gcc to what calls itself gcc here. A script may call anything.
	kind := "script"
	if !isScript(real) {
		kind = filepath.Base(real)
	}
	return cc.Compiler{Name: name, Path: path, Version: fmt.Sprintf("%s, %d bytes of %s", kind, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))}, true
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	n, _ := f.Read(head[:])
	return string(head[:n]) == "#!"
}

// found returns the compilers of the kernel's machine. Asking them for their versions takes a while, so that the host does it once.
func (k *Kernel) found() ([]cc.Compiler, error) {
	if k.host == nil {
		return cc.Find(context.Background())
	}
	return k.host.Compilers(context.Background())
}

// installed returns those of the compilers of a file that the machine has, and among them those that its host does not find.
func (k *Kernel) installed() (all []string, own []cc.Compiler, err error) {
	found, err := k.found()
	if err != nil && !errors.Is(err, cc.ErrNone) {
		return nil, nil, err
	}
	names := k.d.source.compilers
	for _, name := range names {
		if slices.ContainsFunc(found, func(c cc.Compiler) bool { return c.Name == name }) {
			all = append(all, name)
		} else if c, ok := located(name, k.dir); ok {
			all, own = append(all, name), append(own, c)
		}
	}
	switch {
	case all == nil && err != nil:
		return nil, nil, err
	case all == nil:
		return nil, nil, fmt.Errorf("source.compilers: none of these compilers is installed: %s: install one, or list another", strings.Join(names, ", "))
	}
	return all, own, nil
}

// hostWith returns the machine of the kernel, which also has the compilers that only this kernel names. Such a machine is made once, and
// nothing else is measured in the process then.
func (k *Kernel) hostWith(own []cc.Compiler) (*native.Host, error) {
	if len(own) == 0 {
		return k.host, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ownHost == nil {
		found, err := k.found()
		if err != nil && !errors.Is(err, cc.ErrNone) {
			return nil, err
		}
		k.ownHost = native.NewHost(native.HostOptions{Compilers: append(found, own...)})
		k.closes = append(k.closes, func() error {
			h := k.ownHost
			k.ownHost = nil
			return h.Close()
		})
	}
	return k.ownHost, nil
}

// compilerTime bounds how long a program may take to show that it is a compiler.
const compilerTime = 10 * time.Second

// tryCompilers reports compilers of the file that are none. It runs them, so that it is called when the kernel may run.
func (s *sourceSpec) tryCompilers(ctx context.Context, r *reader) error {
	for i, name := range s.s.compilers {
		at := slices.IndexFunc(s.compilers, func(c cc.Compiler) bool { return c.Name == name })
		if at < 0 {
			continue
		}
		c := s.compilers[at]
		limited, cancel := context.WithTimeout(ctx, compilerTime)
		cmd := exec.CommandContext(limited, c.Path, "-E", "-dM", "-x", "c", os.DevNull)
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && bytes.Contains(out, []byte("#define __GNUC__ ")) {
			continue
		}
		r.fault(s.s.compilerNodes[i], "%s is no C compiler that takes the options of gcc, as clang does: '%s -E -dM -x c %s' %s",
			name, c.Path, os.DevNull, cmp.Or(failure(err), "does not define __GNUC__"))
	}
	return nil
}

// failure says in words how a program failed; "" where it did not.
func failure(err error) string {
	if err == nil {
		return ""
	}
	return "fails (" + err.Error() + ")"
}
