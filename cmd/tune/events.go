package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tune/internal/plain"
	"tune/space"
)

// event is one line of --progress json. What does not apply is left out. The guide documents the fields, and programs rely on
// them: a field may be added, and none may change its meaning.
type event struct {
	Event string  `json:"event"` // start, best, progress, note or end
	Time  float64 `json:"time"`  // seconds since the command began
	// Phase says of a progress what goes on: one of the phases below.
	Phase string `json:"phase,omitempty"`

	// Of a start.
	Dir      string       `json:"dir,omitempty"`
	Kernel   string       `json:"kernel,omitempty"`
	Shape    string       `json:"shape,omitempty"`
	Strategy string       `json:"strategy,omitempty"`
	Seed     *uint64      `json:"seed,omitempty"`
	Unit     string       `json:"unit,omitempty"`     // of costs
	Baseline *float64     `json:"baseline,omitempty"` // its cost
	Budget   *eventBudget `json:"budget,omitempty"`

	// Of a search, those of earlier sittings included.
	Evaluations *int     `json:"evaluations,omitempty"`
	Valid       *int     `json:"valid,omitempty"`
	Best        *float64 `json:"best,omitempty"` // the least cost so far

	Finalists int `json:"finalists,omitempty"` // that are measured
	Pair      int `json:"pair,omitempty"`      // of measurements that begins
	Check     int `json:"check,omitempty"`     // that begins
	Done      int `json:"done,omitempty"`      // bytes, rows, or other parts of the work
	Of        int `json:"of,omitempty"`        // how many pairs at most, or how many checks, bytes, rows or other parts
	// Left is about how many seconds the phase will take.
	Left *float64 `json:"left,omitempty"`

	Text string `json:"text,omitempty"`
	Code *int   `json:"code,omitempty"` // the exit code, of an end
}

type eventBudget struct {
	Seconds     float64  `json:"seconds,omitempty"`
	Evaluations int      `json:"evaluations,omitempty"`
	Target      *float64 `json:"target,omitempty"`
}

// The events, and the phases of those that tell a progress.
const (
	eventStart    = "start"
	eventBest     = "best"
	eventProgress = "progress"
	eventNote     = "note"
	eventEnd      = "end"

	phaseBaseline         = "baseline"
	phaseSearch           = "search"
	phaseWait             = "wait"
	phaseCheckFinalists   = "check-finalists"
	phaseMeasureFinalists = "measure-finalists"
	phaseCheckWinner      = "check-winner"
	phaseConfirmWinner    = "confirm-winner"
	phaseTurns            = "turns"
	phaseReadSpaces       = "read-spaces"
)

// eventPeriod is how often an event is written of what goes on and on.
const eventPeriod = time.Second

// events writes them. Goroutines may share it.
type events struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
	now   func() time.Time
}

// emit writes one event, with its time.
func (e *events) emit(v event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v.Time = millis(e.now().Sub(e.began))
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) == nil { // its numbers are finite
		_, _ = e.w.Write(plain.JSONInASCII(text.Bytes())) // there is nowhere else to say that it failed
	}
}

// millis returns seconds with three decimals.
func millis(d time.Duration) float64 { return math.Round(1e3*d.Seconds()) / 1e3 }

// seconds returns the field of an estimate.
func seconds(d time.Duration) *float64 {
	s := millis(d)
	return &s
}

// noteWriter makes an event of every line of text.
type noteWriter struct {
	events *events
	rest   []byte // of a line that is not whole yet
}

// Write implements io.Writer.
func (n *noteWriter) Write(p []byte) (int, error) {
	n.rest = append(n.rest, p...)
	for {
		line, rest, whole := bytes.Cut(n.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		n.events.emit(event{Event: eventNote, Text: plain.Line(string(line))})
		n.rest = rest
	}
}

// progressForms are the values of --progress.
var progressForms = []string{"auto", "plain", "json"}

// progressFlag is that flag. It has its effect where it is read, so that what is wrong with later flags is an event too.
type progressFlag struct {
	a    *app
	form string
}

func (f *progressFlag) String() string { return f.form }
func (f *progressFlag) Type() string   { return "form" }

// Set implements pflag.Value.
func (f *progressFlag) Set(form string) error {
	a := f.a
	if !slices.Contains(progressForms, form) {
		return fmt.Errorf("unknown form %q: want %s%s", form, strings.Join(progressForms, ", "), space.DidYouMean(form, progressForms))
	}
	if f.form = form; form != "auto" {
		a.width = nil // no line is live
	}
	a.plain = form == "plain"
	if form == "json" && a.events == nil {
		a.events = &events{w: a.live, began: a.began, now: time.Now}
		a.stderr, a.interactive = &noteWriter{events: a.events}, false
	}
	return nil
}

// outputFlags defines how a command shows its progress and its result.
func (a *app) outputFlags(c *cobra.Command) (asJSON, quiet *bool) {
	return c.Flags().Bool("json", false, "print the result as JSON"), a.progressFlags(c)
}

// progressFlags defines how a command shows its progress.
func (a *app) progressFlags(c *cobra.Command) (quiet *bool) {
	quiet = &a.quiet // one command alone reads its flags
	c.Flags().BoolVarP(quiet, "quiet", "q", false, "show no progress")
	c.Flags().Var(&progressFlag{a, "auto"}, "progress",
		"`form` of the progress on standard error: auto (one line that changes, if that is a terminal), plain (lines of text) or json (one JSON object a line; see the guide)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *quiet && a.events != nil {
			return usage(fmt.Errorf("--quiet and --progress json cannot be combined: leave one of them out"))
		}
		return nil
	}
	return quiet
}
