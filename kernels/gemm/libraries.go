package gemm

import (
	"slices"

	"tune/kernels/gemm/internal/peers"
)

// Library is a library that products are compared with.
type Library struct {
	Name    string `json:"name"`
	Package string `json:"package"`           // of Debian, which installs it
	Path    string `json:"path,omitempty"`    // of the shared library; "" where it is not installed
	Version string `json:"version,omitempty"` // "" where it is not known
}

// Libraries returns the libraries that can be compared with, and says which of them are installed.
func Libraries() []Library {
	found := peers.Find()
	var out []Library
	for _, name := range peers.Names() {
		l := Library{Name: name, Package: peers.Package(name)}
		if at := slices.IndexFunc(found, func(p peers.Peer) bool { return p.Name == name }); at >= 0 {
			l.Path, l.Version = found[at].Path, found[at].Version()
		}
		out = append(out, l)
	}
	return out
}
