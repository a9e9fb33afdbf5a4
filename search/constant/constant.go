// Package constant describes the constants of strategies: numbers that decide how a strategy searches, and that users may set.
// Each strategy declares its constants in one [Table], which names, explains and bounds them, and connects them with the fields
// of the strategy's configuration.
package constant

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tune/space"
)

// Kind says which values a constant takes.
type Kind uint8

// The kinds.
const (
	Int Kind = iota
	Float
	Bool
)

// String returns the kind in a word.
func (k Kind) String() string { return [...]string{"int", "float", "bool"}[k] }

// Constant describes one constant. Its values are numbers whatever the kind: whole numbers for an Int, 0 and 1 for a Bool.
type Constant struct {
	Name string // lower-case letters, digits and _
	Doc  string // one line, with the unit
	Kind Kind
	// Default is the value where none is set and no other constant decides it. Min and Max are inclusive bounds.
	Default, Min, Max float64
	// Within names another constant of the same table that also bounds this one: a value is at most that constant's value minus
	// Less. It is empty where there is none.
	Within string
	Less   float64
}

// Format returns the text of a value, which Parse reads.
func (c Constant) Format(v float64) string {
	switch c.Kind {
	case Bool:
		return strconv.FormatBool(v != 0)
	case Int:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Any returns a value as that of its kind: an int, a float64 or a bool.
func (c Constant) Any(v float64) any {
	switch c.Kind {
	case Bool:
		return v != 0
	case Int:
		return int(v)
	}
	return v
}

// parse reads a value. The error says what it must be.
func (c Constant) parse(text string) (float64, error) {
	switch c.Kind {
	case Bool:
		switch text {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
	case Int:
		if n, err := strconv.Atoi(text); err == nil && c.holds(float64(n)) {
			return float64(n), nil
		}
	case Float:
		if v, err := strconv.ParseFloat(text, 64); err == nil && c.holds(v) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s is %s: want %s", c.Name, shown(text), c.Range())
}

// shown formats a user's text for an error: quoted where it is empty or not one word, and cut to one line.
func shown(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(text[:most]) + "…"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) || text == "" {
		return strconv.Quote(text)
	}
	return text
}

func (c Constant) holds(v float64) bool { return v >= c.Min && v <= c.Max }

// Range says in words which values the constant takes, apart from the bound of Within.
func (c Constant) Range() string {
	switch c.Kind {
	case Bool:
		return "true or false"
	case Int:
		return fmt.Sprintf("a whole number from %s to %s", c.Format(c.Min), c.Format(c.Max))
	}
	return fmt.Sprintf("a number from %s to %s", c.Format(c.Min), c.Format(c.Max))
}

// Of is a constant together with its field in the configuration C of a strategy.
type Of[C any] struct {
	Constant
	number func(*C) *int
	real   func(*C) *float64
	flag   func(*C) *bool
	other  func(C) float64 // the default, where it depends on the configuration
}

// NewInt declares a constant of whole numbers. at returns its field in a configuration, where 0 stands for the default.
func NewInt[C any](name, doc string, value, least, most int, at func(*C) *int) Of[C] {
	return Of[C]{Constant: Constant{Name: name, Doc: doc, Kind: Int, Default: float64(value), Min: float64(least), Max: float64(most)}, number: at}
}

// NewFloat declares a constant of real numbers. at returns its field in a configuration, where 0 stands for the default.
func NewFloat[C any](name, doc string, value, least, most float64, at func(*C) *float64) Of[C] {
	return Of[C]{Constant: Constant{Name: name, Doc: doc, Kind: Float, Default: value, Min: least, Max: most}, real: at}
}

// NewBool declares a constant that is true or false. at returns its field in a configuration, which is true where the constant
// is not its default.
func NewBool[C any](name, doc string, value bool, at func(*C) *bool) Of[C] {
	c := Constant{Name: name, Doc: doc, Kind: Bool, Max: 1}
	if value {
		c.Default = 1
	}
	return Of[C]{Constant: c, flag: at}
}

// Within returns the constant with another one as an upper bound: it is at most that one minus less.
func (o Of[C]) Within(name string, less int) Of[C] {
	o.Constant.Within, o.Less = name, float64(less)
	return o
}

// Or returns the constant with a default that depends on the constants before it in the table.
func (o Of[C]) Or(other func(C) float64) Of[C] {
	o.other = other
	return o
}

func (o Of[C]) get(c *C) float64 {
	switch {
	case o.number != nil:
		return float64(*o.number(c))
	case o.real != nil:
		return *o.real(c)
	case *o.flag(c):
		return 1 - o.Default
	}
	return o.Default
}

func (o Of[C]) set(c *C, v float64) {
	switch {
	case o.number != nil:
		*o.number(c) = int(v)
	case o.real != nil:
		*o.real(c) = v
	default:
		*o.flag(c) = v != o.Default
	}
}

// Table is the constants of a strategy with configuration C, in the order in which they are listed.
type Table[C any] []Of[C]

// Constants describes them.
func (t Table[C]) Constants() []Constant {
	out := make([]Constant, len(t))
	for i, o := range t {
		out[i] = o.Constant
	}
	return out
}

// Fill sets fields that are 0 to their defaults, or to the bound of Within where that is less.
func (t Table[C]) Fill(c *C) {
	for _, o := range t {
		if o.Kind != Bool && o.get(c) == 0 {
			v := o.Default
			if o.other != nil {
				v = o.other(*c)
			}
			if limit, _, ok := t.limit(o, c); ok {
				v = min(v, limit)
			}
			o.set(c, v)
		}
	}
}

// limit returns the upper bound that another constant sets, and that constant.
func (t Table[C]) limit(o Of[C], c *C) (float64, Of[C], bool) {
	for _, other := range t {
		if o.Constant.Within == other.Name {
			return other.get(c) - o.Less, other, true
		}
	}
	return math.Inf(1), o, false
}

// Check reports the first constant of a configuration that is out of its range.
func (t Table[C]) Check(c C) error {
	for _, o := range t {
		v := o.get(&c)
		if !o.holds(v) {
			return fmt.Errorf("%s is %s: want %s", o.Name, o.Format(v), o.Range())
		}
		if limit, other, ok := t.limit(o, &c); ok && v > limit {
			return fmt.Errorf("%s is %s: want %s to %s, as %s is %s", o.Name, o.Format(v), o.Format(o.Min), o.Format(limit), other.Name, other.Format(other.get(&c)))
		}
	}
	return nil
}

// Settle fills a configuration of the named strategy, and reports the first constant that is out of its range.
func (t Table[C]) Settle(strategy string, c *C) error {
	t.Fill(c)
	if err := t.Check(*c); err != nil {
		return fmt.Errorf("%s: %w", strategy, err)
	}
	return nil
}

// Values returns the constants of a configuration, in the order of the table.
func (t Table[C]) Values(c C) []float64 {
	out := make([]float64, len(t))
	for i, o := range t {
		out[i] = o.get(&c)
	}
	return out
}

// Set writes values into a configuration; a NaN leaves its field as it is.
func (t Table[C]) Set(c *C, values []float64) {
	for i, v := range values {
		if !math.IsNaN(v) {
			t[i].set(c, v)
		}
	}
}

// Parse reads constant=value,… for a table. What is not named is NaN.
func Parse(table []Constant, text string) ([]float64, error) {
	values, names := make([]float64, len(table)), make([]string, len(table))
	for i, c := range table {
		values[i], names[i] = math.NaN(), c.Name
	}
	for piece := range strings.SplitSeq(text, ",") {
		piece = strings.TrimSpace(piece)
		name, value, ok := strings.Cut(piece, "=")
		at := slices.Index(names, name)
		switch {
		case name == "":
			return nil, fmt.Errorf("%s is not of the form constant=value: want %s", shown(piece), strings.Join(names, ", "))
		case at < 0:
			return nil, fmt.Errorf("unknown constant %s: want %s%s", shown(name), strings.Join(names, ", "), space.DidYouMean(name, names))
		case !ok:
			return nil, fmt.Errorf("%s has no value: want %s", name, table[at].Range())
		case !math.IsNaN(values[at]):
			return nil, fmt.Errorf("%s is there twice", name)
		}
		v, err := table[at].parse(value)
		if err != nil {
			return nil, err
		}
		values[at] = v
	}
	return values, nil
}

// Format returns constant=value,… of the values that which selects, in the order of the table.
func Format(table []Constant, values []float64, which func(i int) bool) string {
	var out []string
	for i, c := range table {
		if which(i) {
			out = append(out, c.Name+"="+c.Format(values[i]))
		}
	}
	return strings.Join(out, ",")
}
