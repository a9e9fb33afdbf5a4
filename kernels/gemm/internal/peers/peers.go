// Package peers makes candidates of the matrix products of installed libraries, so that they are built, checked and
// timed as generated ones are, in a worker of their own. A library is loaded by the candidate when it is first
// called; nothing is linked with it.
package peers

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tune/kernels/native"
)

// Peer is an installed library.
type Peer struct {
	Name string // "openblas", "blis" or "dnnl"
	Path string // of the shared library
}

// library says how a library is found and called.
type library struct {
	name    string
	sonames []string // the preferred one first
	// threads are the functions that set the number of threads, with the C type of their argument; the
	// first one that the library has is called before each product.
	threads []struct{ function, argument string }
	// environment holds the variables that are set to the number of threads before the library is loaded,
	// because some start their threads then.
	environment []string
	openmp      bool // whether its threads are those of OpenMP, which stay apart if told to
	dnnl        bool // dnnl_sgemm instead of cblas_sgemm
}

var libraries = []library{
	{
		name:        "openblas",
		sonames:     []string{"libopenblas.so.0", "libopenblas.so"},
		threads:     []struct{ function, argument string }{{"openblas_set_num_threads", "int"}},
		environment: []string{"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"},
	},
	{
		name:        "blis",
		sonames:     []string{"libblis.so.4", "libblis.so.3", "libblis.so"},
		threads:     []struct{ function, argument string }{{"bli_thread_set_num_threads", "long"}},
		environment: []string{"BLIS_NUM_THREADS", "OMP_NUM_THREADS"},
	},
	{
		name:        "dnnl",
		sonames:     []string{"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"},
		threads:     []struct{ function, argument string }{{"omp_set_num_threads", "int"}},
		environment: []string{"OMP_NUM_THREADS"},
		openmp:      true,
		dnnl:        true,
	},
}

// Names lists the libraries that Find knows.
func Names() []string {
	var out []string
	for _, l := range libraries {
		out = append(out, l.name)
	}
	return out
}

// Find returns the libraries that are installed where the loader looks for them.
func Find() []Peer { return find(directories()) }

func find(directories []string) []Peer {
	var out []Peer
	for _, l := range libraries {
		for _, path := range paths(directories, l.sonames) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				out = append(out, Peer{Name: l.name, Path: path})
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
	i := slices.IndexFunc(libraries, func(l library) bool { return l.name == p.Name })
	if i < 0 {
		panic("peers: no library " + p.Name)
	}
	l := libraries[i]
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("// C = A·B%s by %s with %d threads: args are A, B, C and dims M, N, K.", map[bool]string{true: "ᵀ"}[transposed], l.name, threads)
	w(`void *dlopen(const char *path, int mode);
void *dlsym(void *library, const char *name);
char *dlerror(void);
int setenv(const char *name, const char *value, int overwrite);
int dprintf(int file, const char *format, ...);
void abort(void);
`)
	if l.dnnl {
		w("static int (*product)(char, char, long, long, long, float, const float *, long, const float *, long, float, float *, long);")
	} else {
		w("static void (*product)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);")
	}
	for i, t := range l.threads {
		w("static void (*set_threads_%d)(%s);", i, t.argument)
	}
	function := "cblas_sgemm"
	if l.dnnl {
		function = "dnnl_sgemm"
	}
	w("\nstatic void load(void) {")
	for _, name := range l.environment {
		w("\tsetenv(%q, \"%d\", 1);", name, threads)
	}
	if l.openmp && threads > 1 {
		w("\tsetenv(\"OMP_PROC_BIND\", \"true\", 0);")
		w("\tsetenv(\"OMP_PLACES\", \"cores\", 0);")
	}
	w("\tvoid *library = dlopen(%q, 2); // RTLD_NOW", p.Path)
	w("\tif (library) product = dlsym(library, %q);", function)
	w("\tif (!product) {\n\t\tdprintf(2, \"%%s\\n\", dlerror());\n\t\tabort();\n\t}")
	for i, t := range l.threads {
		w("\tset_threads_%d = dlsym(library, %q);", i, t.function)
	}
	w("}\n")
	w("void tune_kernel(void *const *args, const long *dims) {")
	w("\tif (!product) load();")
	for i := range l.threads {
		w("\tif (set_threads_%d) set_threads_%d(%d);", i, i, threads)
	}
	w("\tconst long m = dims[0], n = dims[1], k = dims[2];")
	ldb := "n"
	if transposed {
		ldb = "k"
	}
	if l.dnnl {
		w("\tproduct('N', '%s', m, n, k, 1, args[0], k, args[1], %s, 0, args[2], n);", map[bool]string{false: "N", true: "T"}[transposed], ldb)
	} else {
		// Row-major, not transposed, and transposed or not.
		w("\tproduct(101, 111, %d, m, n, k, 1, args[0], k, args[1], %s, 0, args[2], n);", map[bool]int{false: 111, true: 112}[transposed], ldb)
	}
	w("}")
	return native.Source{Lang: "c", Text: b.String(), Flags: []string{"-O2"}, Threads: threads}
}
