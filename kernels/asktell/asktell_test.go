package asktell

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tune/kernels"
	"tune/search"
	"tune/space"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const bowl = `name: bowl
parameters:
  - {name: x, type: int, from: -8, to: 8, default: 0}
  - {name: y, type: int, from: -8, to: 8, default: 0}
`

func load(t testing.TB, levels int) *Kernel {
	t.Helper()
	k, err := New("bowl.yaml", []byte(bowl), levels)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// talk is the other end of a client.
type talk struct {
	*Client
	ctx context.Context
	in  *io.PipeWriter // what the client says
	out *bufio.Scanner // what it is asked
	end func()
	// hangUp closes what the client reads.
	hangUp func()
}

func newTalk(t testing.TB) *talk {
	ctx, cancel := context.WithCancelCause(t.Context())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &talk{ctx: ctx, in: inW, out: bufio.NewScanner(outR)}
	c.Client = NewClient(inR, outW, Hello{Tool: "tune", Space: "bowl", Parallel: 1}, cancel)
	c.hangUp = func() { outW.Close() }
	c.end = func() { outR.Close(); inW.Close(); inR.Close(); c.Close(End{Why: "done"}) }
	return c
}

// heard returns the next message that the client reads.
func (c *talk) heard(t testing.TB) map[string]map[string]any {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("no message: %v", c.out.Err())
	}
	var m map[string]map[string]any
	if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
		t.Fatalf("%s: %v", c.out.Bytes(), err)
	}
	return m
}

// TestFaults: what a client may not write ends the questions, with an error that says what is wrong.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`hello`, "no JSON object: what a client prints beside its answers belongs on standard error"},
		{`[1]`, "it is a list, and not a JSON object"},
		{`1`, "it is a number, and not a JSON object"},
		{`{"tell":true}`, "field tell is a truth value: want an object"},
		{`{}`, "no message, or two"},
		{`{"tell":{"id":0,"cost":1},"hello":{"protocol":1}}`, "no message, or two"},
		{`{"tell":{"id":0,"cost":1}} {"tell":{"id":0,"cost":1}}`, "more than one JSON value"},
		{`{"hello":{"protocol":2}}`, "the client speaks protocol 2, and this tune protocol 1"},
		{`{"tell":{"cost":1}}`, "tell has no id"},
		{`{"tell":{"id":0}}`, "neither a cost nor a status"},
		{`{"tell":{"id":0,"status":"ok"}}`, "neither a cost nor a status"},
		{`{"tell":{"id":0,"cost":1,"status":"crashed"}}`, `a cost, and the status "crashed"`},
		{`{"tell":{"id":0,"status":"broken"}}`, `unknown status "broken": want ok, invalid, compile failed, wrong answer, timeout or crashed`},
		{`{"tell":{"id":0,"status":"unset"}}`, `unknown status "unset"`},
		{`{"tell":{"id":0,"costs":1}}`, `unknown field "costs"`},
		{`{"tell":{"id":0,"cost":"1"}}`, "field tell.cost is a text: want a number of at most 1.8e308"},
		{`{"tell":{"id":0.5,"cost":1}}`, "field tell.id is 0.5: want a whole number"},
		{`{"tell":{"id":0,"cost":NaN}}`, "no JSON, which has no NaN: tell a status and a reason instead of such a cost, and leave out such a metric"},
		{`{"tell":{"id":0,"cost":1e999}}`, "field tell.cost is 1e999: want a number of at most 1.8e308"},
		{`{"tell":{"id":0,"cost":5e-324}}`, "field cost is 5e-324, which is too close to 0"},
		{`{"tell":{"id":0,"cost":-1e-320}}`, "too close to 0"},
		{`{"tell":{"id":1,"cost":1}}`, "there was no question 1"},
		{`{"tell":{"id":-1,"cost":1}}`, "there was no question -1"},
		{`{"tell":{"id":0,"cost":1,"seconds":-1}}`, "field seconds is -1"},
		{`{"tell":{"id":0,"cost":1,"metrics":{"":1}}}`, `"" is no name of a metric`},
		{`{"tell":{"id":0,"cost":1,"metrics":{"a":1,"accuracy":"0.9"}}}`, "field tell.metrics.accuracy is a text: want a number"},
		{`{"tell":{"id":0,"cost":1,"metrics":[1]}}`, "field tell.metrics is a list: want an object of numbers"},
		{strings.Repeat("x", 3*MostLine), "line 1 of the client has more than 1048576 bytes"},
	} {
		c := newTalk(t)
		k := load(t, 0)
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c.in, test.line+"\n"+strings.Repeat("more\n", 1<<16))
			wrote <- err
		}()
		go func() {
			for c.out.Scan() {
			}
		}()
		_, err := c.Ask(c.ctx, 0, k.problem.space.Default(), 0)
		if err == nil || c.Err() == nil || !strings.Contains(c.Err().Error(), test.want) || c.ctx.Err() == nil {
			t.Errorf("%.80s: the question ended with %v, the client with %v; want %q", test.line, err, c.Err(), test.want)
		}
		select {
		case err := <-wrote:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%.80s: the client waits until the rest is read, and cannot read what is wrong", test.line)
		}
		c.end()
	}
}

// TestExactNames: a name that an object has twice, or in another letter case, is a fault that names the field and its spelling.
func TestExactNames(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`{"tell":{"id":0,"cost":1,"cost":2}}`, "field tell.cost is there twice"},
		{`{"tell":{"id":0,"cost":1,"Cost":2}}`, `field tell.Cost: its name is written "cost"`},
		{`{"tell":{"ID":0,"cost":1}}`, `field tell.ID: its name is written "id"`},
		{`{"tell":{"id":0,"cost":1,"metrics":{"a":1,"a":2}}}`, "field tell.metrics.a is there twice"},
		{`{"tell":{"id":0,"cost":1},"tell":{"id":0,"cost":2}}`, "field tell is there twice"},
		{`{"Tell":{"id":0,"cost":1}}`, `field Tell: its name is written "tell"`},
		{`{"hello":{"protocol":2,"protocol":1}}`, "field hello.protocol is there twice"},
		{`{"hello":{"Protocol":1}}`, `field hello.Protocol: its name is written "protocol"`},
	} {
		if _, err := readReply([]byte(test.line)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", test.line, err, test.want)
		}
	}
	if _, err := readReply([]byte(`{"tell":{"id":0,"cost":1,"metrics":{"a":1,"A":2}}}`)); err != nil {
		t.Errorf("metrics that differ in the case of their names: %v", err)
	}
}

// TestAnswers: answers come in any order, a second one changes nothing, and what is told arrives.
func TestAnswers(t *testing.T) {
	c, k := newTalk(t), load(t, 0)
	defer c.end()
	if hello := c.heard(t)["hello"]; hello["protocol"] != 1.0 || hello["space"] != "bowl" {
		t.Errorf("hello %v", hello)
	}
	var all sync.WaitGroup
	got := make([]space.Outcome, 2)
	ask := func(id int) {
		o, err := c.Ask(c.ctx, id, k.problem.space.At(uint64(id)), id)
		if err != nil {
			t.Error(err)
		}
		got[id] = o
	}
	all.Go(func() { ask(0) })
	if asked := c.heard(t)["ask"]; asked["id"] != 0.0 || fmt.Sprint(asked["point"]) != "map[x:-8 y:-8]" {
		t.Errorf("asked %v", asked)
	}
	all.Go(func() { ask(1) })
	if asked := c.heard(t)["ask"]; asked["id"] != 1.0 || asked["fidelity"] != 1.0 {
		t.Errorf("asked %v", asked)
	}
	fmt.Fprintln(c.in, `{"tell":{"id":1,"status":"timeout","reason":"too \u001b[31m slow"}}`)
	fmt.Fprintln(c.in, `{"tell":{"id":1,"cost":7}}`)
	fmt.Fprintln(c.in)
	fmt.Fprintln(c.in, `{"tell":{"id":0,"cost":2.5,"seconds":4,"metrics":{"b":2,"a":1}}}`)
	all.Wait()
	if o := got[1]; o.Status != space.Timeout || strings.Contains(o.Reason, "\x1b") || o.Fidelity != 1 || o.Validate() != nil {
		t.Errorf("%+v", o)
	}
	if o := got[0]; o.Cost != 2.5 || o.Seconds != 4 || fmt.Sprint(o.Metrics) != "[{a 1} {b 2}]" || o.Validate() != nil {
		t.Errorf("%+v", o)
	}
	if c.twice != 1 || c.Err() != nil {
		t.Errorf("%d answers twice, %v", c.twice, c.Err())
	}
}

// TestCancelled: a question that ends is taken back, and its late answer changes nothing.
func TestCancelled(t *testing.T) {
	c, k := newTalk(t), load(t, 0)
	defer c.end()
	c.heard(t)
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan error)
	go func() {
		_, err := c.Ask(ctx, 3, k.problem.space.Default(), 0)
		done <- err
	}()
	c.heard(t)
	cancel()
	if m := c.heard(t); m["cancel"]["id"] != 3.0 {
		t.Errorf("%v", m)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	fmt.Fprintln(c.in, `{"tell":{"id":3,"cost":1}}`)
	go func() { done <- nil; c.in.Close() }()
	<-done
	if _, err := c.Ask(c.ctx, 4, k.problem.space.Default(), 0); !errors.Is(err, ErrGone) && !errors.Is(err, context.Canceled) {
		t.Errorf("a question to nobody: %v", err)
	}
	if !errors.Is(c.Err(), ErrGone) {
		t.Error(c.Err())
	}
}

// TestCheckAfterFault: of a client with which nothing can go on, a check says of no later step that it is right.
func TestCheckAfterFault(t *testing.T) {
	c := newTalk(t)
	var client sync.WaitGroup
	client.Go(func() {
		for c.out.Scan() {
			if strings.HasPrefix(c.out.Text(), `{"ask":`) {
				fmt.Fprintln(c.in, "rubbish")
			}
		}
	})
	steps := 0
	ok := c.Check(c.ctx, load(t, 0).problem.space, Hello{Parallel: 2}, c.hangUp, func(s Step) {
		if steps++; s.Err == nil {
			t.Errorf("right: %s", s.Name)
		}
	})
	client.Wait()
	c.in.Close()
	if ok || steps < 5 {
		t.Errorf("%d steps, %t", steps, ok)
	}
}

// TestTrace: what a strategy asks depends on the answers alone, and not on their order or on how many questions are open.
func TestTrace(t *testing.T) {
	trace := func(parallel int) (asked []string) {
		c, k := newTalk(t), load(t, 0)
		defer c.end()
		var writing sync.Mutex
		go func() { // answers in a random order
			r := rand.New(rand.NewPCG(uint64(parallel), 1))
			for c.out.Scan() {
				var m struct {
					Ask *struct {
						ID    int
						Point struct{ X, Y int }
					}
				}
				if err := json.Unmarshal(c.out.Bytes(), &m); err != nil {
					t.Error(err)
				}
				if q := m.Ask; q != nil {
					time.AfterFunc(time.Duration(r.IntN(2000))*time.Microsecond, func() {
						writing.Lock()
						defer writing.Unlock()
						fmt.Fprintf(c.in, `{"tell":{"id":%d,"cost":%d}}`+"\n", q.ID, (q.Point.X-3)*(q.Point.X-3)+(q.Point.Y-5)*(q.Point.Y-5))
					})
				}
			}
		}()
		evaluator := k.Attach(c.Client)
		s := &recordingStrategy{fresh: search.SeededFresh(k.problem.space, 7)}
		if _, err := search.Run(c.ctx, s, evaluator, search.Settings{Jobs: parallel, Budget: search.Budget{Evaluations: 40}}); err != nil {
			t.Fatal(err)
		}
		return s.told
	}
	want := trace(1)
	for _, parallel := range []int{2, 4} {
		if got := trace(parallel); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%d open questions:\n%s\nwant\n%s", parallel, got, want)
		}
	}
}

// recordingStrategy asks for random points, and notes what it is told.
type recordingStrategy struct {
	fresh *search.Fresh
	told  []string
}

func (s *recordingStrategy) Ask(p space.Progress) (batch []space.Proposal) {
	for range min(4, p.Evaluations) {
		if point, ok := s.fresh.Draw(); ok {
			batch = append(batch, space.Proposal{Point: point})
		}
	}
	return batch
}

func (s *recordingStrategy) Tell(trials []space.Trial, outcomes []space.Outcome) {
	for i, t := range trials {
		s.told = append(s.told, fmt.Sprintf("%d %s %v", t.Number, t.Point.Key(), outcomes[i].Cost))
	}
}

// TestSave: a run directory keeps the space, and a score that nobody has told is not made up.
func TestSave(t *testing.T) {
	dir, k := t.TempDir(), load(t, 2)
	if _, err := Open(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory without a space: %v", err)
	}
	if err := k.save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Info().Version != k.Info().Version || again.Levels() != 2 {
		t.Errorf("%+v", again.Info())
	}
	for _, other := range []struct {
		text   string
		levels int
	}{{bowl, 1}, {strings.Replace(bowl, "8", "9", 1), 2}, {bowl + "start: [x=1]\n", 2}} {
		o, err := New("bowl.yaml", []byte(other.text), other.levels)
		if err != nil || o.Info().Version == k.Info().Version {
			t.Errorf("another space has the same version, or %v:\n%s", err, other.text)
		}
	}
	p, err := load(t, 0).Problem(kernels.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Build(t.Context(), p.Space().Default())
	if err != nil {
		t.Fatal(err)
	}
	var unasked *UnaskedError
	if _, err := c.Score(t.Context(), 0); !errors.As(err, &unasked) {
		t.Errorf("a score without a client: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, savedIn.ListPath()), []byte(`{"format":9}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "format 9") {
		t.Errorf("a later format: %v", err)
	}
	if _, err := New("bowl.yaml", []byte(bowl), MostLevels+1); err == nil {
		t.Error("too many fidelities")
	}
}

// FuzzReply: whatever a client writes is an outcome that a journal can hold, or an error.
func FuzzReply(f *testing.F) {
	for _, text := range []string{
		`{"tell":{"id":0,"cost":1,"metrics":{"a":1}}}`, `{"tell":{"id":0,"status":"crashed","reason":"x"}}`, `{"hello":{"protocol":1}}`, `{`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := readReply(text)
		if err != nil || r.Tell == nil {
			return
		}
		if err := r.Tell.outcome(0).Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
