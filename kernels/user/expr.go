package user

import (
	"fmt"
	"math"
	"strconv"

	"tune/space"
)

// expr is an expression over parameters and constants. The zero expr has no value.
type expr struct{ space.Formula }

// mention is a name in a text, with its offset in bytes.
type mention struct {
	name   string
	offset int
}

// values are what names stand for; an inactive parameter is missing.
type values map[string]space.Value

// parseExpr reads an expression. An error is a *space.ExprError.
func parseExpr(src string) (expr, error) {
	f, err := space.ParseFormula(src)
	return expr{f}, err
}

// numeral is an expression that is a number.
func numeral(v float64) expr {
	e, err := parseExpr(strconv.FormatFloat(v, 'g', -1, 64))
	if err != nil {
		panic(err) // every finite number can be read
	}
	return e
}

// names returns the names in the expression, in order.
func (e expr) names() []mention {
	var out []mention
	for _, m := range e.Mentions() {
		out = append(out, mention{m.Name, offsetOf(e.String(), m.Column)})
	}
	return out
}

// number evaluates the expression to a number; true is 1 and false is 0.
func (e expr) number(v values) (float64, error) {
	result, err := e.Value(v)
	if err != nil {
		return 0, err
	}
	if is, ok := result.Any().(bool); ok {
		if is {
			return 1, nil
		}
		return 0, nil
	}
	x, ok := result.Number()
	if !ok {
		return 0, fmt.Errorf("%s is the text %v: want a number", e, result)
	}
	return x, nil
}

// whole evaluates the expression to an integer in the range.
func (e expr) whole(v values, low, high float64) (int64, error) {
	x, err := e.number(v)
	switch {
	case err != nil:
		return 0, err
	case x != math.Trunc(x):
		return 0, fmt.Errorf("%s is not a whole number", e.shown(x))
	case x < low || x > high:
		return 0, fmt.Errorf("%s is out of range: want %.0f to %.0f", e.shown(x), low, high)
	}
	return int64(x), nil
}

// shown returns the expression with its value.
func (e expr) shown(x float64) string {
	src := e.String()
	if math.Abs(x) > 1<<53 {
		// A float does not hold its last digits.
		if _, err := strconv.ParseFloat(src, 64); err == nil {
			return src
		}
		return fmt.Sprintf("%s, which is about %.4g,", src, x)
	}
	value := strconv.FormatFloat(x, 'f', -1, 64)
	if value == src {
		return value
	}
	return fmt.Sprintf("%s, which is %s,", src, value)
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// isName reports whether s is a name of C.
func isName(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}
