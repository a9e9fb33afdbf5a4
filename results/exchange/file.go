package exchange

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tune/internal/files"
	"tune/space"
)

// Format is the form of a file.
type Format string

// The formats.
const (
	Recorded    Format = "recorded"
	KernelTuner Format = "kerneltuner"
	T4          Format = "t4"
)

// Formats lists the formats.
func Formats() []Format { return []Format{Recorded, KernelTuner, T4} }

// File is a measured search space in any of the formats.
type File struct {
	Path   string // where it was read; "" for one made in memory
	SHA256 string // of the content of the file as it is on disk, in hexadecimal
	Format Format // that it was read in

	Space     string // what it is called
	Device    string // that it was measured on; "" where that is not known
	Kernel    string // the name of the function, "" where that is not known
	Objective string // what was measured; smaller is better
	Unit      string // of the objective, such as "ms"

	Parameters []space.Parameter // in order; their values are the domains
	Rows       []Row

	text   string // that was read, for the places of errors
	root   *node  // the whole of a recorded file
	origin *node  // the whole of a file, without its rows
	// originFormat is the format of origin and of each row's own origin: the format of the file or, where a recorded file keeps
	// the entries of another format, that one.
	originFormat Format

	observe Observer
}

// Row is one configuration and its result.
type Row struct {
	Ordinals []int // of its values, one a parameter
	// Outcome has the mean of the objective as its cost, or the reason why there is none. Its seconds are the time to compile and
	// measure the configuration, 0 where the file does not give it.
	Outcome space.Outcome
	// Repeats are the single measurements, in order, in the file's unit; nil where the file has none.
	Repeats []float64
	// Stats are the minimum, the median, the maximum and the standard deviation of the repeats, for files that keep only these;
	// otherwise nil.
	Stats *[4]float64
	// CompileSeconds is the part of the seconds spent on compiling; 0 where the file does not give it.
	CompileSeconds float64
	// Timestamp is when it was measured, as written in the file; "" where it is not given.
	Timestamp string

	off    int    // where it stands in the text
	cost   string // the cost as it was written, "" where there is none
	origin *node  // the entry of a Kernel Tuner or T4 file
	key    string // of that entry in a cache, with its quotes
}

// Step is what an observer is told of.
type Step string

// Reading counts the bytes of a text, the others rows.
const (
	Reading  Step = "read"
	Checking Step = "check-rows"
	Writing  Step = "write-rows"
)

// Observer is told how much of a step is done, and of how much. nil is told nothing.
type Observer func(step Step, done, total int)

func (o Observer) tell(step Step, done, total int) {
	if o != nil {
		o(step, done, total)
	}
}

// tellEvery is after how many values of a text an observer is told again.
const tellEvery = 1 << 12

// Error describes an error in a file.
type Error struct {
	File   string
	Line   int // from 1; 0 where the error has no place
	Column int // from 1, in characters
	Field  string
	Text   string
}

// Error names the place, the field and the fault.
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Text
}

// fieldFault is an error in a field.
type fieldFault struct {
	fault
	field string
}

// wrong makes an error about a field that holds n.
func wrong(n *node, field, format string, args ...any) error {
	return &fieldFault{fault{n.off, fmt.Sprintf(format, args...)}, field}
}

// Limits for the content of a file. A compressed file may expand by this factor, or to an ordinary size: measurements compress to
// a tenth, a decompression bomb to a thousandth.
const (
	largest      = files.Data
	mostExpanded = 50
	ordinary     = 32 << 20
)

// Open reads the file at a path. See Read.
func Open(path string, observe Observer) (*File, error) {
	data, err := files.Read(path, files.Data)
	if err != nil {
		return nil, err
	}
	return ReadObserved(path, data, observe)
}

// Read reads the content of a file, compressed or not. The path is for errors, and names a space that has no name. Errors in the
// content are an *Error.
func Read(path string, data []byte) (*File, error) { return ReadObserved(path, data, nil) }

// ReadObserved is Read, with an observer of reading the file and, later, of writing it.
func ReadObserved(path string, data []byte, observe Observer) (*File, error) {
	sum := sha256.Sum256(data)
	f := &File{Path: path, SHA256: hex.EncodeToString(sum[:]), observe: observe}
	text, err := Expand(data)
	if err != nil {
		return nil, &Error{File: path, Text: err.Error()}
	}
	f.text = text
	if err := f.read(); err != nil {
		return nil, f.locate(err)
	}
	return f, nil
}

// IsSpace reports whether the content of a file, compressed or not, is in the T1 format, which describes a space without
// measurements. Package t1 reads it.
func IsSpace(data []byte) bool {
	text, err := Expand(data)
	if err != nil || !strings.Contains(text, "ConfigurationSpace") { // to parse it takes time
		return false
	}
	root, err := parse(text)
	return err == nil && root.get("ConfigurationSpace") != nil && root.get("results") == nil
}

// Expand decompresses compressed content, and returns anything else unchanged.
func Expand(data []byte) (string, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if len(data) > largest {
			return "", fmt.Errorf("it has more than %s, the most that is read of such a file", files.Size(largest))
		}
		return string(data), nil
	}
	limit := min(max(mostExpanded*int64(len(data)), ordinary), largest)
	expand := func(to io.Writer) (n int64, err error) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return 0, err
		}
		return io.Copy(to, io.LimitReader(z, limit+1))
	}
	// The size is checked before any of it is kept.
	n, err := expand(io.Discard)
	switch {
	case err != nil:
		return "", fmt.Errorf("it cannot be decompressed: %w", err)
	case n > limit && limit < largest:
		return "", fmt.Errorf("it has more than %d bytes when it is decompressed, %d times as many as before, which no measurements have: "+
			"if they do, decompress it yourself", limit, limit/int64(len(data)))
	case n > limit:
		return "", fmt.Errorf("it has more than %s when it is decompressed, the most that is read of such a file", files.Size(limit))
	}
	var b strings.Builder
	b.Grow(int(n))
	if _, err := expand(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// locate makes an *Error from a fault, with its line and column.
func (f *File) locate(err error) error {
	e := &Error{File: f.Path, Text: err.Error()}
	off := -1
	if at, ok := errors.AsType[*fieldFault](err); ok {
		off, e.Field = at.off, at.field
	} else if at, ok := errors.AsType[*fault](err); ok {
		off = at.off
	} else if errors.Is(err, errEnds) {
		off = len(f.text)
	}
	if off >= 0 {
		before := f.text[:min(off, len(f.text))]
		e.Line = strings.Count(before, "\n") + 1
		e.Column = len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	}
	return e
}

func (f *File) read() error {
	root, err := (&parser{text: f.text, observe: f.observe}).whole()
	if errors.Is(err, errEnds) {
		if n, oerr := parseOpen(f.text); oerr == nil && n.get("cache") != nil && n.get("rows") == nil {
			root, err = n, nil
		}
	}
	if err != nil {
		return err
	}
	if root.kind != kindObject {
		return wrong(&root, "", "want a JSON object, not %s", kindNames[root.kind])
	}
	base := filepath.Base(f.Path)
	for _, suffix := range []string{".gz", ".json", ".cache", ".T4"} {
		base = strings.TrimSuffix(base, suffix)
	}
	f.Space = cmp.Or(base, "recorded")
	switch {
	case root.get("rows") != nil:
		err = f.readRecorded(&root)
	case root.get("cache") != nil:
		err = f.readCache(&root)
	case root.get("results") != nil:
		err = f.readT4(&root)
	case root.get("ConfigurationSpace") != nil:
		return wrong(&root, "ConfigurationSpace", "this is a T1 file, which describes a space and holds no measurements")
	default:
		return wrong(&root, "", "want the key rows (a recorded space), cache (Kernel Tuner) or results (T4)")
	}
	if err != nil {
		return err
	}
	if len(f.Rows) == 0 {
		return errors.New("it holds no configuration")
	}
	_, err = f.makeSpace()
	return err
}

// MakeSpace returns the space whose points are the rows.
func (f *File) MakeSpace() (*space.Space, error) {
	s, err := f.makeSpace()
	if err != nil {
		return nil, f.locate(err)
	}
	return s, nil
}

func (f *File) makeSpace() (*space.Space, error) {
	rows := make([][]int, len(f.Rows))
	for i := range f.Rows {
		rows[i] = f.Rows[i].Ordinals
	}
	s, err := space.FromRows(f.Space, f.Parameters, rows)
	if bad, ok := errors.AsType[*space.RowError](err); ok {
		return nil, &fault{f.Rows[bad.Row].off, bad.Error()}
	}
	return s, err
}

// Slim drops what is needed only to write the file again: its text and unknown keys.
func (f *File) Slim() {
	f.text, f.root, f.origin = "", nil, nil
	for i := range f.Rows {
		f.Rows[i].cost, f.Rows[i].key, f.Rows[i].origin = "", "", nil
	}
}

// values returns the values of a row, one a parameter.
func (f *File) values(r *Row) []space.Value {
	values := make([]space.Value, len(r.Ordinals))
	for i, o := range r.Ordinals {
		values[i] = f.Parameters[i].At(o)
	}
	return values
}

// SecondsPerUnit returns the unit of the objective in seconds; ok is false where that is no unit of time.
func (f *File) SecondsPerUnit() (seconds float64, ok bool) { return secondsIn(f.Unit) }

// Best returns the row with the least cost, the first of equal ones; nil where no configuration is valid.
func (f *File) Best() *Row {
	var best *Row
	for i := range f.Rows {
		if r := &f.Rows[i]; r.Outcome.Status == space.OK && (best == nil || space.Objective{}.Less(r.Outcome, best.Outcome)) {
			best = r
		}
	}
	return best
}

// member returns a member that an object must have, of the given kind.
func member(n *node, path, name string, want kind) (*node, error) {
	m := n.get(name)
	if m == nil {
		return nil, wrong(n, join(path, name), "it is missing")
	}
	if m.kind != want {
		return nil, wrong(m, join(path, name), "want %s, not %s", kindNames[want], kindNames[m.kind])
	}
	return m, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// text returns a member that is a string; "" where it is not there.
func text(n *node, path, name string) (string, error) {
	m := n.get(name)
	if m == nil || m.kind == kindNull {
		return "", nil
	}
	if m.kind != kindString {
		return "", wrong(m, join(path, name), "want a string, not %s", kindNames[m.kind])
	}
	return m.str(), nil
}

// mostSeconds is more than any time that was measured: ten years.
const mostSeconds = 10 * 365 * 24 * 3600

// checkTime reports a time that cannot be a measurement. unit is its unit, in seconds.
func checkTime(n *node, path string, v, unit float64) error {
	switch {
	case !(v >= 0):
		return wrong(n, path, "%s: want a time of 0 or more", n.raw)
	case v*unit > mostSeconds:
		return wrong(n, path, "%s: no time is longer than ten years: mend the value, or its unit", n.raw)
	}
	return nil
}

// timesIn returns a list of times in a unit, in seconds.
func timesIn(n *node, path string, unit float64) ([]float64, error) {
	out, err := numbers(n, path)
	if err != nil {
		return nil, err
	}
	for i, v := range out {
		if err := checkTime(&n.items[i], fmt.Sprintf("%s[%d]", path, i), v, unit); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// amount returns a member that is a time in a unit, in seconds; 0 where it is not there.
func amount(n *node, path, name string, unit float64) (float64, error) {
	m := n.get(name)
	if m == nil || m.kind == kindNull {
		return 0, nil
	}
	if m.kind != kindNumber {
		return 0, wrong(m, join(path, name), "want a number, not %s", kindNames[m.kind])
	}
	v := m.float()
	return v, checkTime(m, join(path, name), v, unit)
}

// numbers returns a list of finite numbers.
func numbers(n *node, path string) ([]float64, error) {
	out := make([]float64, len(n.items))
	for i := range n.items {
		item := &n.items[i]
		if item.kind != kindNumber {
			return nil, wrong(item, fmt.Sprintf("%s[%d]", path, i), "want a number, not %s", kindNames[item.kind])
		}
		if out[i] = item.float(); !space.Finite(out[i]) {
			return nil, wrong(item, fmt.Sprintf("%s[%d]", path, i), "%s is not finite", item.raw)
		}
	}
	return out, nil
}

// valueOf returns the value of a parameter.
func valueOf(n *node, path string) (space.Value, error) {
	switch n.kind {
	case kindBool:
		return space.BoolValue(n.raw == "true"), nil
	case kindString:
		return space.StringValue(n.str()), nil
	case kindNumber:
		if v, err := space.ValueOf(json.Number(n.raw)); err == nil {
			return v, nil
		}
		return space.Value{}, wrong(n, path, "%s is not finite", n.raw)
	}
	return space.Value{}, wrong(n, path, "want a number, a string, true or false, not %s", kindNames[n.kind])
}

// valueNode is the inverse of valueOf.
func valueNode(v space.Value) node {
	switch x := v.Any().(type) {
	case bool:
		return node{kind: kindBool, raw: fmt.Sprint(x)}
	case string:
		return textNode(x)
	}
	return node{kind: kindNumber, raw: v.String()}
}

// parameter makes a parameter from its values, or reports what is wrong with them.
func parameter(name string, values []space.Value, at *node, path string) (space.Parameter, error) {
	p := space.Values(name, values...)
	// Making a space with this parameter alone validates it.
	s, err := space.New("check", []space.Parameter{p})
	if err != nil {
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
			err = inner
		}
		return p, wrong(at, path, "parameter %q: %v", name, err)
	}
	return s.Parameters()[0], nil
}

// failed returns the status for the reason of a failure.
func failed(reason string) space.Status {
	r := strings.ToLower(reason)
	for _, s := range space.Statuses() {
		if r == s.String() || strings.HasPrefix(r, s.String()+": ") {
			return s
		}
	}
	for _, w := range []struct {
		word   string
		status space.Status
	}{
		{"timeout", space.Timeout}, {"timed out", space.Timeout},
		{"compil", space.CompileFailed},
		{"correct", space.WrongAnswer}, {"verif", space.WrongAnswer}, {"wrong", space.WrongAnswer},
		{"invalid", space.Invalid}, {"constraint", space.Invalid}, {"restrict", space.Invalid},
	} {
		if strings.Contains(r, w.word) {
			return w.status
		}
	}
	return space.Crashed
}

// oldFailure is the time that early versions of Kernel Tuner recorded for a configuration that failed.
const oldFailure = 1e20

// readCost reads the value of the objective: a finite number, or text that says why there is none. A time must not be negative or
// absurdly large: a search would take such a time for the best, or never end.
func (f *File) readCost(r *Row, n *node, path string) error {
	switch n.kind {
	case kindNumber:
		v := n.float()
		if !space.Finite(v) {
			return wrong(n, path, "%s is not a measurement: want a number, or where it failed null or the name of the error", n.raw)
		}
		if unit, ok := secondsIn(f.Unit); ok && v == oldFailure {
			r.fail(space.Invalid, n.raw)
			return nil
		} else if ok {
			if err := checkTime(n, path, v, unit); err != nil {
				return err
			}
		}
		r.Outcome.Status, r.Outcome.Cost, r.cost = space.OK, v, n.raw
	case kindString:
		switch v, err := strconv.ParseFloat(strings.TrimSpace(n.str()), 64); {
		case err == nil && space.Finite(v):
			return wrong(n, path, "%s is a number in quotes, which only the name of an error has: write %s", n.raw, strings.TrimSpace(n.str()))
		case err == nil || errors.Is(err, strconv.ErrRange):
			return wrong(n, path, "%s is not a measurement: want a number, or where it failed null or the name of the error", n.raw)
		}
		r.fail(failed(n.str()), n.str())
	case kindNull:
		r.fail(space.Crashed, "no value was measured")
	default:
		return wrong(n, path, "want a number, or the name of an error, not %s", kindNames[n.kind])
	}
	return nil
}

func (r *Row) fail(status space.Status, reason string) {
	seconds := r.Outcome.Seconds
	r.Outcome = space.Fail(status, "%s", reason)
	r.Outcome.Seconds = seconds
}

// largerIsBetter lists objectives of Kernel Tuner that are not costs.
var largerIsBetter = []string{"GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "GFLOPS/W", "TFLOPS/W", "GFLOP/J", "TFLOP/J"}

func checkObjective(name string, at *node, path string) error {
	if slices.Contains(largerIsBetter, name) {
		return wrong(at, path, "of %s more is better: want an objective of which less is, such as time", name)
	}
	return nil
}

// unitOf returns the unit of an objective for which a file gives none.
func unitOf(objective string) string {
	if objective == "time" || objective == "" {
		return "ms" // Kernel Tuner's unit
	}
	return objective
}

// secondsIn returns a unit of time in seconds; ok is false for any other unit.
func secondsIn(unit string) (seconds float64, ok bool) {
	switch strings.ToLower(unit) {
	case "s", "second", "seconds":
		return 1, true
	case "ms", "millisecond", "milliseconds", "milisecond", "miliseconds": // files use either spelling
		return 1e-3, true
	case "us", "µs", "microsecond", "microseconds":
		return 1e-6, true
	case "ns", "nanosecond", "nanoseconds":
		return 1e-9, true
	}
	return 0, false
}

// Spread returns the minimum, the median, the maximum and the standard deviation of the repeats; nil where the file has none.
func (r *Row) Spread() *[4]float64 {
	if r.Stats != nil || len(r.Repeats) == 0 {
		return r.Stats
	}
	sorted := slices.Sorted(slices.Values(r.Repeats))
	n := len(sorted)
	mean, square := 0.0, 0.0
	for _, v := range sorted {
		mean += v / float64(n)
	}
	for _, v := range sorted {
		square += (v - mean) * (v - mean) / float64(n)
	}
	return &[4]float64{sorted[0], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-1], math.Sqrt(square)}
}
