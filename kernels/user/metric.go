package user

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tune/internal/pattern"
	"tune/internal/plain"
	"tune/space"
)

// metric is the number by which a command is tuned.
type metric struct {
	from     string
	pattern  *regexp.Regexp
	json     []step // nil where there is no path
	file     string
	unit     string // "" where not stated
	maximise bool
	repeats  int
	exact    bool
	within   float64 // how far apart the numbers of one point are at most, as a share; 0 where not stated
}

// metrics returns the metric of a command and those that are reported beside it.
func (c *command) metrics() []metric {
	out := []metric{c.metric}
	for _, m := range c.others {
		out = append(out, m.metric)
	}
	return out
}

// ownMetrics are the names of the metrics that tune reports of a command.
var ownMetrics = []string{space.MetricRuns, space.MetricSpread, space.MetricValue, MetricOutliers, MetricSlowFirst, space.MetricWithin}

// printed reports whether the number is in what the command prints.
func (m metric) printed() bool { return m.from == fromOutput || m.from == fromStderr }

// Where a metric comes from.
const (
	fromOutput = "output"
	fromStderr = "stderr"
	fromTime   = "time"
	fromCPU    = "cpu"
	fromSize   = "size"
)

// costUnit returns the unit of the cost.
func (m metric) costUnit() string {
	unit := m.unit
	switch m.from {
	case fromTime, fromCPU:
		unit = "ns"
	case fromSize:
		unit = "bytes"
	}
	if unit == "" {
		unit = "units"
	}
	if m.maximise {
		return string(space.InverseOf(unit))
	}
	return unit
}

// cost turns a number into a cost, of which less is better. A number to maximise is inverted, which keeps ratios: twice the rate
// costs half.
func (m metric) cost(v float64) (float64, error) {
	switch {
	case !space.Finite(v):
		return 0, fmt.Errorf("the metric is %v, which is not a number", v)
	case !m.maximise && !m.exact && v <= 0:
		return 0, fmt.Errorf("the metric is %v: one that is not exact has to be above 0, because candidates are compared by the ratio of their costs", v)
	case v != 0 && math.IsInf(1/v, 0):
		return 0, fmt.Errorf("the metric is %v, which is too close to 0 for ratios of costs", v)
	case !m.maximise:
		return v, nil
	case v <= 0:
		return 0, fmt.Errorf("the metric is %v: one to maximise has to be above 0", v)
	}
	return 1 / v, nil
}

// read finds the number in what a command has printed, and what follows it where a pattern says where it stands.
func (m metric) read(output string) (v float64, follows unit, err error) {
	switch {
	case m.pattern != nil:
		return m.match(output)
	case m.json != nil:
		v, err = m.walk(output)
	default:
		v, err = m.last(output)
	}
	return v, unit{}, err
}

// last reads the number in the last line.
func (m metric) last(output string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return 0, errors.New("the command printed no number: it printed nothing: print the metric in the last line, or take the time by command.metric.from: time")
	}
	v, err := parseNumber(last, "the last line")
	if err != nil {
		return 0, fmt.Errorf("%w: print the metric there, or say where it stands by command.metric.pattern or json", err)
	}
	return v, nil
}

func parseNumber(text, what string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is %s, which is not a number", what, excerpt(text))
	}
	return v, nil
}

// where says where a number is looked for, if not in standard output.
func (m metric) where() string {
	if m.from == fromStderr {
		return " on standard error"
	}
	return ""
}

// lastPrinted shows the end of what a command printed.
func lastPrinted(output string) string {
	return cmp.Or(tail(output), "it printed nothing")
}

// excerpt shortens a text for a message.
func excerpt(text string) string {
	const most = 80
	return strconv.Quote(plain.Clip(text, most))
}

// matches returns where the pattern matches a text, and that text. As in other languages, $ also stands before the end of the last line.
func (m metric) matches(output string) (text string, all [][]int) {
	if all = m.pattern.FindAllStringSubmatchIndex(output, -1); len(all) > 0 {
		return output, all
	}
	text = strings.TrimRight(output, "\r\n")
	return text, m.pattern.FindAllStringSubmatchIndex(text, -1)
}

// lineWise says what helps where the pattern would match a line of a text alone; otherwise it is "".
func (m metric) lineWise(output string) string {
	lines, err := regexp.Compile("(?m:" + m.pattern.String() + ")")
	if err != nil || !lines.MatchString(output) {
		return ""
	}
	return ": in it, ^ and $ stand for the beginning and the end of all that is printed; begin it with (?m), and they stand for those of a line"
}

func (m metric) match(output string) (v float64, follows unit, err error) {
	output, all := m.matches(output)
	if len(all) == 0 {
		return 0, unit{}, fmt.Errorf("the pattern %s matches nothing in what the command printed%s: %s%s", m.pattern, m.where(), lastPrinted(output), m.lineWise(output))
	}
	last := all[len(all)-1]
	match := [2]int(last)
	number := match
	if len(last) > 2 {
		number = [2]int(last[2:])
	}
	if number[0] < 0 {
		number = [2]int{match[0], match[0]} // the group has no part in the match
	}
	found := output[number[0]:number[1]]
	if v, err = parseNumber(strings.TrimSpace(found), "what the pattern matches"); err != nil {
		if len(last) == 2 {
			err = fmt.Errorf("%w: put parentheses around the number in the field pattern, as in ([0-9.]+)", err)
		}
		return 0, unit{}, err
	}
	if whole := partOf(output, match, number); whole != "" {
		return 0, unit{}, fmt.Errorf("the pattern %s takes %s out of %s: let it match the number as a whole, as ([0-9.e-]+) does, and have it printed without separators",
			m.pattern, strings.TrimSpace(found), excerpt(whole))
	}
	if larger := largerPart(output, match, number); larger != "" {
		return 0, unit{}, fmt.Errorf("the pattern %s takes %s out of a time that begins with %s: have the command print it in one unit", m.pattern, strings.TrimSpace(found), excerpt(larger))
	}
	return v, unitAfter(output[number[1]:]), nil
}

// step is one step of a path into JSON: a key, or where key is "" an index.
type step struct {
	key   string
	index int
}

var stepPattern = pattern.Lazy(`^(?:\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d{1,9})\]|\["([^"\]]+)"\])`)

// parseJSONPath reads a path such as benchmarks[0].real_time, a["other key"] or $.a.
func parseJSONPath(text string) ([]step, error) {
	rest := strings.TrimPrefix(text, "$")
	var steps []step
	for rest != "" {
		m := stepPattern().FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%q is not a path at %q: want one such as benchmarks[0].real_time", text, rest)
		}
		switch {
		case m[2] != "":
			n, _ := strconv.Atoi(m[2])
			steps = append(steps, step{index: n})
		default:
			steps = append(steps, step{key: m[1] + m[3]})
		}
		rest = rest[len(m[0]):]
	}
	if len(steps) == 0 {
		steps = []step{} // $ alone: the document is the number
	}
	return steps, nil
}

// walk reads JSON: all of the output or, where that is not JSON, its last line.
func (m metric) walk(output string) (float64, error) {
	doc, err := decodeJSON(output)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(output), "\n")
		var lerr error
		if doc, lerr = decodeJSON(lines[len(lines)-1]); lerr != nil {
			return 0, fmt.Errorf("what the command printed%s is not JSON: %w", m.where(), err)
		}
	}
	path := "$"
	for _, s := range m.json {
		if s.key != "" {
			path += "." + s.key
			object, _ := doc.(map[string]any)
			var ok bool
			if doc, ok = object[s.key]; !ok {
				return 0, fmt.Errorf("the JSON has no %s", path)
			}
			continue
		}
		path += fmt.Sprintf("[%d]", s.index)
		list, ok := doc.([]any)
		if !ok || s.index >= len(list) {
			return 0, fmt.Errorf("the JSON has no %s", path)
		}
		doc = list[s.index]
	}
	switch v := doc.(type) {
	case json.Number:
		return parseNumber(v.String(), path)
	case string:
		return parseNumber(strings.TrimSpace(v), path)
	}
	return 0, fmt.Errorf("%s is not a number", path)
}

func decodeJSON(data string) (any, error) {
	d := json.NewDecoder(strings.NewReader(data))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it printed nothing")
		}
		return nil, fmt.Errorf("%s: %s", plain.NotJSON([]byte(data), err), tail(data))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows it: %s", tail(data))
	}
	return doc, nil
}
