// Package peers makes candidates of the matrix products of installed libraries, so that they are built, checked and
// timed as generated ones are, in a worker of their own. A library is loaded by the candidate when it is first
// called; nothing is linked with it.
package peers

import (
	"bufio"
	"embed"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// Peer is an installed library.
type Peer struct {
	Name string // "openblas", "blis" or "dnnl"
	Path string // of the shared library
}

// release matches the version in the name of a library's file: libopenblasp-r0.3.21.so, libdnnl.so.2.6. A single number there is that of
// the binary interface.
var release = regexp.MustCompile(`-r([0-9]+(?:\.[0-9]+)+)\.so$|^libdnnl\.so\.([0-9]+(?:\.[0-9]+)+)$`)

// Version returns the version of the library, as the file that its path leads to is named; "" where the name does not say it.
func (p Peer) Version() string {
	path, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		return ""
	}
	m := release.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// library says how a library is found and called.
type library struct {
	Name    string
	sonames []string // the preferred one first
	debian  string   // the package that installs it
	// SetThreads is the function that sets the number of threads, which is called before each product if the library has it.
	SetThreads string
	Number     string // the C type of its argument
	// Environment holds the variables that are set to the number of threads before the library is loaded,
	// because some start their threads then.
	Environment []string
	OpenMP      bool // whether its threads are those of OpenMP, which stay apart if told to
	DNNL        bool // dnnl_sgemm instead of cblas_sgemm
}

var libraries = []library{
	{
		Name:        "openblas",
		sonames:     []string{"libopenblas.so.0", "libopenblas.so"},
		debian:      "libopenblas0",
		SetThreads:  "openblas_set_num_threads",
		Number:      "int",
		Environment: []string{"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"},
	},
	{
		Name:        "blis",
		sonames:     []string{"libblis.so.4", "libblis.so.3", "libblis.so"},
		debian:      "libblis4",
		SetThreads:  "bli_thread_set_num_threads",
		Number:      "long",
		Environment: []string{"BLIS_NUM_THREADS", "OMP_NUM_THREADS"},
	},
	{
		Name:        "dnnl",
		sonames:     []string{"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"},
		debian:      "libdnnl2",
		SetThreads:  "omp_set_num_threads",
		Number:      "int",
		Environment: []string{"OMP_NUM_THREADS"},
		OpenMP:      true,
		DNNL:        true,
	},
}

// Names lists the libraries that Find knows.
func Names() []string {
	var out []string
	for _, l := range libraries {
		out = append(out, l.Name)
	}
	return out
}

// Package returns the package of Debian that installs a library.
func Package(name string) string {
	for _, l := range libraries {
		if l.Name == name {
			return l.debian
		}
	}
	return ""
}

// Find returns the libraries that are installed where the loader looks for them.
func Find() []Peer { return find(directories()) }

func find(directories []string) []Peer {
	var out []Peer
	for _, l := range libraries {
		for _, path := range paths(directories, l.sonames) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				out = append(out, Peer{Name: l.Name, Path: path})
				break
			}
		}
	}
	return out
}

func paths(directories, sonames []string) []string {
	var out []string
	for _, name := range sonames {
		for _, d := range directories {
			out = append(out, filepath.Join(d, name))
		}
	}
	return out
}

// directories lists where the loader looks: LD_LIBRARY_PATH, the system's configuration, and the usual places.
func directories() []string {
	out := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	configs, _ := filepath.Glob("/etc/ld.so.conf.d/*.conf") // the pattern is right
	for _, c := range configs {
		f, err := os.Open(c)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(f); s.Scan(); {
			if line := strings.TrimSpace(s.Text()); strings.HasPrefix(line, "/") {
				out = append(out, line)
			}
		}
		f.Close()
	}
	out = append(out, "/usr/local/lib", "/usr/lib64", "/lib64", "/usr/lib", "/lib")
	var existing []string
	for _, d := range out {
		if d != "" && !slices.Contains(existing, d) {
			existing = append(existing, d)
		}
	}
	return existing
}

// Source returns the candidate that calls the library: C = A·B, or with transposed C = A·Bᵀ where B is stored N by
// K. Its arguments and dimensions are those of package gemm. It aborts, with the reason on standard error, where
// the library cannot be loaded.
func (p Peer) Source(transposed bool, threads int) native.Source {
	i := slices.IndexFunc(libraries, func(l library) bool { return l.Name == p.Name })
	if i < 0 {
		panic("peers: no library " + p.Name)
	}
	var w cgen.Writer
	w.Piece(pieces, "peer", struct {
		library
		Path       string
		Transposed bool
		Threads    int
	}{libraries[i], p.Path, transposed, threads})
	return native.Source{Lang: "c", Text: w.String(), Flags: []string{"-O2"}, Threads: threads}
}

// pieces are the text of a candidate.
var pieces = cgen.ParsePieces(pieceFiles, "peer.c.tmpl")

//go:embed peer.c.tmpl
var pieceFiles embed.FS
