package space

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Limits on definitions. They keep hostile input from using too many resources; no known tuning space comes near them.
const (
	maxParameters  = 1024
	maxConstraints = 4096
	maxValues      = 1 << 16
	maxTextBytes   = 1024
	maxDomain      = 1 << 62
)

// Type is the form of a parameter's domain. The zero value is not a type.
type Type uint8

// The types of a parameter. The constructors Range, Stepped, Pow2, Enum, Ints, Floats, Values and Bool
// set them, and so do Float, LogFloat and LogRange, which list the values of a Grid.
const (
	TypeInt  Type = iota + 1 // From, From+Step, … up to To
	TypePow2                 // the powers of two from From to To
	TypeEnum                 // the listed Values
	TypeBool                 // false, true
)

var typeNames = [...]string{"unset", "int", "pow2", "enum", "bool"}

// floatType is the type, in YAML, of a parameter with the numbers of a Grid.
const floatType = "float"

// String returns the type as it is written in YAML: "int", "pow2", "enum" or "bool".
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Parameter is one thing that may vary. Its domain is an ordered list of values; the position of a value in that list, from 0, is
// its ordinal.
type Parameter struct {
	// Name is an identifier of ASCII letters, digits and underscores that is no keyword of the
	// expression language. It is unique in a space.
	Name string
	// Doc says in a line what the parameter does; it may be empty and has no effect.
	Doc string
	// Type is the form of the domain; it must be set.
	Type Type
	// From and To are the inclusive bounds of an int or pow2 parameter, and are zero for the other types. To - From need not be a
	// multiple of Step.
	From, To int64
	// Step is the distance between the values of an int parameter, at least 1. It is zero for the
	// other types.
	Step int64
	// Values is the domain of an enum: at least one value, all different and all of one kind. Integers
	// beside floats become floats.
	Values []Value
	// Grid is the range that Values are of, where an enum was made by Float, LogFloat or LogRange; nil where they are listed.
	Grid *Grid
	// Default is the value of a point if nothing else is given; nil means the first.
	Default *Value
	// When is the condition under which the parameter is active, an expression over parameters
	// declared before it. Empty means always.
	When string

	// line is the line of the parameter in a YAML file, 0 where there is none.
	line int
}

// Range returns a parameter with the integers from … to.
func Range(name string, from, to int) Parameter { return Stepped(name, from, to, 1) }

// Stepped returns a parameter with the integers from, from+step, … up to to.
func Stepped(name string, from, to, step int) Parameter {
	return Parameter{Name: name, Type: TypeInt, From: int64(from), To: int64(to), Step: int64(step)}
}

// Pow2 returns a parameter with the powers of two from … to, which must be powers of two themselves.
func Pow2(name string, from, to int) Parameter {
	return Parameter{Name: name, Type: TypePow2, From: int64(from), To: int64(to)}
}

// Enum returns a parameter with the given strings, in that order.
func Enum(name string, values ...string) Parameter { return listed(name, values, StringValue) }

// Ints returns a parameter with the given integers, in that order.
func Ints(name string, values ...int) Parameter {
	return listed(name, values, func(v int) Value { return IntValue(int64(v)) })
}

// Floats returns a parameter with the given numbers, in that order.
func Floats(name string, values ...float64) Parameter { return listed(name, values, FloatValue) }

func listed[T any](name string, values []T, value func(T) Value) Parameter {
	p := Parameter{Name: name, Type: TypeEnum}
	for _, v := range values {
		p.Values = append(p.Values, value(v))
	}
	return p
}

// Values returns a parameter with the given values, in that order.
func Values(name string, values ...Value) Parameter {
	return Parameter{Name: name, Type: TypeEnum, Values: values}
}

// Bool returns a parameter with the values false and true.
func Bool(name string) Parameter { return Parameter{Name: name, Type: TypeBool} }

// If returns a copy of p that is active only where the expression when is true.
func (p Parameter) If(when string) Parameter {
	p.When = when
	return p
}

// WithDefault returns a copy of p with a default: a Go number, string or bool, or a Value. New reports
// a default of another type or outside the domain.
func (p Parameter) WithDefault(v any) Parameter {
	value, err := ValueOf(v)
	if err != nil {
		value = Value{kind: kindBad, text: fmt.Sprintf("%T", v)}
	}
	p.Default = &value
	return p
}

// Describe returns a copy of p with a line of documentation.
func (p Parameter) Describe(doc string) Parameter {
	p.Doc = doc
	return p
}

// TypeName returns the type as it is written in the YAML form of p: that of Type or, where the values are those of a Grid, "float" or
// "int".
func (p Parameter) TypeName() string {
	if p.Grid != nil {
		return p.Grid.typeName()
	}
	return p.Type.String()
}

// Len returns the number of values in the domain, and 0 where the definition is not valid.
func (p Parameter) Len() int {
	switch p.Type {
	case TypeInt:
		if p.From > p.To || p.Step <= 0 {
			return 0
		}
		// The difference of two int64 always fits a uint64.
		steps := (uint64(p.To) - uint64(p.From)) / uint64(p.Step)
		if steps >= maxDomain {
			return 0
		}
		return int(steps) + 1
	case TypePow2:
		if !isPow2(p.From) || !isPow2(p.To) || p.From > p.To {
			return 0
		}
		return bits.Len64(uint64(p.To)) - bits.Len64(uint64(p.From)) + 1
	case TypeEnum:
		return len(p.Values)
	case TypeBool:
		return 2
	}
	return 0
}

// At returns the value with ordinal i. It panics where i is not in [0, Len()).
func (p Parameter) At(i int) Value {
	if i < 0 || i >= p.Len() {
		panic(fmt.Sprintf("space: ordinal %d of parameter %q is outside its domain of %d values", i, p.Name, p.Len()))
	}
	return p.at(i)
}

// at is At without the check.
func (p *Parameter) at(i int) Value {
	switch p.Type {
	case TypeInt:
		return IntValue(p.From + int64(i)*p.Step)
	case TypePow2:
		return IntValue(p.From << i)
	case TypeBool:
		return BoolValue(i == 1)
	}
	return p.Values[i]
}

// Ordinal returns the position of v in the domain. An integer matches the equal float, and a float without a fraction the equal
// integer, because JSON and YAML do not distinguish them.
func (p Parameter) Ordinal(v Value) (int, bool) {
	v = v.as(p.kind())
	switch p.Type {
	case TypeInt, TypePow2:
		n := p.Len()
		if v.kind != kindInt || n == 0 || v.int() < p.From || v.int() > p.To {
			return 0, false
		}
		if p.Type == TypePow2 {
			return bits.Len64(v.bits) - bits.Len64(uint64(p.From)), isPow2(v.int())
		}
		distance := v.bits - uint64(p.From)
		return int(distance / uint64(p.Step)), distance%uint64(p.Step) == 0
	case TypeBool:
		return int(v.bits), v.kind == kindBool
	}
	i := slices.Index(p.Values, v)
	return max(i, 0), i >= 0
}

// kind is the kind of every value in the domain.
func (p *Parameter) kind() kind {
	switch p.Type {
	case TypeInt, TypePow2:
		return kindInt
	case TypeBool:
		return kindBool
	case TypeEnum:
		if len(p.Values) > 0 {
			return p.Values[0].kind
		}
	}
	return kindNone
}

// as converts between integers and floats where that is exact, and otherwise returns v itself.
func (v Value) as(k kind) Value {
	switch {
	case v.kind == kindInt && k == kindFloat && int64(float64(v.int())) == v.int() && abs(v.int()) <= 1<<53:
		return FloatValue(float64(v.int()))
	case v.kind == kindFloat && k == kindInt && v.float() >= -1<<53 && v.float() <= 1<<53 && v.float() == float64(int64(v.float())):
		return IntValue(int64(v.float()))
	}
	return v
}

// ParseValue reads the canonical text of a value of p, as String writes it. The error says what is
// wrong: not of p's kind, or not in its domain.
func (p Parameter) ParseValue(text string) (Value, error) {
	var v Value
	switch p.kind() {
	case kindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Value{}, fmt.Errorf("parameter %q: %q is not an integer", p.Name, text)
		}
		v = IntValue(n)
	case kindFloat:
		number, err := parseNumber(text)
		if err != nil {
			return Value{}, fmt.Errorf("parameter %q: %w", p.Name, err)
		}
		v = number
	case kindBool:
		if text != "true" && text != "false" {
			return Value{}, fmt.Errorf("parameter %q: %q is neither true nor false", p.Name, text)
		}
		v = BoolValue(text == "true")
	default:
		if strings.HasPrefix(text, `"`) {
			unquoted, err := strconv.Unquote(text)
			if err != nil {
				return Value{}, fmt.Errorf("parameter %q: %s is not a quoted string", p.Name, text)
			}
			text = unquoted
		}
		v = StringValue(text)
	}
	i, err := p.find(v)
	if err != nil {
		return Value{}, err
	}
	return p.at(i), nil
}

// find is Ordinal with an error that says what is wrong with v.
func (p *Parameter) find(v Value) (int, error) {
	if i, ok := p.Ordinal(v); ok {
		return i, nil
	}
	if v.as(p.kind()).kind != p.kind() {
		return 0, fmt.Errorf("parameter %q takes %s values, not the %s %v", p.Name, p.kind(), v.kind, v)
	}
	hint := ""
	if p.kind() == kindString {
		hint = DidYouMean(v.text, p.texts())
	}
	hint += p.near(v)
	return 0, fmt.Errorf("parameter %q has no value %v%s; its domain is %s", p.Name, v, hint, p.Domain())
}

// near names the value of a grid that is nearest to v.
func (p *Parameter) near(v Value) string {
	x, ok := v.Number()
	if p.Grid == nil || !ok {
		return ""
	}
	return fmt.Sprintf(" (the nearest is %v)", p.Grid.nearest(x))
}

// texts lists the strings of a string enum.
func (p *Parameter) texts() []string {
	out := make([]string, len(p.Values))
	for i, v := range p.Values {
		out[i] = v.text
	}
	return out
}

// mostPairs is how many values a parameter may have for the texts of its values to be kept.
const mostPairs = 1024

// pairs returns name=value for each value, or nil where there are many.
func (p *Parameter) pairs() []string {
	n := p.Len()
	if n > mostPairs {
		return nil
	}
	var text []byte
	ends := make([]int, n)
	for i := range ends {
		text = p.appendPair(text, i)
		ends[i] = len(text)
	}
	out, all, from := make([]string, n), string(text), 0
	for i, end := range ends {
		out[i], from = all[from:end], end
	}
	return out
}

// appendPair appends name=value, as in keys.
func (p *Parameter) appendPair(b []byte, ord int) []byte {
	return p.at(ord).appendText(append(append(b, p.Name...), '='))
}

// Domain describes the domain in a few words, such as "1..32", "0..64 step 4", "8..128 (powers of two)"
// or "kind, lane, diagonal". Long lists are cut.
func (p Parameter) Domain() string {
	switch p.Type {
	case TypeInt:
		if p.Step > 1 {
			return fmt.Sprintf("%d..%d step %d", p.From, p.To, p.Step)
		}
		return fmt.Sprintf("%d..%d", p.From, p.To)
	case TypePow2:
		return fmt.Sprintf("%d..%d (powers of two)", p.From, p.To)
	case TypeBool:
		return "false, true"
	}
	if p.Grid != nil {
		return p.Grid.String()
	}
	const shown = 12
	var words []string
	for i, v := range p.Values {
		if i == shown && len(p.Values) > shown+1 {
			words = append(words, fmt.Sprintf("… %d more", len(p.Values)-shown))
			break
		}
		words = append(words, v.String())
	}
	return strings.Join(words, ", ")
}

func isPow2(n int64) bool { return n > 0 && n&(n-1) == 0 }

// besidePow2 names the powers of two beside a number that is none, as the end of a message.
func besidePow2(n int64) string {
	if n < 1 {
		return ": the least is 1"
	}
	below := uint64(1) << (bits.Len64(uint64(n)) - 1)
	return fmt.Sprintf(": write %d or %d", below, 2*below)
}

// normalise returns p with its own copy of the values, all of one kind, and the ordinal of the default; or an error in the
// definition.
func (p Parameter) normalise() (Parameter, int, error) {
	p.line = 0
	if err := checkName(p.Name); err != nil {
		return p, 0, err
	}
	if err := checkText("doc", p.Doc); err != nil {
		return p, 0, err
	}
	if p.Type != TypeEnum && len(p.Values) > 0 {
		return p, 0, fmt.Errorf("type %s takes no list of values", p.Type)
	}
	if p.Type != TypeEnum && p.Grid != nil {
		return p, 0, fmt.Errorf("type %s takes no grid", p.Type)
	}
	if p.Type != TypeInt && p.Step != 0 {
		return p, 0, fmt.Errorf("type %s takes no step", p.Type)
	}
	if (p.Type == TypeEnum || p.Type == TypeBool) && (p.From != 0 || p.To != 0) {
		return p, 0, fmt.Errorf("type %s takes no from and to", p.Type)
	}
	switch p.Type {
	case TypeInt:
		switch {
		case p.Step <= 0:
			return p, 0, fmt.Errorf("step %d is not at least 1", p.Step)
		case p.From > p.To:
			return p, 0, fmt.Errorf("from %d is greater than to %d: swap them", p.From, p.To)
		case p.Len() == 0:
			return p, 0, fmt.Errorf("the domain %s has more than 2^62 values", p.Domain())
		}
	case TypePow2:
		for _, end := range []int64{p.From, p.To} {
			if !isPow2(end) {
				return p, 0, fmt.Errorf("%d is not a power of two%s", end, besidePow2(end))
			}
		}
		if p.From > p.To {
			return p, 0, fmt.Errorf("from %d is greater than to %d: swap them", p.From, p.To)
		}
	case TypeEnum:
		if err := p.checkGrid(); err != nil {
			return p, 0, err
		}
		values, err := normaliseValues(p.Values)
		if err != nil {
			return p, 0, err
		}
		p.Values = values
	case TypeBool:
	default:
		return p, 0, fmt.Errorf("it has no type")
	}
	if p.Default == nil {
		return p, 0, nil
	}
	if err := p.Default.validate(); err != nil {
		return p, 0, fmt.Errorf("default: %w", err)
	}
	i, ok := p.Ordinal(*p.Default)
	if !ok {
		return p, 0, fmt.Errorf("default %v is not in the domain %s%s", *p.Default, p.Domain(), p.near(*p.Default))
	}
	v := p.at(i)
	p.Default = &v
	return p, i, nil
}

// checkGrid compares the values of a parameter with its grid, if it has one.
func (p *Parameter) checkGrid() error {
	if p.Grid == nil {
		return nil
	}
	if err := p.Grid.Validate(); err != nil {
		return err
	}
	if !slices.Equal(p.Values, p.Grid.values()) {
		return fmt.Errorf("its values are not those of its grid %s", p.Grid)
	}
	return nil
}

// normaliseValues checks the domain of an enum.
func normaliseValues(in []Value) ([]Value, error) {
	if len(in) == 0 {
		return nil, fmt.Errorf("the domain is empty: list its values, as in values: [1, 2, 4]")
	}
	if len(in) > maxValues {
		return nil, fmt.Errorf("the domain lists %d values, more than %d", len(in), maxValues)
	}
	values := slices.Clone(in)
	floats := slices.ContainsFunc(values, func(v Value) bool { return v.kind == kindFloat })
	seen := make(map[Value]bool, len(values))
	for i, v := range values {
		if err := v.validate(); err != nil {
			return nil, err
		}
		if floats {
			v = v.as(kindFloat)
		}
		values[i] = v
		if v.kind != values[0].kind {
			return nil, fmt.Errorf("the values mix the %s %v and the %s %v: want numbers alone, or texts alone", values[0].kind, values[0], v.kind, v)
		}
		if seen[v] {
			return nil, fmt.Errorf("the value %v is listed twice", v)
		}
		seen[v] = true
	}
	return values, nil
}

// checkName rejects names that the expression language cannot use.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("it has no name")
	case len(name) > maxTextBytes:
		return fmt.Errorf("its name is longer than %d bytes", maxTextBytes)
	case !isIdentifier(name):
		hint := ""
		if other := strings.Map(func(r rune) rune {
			if strings.ContainsRune("-. ", r) {
				return '_'
			}
			return r
		}, name); isIdentifier(other) {
			hint = fmt.Sprintf(" (did you mean %q?)", other)
		}
		return fmt.Errorf("%q is not an identifier (letters, digits and underscores, not starting with a digit)%s", name, hint)
	case reserved[name]:
		return fmt.Errorf("%q is a word of the expression language: choose another name", name)
	}
	return nil
}
