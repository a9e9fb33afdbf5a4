//go:build linux && (amd64 || arm64)

package worker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tune/kernels/native/internal/testonly"
)

var errNoWorker = errors.New("the program did not become a worker: it must import package worker")

// process is a supervised process.
type process struct {
	pid      int // of the process, not of its supervisor
	cmd      *exec.Cmd
	lifeline *net.UnixConn
	output   *output
	started  chan struct{} // closed once pid or failure is set
	ended    chan struct{} // closed once no process is left
	result   news          // valid once ended is closed
	failure  error         // why there is no result
	killed   bool          // its supervisor was ended by a signal, before it could report
	oomKills int64         // when it was started
	start    int           // of its supervisor, in ticks since system start
	once     sync.Once
}

// startProcess starts a supervisor and its process. The files are passed on from descriptor 4.
func startProcess(executable string, o order, env []string, dir string, stdin *os.File, out *output, files ...*os.File) (*process, error) {
	o.Tune = os.Getpid()
	env, o.Procs = onProcs((&exec.Cmd{Env: env, Dir: dir}).Environ())
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketPair("lifeline")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	executable = cmp.Or(executable, testonly.Worker, "/proc/self/exe") // the last is valid even when the file has been replaced
	p := &process{lifeline: ours, output: out, started: make(chan struct{}), ended: make(chan struct{}), oomKills: oomKills()}
	p.cmd = &exec.Cmd{
		Path:       executable,
		Args:       []string{supervisorName, string(text)},
		Env:        env,
		Dir:        dir,
		Stdout:     out.stdout.w,
		Stderr:     out.stderr.w,
		ExtraFiles: append([]*os.File{theirs}, files...),
		// Ctrl-C is for tune, which then ends its workers.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if o.Command != nil {
		// The leftovers of a command are recognised by their session; see endLeftovers.
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	err = supervisors.start(p.cmd)
	out.closeWriters()
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("starting a supervisor: %w", err)
	}
	if s, ok := readStat(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid)); ok {
		p.start = s.start
	}
	out.begin()
	go p.listen()
	return p, nil
}

// onProcs returns an environment in which the Go runtime of a supervisor schedules on one processor from the start: to give back the others
// takes it longer than most of what it does. The second result is what the environment says of processors, which is for the process that the
// supervisor starts; nil where it says nothing.
func onProcs(env []string) (one []string, of *string) {
	const name = "GOMAXPROCS="
	one = make([]string, 0, len(env)+1)
	for _, v := range env {
		if value, found := strings.CutPrefix(v, name); found {
			of = &value
		} else {
			one = append(one, v)
		}
	}
	return append(one, name+"1"), of
}

// restoreProcs undoes onProcs in a supervisor.
func restoreProcs(of *string) {
	if of == nil {
		_ = os.Unsetenv("GOMAXPROCS")
	} else {
		_ = os.Setenv("GOMAXPROCS", *of)
	}
}

// listen receives the supervisor's messages until it exits.
func (p *process) listen() {
	defer close(p.ended)
	var once sync.Once
	started := func() { once.Do(func() { close(p.started) }) }
	defer started()
	buf := make([]byte, 4096)
	p.failure = errNoWorker
	for {
		n, err := p.lifeline.Read(buf)
		if err != nil || n == 0 {
			break
		}
		var note news
		if err := json.Unmarshal(buf[:n], &note); err != nil {
			p.failure = fmt.Errorf("a supervisor's report is malformed: %w", err)
			continue
		}
		switch {
		case note.PID != 0:
			p.pid, p.failure = note.PID, errors.New("its supervisor died")
			started()
		case note.Error != "":
			p.failure = errors.New(note.Error)
		case note.Ended:
			p.result, p.failure = note, nil
		}
	}
	_ = p.cmd.Wait() // a report says more than the exit status can
	supervisors.remove(p.cmd.Process.Pid)
	_ = p.lifeline.Close()
	if !p.result.Ended {
		if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			p.killed = true
			p.failure = fmt.Errorf("its supervisor was ended by signal %s", unix.SignalName(status.Signal()))
		}
		supervisors.endLeftovers(p.start)
	}
	p.output.wait()
}

// kill ends the process and all its descendants, and waits for that. It may be called at any time, and again.
func (p *process) kill() {
	p.once.Do(func() { _ = p.lifeline.CloseWrite() })
	select {
	case <-p.ended:
		return
	case <-time.After(killPatience + time.Second):
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// cpuTime returns the CPU time of the process, without that of its children, or 0 once it has ended.
func (p *process) cpuTime() time.Duration {
	var ts unix.Timespec
	// The clock of another process: its id, complemented, above the bits for the scheduler's clock.
	if err := unix.ClockGettime(int32(^p.pid<<3|2), &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// socketPair returns a connection that preserves message boundaries, and a file for the other process.
func socketPair(name string) (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name)
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	return conn.(*net.UnixConn), theirs, nil
}

// output captures what a process prints, up to a limit for both streams together.
type output struct {
	stdout, stderr stream
	readers        sync.WaitGroup

	mu    sync.Mutex
	limit int64
	over  bool
}

// outputSlack is how much is kept beyond the limit: the last words of a runtime.
const outputSlack = 16 << 10

type stream struct {
	r, w *os.File
	text []byte
}

func newOutput(limit int64) (*output, error) {
	o := &output{limit: limit}
	var err error
	if o.stdout.r, o.stdout.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	if o.stderr.r, o.stderr.w, err = os.Pipe(); err != nil {
		_ = o.stdout.r.Close()
		_ = o.stdout.w.Close()
		return nil, err
	}
	return o, nil
}

// discard closes an output for which no process was started.
func (o *output) discard() {
	o.closeWriters()
	_ = o.stdout.r.Close()
	_ = o.stderr.r.Close()
}

func (o *output) closeWriters() {
	_ = o.stdout.w.Close()
	_ = o.stderr.w.Close()
}

func (o *output) begin() {
	for _, s := range []*stream{&o.stdout, &o.stderr} {
		o.readers.Go(func() {
			buf := make([]byte, 8<<10)
			for {
				n, err := s.r.Read(buf)
				o.mu.Lock()
				if room := o.limit + outputSlack - int64(len(o.stdout.text)+len(o.stderr.text)); int64(n) <= room {
					s.text = append(s.text, buf[:n]...)
				} else {
					s.text = append(s.text, buf[:max(room, 0)]...)
				}
				o.over = o.over || int64(len(o.stdout.text)+len(o.stderr.text)) > o.limit
				o.mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
}

// wait returns once both streams have ended, and closes them. By then all processes that could write are gone, unless somebody
// killed the supervisor of a command with descendants; wait does not wait for these.
func (o *output) wait() {
	soon := time.Now().Add(time.Second)
	_ = o.stdout.r.SetReadDeadline(soon)
	_ = o.stderr.r.SetReadDeadline(soon)
	o.readers.Wait()
	_ = o.stdout.r.Close()
	_ = o.stderr.r.Close()
}

// flooded reports whether more than the limit was printed.
func (o *output) flooded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

// restart drops what was printed.
func (o *output) restart() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stdout.text, o.stderr.text = o.stdout.text[:0], o.stderr.text[:0]
}

// texts returns copies of what was printed.
func (o *output) texts() (stdout, stderr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.stdout.text), string(o.stderr.text)
}
