package user

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// TravelFile is a file that a kernel needs on another machine. Its name is a path below the folder of the kernel's file.
type TravelFile struct {
	Name string
	Mode fs.FileMode
	Data []byte
}

// TravelError says why a kernel cannot be evaluated on other machines.
type TravelError struct{ Kernel, Reason string }

func (e *TravelError) Error() string {
	return fmt.Sprintf("kernel %s cannot travel: %s", e.Kernel, e.Reason)
}

// Travel returns the files of the kernel, its own first. Where all of them lie under their names in an empty folder, Load reads the same
// version of the kernel there. What the kernel's file does not name is not among them. The error is a *TravelError.
func (k *Kernel) Travel() ([]TravelFile, error) {
	fail := func(format string, args ...any) ([]TravelFile, error) {
		return nil, &TravelError{k.d.name, fmt.Sprintf(format, args...)}
	}
	if c := k.d.command; c != nil && !c.own {
		return fail("its commands run in the folder of %s, which stays where it is: list the files that they need in %s as command.files, or write files: [] where they need none",
			filepath.Base(k.path), k.path)
	}
	out := []TravelFile{{filepath.Base(k.path), 0o600, k.text}}
	for _, f := range k.files {
		name := filepath.Clean(f.name)
		if !filepath.IsLocal(name) {
			return fail("its file %s is outside of the folder of %s: put it there", f.name, k.path)
		}
		mode := f.mode & fs.ModePerm
		switch at := slices.IndexFunc(out, func(o TravelFile) bool { return o.Name == name }); {
		case at < 0:
			out = append(out, TravelFile{name, mode, f.data})
		case !bytes.Equal(out[at].Data, f.data):
			return fail("its file %s was changed while it was read: repeat the command", f.name)
		default:
			out[at].Mode = mode // which its version depends on
		}
	}
	return out, nil
}

// Commands reports whether the kernel is made of commands, and not compiled by tune.
func (k *Kernel) Commands() bool { return k.d.command != nil }
