package native

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tune/kernels"
	"tune/kernels/native/worker"
	"tune/space"
)

// Options configure a problem. The zero value is right for most.
type Options struct {
	// Host to compile and run on. It must be set.
	Host *Host
	// Limits of a candidate. Zero fields take the worker's defaults, except for the time of a call, which grows with the work,
	// because a right candidate may be a plain loop.
	Limits worker.Limits
	// CompileTime bounds one compilation; 0 means a minute.
	CompileTime time.Duration
	// Peers returns candidates that call libraries, as the function of that name in kernels.Traits, of the problem that is made; nil
	// where no library is known.
	Peers func(p *Problem, names []string) ([]kernels.Peer, error)
}

// Problem is the problem that New makes of a Spec. Its candidates are compiled and called in processes.
type Problem struct {
	spec   Spec
	host   *Host
	limits worker.Limits
	// compileTime bounds one compilation; 0 is the toolchain's bound.
	compileTime time.Duration
	peers       func(p *Problem, names []string) ([]kernels.Peer, error) // nil where no library is known
	work        Work
	most        int // how many finalists fit into the memory of this machine beside the baseline
	// traffic is how many bytes a call reads or writes at the asked shape, whichever is more, where the spec is a Sizer.
	traffic  int
	read     int  // bytes of the buffers that a call reads at the asked shape, where the spec is a Sizer
	written  int  // and of those that it writes
	integers bool // whether any of its buffers has integers
	cases    caseCache
	varied   variantCache
	brief    bool // see Brief

	mu   sync.Mutex
	best float64 // the cost of the fastest candidate that was timed completely, in seconds a call; 0 before
	// manners has, by key, how candidates are timed from the start that reuse what earlier calls left, or are uneven.
	manners  map[string]manner
	baseline reactions // what was seen of the baseline in the search
}

var _ kernels.Problem = (*Problem)(nil)

// Open makes the problem of a family's kernel: at a shape, on the machine of a host. It fails where there is no C compiler. peers are those of
// Options, of the spec; nil means none.
func Open[S Spec](h *Host, shape kernels.Shape, of func(kernels.Shape, Machine) (S, error),
	peers func(S, *Problem, []string) ([]kernels.Peer, error)) (kernels.Problem, error) {
	m, err := h.Machine()
	if err != nil {
		return nil, err
	}
	spec, err := of(shape, m)
	if err != nil {
		return nil, err
	}
	o := Options{Host: h}
	if peers != nil {
		o.Peers = func(p *Problem, names []string) ([]kernels.Peer, error) { return peers(spec, p, names) }
	}
	return New(spec, o)
}

// New makes a problem of a spec. The result is a *Problem. It needs no compiler until the first Build.
func New(spec Spec, o Options) (kernels.Problem, error) {
	if o.Host == nil {
		return nil, errNoHost
	}
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	p := &Problem{spec: spec, host: o.Host, limits: o.Limits, compileTime: o.CompileTime, peers: o.Peers, work: spec.Work(), most: manyFinalists, brief: o.Host.brief}
	if presets := spec.Presets(); len(presets) == 0 {
		return nil, fmt.Errorf("native: space %s has no preset, and so no baseline", spec.Space().Name())
	}
	if sizer, ok := as[Sizer](spec); ok {
		buffers, kept := sizer.Sizes()
		var err error
		for _, b := range buffers {
			if b.Mode != Out {
				p.read += b.Bytes()
			}
			if b.Mode != In {
				p.written += b.Bytes()
			}
			p.integers = p.integers || b.Elem != F32 && b.Elem != F64
		}
		p.traffic = max(p.read, p.written)
		if p.most, err = finalistsIn(buffers, kept, p.work.Cold); err != nil {
			return nil, fmt.Errorf("this shape is too large: %w", err)
		}
	}
	patience := callPatience(p.work)
	if p.limits.CPU == 0 {
		p.limits.CPU = max(patience, p.limits.Wall)
	}
	if p.limits.Wall == 0 {
		// On a shared machine a call gets less than one core.
		p.limits.Wall = 2 * p.limits.CPU
	}
	return p, nil
}

// callPatience returns how long a call may take: the time of a plain loop at a rate that every machine of this century exceeds,
// within bounds.
func callPatience(w Work) time.Duration {
	const opsRate, byteRate = 2e8, 2e8
	const least, most = 10 * time.Second, 3 * time.Minute
	seconds := max(w.Ops/opsRate, w.Bytes/byteRate)
	return min(max(time.Duration(seconds*float64(time.Second)), least), most)
}

// Space returns the points of the spec.
func (p *Problem) Space() *space.Space { return p.spec.Space() }

// Presets returns the named points of the spec, the baseline first.
func (p *Problem) Presets() []kernels.Preset { return p.spec.Presets() }

// Traits says that candidates are compiled, compared by measuring them side by side, and loaded from exports, and which libraries
// compute the same.
func (p *Problem) Traits() kernels.Traits {
	t := kernels.Traits{
		Launches: true, Lacks: worker.Lacks, Threads: p.threads, Load: p.Load, Compare: p.Compare, MostFinalists: p.most, Measures: p.measures,
		Brief: p.Brief,
	}
	if p.peers != nil {
		t.Peers = func(names []string) ([]kernels.Peer, error) { return p.peers(p, names) }
	}
	return t
}

// Brief makes scores take little time from now on, for a first look at a kernel: they have few samples, and nothing is measured again
// where the core is slow. Checks, those of timed calls among them, are the same. A score on a slow core is marked as unverified, as ever.
func (p *Problem) Brief() { p.brief = true }

// Host returns the machine that candidates are compiled and run on.
func (p *Problem) Host() *Host { return p.host }

// threads returns how many threads the code of a point uses.
func (p *Problem) threads(point space.Point) (int, error) {
	source, err := p.spec.Generate(point)
	return max(source.Threads, 1), err
}

// Build generates and compiles a point.
func (p *Problem) Build(ctx context.Context, point space.Point) (kernels.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	source, err := p.spec.Generate(point)
	if err != nil {
		return nil, err
	}
	c := p.Wrap(source, point).(*candidate)
	return c, c.compile(ctx)
}

// Wrap makes a candidate of a source, which may differ from what the point generates: it is checked on the cases of the point,
// and may be a library's routine for comparison. It is compiled when it is first used.
func (p *Problem) Wrap(source Source, point space.Point) kernels.Candidate {
	if source.Lang == "" {
		source.Lang = "c"
	}
	return &candidate{problem: p, point: point, source: source}
}

// Adopt makes a candidate of code that the family generated for another shape. Unlike one of Wrap it shares processes with others, as the
// candidates of a search do, whatever its point is.
func (p *Problem) Adopt(source Source, point space.Point) kernels.Candidate {
	c := p.Wrap(source, point).(*candidate)
	c.adopted = true
	return c
}

// candidate is one compiled source.
type candidate struct {
	problem  *Problem
	point    space.Point
	source   Source
	so       string  // path of the object; "" before it is compiled
	lasting  bool    // whether it may change its process for good: it calls one of lastingNames
	alone    bool    // whether it runs in processes of its own
	seed     uint64  // of the inputs of its last check
	took     float64 // seconds of its first call on the asked case of that check, roughly
	comment  string  // of the file that it was loaded from, after the first line; "" where it was generated
	adopted  bool    // whether it was generated for another shape
	timed    *meter  // of its last score, with how many calls make a sample; nil before
	narrowed bool    // whether it was right on the variant of a Narrower
	reshaped bool    // whether it was called on inputs with another distribution
	// timing is how long it was timed, judging how long the reference was called on inputs of its timed calls, and judged says whether it was.
	timing, judging time.Duration
	judged          bool
	// deviation is the largest that was found in all checks.
	deviation kernels.Deviation
}

// noteReuse notes, for all candidates of its point, that a candidate reuses what earlier calls left. Of a probe nothing is noted.
func (c *candidate) noteReuse() { c.note(manner{apart: true}) }

// noteUneven notes the same way that a candidate is uneven.
func (c *candidate) noteUneven() { c.note(manner{level: true}) }

// note adds to the manner in which candidates of its point are timed.
func (c *candidate) note(how manner) {
	if c == nil || c.problem == nil {
		return
	}
	p := c.problem
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.manners == nil {
		p.manners = map[string]manner{}
	}
	key := c.point.Key()
	p.manners[key] = p.manners[key].and(how)
}

// noted returns the manner that was noted.
func (c *candidate) noted() manner {
	c.problem.mu.Lock()
	defer c.problem.mu.Unlock()
	return c.problem.manners[c.point.Key()]
}

// Abilities says that the candidate runs alone where that is asked, measures metrics, knows the largest errors that its checks have found,
// those of timed calls included, and which layout the source takes an argument in.
func (c *candidate) Abilities() kernels.Abilities {
	can := kernels.Abilities{Isolate: c.isolate, Measure: c.measure, Deviation: func() kernels.Deviation { return c.deviation }}
	if c.source.Pack != nil {
		can.Repacking = &c.source.Pack.Repacking
	}
	return can
}

// isolate makes checks and timings use processes of their own from now on: each timing a fresh one, checks one that no other candidate
// has run in.
func (c *candidate) isolate() { c.alone = true }

// isBaseline reports whether this is the candidate that others are compared with.
func (c *candidate) isBaseline() bool {
	return !c.adopted && c.point.Equal(c.problem.spec.Presets()[0].Point)
}

// company says with which candidates this one may share a process. The baseline runs alone: all costs are compared with its own,
// and if it fails there is no run.
func (c *candidate) company() company {
	return company{alone: c.alone || c.isBaseline(), last: c.lasting}
}

// companyOfChecks is company for a check: one that runs alone may use the process of its last check, because it can harm nobody else there.
func (c *candidate) companyOfChecks() company {
	with := c.company()
	if with.alone {
		with.but = c.so
	}
	return with
}

// verify compares the buffers after a call of a case.
func (c *candidate) verify(one Case, buffers [][]byte) error {
	d, err := one.Verify(buffers)
	if err == nil {
		c.deviation = c.deviation.Or(d)
	}
	return err
}

func (c *candidate) threads() int { return max(c.source.Threads, 1) }

// compile makes the object, and makes it again where it is no longer in the cache.
func (c *candidate) compile(ctx context.Context) error {
	if c.so != "" {
		if _, err := os.Stat(c.so); err == nil {
			return nil
		}
	}
	tools, err := c.problem.host.Toolchain(ctx)
	if err != nil {
		return err
	}
	so, err := tools.BuildWithin(ctx, c.problem.compileTime, c.source.Lang, c.source.Text, c.source.Compiler, c.source.Flags)
	if err == nil {
		c.lasting, err = checkSymbols(so)
	}
	if err == nil {
		c.so = so
	}
	return err
}

// checkSymbols checks the symbols of a linked object: it must define the function tune_kernel, and no other name of tune's. lasting says that it
// calls one of lastingNames.
func checkSymbols(so string) (lasting bool, err error) {
	symbols, err := allSymbols(so)
	if err != nil {
		return false, err
	}
	found := false
	for _, s := range symbols {
		switch {
		case s.Section == elf.SHN_UNDEF:
			lasting = lasting || slices.Contains(lastingNames, s.Name) || lastingPrefix.MatchString(s.Name)
		case !strings.HasPrefix(s.Name, "tune_") || s.Name == packName:
		case s.Name != kernelName:
			return false, kernels.Reject(space.CompileFailed, "defines %s: names that begin with tune_ are tune's own, rename it or make it static", s.Name)
		case elf.ST_TYPE(s.Info) != elf.STT_FUNC:
			return false, kernels.Reject(space.CompileFailed, "tune_kernel is no plain function")
		default:
			found = true
		}
	}
	if !found {
		return false, kernels.Reject(space.CompileFailed, "defines no function tune_kernel")
	}
	return lasting, nil
}

// lastingNames are functions that change how the libraries or the system treat a process, for as long as it lives: how they take memory, what
// they know of the language and of the environment, where random numbers go on, how large the stacks of threads are, what C++ does where
// memory is short. Others in the process would then be faster or slower than by themselves. Memory that madvise has put in large pages stays
// there when it is given back to the C library. dlsym and syscall may do any of this.
var lastingNames = []string{
	"mallopt", "malloc_trim", "madvise", "setlocale", "srand", "srandom", "initstate", "setstate", "srand48", "seed48", "lcong48",
	"setenv", "putenv", "unsetenv", "clearenv", "environ", "__environ", "prctl", "personality", "mlockall", "setpriority", "nice",
	"sched_setscheduler", "sched_setaffinity", "pthread_setaffinity_np", "pthread_setattr_default_np", "pthread_setconcurrency",
	"dlopen", "dlmopen", "dlsym", "dlvsym", "syscall",
	"_ZSt15set_new_handlerPFvvE", "_ZSt13set_terminatePFvvE", "_ZNSt6locale6globalERKS_", "_ZNSt8ios_base15sync_with_stdioEb",
}

// lastingPrefix begins the names of more of them: the settings of OpenMP's runtimes, and of libraries that have threads of their own.
var lastingPrefix = regexp.MustCompile(`^(omp|kmp|openblas|goto|mkl|MKL|bli_thread|fftwf?)_set_`)

// The names that generated code defines with external linkage: the kernel, and what lays out its operands for callers.
const (
	kernelName = "tune_kernel"
	packName   = "tune_pack"
)

// dynamicSymbols returns the symbols that a linked object defines for others.
func dynamicSymbols(so string) ([]elf.Symbol, error) {
	symbols, err := allSymbols(so)
	return slices.DeleteFunc(symbols, func(s elf.Symbol) bool { return s.Section == elf.SHN_UNDEF }), err
}

// allSymbols returns the symbols that a linked object defines for others, and those that it wants of others.
func allSymbols(so string) ([]elf.Symbol, error) {
	f, err := elf.Open(so)
	if err != nil {
		return nil, fmt.Errorf("reading a compiled object: %w", err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("reading the symbols of %s: %w", so, err)
	}
	return symbols, nil
}
