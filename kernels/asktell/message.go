package asktell

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tune/internal/plain"
	"tune/results"
	"tune/space"
)

// Protocol is the version of the protocol. Within a version messages and fields may be added, which clients ignore.
const Protocol = 1

// The limits of what a client writes.
const (
	MostLine    = 1 << 20 // bytes of a line
	MostMetrics = 100     // of an outcome
	MostName    = 100     // bytes of the name of a metric
)

// Hello is the first line that a client reads.
type Hello struct {
	Protocol   int    `json:"protocol"`
	Tool       string `json:"tool"`       // the version of tune
	Space      string `json:"space"`      // its name
	Parallel   int    `json:"parallel"`   // how many questions may be open at once
	Fidelities int    `json:"fidelities"` // below the full one, 0
}

// End is the last line that a client reads.
type End struct {
	Why         string          `json:"why"`
	Evaluations int             `json:"evaluations"`
	Valid       int             `json:"valid"`
	Dir         string          `json:"dir,omitempty"`  // of the run
	Best        json.RawMessage `json:"best,omitempty"` // the point
	Cost        *float64        `json:"cost,omitempty"` // of the best point
}

// line writes a message as the client reads it: {"name":value} and the end of the line.
func line(name string, value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{name: value}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// askLine writes a question. Its form never changes, so that a client needs no reader of JSON.
func askLine(id int, p space.Point, fidelity int) ([]byte, error) {
	values, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b := append(strconv.AppendInt([]byte(`{"ask":{"id":`), int64(id), 10), `,"point":`...)
	b = append(append(b, values...), `,"fidelity":`...)
	return append(strconv.AppendInt(b, int64(fidelity), 10), "}}\n"...), nil
}

// cancelLine says that a question needs no answer any more.
func cancelLine(id int) []byte {
	return append(strconv.AppendInt([]byte(`{"cancel":{"id":`), int64(id), 10), "}}\n"...)
}

// reply is a line that a client writes.
type reply struct {
	Tell  *tell       `json:"tell"`
	Hello *replyHello `json:"hello"`
}

type replyHello struct {
	Protocol int `json:"protocol"`
}

type tell struct {
	ID      *int               `json:"id"`
	Cost    *float64           `json:"cost"`
	Status  string             `json:"status"`
	Reason  string             `json:"reason"`
	Metrics map[string]float64 `json:"metrics"`
	Seconds float64            `json:"seconds"`
}

// fieldsOf are the fields of each message of a client, for errors.
const fieldsOf = "a client writes tell, with id, cost, status, reason, metrics and seconds, or hello, with protocol"

// readReply reads a line of a client.
func readReply(text []byte) (reply, error) {
	var r reply
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, replyError(text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("there is more than one JSON value in the line")
	}
	if err := results.ExactNames(text, r); err != nil {
		return r, err
	}
	switch {
	case (r.Tell == nil) == (r.Hello == nil):
		return r, errors.New("the object has no message, or two: " + fieldsOf)
	case r.Hello != nil && r.Hello.Protocol != Protocol:
		return r, fmt.Errorf("the client speaks protocol %d, and this tune protocol %d", r.Hello.Protocol, Protocol)
	case r.Tell != nil:
		return r, r.Tell.validate()
	}
	return r, nil
}

// replyError says what is wrong with a line that cannot be read.
func replyError(text []byte, err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return fmt.Errorf("it is %s, and not a JSON object", kindOf(wrong.Value))
		}
		return fmt.Errorf("field %s%s is %s: want %s", wrong.Field, wrongMetric(text, wrong.Field), kindOf(wrong.Value), wants[wrong.Type.Kind().String()])
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s: %s", name, fieldsOf)
	}
	for _, word := range []string{"NaN", "nan", "Infinity", "inf"} {
		if bytes.Contains(text, []byte(word)) && !json.Valid(text) {
			return fmt.Errorf("it is no JSON, which has no %s: tell a status and a reason instead of such a cost, and leave out such a metric", word)
		}
	}
	return errors.New("it is no JSON object: what a client prints beside its answers belongs on standard error")
}

// wrongMetric names the metric that is no number, after a dot, where the field is that of the metrics: the first, by the order of names.
func wrongMetric(text []byte, field string) string {
	var r struct {
		Tell struct{ Metrics map[string]json.RawMessage }
	}
	if field != "tell.metrics" || json.Unmarshal(text, &r) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(r.Tell.Metrics)) {
		var number float64
		if json.Unmarshal(r.Tell.Metrics[name], &number) != nil {
			return "." + plain.Clip(plain.Line(name), MostName)
		}
	}
	return ""
}

// kindOf says what a JSON value is, which encoding/json describes by its kind or, if it is a number that does not fit, as "number 0.5".
func kindOf(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	names := map[string]string{"bool": "a truth value", "number": "a number", "string": "a text", "array": "a list", "object": "an object"}
	return cmp.Or(names[value], value)
}

// wants says what a field holds, by its kind in Go.
var wants = map[string]string{"int": "a whole number", "float64": "a number of at most 1.8e308", "string": "a text", "map": "an object of numbers", "struct": "an object"}

// validate reports an answer that makes no sense by itself.
func (t *tell) validate() error {
	switch {
	case t.ID == nil:
		return errors.New("tell has no id: repeat that of the question")
	case t.Seconds < 0:
		return fmt.Errorf("field seconds is %v: want 0 or more", t.Seconds)
	case len(t.Metrics) > MostMetrics:
		return fmt.Errorf("%d metrics are more than %d", len(t.Metrics), MostMetrics)
	case (t.Status == "" || t.Status == space.OK.String()) && t.Cost == nil:
		return errors.New("tell has neither a cost nor a status that says why there is none")
	case t.Status != "" && t.Status != space.OK.String() && t.Cost != nil:
		return fmt.Errorf("tell has a cost, and the status %q of a point without one", t.Status)
	}
	if c := t.Cost; c != nil && *c != 0 && math.IsInf(1 / *c, 0) {
		return fmt.Errorf("field cost is %v, which is too close to 0 for ratios of costs: tell 0, or costs in a smaller unit", *c)
	}
	for name := range t.Metrics {
		if name == "" || len(name) > MostName || !utf8.ValidString(name) {
			return fmt.Errorf("%q is no name of a metric: want 1 to %d bytes of UTF-8", plain.Clip(name, 40), MostName)
		}
	}
	_, err := t.status()
	return err
}

func (t *tell) status() (space.Status, error) {
	if t.Status == "" {
		return space.OK, nil
	}
	status, err := space.ParseStatus(t.Status)
	if err != nil || status == space.StatusUnset {
		return status, fmt.Errorf("unknown status %q: want %s", plain.Clip(t.Status, 40), statuses())
	}
	return status, nil
}

// statuses lists the statuses that a client may tell.
func statuses() string {
	var names []string
	for _, s := range space.Statuses() {
		names = append(names, s.String())
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// outcome is what an answer says, which is valid.
func (t *tell) outcome(fidelity int) space.Outcome {
	status, _ := t.status()
	o := space.Outcome{Status: status, Fidelity: fidelity, Seconds: t.Seconds, Reason: plain.Line(t.Reason)}
	if status == space.OK {
		o.Cost, o.Reason = *t.Cost, ""
	} else if o.Reason == "" {
		o.Reason = "the client gave no reason"
	}
	for _, name := range slices.Sorted(maps.Keys(t.Metrics)) {
		o.Metrics = append(o.Metrics, space.Metric{Name: name, Value: t.Metrics[name]})
	}
	return o
}
