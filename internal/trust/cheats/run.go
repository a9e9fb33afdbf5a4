package cheats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tune"
	"tune/internal/trust/corpus"
	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cc"
	"tune/kernels/user"
	"tune/results"
	"tune/search"
	"tune/space"
)

// The variants of an entry, in the order in which a run evaluates them.
var variants = []string{"HONEST", "BEFORE", "CHEAT", "AFTER"}

const onTrial = "CHEAT"

// What an entry's kernel finds in its environment: a folder that it has no business in, the port of a server, and the id of shared
// memory.
const (
	outsideVariable = "TRUST_OUTSIDE"
	portVariable    = "TRUST_PORT"
	memoryVariable  = "TRUST_MEMORY"
)

// found is what a run of one entry came to, read from what it left on disk.
type found struct {
	Outcomes map[string]space.Outcome `json:"outcomes"`          // by variant
	Export   *exported                `json:"export,omitempty"`  // nil where there is none
	Refused  []tune.Refusal           `json:"refused,omitempty"` // at the export
	Err      string                   `json:"error,omitempty"`   // that the run ended with
	// FileRefused says that Err is about the kernel's file, of which nothing was run.
	FileRefused bool    `json:"file_refused,omitempty"`
	Slow        bool    `json:"slow,omitempty"`  // its budget was over before the baseline was measured
	Truth       float64 `json:"truth,omitempty"` // ns of the honest code outside of tune; 0 where that was not asked
	// Harm is what else it has done.
	Harm []string `json:"harm,omitempty"`
}

// exported is what a best.json says.
type exported struct {
	Key      string      `json:"key"`
	Ratio    float64     `json:"ratio"`
	Interval *[2]float64 `json:"ratio_interval,omitempty"`
	Verdict  string      `json:"verdict,omitempty"`
}

// variantOf returns the variant of a point.
func variantOf(key string) string {
	for _, word := range strings.Fields(key) {
		if v, ok := strings.CutPrefix(word, "VARIANT="); ok {
			return v
		}
	}
	return ""
}

// childName is the first argument of the process that runs one entry. Some kernels have ended tune itself, which must cost one
// line of the table and no more.
const childName = "trust-entry"

// IsChild reports whether this process is to run one entry; Main does it.
func IsChild() bool { return len(os.Args) == 6 && os.Args[1] == childName }

// Main runs the entry that the arguments name, in the directory that they name, within the budget and with the final measurement that they
// name, and writes what it came to into that directory.
func Main() {
	if err := child(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(name, dir, wall, last string) error {
	budget, err := time.ParseDuration(wall)
	if err != nil {
		return err
	}
	final, err := time.ParseDuration(last)
	if err != nil {
		return err
	}
	entries, err := selected(name, false)
	if err != nil {
		return err
	}
	config, err := entries[0].Write(dir)
	if err != nil {
		return err
	}
	f := tuneIt(context.Background(), config, filepath.Join(dir, "run"), budget, final)
	if flags := entries[0].Truth; flags != "" {
		if f.Truth, err = timeOutside(context.Background(), dir, strings.Fields(flags)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "found.json"), text, 0o666)
}

// tuneIt runs the kernel of a file as tune run would, and reads what is there afterwards.
func tuneIt(ctx context.Context, config, dir string, wall, final time.Duration) (f found) {
	fail := func(err error) found { f.Err = err.Error(); return f }
	k, err := user.Load(config)
	if err != nil {
		f.FileRefused = true
		f.Err = strings.ReplaceAll(err.Error(), filepath.Dir(config)+string(filepath.Separator), "")
		return f
	}
	host := native.NewHost(native.HostOptions{})
	defer host.Close()
	defer k.On(host).Close()
	shape, err := kernels.ParseShape(k.Info().Shape, "")
	if err != nil {
		return fail(err)
	}
	report, err := tune.Run(ctx, tune.Options{
		Kernel: k, Shape: shape, Strategy: "grid", Seed: 1, Dir: dir, Jobs: 1,
		Budget: search.Budget{Wall: wall, Evaluations: len(variants)}, Final: final,
	})
	if err != nil {
		f.Err = err.Error() // what was recorded before tells which variants are hurt
		_, f.Slow = errors.AsType[*tune.SlowBaselineError](err)
	}
	if report != nil {
		f.Refused = report.Refused
	}
	run, err := results.Read(dir)
	if err != nil {
		return fail(errors.Join(errors.New(f.Err), err))
	}
	f.Outcomes = map[string]space.Outcome{}
	for r, err := range run.Rounds() {
		if err != nil {
			return fail(errors.Join(errors.New(f.Err), err))
		}
		for _, e := range r.Entries {
			f.Outcomes[variantOf(e.Key)] = e.Outcome
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, tune.ScheduleName))
	if errors.Is(err, os.ErrNotExist) {
		return f
	}
	if err == nil {
		err = json.Unmarshal(text, &f.Export)
	}
	if err != nil {
		return fail(err)
	}
	return f
}

// timeOutside times the honest code in a program of its own, and returns nanoseconds a call.
func timeOutside(ctx context.Context, dir string, flags []string) (float64, error) {
	compilers, err := cc.Find(ctx)
	if err != nil {
		return 0, err
	}
	program := filepath.Join(dir, "truth")
	compile := exec.CommandContext(ctx, compilers[0].Path, slices.Concat(flags, []string{"-D_GNU_SOURCE", "-o", program, "truth.c"})...)
	compile.Dir = dir
	if out, err := compile.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("compiling truth.c: %w: %s", err, out)
	}
	out, err := exec.CommandContext(ctx, program).Output()
	if err != nil {
		return 0, fmt.Errorf("running truth.c: %w", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// entryLimit is how long the process of an entry may take beyond its budget.
const entryLimit = time.Minute

// try runs an entry in a process of its own.
func try(ctx context.Context, e corpus.Entry) (found, error) {
	dir, err := os.MkdirTemp("", "tune-trust-")
	if err != nil {
		return found{}, err
	}
	defer os.RemoveAll(dir)
	budget := e.Budget()
	for attempt := 0; ; attempt++ {
		f, err := tryWithin(ctx, e, filepath.Join(dir, fmt.Sprint(attempt)), budget)
		// A machine that is busy may not come to all four points.
		if err != nil || attempt == 2 || f.Err != "" && !f.Slow || len(f.Outcomes) == len(variants) {
			return f, err
		}
		budget *= 3
	}
}

func tryWithin(ctx context.Context, e corpus.Entry, dir string, budget time.Duration) (f found, err error) {
	outside := filepath.Join(dir, "outside")
	work, temporary := filepath.Join(dir, "work"), filepath.Join(dir, "tmp")
	if err := errors.Join(os.MkdirAll(outside, 0o777), os.MkdirAll(work, 0o777), os.MkdirAll(temporary, 0o777), os.WriteFile(filepath.Join(outside, "kept"), []byte("kept"), 0o666)); err != nil {
		return f, err
	}
	server, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return f, err
	}
	defer server.Close()
	memory, err := newSharedMemory()
	if err != nil {
		return f, err
	}
	defer memory.close()
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	limited, cancel := context.WithTimeout(ctx, 4*budget+entryLimit)
	defer cancel()
	c := exec.CommandContext(limited, self, childName, e.Name, work, budget.String(), e.Final.String())
	c.Env = append(os.Environ(), "TMPDIR="+temporary, outsideVariable+"="+outside,
		fmt.Sprintf("%s=%d", portVariable, server.Addr().(*net.TCPAddr).Port), fmt.Sprintf("%s=%d", memoryVariable, memory.id))
	// What outlives the process may hold its output open.
	c.WaitDelay = time.Second
	end := watchHoard(temporary)
	output, err := c.CombinedOutput()
	hoard := end()
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if limited.Err() != nil {
		f.Err = fmt.Sprintf("the run did not end within %v", 4*budget+entryLimit)
	} else if err != nil {
		f.Err = strings.TrimSpace(fmt.Sprintf("tune itself ended: %v %s", err, output))
	} else if err := readFound(filepath.Join(work, "found.json"), &f); err != nil {
		return f, err
	}
	f.Harm = append(harm(outside, server, memory), hoard...)
	return f, nil
}

// What a kernel may take of the machine beside the memory of its process, and a little more: tune looks at files now and then.
const (
	mostShared = 5 << 30   // bytes of shared memory
	mostFiles  = 200 << 20 // bytes of files in its folder
)

// watchHoard watches how much is taken of the machine, in memory that no process needs to have mapped and in the folder that has those of
// workers. The function that it returns ends that, and says what was too much.
func watchHoard(folder string) (end func() []string) {
	const interval = 20 * time.Millisecond
	before, stop, found := sharedBytes(), make(chan struct{}), make(chan []string)
	go func() {
		var memory, files int64
		for going := true; going; {
			select {
			case <-stop:
				going = false
			case <-time.After(interval):
			}
			memory, files = max(memory, sharedBytes()-before), max(files, bytesIn(folder))
		}
		var list []string
		if memory > mostShared {
			list = append(list, fmt.Sprintf("took %d GiB of shared memory", memory>>30))
		}
		if files > mostFiles {
			list = append(list, fmt.Sprintf("filled its folder with %d MiB", files>>20))
		}
		found <- list
	}()
	return func() []string { close(stop); return <-found }
}

// bytesIn returns the size of all files in a folder and below it.
func bytesIn(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // it may be gone meanwhile
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

func readFound(path string, f *found) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, f)
}

// harm says what was done to a folder, a server and memory that the kernel has no business with.
func harm(outside string, server *net.TCPListener, memory *sharedMemory) (list []string) {
	kept, err := os.ReadFile(filepath.Join(outside, "kept"))
	switch {
	case err != nil:
		list = append(list, "removed a file outside of its folder")
	case string(kept) != "kept":
		list = append(list, "changed a file outside of its folder")
	}
	if all, err := os.ReadDir(outside); err != nil || len(all) > 1 {
		list = append(list, "wrote a file outside of its folder")
	}
	if err := server.SetDeadline(time.Now().Add(10 * time.Millisecond)); err == nil {
		if c, err := server.Accept(); err == nil {
			c.Close()
			list = append(list, "connected to a server")
		}
	}
	if what := memory.harm(); what != "" {
		list = append(list, what)
	}
	return list
}
