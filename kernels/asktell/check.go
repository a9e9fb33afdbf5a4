package asktell

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tune/space"
)

// Step is one thing that a check of a client has tried.
type Step struct {
	Name string
	Err  error // nil where the client does as the protocol says
}

// leaves is how long a client may take to close its end after the last line.
const leaves = 10 * time.Second

// Check tries a client on points of a space: whether it answers every question once, in parallel and at each fidelity, and whether it
// bears what it does not know. ctx must end when the client is gone. Check closes the client, and then calls hangUp, which closes the
// stream that the client reads. The points are always the same ones. observe is called with each step when it is done.
func (c *Client) Check(ctx context.Context, in *space.Space, hello Hello, hangUp func(), observe func(Step)) (ok bool) {
	ch := checking{client: c, space: in, random: rand.New(rand.NewPCG(1, 2))}
	ok = true
	step := func(name string, f func() error) {
		s := Step{Name: name, Err: f()}
		ok = ok && s.Err == nil
		observe(s)
	}
	step("it answers a question", func() error { return ch.ask(ctx, 1, 0) })
	step(fmt.Sprintf("it answers %d questions, %d of them open at once", 4*hello.Parallel, hello.Parallel), func() error {
		for range 4 {
			if err := ch.ask(ctx, hello.Parallel, 0); err != nil {
				return err
			}
		}
		return nil
	})
	for level := 1; level <= hello.Fidelities; level++ {
		step(fmt.Sprintf("it answers a question of fidelity %d", level), func() error { return ch.ask(ctx, 1, level) })
	}
	step("it goes on after a message that it does not know", func() error {
		text, err := line("note", map[string]string{"text": "later versions of the protocol may have other messages"})
		if err != nil {
			return err
		}
		c.post(text)
		return ch.ask(ctx, 1, 0)
	})
	step("it goes on after a question that was cancelled", func() error {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := ch.ask(short, 1, 0); err != nil && short.Err() == nil {
			return err
		}
		return ch.ask(ctx, 1, 0)
	})
	step("it answers no question twice", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		// The question that was cancelled may have been answered once, too late.
		if c.twice > 1 {
			return fmt.Errorf("%d answers are to questions that it had answered", c.twice)
		}
		return c.err // after that nothing was heard
	})
	c.Close(End{Why: "checked", Evaluations: ch.asked, Valid: ch.valid})
	hangUp()
	step("it closes its end after the last message, when tune has closed its own", func() error {
		select {
		case <-c.gone:
		case <-time.After(leaves):
			return fmt.Errorf("it has not, %v later", leaves)
		}
		if err := c.Err(); !errors.Is(err, ErrGone) {
			return err
		}
		return nil
	})
	return ok
}

// checking draws the questions of a check.
type checking struct {
	client       *Client
	space        *space.Space
	random       *rand.Rand
	asked, valid int
}

// ask asks some questions at once, and waits for all answers.
func (c *checking) ask(ctx context.Context, n, fidelity int) error {
	type answer struct {
		o   space.Outcome
		err error
	}
	answers := make(chan answer, n)
	for range n {
		p, err := c.space.Sample(c.random)
		if err != nil {
			return err
		}
		id := c.asked
		c.asked++
		go func() {
			o, err := c.client.Ask(ctx, id, p, fidelity)
			answers <- answer{o, err}
		}()
	}
	var first error
	for range n {
		a := <-answers
		if a.err == nil && a.o.Status == space.OK {
			c.valid++
		}
		if first == nil && a.err != nil {
			first = a.err
			if gone := c.client.Err(); gone != nil {
				first = gone
			}
		}
	}
	return first
}
