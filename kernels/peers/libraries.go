package peers

import (
	"bufio"
	"embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/internal/pattern"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
)

// Library is an installed library of linear algebra.
type Library struct {
	Name string // "openblas", "blis" or "dnnl"
	Path string // of the shared library
}

// release matches the version in the name of a library's file: libopenblasp-r0.3.21.so, libdnnl.so.2.6. A single number there is that of
// the binary interface.
var release = pattern.Lazy(`-r([0-9]+(?:\.[0-9]+)+)\.so$|^libdnnl\.so\.([0-9]+(?:\.[0-9]+)+)$`)

// Version returns the version of the library, as the file that its path leads to is named; "" where the name does not say it.
func (l Library) Version() string {
	path, err := filepath.EvalSymlinks(l.Path)
	if err != nil {
		return ""
	}
	m := release().FindStringSubmatch(filepath.Base(path))
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

// install says how users get the library.
func (l library) install() string { return "on Debian: apt-get install " + l.debian }

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
		Name:        nameDNNL,
		sonames:     []string{"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"},
		debian:      "libdnnl2",
		SetThreads:  "omp_set_num_threads",
		Number:      "int",
		Environment: []string{"OMP_NUM_THREADS"},
		OpenMP:      true,
		DNNL:        true,
	},
}

// Find returns the libraries that are installed where the loader looks for them.
func Find() []Library { return find(directories()) }

func find(directories []string) []Library {
	var out []Library
	for _, l := range libraries {
		for _, path := range paths(directories, l.sonames) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				out = append(out, Library{Name: l.Name, Path: path})
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

// Sgemm returns the candidate that calls the library for a product of matrices of float32: C = A·B, or with transposed C = A·Bᵀ
// where B is stored n by k. Its arguments are A, B and C, and the dimensions m, n and k. It aborts, with the reason on standard error,
// where the library cannot be loaded.
func (p Library) Sgemm(transposed bool, threads int) native.Source {
	var w cgen.Writer
	w.Piece(pieces, "sgemm", struct {
		library
		Path       string
		Transposed bool
		Threads    int
	}{p.library(), p.Path, transposed, threads})
	return native.Source{Lang: "c", Text: w.String(), Flags: []string{"-O2"}, Threads: threads}
}

// library returns how it is called.
func (p Library) library() library {
	i := slices.IndexFunc(libraries, func(l library) bool { return l.Name == p.Name })
	if i < 0 {
		panic("peers: no library " + p.Name)
	}
	return libraries[i]
}

// pieces are the text of a candidate.
var pieces = cgen.ParsePieces(pieceFiles, "sgemm.c.tmpl", "ggml.c.tmpl", "matmul.c.tmpl")

//go:embed *.c.tmpl
var pieceFiles embed.FS
