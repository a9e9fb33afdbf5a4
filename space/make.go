package space

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tune/internal/pattern"
)

// ConstraintError says that values break a constraint.
type ConstraintError struct {
	// Constraint is the text of the constraint.
	Constraint string
	// Values are the values of the parameters that it reads, as in a key.
	Values string
}

// Error names the constraint and the values.
func (e *ConstraintError) Error() string {
	return fmt.Sprintf("constraint %s is broken by %s", e.Constraint, e.Values)
}

// absent marks a parameter without a given value.
const absent = math.MinInt

// assemble makes a point of the given ordinals. A missing active parameter takes its default, or is an error if strict is set; an
// inactive one that is given is an error.
func (s *Space) assemble(given []int, strict bool) (Point, error) {
	ords := make([]int, len(s.params))
	for i := range s.params {
		switch active := s.active(i, ords); {
		case active && given[i] != absent:
			ords[i] = given[i]
		case active && strict:
			return Point{}, fmt.Errorf("parameter %q is missing", s.params[i].Name)
		case active:
			ords[i] = s.defaults[i]
		case given[i] != absent:
			return Point{}, fmt.Errorf("parameter %q is inactive here: its condition %s is not true: leave it out", s.params[i].Name, s.params[i].When)
		default:
			ords[i] = -1
		}
	}
	if broken := s.broken(ords, 1); len(broken) > 0 {
		return Point{}, broken[0]
	}
	return Point{s, ords}, nil
}

// broken returns the first few constraints that the ordinals break.
func (s *Space) broken(ords []int, limit int) []error {
	var broken []error
	for _, e := range s.constraints {
		if t := e.eval(ords); t == isTrue || t == isUnknown {
			continue
		}
		values := make([]int, len(ords))
		for i := range values {
			values[i] = -1
		}
		for _, i := range e.reads {
			values[i] = ords[i]
		}
		broken = append(broken, &ConstraintError{Constraint: e.src, Values: string(s.appendKey(nil, values))})
		if len(broken) == limit {
			break
		}
	}
	if s.unlisted(ords) {
		broken = append(broken, &ConstraintError{Constraint: "of the listed rows", Values: string(s.appendKey(nil, ords))})
	}
	return broken
}

// fit applies the conditions to ordinals given by a caller: inactive parameters become -1. The error names an active parameter
// whose ordinal is outside its domain.
func (s *Space) fit(ords []int) ([]int, error) {
	if len(ords) != len(s.params) {
		return nil, fmt.Errorf("space %q: %d ordinals for %d parameters", s.name, len(ords), len(s.params))
	}
	out := slices.Clone(ords)
	for i := range out {
		switch {
		case !s.active(i, out):
			out[i] = -1
		case out[i] < 0 || out[i] >= s.sizes[i]:
			return nil, fmt.Errorf("parameter %q is active and has no value with ordinal %d, only 0 to %d", s.params[i].Name, out[i], s.sizes[i]-1)
		}
	}
	return out, nil
}

// FromOrdinals returns the point with the given ordinals, one for each parameter; those of inactive parameters are ignored. The
// error names the parameter whose ordinal is outside its domain, or is a *ConstraintError.
func (s *Space) FromOrdinals(ords []int) (Point, error) {
	out, err := s.fit(ords)
	if err != nil {
		return Point{}, err
	}
	if broken := s.broken(out, 1); len(broken) > 0 {
		return Point{}, broken[0]
	}
	return Point{s, out}, nil
}

// Explain returns every reason why the ordinals are not a point, joined in one error: each broken constraint is a
// *ConstraintError. It returns nil for a point.
func (s *Space) Explain(ords []int) error {
	out, err := s.fit(ords)
	if err != nil {
		return err
	}
	return errors.Join(s.broken(out, math.MaxInt)...)
}

// Complete makes a point of ordinals that may have values for the wrong parameters: an inactive parameter loses its value, and an
// active one without a value (a negative ordinal) takes its default. It returns false where a constraint is broken, or an ordinal
// is past the end of its domain.
func (s *Space) Complete(ords []int) (Point, bool) {
	out, ok := s.complete(ords)
	if !ok {
		return Point{}, false
	}
	return Point{s, out}, true
}

func (s *Space) complete(ords []int) ([]int, bool) {
	if !s.within(ords) {
		return nil, false
	}
	t := settler{s: s, want: ords, ords: make([]int, len(ords))}
	return t.ords, t.from(0)
}

// within reports whether there is an ordinal for each parameter, and none is past the end of its domain.
func (s *Space) within(ords []int) bool {
	if len(ords) != len(s.sizes) {
		return false
	}
	for i, o := range ords {
		if o >= s.sizes[i] {
			return false
		}
	}
	return true
}

// settler finds values for the parameters that want leaves open.
type settler struct {
	s    *Space
	want []int // the ordinals to keep; negative ones are open
	// ords is what was determined. It may be the memory of want where tries is 0: then no ordinal of want is needed again.
	ords []int
	// tries is how many values other than defaults may be tried.
	tries int
}

// from determines the parameters i and later. It returns false where a constraint remains broken.
func (t *settler) from(i int) bool {
	for ; i < len(t.ords); i++ {
		switch {
		case !t.s.active(i, t.ords):
			t.ords[i] = -1
		case t.want[i] >= 0:
			t.ords[i] = t.want[i]
		default:
			return t.choose(i)
		}
		if !t.passes(i) {
			return false
		}
	}
	return !t.s.unlisted(t.ords)
}

// choose determines an open parameter: it tries its default first, then its values in order.
func (t *settler) choose(i int) bool {
	t.ords[i] = t.s.defaults[i]
	if t.passes(i) && t.from(i+1) {
		return true
	}
	for o := 0; o < t.s.sizes[i] && t.tries > 0; o++ {
		if o == t.s.defaults[i] {
			continue
		}
		t.tries--
		t.ords[i] = o
		if t.passes(i) && t.from(i+1) {
			return true
		}
	}
	return false
}

func (t *settler) passes(i int) bool {
	for _, c := range t.s.byLast[i] {
		if !c.holds(t.ords) {
			return false
		}
	}
	return true
}

// Make returns the point with the given values: Go numbers, strings, bools or Values by parameter name. Missing active parameters
// take their defaults. The error names a parameter that does not exist (and the nearest one that does), that has a value of the
// wrong kind or outside its domain, or that is inactive; or it is a *ConstraintError.
func (s *Space) Make(values map[string]any) (Point, error) {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	given := s.nothing()
	for _, name := range names {
		i, err := s.lookup(name)
		if err != nil {
			return Point{}, err
		}
		v, err := ValueOf(values[name])
		if err != nil {
			return Point{}, fmt.Errorf("parameter %q: %w", name, err)
		}
		if given[i], err = s.params[i].find(v); err != nil {
			return Point{}, err
		}
	}
	return s.assemble(given, false)
}

func (s *Space) nothing() []int {
	given := make([]int, len(s.params))
	for i := range given {
		given[i] = absent
	}
	return given
}

func (s *Space) lookup(name string) (int, error) {
	i, ok := s.index[name]
	if !ok {
		return 0, fmt.Errorf("space %q has no parameter %q%s", s.name, name, DidYouMeanOneOf(name, s.names()))
	}
	return i, nil
}

// appendKey writes the key of the ordinals.
func (s *Space) appendKey(b []byte, ords []int) []byte {
	start := len(b)
	for i, o := range ords {
		if o < 0 {
			continue
		}
		if len(b) > start {
			b = append(b, ' ')
		}
		b = s.appendPair(b, i, o)
	}
	return b
}

// appendPair appends name=value for an ordinal of a parameter.
func (s *Space) appendPair(b []byte, i, ord int) []byte {
	if pairs := s.written[i]; pairs != nil {
		return append(b, pairs[ord]...)
	}
	return s.params[i].appendPair(b, ord)
}

// Parse returns the point with the given key, the inverse of Point.Key. The parameters may be in any order, and each active one
// must be present. Errors are like those of Make.
func (s *Space) Parse(key string) (Point, error) {
	given, err := s.given(key)
	if err != nil {
		return Point{}, err
	}
	return s.assemble(given, true)
}

// ParsePartial is Parse for a key that may leave out parameters; those that are active take their defaults.
func (s *Space) ParsePartial(key string) (Point, error) {
	given, err := s.given(key)
	if err != nil {
		return Point{}, err
	}
	return s.assemble(given, false)
}

// given returns the ordinals in a key.
func (s *Space) given(key string) ([]int, error) {
	given := s.nothing()
	for rest := strings.TrimLeft(key, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		name, text, after, err := cutPair(key, rest)
		if err != nil {
			return nil, err
		}
		rest = after
		i, err := s.lookup(name)
		if err != nil {
			return nil, err
		}
		if given[i] != absent {
			return nil, fmt.Errorf("key %q: parameter %q is given twice", key, name)
		}
		v, err := s.params[i].ParseValue(text)
		if err != nil && strings.Contains(text, ",") {
			err = fmt.Errorf("%w: parameters are separated by spaces", err)
		}
		if err != nil {
			return nil, err
		}
		given[i], _ = s.params[i].Ordinal(v)
	}
	return given, nil
}

// otherPair matches a name and its value as JSON and YAML write them. Its groups are both.
var otherPair = pattern.Lazy(`^"?([A-Za-z_][A-Za-z0-9_]*)"? *: *("[^"]*"|[^",{} ]+)(?:, *|$)`)

// asPairs says how to write JSON or YAML as a key, as the end of a message; "" where text is another.
func asPairs(text string) string {
	text = strings.Trim(text, " {}")
	var pairs []string
	for text != "" {
		m := otherPair().FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		pairs, text = append(pairs, m[1]+"="+m[2]), text[len(m[0]):]
	}
	if len(pairs) == 0 {
		return ""
	}
	return fmt.Sprintf(": write '%s'", strings.Join(pairs, " "))
}

// cutPair cuts the first name=value off the rest of a key.
func cutPair(key, rest string) (name, text, after string, err error) {
	at := 0
	for at < len(rest) && rest[at] != '=' && rest[at] != ' ' {
		at++
	}
	if at == len(rest) || rest[at] == ' ' {
		return "", "", "", fmt.Errorf("key %q: expected name=value at %q%s", key, rest, asPairs(rest))
	}
	name, after = rest[:at], rest[at+1:]
	quoted := false
	if strings.HasPrefix(after, `"`) {
		text, err = strconv.QuotedPrefix(after)
		quoted = err == nil
	}
	if !quoted {
		text, _, _ = strings.Cut(after, " ")
	}
	if after = after[len(text):]; after != "" && after[0] != ' ' {
		return "", "", "", fmt.Errorf("key %q: expected a blank at %q", key, after)
	}
	return name, text, after, nil
}

// KeyTexts returns the values in a key, as they are written, by the names of their parameters. It does not need the space of the
// key; Parameter.ParseValue reads a value.
func KeyTexts(key string) (map[string]string, error) {
	out := map[string]string{}
	twice := ""
	err := SplitKey(key, func(name, text string) {
		if _, again := out[name]; again {
			twice = name
		}
		out[name] = text
	})
	if err == nil && twice != "" {
		err = fmt.Errorf("key %q: parameter %q is given twice", key, twice)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SplitKey calls pair with each name and value of a key, as they are written and in their order.
func SplitKey(key string, pair func(name, text string)) error {
	for rest := strings.TrimLeft(key, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		name, text, after, err := cutPair(key, rest)
		if err != nil {
			return err
		}
		pair(name, text)
		rest = after
	}
	return nil
}

// GuessValue reads a value of a key whose parameter is unknown: as an integer, a float or a boolean if it looks like one,
// otherwise as a string.
func GuessValue(text string) Value {
	if text == "true" || text == "false" {
		return BoolValue(text == "true")
	}
	if v, err := parseNumber(text); err == nil {
		return v
	}
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	return StringValue(text)
}

// UnmarshalPoint returns the point with the given JSON, the inverse of Point.MarshalJSON: an object with
// each active parameter once, in any order. The error names what is wrong, as that of Make does.
func (s *Space) UnmarshalPoint(data []byte) (Point, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	fail := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("point %.80q: %w", data, err)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Point{}, fmt.Errorf("point %.80q is not a JSON object", data)
	}
	given := s.nothing()
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return Point{}, fail(err)
		}
		name := t.(string) // The decoder refuses any other key of an object.
		i, err := s.lookup(name)
		if err != nil {
			return Point{}, err
		}
		if given[i] != absent {
			return Point{}, fmt.Errorf("parameter %q is given twice", name)
		}
		t, err = d.Token()
		if err != nil {
			return Point{}, fail(err)
		}
		if _, nested := t.(json.Delim); nested || t == nil {
			return Point{}, fmt.Errorf("parameter %q is not a number, string or boolean", name)
		}
		v, err := ValueOf(t)
		if err != nil {
			return Point{}, fmt.Errorf("parameter %q: %w", name, err)
		}
		if given[i], err = s.params[i].find(v); err != nil {
			return Point{}, err
		}
	}
	if _, err := d.Token(); err != nil {
		return Point{}, fail(err)
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return Point{}, fmt.Errorf("point %.80q has something after its end", data)
	}
	return s.assemble(given, true)
}
