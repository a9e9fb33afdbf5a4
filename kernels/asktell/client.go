package asktell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"tune/internal/plain"
	"tune/space"
)

// ErrGone says that a client has closed its end, so that nothing can be asked any more.
var ErrGone = errors.New("the client has closed its end")

// FaultError is a line of a client that cannot be used.
type FaultError struct {
	Line int // counted from 1
	Text string
	Err  error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("line %d of the client, %q: %v", e.Line, plain.Clip(plain.Line(e.Text), 80), e.Err)
}

// Unwrap returns the fault.
func (e *FaultError) Unwrap() error { return e.Err }

// Client is the program that scores points. It is safe for concurrent use.
type Client struct {
	lines   chan []byte   // to the client
	last    chan struct{} // closed when no more lines come
	written chan struct{} // closed when all lines are written
	gone    chan struct{} // closed when nothing can be asked any more; err says why
	lost    func(error)
	stop    sync.Once
	heard   atomic.Bool // whether it has written a line

	mu      sync.Mutex
	err     error
	open    map[int]*question
	highest int // the highest number of a question so far; -1 before
	twice   int // answers to questions that were answered before
}

type question struct {
	fidelity int
	answer   chan space.Outcome // with room for one
}

// NewClient returns the client that writes in and reads out, and greets it. lost is called once when it is gone, or has written
// what cannot be used, with ErrGone or a *FaultError: nothing can be asked from then on. The goroutine that reads ends with in.
func NewClient(in io.Reader, out io.Writer, hello Hello, lost func(error)) *Client {
	c := &Client{
		lines: make(chan []byte, 16), last: make(chan struct{}), written: make(chan struct{}), gone: make(chan struct{}), lost: lost,
		open: map[int]*question{}, highest: -1,
	}
	hello.Protocol = Protocol
	if text, err := line("hello", hello); err == nil { // it is text and numbers
		c.lines <- text
	}
	go c.write(out)
	go c.read(in)
	return c
}

// fail notes why nothing can be asked any more.
func (c *Client) fail(err error) {
	c.stop.Do(func() {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		c.lost(err)
		close(c.gone)
	})
}

// Err returns why nothing can be asked any more; nil while the client is there.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// lastLines is how long a client that reads nothing more may still write: a line that cannot be used says more than that it is gone.
const lastLines = time.Second

// write hands lines to the client. After an error it drops them.
func (c *Client) write(out io.Writer) {
	defer close(c.written)
	broken := false
	put := func(text []byte) {
		if broken {
			return
		}
		if _, err := out.Write(text); err != nil {
			broken = true
			time.AfterFunc(lastLines, func() { c.fail(ErrGone) })
		}
	}
	for {
		select {
		case text := <-c.lines:
			put(text)
		case <-c.last:
			for {
				select {
				case text := <-c.lines:
					put(text)
				default:
					return
				}
			}
		}
	}
}

// read takes the answers of the client.
func (c *Client) read(in io.Reader) {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), MostLine)
	n := 1
	for ; s.Scan(); n++ {
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		c.heard.Store(true)
		if err := c.take(text); err != nil {
			c.fault(&FaultError{n, string(text), err})
			c.ignore(in)
			return
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		c.fault(fmt.Errorf("line %d of the client has more than %d bytes", n, MostLine))
		c.ignore(in)
		return
	}
	c.fail(ErrGone)
}

// ignore reads what else a client writes: one that waits until it is read would not read what is wrong.
func (c *Client) ignore(in io.Reader) { _, _ = io.Copy(io.Discard, in) }

// Silent reports whether the client has questions, and has written nothing so far.
func (c *Client) Silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) > 0 && !c.heard.Load() && c.err == nil
}

// fault tells the client what is wrong, and ends the questions.
func (c *Client) fault(err error) {
	if text, lerr := line("error", map[string]string{"text": err.Error()}); lerr == nil {
		c.post(text)
	}
	c.fail(err)
}

// post hands a line to the client that nobody waits for. A client that does not read for a second does without.
func (c *Client) post(text []byte) {
	select {
	case c.lines <- text:
	case <-time.After(time.Second):
	}
}

// take takes a line of the client.
func (c *Client) take(text []byte) error {
	r, err := readReply(text)
	if err != nil || r.Tell == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := *r.Tell.ID
	q := c.open[id]
	switch {
	case q != nil:
		delete(c.open, id)
		q.answer <- r.Tell.outcome(q.fidelity)
	case id < 0 || id > c.highest:
		return fmt.Errorf("there was no question %d", id)
	default:
		c.twice++ // it is answered, or was cancelled: the first answer counts
	}
	return nil
}

// Ask asks for the outcome of a point, and waits for it. Questions may be answered in any order. Where ctx ends first, the question
// is cancelled; where the client is gone, the error says so.
func (c *Client) Ask(ctx context.Context, id int, p space.Point, fidelity int) (space.Outcome, error) {
	text, err := askLine(id, p, fidelity)
	if err != nil {
		return space.Outcome{}, err
	}
	q := &question{fidelity, make(chan space.Outcome, 1)}
	c.mu.Lock()
	c.open[id] = q
	c.highest = max(c.highest, id)
	c.mu.Unlock()
	select {
	case c.lines <- text:
	case <-c.gone:
		return c.giveUp(id, q, c.Err())
	case <-ctx.Done():
		return c.giveUp(id, q, ctx.Err())
	}
	select {
	case o := <-q.answer:
		return o, nil
	case <-c.gone:
		return c.giveUp(id, q, c.Err())
	case <-ctx.Done():
		o, err := c.giveUp(id, q, ctx.Err())
		if err != nil {
			c.post(cancelLine(id))
		}
		return o, err
	}
}

// giveUp closes a question, unless it was answered in the same moment.
func (c *Client) giveUp(id int, q *question, err error) (space.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case o := <-q.answer:
		return o, nil
	default:
	}
	delete(c.open, id)
	return space.Outcome{}, err
}

// patience is how long a client may take to read the last line.
const patience = 5 * time.Second

// Close tells the client that there are no more questions, and why. It must be called once, when no question is open.
func (c *Client) Close(end End) {
	if text, err := line("end", end); err == nil { // its numbers are finite
		c.post(text)
	}
	close(c.last)
	select {
	case <-c.written:
	case <-time.After(patience):
	}
}
