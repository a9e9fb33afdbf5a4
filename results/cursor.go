package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tune/space"
)

// cursor reads an object in the form that encode writes: without spaces, and here without the closing brace.
type cursor struct {
	text []byte
	at   int
}

var errForm = errors.New("not an object in the form that tune writes")

func (c *cursor) peek() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

func (c *cursor) take(want byte) bool {
	if c.peek() != want {
		return false
	}
	c.at++
	return true
}

// begin reads up to the value of the first member, and returns its name.
func (c *cursor) begin() ([]byte, error) {
	if !c.take('{') {
		return nil, errForm
	}
	return c.name()
}

func (c *cursor) name() ([]byte, error) {
	raw, err := c.quoted()
	if err != nil || !c.take(':') {
		return nil, fmt.Errorf("%w, at byte %d", errForm, c.at+1)
	}
	return raw, nil
}

// members yields the names of the members after the first, while *err is nil. The caller reads the value of each.
func (c *cursor) members(err *error) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for *err == nil && c.at < len(c.text) {
			var name []byte
			if name, *err = c.member(); *err == nil && !yield(memberName(name)) {
				return
			}
		}
	}
}

// member reads up to the value of the next member, and returns its name.
func (c *cursor) member() ([]byte, error) {
	if !c.take(',') {
		return nil, fmt.Errorf("%w, at byte %d", errForm, c.at+1)
	}
	return c.name()
}

// memberName converts a name to a string, without an allocation for those of a batch.
func memberName(name []byte) string {
	for _, known := range [...]string{"count", "left", "evaluations"} {
		if string(name) == known {
			return known
		}
	}
	return string(name)
}

// quoted reads a string, and returns the text between the quotes unchanged.
func (c *cursor) quoted() ([]byte, error) {
	if !c.take('"') {
		return nil, errForm
	}
	from := c.at
	for ; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '"':
			c.at++
			return c.text[from : c.at-1], nil
		case '\\':
			c.at++
		}
	}
	return nil, errForm
}

func (c *cursor) str(name string) (string, error) {
	from := c.at
	raw, err := c.quoted()
	if err != nil {
		return "", unfit(name, "a string")
	}
	if slices.Contains(raw, '\\') {
		var text string
		if err := json.Unmarshal(c.text[from:c.at], &text); err != nil {
			return "", unfit(name, "a string")
		}
		return text, nil
	}
	for _, b := range raw {
		if b < ' ' {
			return "", unfit(name, "a string")
		}
	}
	return string(raw), nil
}

func unfit(name, want string) error { return fmt.Errorf("field %s: want %s", name, want) }

// natural reads a natural number, which most values are. Where something else follows, it reads nothing and returns nil.
func (c *cursor) natural() []byte {
	text, at := c.text, c.at
	for at < len(text) && text[at]-'0' <= 9 {
		at++
	}
	raw := text[c.at:at]
	if len(raw) == 0 || raw[0] == '0' && len(raw) > 1 || at < len(text) && text[at] != ',' && text[at] != ']' {
		return nil
	}
	c.at = at
	return raw
}

// literal reads a number, true or false.
func (c *cursor) literal(name string) ([]byte, error) {
	from := c.at
	for c.at < len(c.text) && c.text[c.at] != ',' && c.text[c.at] != ']' {
		c.at++
	}
	raw := c.text[from:c.at]
	if !isNumber(raw) && string(raw) != "true" && string(raw) != "false" {
		return nil, unfit(name, "a number, a string, true or false")
	}
	return raw, nil
}

func (c *cursor) digits(name string) ([]byte, error) {
	raw, err := c.literal(name)
	if err != nil || raw[0] == 't' || raw[0] == 'f' {
		return nil, unfit(name, "a number")
	}
	return raw, nil
}

func (c *cursor) integer(name string) (int, error) {
	if digits := c.natural(); digits != nil && len(digits) < len(powersOfTen) { // as nearly all are
		n := 0
		for _, b := range digits {
			n = 10*n + int(b-'0')
		}
		return n, nil
	} else if digits != nil {
		c.at -= len(digits)
	}
	raw, err := c.digits(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0, unfit(name, "an integer")
	}
	return n, nil
}

func (c *cursor) float(name string) (float64, error) {
	if v, ok := c.decimal(); ok {
		return v, nil
	}
	raw, err := c.digits(name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0, unfit(name, "a number that fits 64 bits")
	}
	return v, nil
}

// powersOfTen are those that a float64 holds exactly and that decimal needs.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal reads a number of at most fifteen digits without an exponent, which most numbers are. Both its digits and its power of ten are
// exact as floats, so that their quotient is the nearest float [Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990].
// Where something else follows, it reads nothing.
func (c *cursor) decimal() (v float64, ok bool) {
	text, at := c.text, c.at
	number, digits, point := uint64(0), 0, -1
	for ; at < len(text) && text[at] != ',' && text[at] != ']'; at++ {
		switch b := text[at]; {
		case b-'0' <= 9:
			number = 10*number + uint64(b-'0')
			digits++
		case b == '.' && digits > 0 && point < 0:
			point = digits
		default:
			return 0, false
		}
		if digits >= len(powersOfTen) {
			return 0, false
		}
	}
	whole := digits
	if point >= 0 {
		whole = point
	}
	if digits == 0 || point == digits || whole > 1 && text[c.at] == '0' {
		return 0, false
	}
	c.at = at
	return float64(number) / powersOfTen[digits-whole], true
}

// skip reads a number, a string, true or false of a list that was read before, and the comma after it.
func (c *cursor) skip() {
	if c.peek() == '"' {
		_, _ = c.quoted()
	}
	for c.at < len(c.text) && c.text[c.at] != ',' {
		c.at++
	}
	c.at++
}

// appendValue reads the value of a parameter, and appends it as a key has it.
func (c *cursor) appendValue(key []byte) ([]byte, error) {
	if digits := c.natural(); digits != nil {
		return append(key, digits...), nil
	}
	if c.peek() != '"' {
		literal, err := c.literal("p")
		return append(key, literal...), err
	}
	text, err := c.str("p")
	if err != nil {
		return key, err
	}
	return append(key, space.StringValue(text).String()...), nil
}

// list reads a list; one reads each element.
func (c *cursor) list(name string, one func() error) error {
	if !c.take('[') {
		return unfit(name, "a list")
	}
	if c.take(']') {
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		if c.take(']') {
			return nil
		}
		if !c.take(',') {
			return unfit(name, "a list")
		}
	}
}

// count skips a list of numbers, strings, true and false, and returns only the number of elements.
func (c *cursor) count(name string, want int, of string) error {
	n := 0
	if !c.take('[') {
		return unfit(name, "a list")
	}
	begin := c.at
	// Nearly all lists have no string.
	if end := bytes.IndexByte(c.text[c.at:], ']'); end > 0 && bytes.IndexByte(c.text[c.at:c.at+end], '"') < 0 {
		n = bytes.Count(c.text[c.at:c.at+end], comma)
		c.at += end
	}
	for ; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '"':
			if _, err := c.quoted(); err != nil {
				return unfit(name, "a list")
			}
			c.at--
		case ',':
			n++
		case ']':
			if c.at > begin {
				n++
			}
			if c.at++; n != want {
				return fmt.Errorf("field %s has %d values for %d %s", name, n, want, of)
			}
			return nil
		}
	}
	return unfit(name, "a list")
}

var comma = []byte{','}

// isNumber reports whether a text is a number in the syntax of JSON.
func isNumber(s []byte) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	first := i
	if !digits() || s[first] == '0' && i > first+1 {
		return false
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}
