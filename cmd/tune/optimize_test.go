package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tune/kernels"
	"tune/kernels/asktell"
)

// bowlSpace is a space whose least cost is at x=3, y=5.
const bowlSpace = `name: bowl
parameters:
  - {name: x, type: int, from: -50, to: 50, default: 0}
  - {name: y, type: int, from: -50, to: 50, default: 0}
`

// bowlFile writes that space.
func bowlFile(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "space.yaml")
	if err := os.WriteFile(path, []byte(bowlSpace), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// bowlClient answers the questions of a process, each after a delay, until there are no more. It returns how often each was asked, and
// the last message. seen is called with each question.
func bowlClient(in io.Writer, out io.Reader, delay func() time.Duration, seen func()) (asked map[int]int, end string) {
	asked = map[int]int{}
	var writing sync.Mutex
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var m struct {
			Ask *struct {
				ID    int
				Point struct{ X, Y int }
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.Ask == nil {
			end = lines.Text()
			continue
		}
		q := m.Ask
		asked[q.ID]++
		seen()
		text := fmt.Sprintf(`{"tell":{"id":%d,"cost":%d}}`+"\n", q.ID, (q.Point.X-3)*(q.Point.X-3)+(q.Point.Y-5)*(q.Point.Y-5))
		if q.ID%9 == 8 {
			text = fmt.Sprintf(`{"tell":{"id":%d,"status":"timeout","reason":"the ninth"}}`+"\n", q.ID)
		}
		tell := func() {
			writing.Lock()
			defer writing.Unlock()
			_, _ = io.WriteString(in, text) // tune may be gone
		}
		if delay == nil {
			tell()
		} else {
			time.AfterFunc(delay(), tell)
		}
	}
	return asked, end
}

// optimize runs tune optimize with a client, and kills it at some question where kill is not 0.
func optimize(t testing.TB, kill int, delay func() time.Duration, args ...string) (asked map[int]int, end string, err error) {
	t.Helper()
	cmd := exec.Command("tune", append([]string{"optimize", "-q", "--no-db"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	questions := 0
	asked, end = bowlClient(in, out, delay, func() {
		if questions++; questions == kill {
			_ = cmd.Process.Kill()
		}
	})
	err = cmd.Wait()
	if err != nil && kill == 0 {
		t.Fatalf("tune optimize %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return asked, end, err
}

// TestOptimize: the outcomes of a run are the same however many questions are open, in whatever order they are answered, and however
// often tune is killed. What was told is not asked again.
func TestOptimize(t *testing.T) {
	t.Parallel()
	const evals = 120
	space, root := bowlFile(t), t.TempDir()
	csv := func(dir string) string { return tuneOK(t, "export", dir, "--format", "csv") }
	args := func(dir string, more ...string) []string {
		return append([]string{space, "--evals", fmt.Sprint(evals), "--seed", "3", "--dir", dir}, more...)
	}
	plain := filepath.Join(root, "plain")
	asked, end, _ := optimize(t, 0, nil, args(plain)...)
	for id := range evals {
		if asked[id] != 1 {
			t.Errorf("question %d was asked %d times", id, asked[id])
		}
	}
	if len(asked) != evals || !strings.Contains(end, `"why":"evaluations spent","evaluations":120,"valid":107`) {
		t.Errorf("%d questions, and at the end %s", len(asked), end)
	}
	want := csv(plain)
	r := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	shuffled := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(r.IntN(4000)) * time.Microsecond
	}
	for _, parallel := range []string{"2", "8"} {
		dir := filepath.Join(root, "parallel"+parallel)
		optimize(t, 0, shuffled, args(dir, "--parallel", parallel)...)
		if got := csv(dir); got != want {
			t.Errorf("%s open questions: other outcomes:\n%s\nwant\n%s", parallel, got, want)
		}
	}
	killed, kills, told := filepath.Join(root, "killed"), 0, map[string]bool{}
	for {
		if _, err := os.Stat(filepath.Join(killed, "run.json")); err == nil {
			for line := range strings.Lines(csv(killed)) {
				number, _, _ := strings.Cut(line, ",")
				told[number] = true
			}
		}
		asked, _, err := optimize(t, 1+r.IntN(30), shuffled, args(killed, "--parallel", "4")...)
		for id := range asked {
			if told[fmt.Sprint(id)] {
				t.Errorf("question %d was told, and is asked again", id)
			}
		}
		if err == nil {
			break
		}
		kills++
	}
	t.Logf("killed %d times", kills)
	if got := csv(killed); got != want || kills == 0 {
		t.Errorf("killed %d times: other outcomes:\n%s\nwant\n%s", kills, got, want)
	}
	if n := tuneOK(t, "replay", killed); n != "120 of 120 trials agree\n" {
		t.Error(n)
	}
	tuneOK(t, "verify", killed)
}

// TestOptimizeInFlight: a client that goes away ends the run in good order, and a later one is asked what was in flight.
func TestOptimizeInFlight(t *testing.T) {
	space, dir := bowlFile(t), filepath.Join(t.TempDir(), "run")
	cmd := exec.Command("tune", "optimize", space, "--evals", "20", "--dir", dir, "--no-db")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"id":5`) {
			break
		}
		var id int
		if n, _ := fmt.Sscanf(lines.Text(), `{"ask":{"id":%d`, &id); n == 1 {
			fmt.Fprintf(in, `{"tell":{"id":%d,"cost":%d}}`+"\n", id, 100+id)
		}
	}
	in.Close()
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); exitCode(err) != exitInterrupted || !strings.Contains(stderr.String(), "the client has closed its end: continue with 'tune optimize --dir") {
		t.Fatalf("%v\n%s%s", err, rest, &stderr)
	}
	asked, _, _ := optimize(t, 0, nil, "--dir", dir)
	for id := range 20 {
		if want := min(1, max(0, id-4)); asked[id] != want {
			t.Errorf("question %d was asked %d times, want %d", id, asked[id], want)
		}
	}
}

// TestClients: the clients in examples/clients do as the protocol says, and find the best point.
func TestClients(t *testing.T) {
	t.Parallel()
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(repo, "examples", "clients")
	compiled := filepath.Join(t.TempDir(), "bowl")
	for _, client := range []struct {
		tool    string
		command []string
	}{{"cc", []string{compiled}}, {"sh", []string{"sh", "bowl.sh"}}} {
		t.Run(client.tool, func(t *testing.T) {
			if _, err := exec.LookPath(client.tool); err != nil {
				t.Skip(err)
			}
			if client.tool == "cc" {
				if out, err := exec.Command("cc", "-Wall", "-Wextra", "-Werror", "-o", compiled, filepath.Join(folder, "bowl.c")).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			run := func(args ...string) string {
				cmd := exec.Command("tune", append(append([]string{"optimize", "space.yaml", "--no-db"}, args...), append([]string{"--"}, client.command...)...)...)
				cmd.Dir = folder
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return string(out)
			}
			if out := run("--protocol-check", "--fidelities", "1"); strings.Count(out, "ok  ") != 7 {
				t.Errorf("%s", out)
			}
			if out := run("--evals", "60", "--dir", filepath.Join(t.TempDir(), "run"), "--parallel", "2"); !strings.Contains(out, "point     x=3 y=5 slow=false") {
				t.Errorf("%s", out)
			}
		})
	}
	t.Run("python3", func(t *testing.T) {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip(err)
		}
		if data, err := os.ReadFile(filepath.Join(folder, "tune.py")); err != nil || bytes.Count(data, []byte("\n")) > 60 {
			t.Errorf("tune.py is to be short: %d lines, %v", bytes.Count(data, []byte("\n")), err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		for _, evals := range []string{"20", "60"} { // the second one goes on with the run of the first
			cmd := exec.Command("python3", "bowl.py", "--evals", evals, "--dir", dir, "--no-db", "-q")
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || !strings.HasPrefix(string(out), "evaluations spent {") {
				t.Fatalf("%v\n%s%s", err, out, &stderr)
			}
			if evals == "60" && string(out) != "evaluations spent {'x': 3, 'y': 5, 'slow': False} 0\n" {
				t.Errorf("%s", out)
			}
		}
	})
}

// TestOptimizeFault: the last message of a client whose line cannot be used says what is known by then, and the error names the command
// that goes on, with the client's.
func TestOptimizeFault(t *testing.T) {
	t.Parallel()
	space, dir := bowlFile(t), filepath.Join(t.TempDir(), "a run")
	cmd := exec.Command("tune", "optimize", space, "--evals", "20", "--dir", dir, "--no-db", "-q", "--", "sh", "-c",
		`read -r hello; for i in 0 1 2; do read -r ask; echo '{"tell":{"id":'$i',"cost":'$((7 - i))'}}'; done; read -r ask; echo done; cat >&2`)
	out, err := cmd.CombinedOutput()
	for _, want := range []string{`"evaluations":3,"valid":3,"dir":`, `"cost":5}}`, "mend the client, and continue with 'tune optimize --dir '" + dir + "' -- sh -c "} {
		if exitCode(err) != exitFailed || !strings.Contains(string(out), want) {
			t.Errorf("%v, want %s\n%s", err, want, out)
		}
	}
}

// TestOptimizeInterrupted: the command that goes on after Ctrl-C starts the client too, and works.
func TestOptimizeInterrupted(t *testing.T) {
	t.Parallel()
	space, dir := bowlFile(t), filepath.Join(t.TempDir(), "run")
	client := `read -r hello; echo at work >&2; i=0; while read -r ask; do echo '{"tell":{"id":'$i',"cost":1}}'; i=$((i + 1)); sleep 0.01; done`
	run := startTune(t, "optimize", space, "--evals", "5000", "--dir", dir, "--no-db", "-q", "--", "sh", "-c", client)
	run.out.await(t, "at work")
	code, text := run.interrupt(t), run.out.String()
	if want := "tune: interrupted: continue with 'tune optimize --dir " + dir + " -- sh -c "; code != exitInterrupted || !strings.Contains(text, want) {
		t.Errorf("exit code %d, want %s\n%s", code, want, text)
	}
}

// TestOptimizeFull: where the journal cannot grow, the error says what to do about it, once, and how the run goes on with its client.
func TestOptimizeFull(t *testing.T) {
	t.Parallel()
	space, dir := bowlFile(t), filepath.Join(t.TempDir(), "run")
	client := `read -r hello; i=0; while read -r ask; do echo '{"tell":{"id":'$i',"cost":1}}'; i=$((i + 1)); done`
	out, err := exec.Command("sh", "-c", `ulimit -f 16; exec "$@"`, "sh", "tune", "optimize", space, "--evals", "280", "--dir", dir, "--no-db", "-q", "--", "sh", "-c", client).CombinedOutput()
	text := string(out)
	if want := ", then continue the run with 'tune optimize --dir " + dir + " -- sh -c "; exitCode(err) != exitFailed || !strings.Contains(text, want) ||
		strings.Count(text, "raise the limit") != 1 || strings.Contains(text, "tune resume") {
		t.Errorf("%v, want %s\n%s", err, want, text)
	}
}

// TestOptimizeLeaves: tune says that it ends a client that does not end by itself.
func TestOptimizeLeaves(t *testing.T) {
	var shown said
	link, err := (&app{}).connect(t.Context(), []string{"sleep", "60"}, asktell.Hello{}, &shown)
	if err != nil {
		t.Fatal(err)
	}
	link.leaves = 50 * time.Millisecond
	if err := link.close(asktell.End{}); err == nil || shown.String() != "the client has not ended within 50ms after the last message: tune ends it\n" {
		t.Errorf("%v, and it says %q", err, shown.String())
	}
}

// TestOptimizeSilent: of a client that does not answer tune says what may be the reason.
func TestOptimizeSilent(t *testing.T) {
	said, from := io.Pipe()
	link, err := (&app{}).connect(t.Context(), []string{"cat"}, asktell.Hello{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if noteSilence(link.ctx, link.client, time.Hour, from); link.client.Silent() {
		t.Error("a client without a question is silent")
	}
	_ = link.close(asktell.End{})
	silent, err := (&app{}).connect(t.Context(), []string{"sh", "-c", "cat > /dev/null"}, asktell.Hello{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	k, err := asktell.New("bowl.yaml", []byte(bowlSpace), 0)
	if err != nil {
		t.Fatal(err)
	}
	problem, err := k.Problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := silent.client.Ask(silent.ctx, 0, problem.Space().Default(), 0)
		asked <- err
	}()
	for !silent.client.Silent() {
		time.Sleep(time.Millisecond)
	}
	noteSilence(silent.ctx, silent.client, time.Millisecond, from)
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.Contains(line, "may not flush its standard output") {
		t.Errorf("%q, %v", line, err)
	}
	silent.cancel(nil)
	<-asked
	_ = silent.close(asktell.End{})
}

// BenchmarkOptimize measures the whole way of a question: from the strategy to a client and back, with the journal on disk.
func BenchmarkOptimize(b *testing.B) {
	space := bowlFile(b)
	for b.Loop() {
		const evals = 4000
		began := time.Now()
		asked, _, _ := optimize(b, 0, nil, space, "--evals", fmt.Sprint(evals), "--strategy", "random", "--dir", filepath.Join(b.TempDir(), "run"))
		if len(asked) != evals {
			b.Fatalf("%d questions", len(asked))
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/evals, "µs/trial")
	}
}

// BenchmarkPython measures the same where the client is a program in Python that starts tune and asks one question at a time.
func BenchmarkPython(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Skip(err)
	}
	folder, err := filepath.Abs("../../examples/clients")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	space := filepath.Join(dir, "space.yaml")
	writeText(b, space, "name: wide\nparameters: [{name: x, type: int, from: 0, to: 1023}, {name: y, type: int, from: 0, to: 1023}]\n")
	const program = `
import sys, time, tune
n, last = 0, 2000
for point in tune.ask(sys.argv[1], "--evals", str(last), "--strategy", "random", "--no-db", "-q", "--dir", sys.argv[2]):
    began = time.perf_counter() if n == 0 else began
    n, now = n + 1, time.perf_counter()
    tune.tell(point, (point["x"] - 3) ** 2 + (point["y"] - 5) ** 2)
print(1e6 * (now - began) / (n - 1))
`
	for i := 0; b.Loop(); i++ {
		cmd := exec.Command("python3", "-c", program, space, filepath.Join(dir, fmt.Sprint("run", i)))
		cmd.Dir = folder
		out, err := cmd.Output()
		each, perr := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil || perr != nil {
			b.Fatal(err, perr, string(out))
		}
		b.ReportMetric(each, "µs/trial")
	}
}

// TestOptimizeChildHolds: a client that dies is gone, though a child of it holds its standard output and error.
func TestOptimizeChildHolds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	link, err := (&app{}).connect(ctx, []string{"sh", "-c", "sleep 30 & exit 3"}, asktell.Hello{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	<-link.ctx.Done()
	if ctx.Err() != nil || !errors.Is(link.client.Err(), asktell.ErrGone) {
		t.Errorf("the client is %v, and the test %v", link.client.Err(), ctx.Err())
	}
	if err := link.close(asktell.End{}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the client ended with %v", err)
	}
}

// TestWaitable: reads of a pipe wait in the runtime, which a deadline shows, and the pipe of those who share it is as it was.
func TestWaitable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it opens the pipe again through /proc")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd, err := syscall.Dup(int(r.Fd())) // Fd makes the pipe block, as one that a shell hands on does
	if err != nil {
		t.Fatal(err)
	}
	shared := os.NewFile(uintptr(fd), "standard input")
	defer shared.Close()
	in := waitable(shared)
	file, ok := in.(*os.File)
	if !ok || file == shared {
		t.Fatalf("%v, of %v", in, shared)
	}
	defer file.Close()
	if err := file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Errorf("a read holds a thread: %v", err)
	}
	if err := shared.SetReadDeadline(time.Now().Add(time.Minute)); !errors.Is(err, os.ErrNoDeadline) {
		t.Errorf("the shared pipe has changed: %v", err)
	}
	_, _ = w.WriteString("a line")
	_ = w.Close()
	if text, err := io.ReadAll(in); string(text) != "a line" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	text := strings.NewReader("no pipe")
	if in := waitable(text); in != text {
		t.Errorf("%v became %v", text, in)
	}
}
