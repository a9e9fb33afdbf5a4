package remote_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tune/kernels"
	"tune/kernels/remote"
	"tune/kernels/remote/natsserver"
	"tune/results"
	"tune/results/session"
	"tune/search"
	"tune/space"
)

// partOf is a variable of the environment that makes this binary a part of BenchmarkApart: server, or workers=NxJOBS/CONNECTIONS@ADDRESS.
const partOf = "TEST_REMOTE_PART"

func TestMain(m *testing.M) {
	switch part, of, _ := strings.Cut(os.Getenv(partOf), "="); part {
	case "server":
		serverPart()
	case "workers":
		workersPart(of)
	default:
		// Most tests wait most of the time, so that more of them run at once than there are cores.
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
}

// serverPart is a NATS server, until its input ends. It prints its port.
func serverPart() {
	s, err := natsserver.Start(natsserver.Config{Address: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Port())
	untilEnd()
	s.Close()
}

// workersPart are workers which share connections, until the input ends.
func workersPart(of string) {
	var n, jobs, connections int
	var address string
	if _, err := fmt.Sscanf(of, "%dx%d/%d@%s", &n, &jobs, &connections, &address); err != nil {
		panic(err)
	}
	shared := make([]*nats.Conn, connections)
	for i := range shared {
		var err error
		if shared[i], err = (remote.Login{URL: "nats://" + address}).Connect("worker", remote.Events{}); err != nil {
			panic(err)
		}
	}
	for i := range n {
		w := worker(fmt.Sprint("w", i), jobs, nil)
		w.Table = append(w.Table, plain{bowl{version: "1"}})
		go func() {
			if err := w.Serve(context.Background(), shared[i%connections]); err != nil {
				panic(err)
			}
		}()
	}
	fmt.Println("ready")
	untilEnd()
}

func untilEnd() {
	for in := bufio.NewReader(os.Stdin); ; {
		if _, err := in.ReadByte(); err != nil {
			return
		}
	}
}

// part is such a process.
type part struct {
	cmd  *exec.Cmd
	said string // its first line
}

func (p *part) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func startPart(b *testing.B, what string) *part {
	b.Helper()
	p := &part{cmd: exec.Command(os.Args[0])}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), partOf+"="+what), os.Stderr
	if _, err := p.cmd.StdinPipe(); err != nil { // which ends with this process
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.end)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	p.said = strings.TrimSpace(line)
	return p
}

// processorTime is what the process has taken of the processors.
func (p *part) processorTime(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		b.Skip(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	sum := 0
	for _, f := range fields[11:13] { // user and system, in hundredths of a second
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// processorTime is what this process has taken of the processors. On a busy machine it says more than the clock does.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is what this process holds after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// manyJobs is how many candidates are at work at once in the benchmarks of throughput.
const manyJobs = 1000

// evaluateMany evaluates so many points, manyJobs at once, from trial first on.
func evaluateMany(b *testing.B, coord *remote.Coordinator, first, total int) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range manyJobs {
		all.Go(func() {
			for i := int(next.Add(1)); i <= total; i = int(next.Add(1)) {
				t := space.Trial{Number: first + i, Proposal: space.Proposal{Point: bowlSpace.At(uint64((first + i) % 4096))}}
				if _, err := coord.Evaluate(b.Context(), t); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkApart measures a coordinator with 1,000 candidates at work, whose server and workers are processes of their own, and what each of
// the three takes of the processors.
func BenchmarkApart(b *testing.B) {
	for _, c := range [][2]int{{1000, 1000}, {1000, 20}, {20, 20}} {
		workers, connections := c[0], c[1]
		b.Run(fmt.Sprintf("workers=%d/connections=%d", workers, connections), func(b *testing.B) {
			server := startPart(b, "server")
			address := net.JoinHostPort("127.0.0.1", server.said)
			nc, err := remote.Login{URL: "nats://" + address}.Connect("coordinator", remote.Events{})
			if err != nil {
				b.Fatal(err)
			}
			defer nc.Close()
			job := remote.Job{ID: "run", Kernel: "bowl", Version: "1", Space: bowlSpace.Fingerprint(), Lease: remote.DefaultLease}
			coord, err := remote.NewCoordinator(b.Context(), nc, job, nil, func(text string) { b.Error(text) })
			if err != nil {
				b.Fatal(err)
			}
			defer coord.Close()
			farm := startPart(b, fmt.Sprintf("workers=%dx%d/%d@%s", workers, manyJobs/workers, connections, address))
			n := 0
			for coord.Workers() < workers { // until all have found the run
				evaluateMany(b, coord, n, manyJobs)
				n += manyJobs
			}
			held, first := heap(), n
			own, served, worked := processorTime(b), server.processorTime(b), farm.processorTime(b)
			b.ResetTimer()
			for b.Loop() {
				evaluateMany(b, coord, n, 10*manyJobs)
				n += 10 * manyJobs
			}
			seconds, each := b.Elapsed().Seconds(), func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n-first) }
			b.ReportMetric(float64(n-first)/seconds, "evaluations/s")
			b.ReportMetric(each(processorTime(b)-own), "coordinator-µs")
			b.ReportMetric(each(server.processorTime(b)-served), "server-µs")
			b.ReportMetric(each(farm.processorTime(b)-worked), "workers-µs")
			b.ReportMetric((heap()-held)/float64(n-first), "kept-B/evaluation")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// plain is the bowl with a million points.
type plain struct{ bowl }

var plainSpace = func() *space.Space {
	s, err := space.New("plain", []space.Parameter{space.Range("x", 0, 1023), space.Range("y", 0, 1023)})
	if err != nil {
		panic(err)
	}
	return s
}()

func (k plain) Info() kernels.Info {
	i := k.bowl.Info()
	i.Name = "plain"
	return i
}

func (k plain) Problem(kernels.Shape) (kernels.Problem, error) {
	return &plainProblem{bowlProblem{&k.bowl}}, nil
}

type plainProblem struct{ bowlProblem }

func (p *plainProblem) Space() *space.Space { return plainSpace }
func (p *plainProblem) Presets() []kernels.Preset {
	return []kernels.Preset{{Name: "baseline", Doc: "the corner", Point: plainSpace.Default()}}
}

// BenchmarkSearch measures a whole run, with its strategy, its run directory on disk, and 1,000 candidates at work at once: how many it evaluates
// a second, what coordinator, server and workers take of the processors, what the coordinator keeps for each evaluation, and what the journal
// has of it.
func BenchmarkSearch(b *testing.B) {
	for _, strategy := range []string{"random:batch=10000", "evolve:population=1000", "random", "evolve"} {
		b.Run("strategy="+strategy, func(b *testing.B) {
			const workers, connections, evals = 1000, 20, 100_000
			var each struct{ rate, own, server, workers, kept, journal float64 }
			for b.Loop() {
				server := startPart(b, "server")
				address := net.JoinHostPort("127.0.0.1", server.said)
				nc, err := remote.Login{URL: "nats://" + address}.Connect("coordinator", remote.Events{})
				if err != nil {
					b.Fatal(err)
				}
				job := remote.Job{ID: "run", Kernel: "plain", Version: "1", Space: plainSpace.Fingerprint(), Lease: remote.DefaultLease}
				coord, err := remote.NewCoordinator(b.Context(), nc, job, nil, func(text string) { b.Error(text) })
				if err != nil {
					b.Fatal(err)
				}
				farm := startPart(b, fmt.Sprintf("workers=%dx%d/%d@%s", workers, manyJobs/workers, connections, address))
				var held float64
				var began time.Time
				var own, served, worked time.Duration
				dir := filepath.Join(b.TempDir(), "run")
				const warm = evals / 10 // until all workers have found the run
				report, err := session.Run(b.Context(), session.NewRun{Version: "bench", Kernel: plain{bowl{version: "1"}}, Strategy: strategy, Seed: 1, Dir: dir, Work: session.Work{
					Evaluator: coord, Jobs: manyJobs, Budget: search.Budget{Evaluations: evals},
					Observe: func(e search.Event) {
						if e.Known == warm {
							held, began, own, served, worked = heap(), time.Now(), processorTime(b), server.processorTime(b), farm.processorTime(b)
						}
						if e.Known == evals {
							n := float64(evals - warm)
							per := func(d time.Duration) float64 { return float64(d.Microseconds()) / n }
							each.rate += n / time.Since(began).Seconds()
							each.own, each.server, each.workers = each.own+per(processorTime(b)-own), each.server+per(server.processorTime(b)-served), each.workers+per(farm.processorTime(b)-worked)
							each.kept += (heap() - held) / n
						}
					},
				}})
				if err != nil || report.Result.Told != evals {
					b.Fatal(report, err)
				}
				if info, err := os.Stat(filepath.Join(dir, results.JournalName)); err == nil {
					each.journal += float64(info.Size()) / evals
				}
				coord.Close()
				nc.Close()
				farm.end()
				server.end()
			}
			n := float64(b.N)
			b.ReportMetric(each.rate/n, "evaluations/s")
			b.ReportMetric(each.own/n, "coordinator-µs")
			b.ReportMetric(each.server/n, "server-µs")
			b.ReportMetric(each.workers/n, "workers-µs")
			b.ReportMetric(each.kept/n, "kept-B/evaluation")
			b.ReportMetric(each.journal/n, "journal-B/evaluation")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestManyWaiting: more jobs than a queue of JetStream lets wait by default stay at a run that has nothing to do for them.
func TestManyWaiting(t *testing.T) {
	f := newFarm(t, remote.Job{Lease: remote.DefaultLease})
	w := worker("w", manyJobs, nil)
	notes := make(chan string, 10)
	w.Note = func(text string) { notes <- text }
	f.worker(w)
	if text := <-notes; text != "bowl: serving" {
		t.Fatal(text)
	}
	select {
	case text := <-notes:
		t.Error(text)
	case <-time.After(time.Second): // after which each job asks again
	}
	got, _ := f.search(t, 200)
	want, _ := (*farm)(nil).search(t, 200)
	same(t, got, want)
}
