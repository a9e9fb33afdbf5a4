package user

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"tune/space"
)

// expr is an arithmetic expression over parameters and constants. The zero expr has no value.
type expr struct {
	src   string
	names []mention
	eval  evalFunc
}

// mention is a name in a text, with its offset in bytes.
type mention struct {
	name   string
	offset int
}

// values are what names stand for; an inactive parameter is missing.
type values map[string]float64

type evalFunc func(values) (float64, error)

// syntaxError is a fault at an offset in bytes of an expression.
type syntaxError struct {
	offset int
	text   string
}

func (e *syntaxError) Error() string { return e.text }

// Bounds on expressions, for hostile files.
const (
	maxExprBytes = 4096
	maxExprDepth = 100
)

// parseExpr reads an expression. An error is a *syntaxError.
func parseExpr(src string) (e expr, err error) {
	p := &exprParser{src: src}
	defer func() {
		if v := recover(); v != nil {
			fault, ok := v.(*syntaxError)
			if !ok {
				panic(v)
			}
			err = fault
		}
	}()
	if len(src) > maxExprBytes {
		p.fail("the expression is longer than %d bytes", maxExprBytes)
	}
	p.next()
	if p.tok == "" {
		p.fail("the expression is empty")
	}
	eval := p.choice()
	if p.tok != "" {
		p.fail("unexpected %q", p.tok)
	}
	return expr{src: src, names: p.names, eval: eval}, nil
}

// value evaluates the expression. It has to be finite.
func (e expr) value(v values) (float64, error) {
	x, err := e.eval(v)
	if err == nil && !space.Finite(x) {
		err = fmt.Errorf("%s has no finite value", e.src)
	}
	return x, err
}

// whole evaluates the expression to an integer in the range.
func (e expr) whole(v values, low, high float64) (int64, error) {
	x, err := e.value(v)
	switch {
	case err != nil:
		return 0, err
	case x != math.Trunc(x):
		return 0, fmt.Errorf("%s is no whole number", e.shown(x))
	case x < low || x > high:
		return 0, fmt.Errorf("%s is out of range: want %.0f to %.0f", e.shown(x), low, high)
	}
	return int64(x), nil
}

// shown returns the expression with its value.
func (e expr) shown(x float64) string {
	if math.Abs(x) > 1<<53 {
		// A float does not hold its last digits.
		if _, err := strconv.ParseFloat(e.src, 64); err == nil {
			return e.src
		}
		return fmt.Sprintf("%s, which is about %.4g,", e.src, x)
	}
	value := strconv.FormatFloat(x, 'f', -1, 64)
	if value == e.src {
		return value
	}
	return fmt.Sprintf("%s, which is %s,", e.src, value)
}

// exprParser reads tokens from the left. Faults are panics with a *syntaxError, which parseExpr recovers.
type exprParser struct {
	src   string
	at    int    // after the token
	start int    // of the token
	tok   string // "" at the end
	depth int
	names []mention
}

func (p *exprParser) fail(format string, args ...any) {
	panic(&syntaxError{offset: p.start, text: fmt.Sprintf(format, args...)})
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

func (p *exprParser) next() {
	for p.at < len(p.src) && (p.src[p.at] == ' ' || p.src[p.at] == '\t' || p.src[p.at] == '\n') {
		p.at++
	}
	p.start = p.at
	if p.at == len(p.src) {
		p.tok = ""
		return
	}
	rest := p.src[p.at:]
	n := 1
	switch c := rest[0]; {
	case isLetter(c):
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		hex := len(rest) > 1 && rest[1]|0x20 == 'x' // where an e is a digit
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n]) || rest[n] == '.' ||
			(rest[n] == '+' || rest[n] == '-') && rest[n-1]|0x20 == 'e' && !hex) {
			n++
		}
	case len(rest) > 1 && slices.Contains([]string{"**", "//", "<=", ">=", "==", "!="}, rest[:2]):
		n = 2
	case slices.Contains([]byte("+-*/%()<>,"), c):
	default:
		p.fail("unexpected %q", []rune(rest)[0])
	}
	p.tok = rest[:n]
	p.at += n
}

func (p *exprParser) accept(tok string) bool {
	if p.tok == tok {
		p.next()
		return true
	}
	return false
}

func (p *exprParser) expect(tok string) {
	if !p.accept(tok) {
		if p.tok == "" {
			p.fail("expected %q at the end", tok)
		}
		p.fail("expected %q, found %q", tok, p.tok)
	}
}

// choice reads "a if c else b", or a comparison alone.
func (p *exprParser) choice() evalFunc {
	if p.depth++; p.depth > maxExprDepth {
		p.fail("the expression is nested deeper than %d", maxExprDepth)
	}
	defer func() { p.depth-- }()
	a := p.comparison()
	if !p.accept("if") {
		return a
	}
	c := p.comparison()
	p.expect("else")
	b := p.choice()
	return func(v values) (float64, error) {
		x, err := c(v)
		if err != nil {
			return 0, err
		}
		if x != 0 {
			return a(v)
		}
		return b(v)
	}
}

func (p *exprParser) comparison() evalFunc {
	a := p.sum()
	var holds func(x, y float64) bool
	switch p.tok {
	case "<":
		holds = func(x, y float64) bool { return x < y }
	case "<=":
		holds = func(x, y float64) bool { return x <= y }
	case ">":
		holds = func(x, y float64) bool { return x > y }
	case ">=":
		holds = func(x, y float64) bool { return x >= y }
	case "==":
		holds = func(x, y float64) bool { return x == y }
	case "!=":
		holds = func(x, y float64) bool { return x != y }
	default:
		return a
	}
	p.next()
	return both(a, p.sum(), func(x, y float64) (float64, error) {
		if holds(x, y) {
			return 1, nil
		}
		return 0, nil
	})
}

func both(a, b evalFunc, f func(x, y float64) (float64, error)) evalFunc {
	return func(v values) (float64, error) {
		x, err := a(v)
		if err != nil {
			return 0, err
		}
		y, err := b(v)
		if err != nil {
			return 0, err
		}
		return f(x, y)
	}
}

func (p *exprParser) sum() evalFunc {
	a := p.product()
	for {
		switch {
		case p.accept("+"):
			a = both(a, p.product(), func(x, y float64) (float64, error) { return x + y, nil })
		case p.accept("-"):
			a = both(a, p.product(), func(x, y float64) (float64, error) { return x - y, nil })
		default:
			return a
		}
	}
}

func (p *exprParser) product() evalFunc {
	a := p.power()
	for {
		switch op := p.tok; op {
		case "*":
			p.next()
			a = both(a, p.power(), func(x, y float64) (float64, error) { return x * y, nil })
		case "/", "//", "%":
			p.next()
			a = both(a, p.power(), func(x, y float64) (float64, error) {
				switch {
				case y == 0:
					return 0, fmt.Errorf("%s divides by zero", p.src)
				case op == "/":
					return x / y, nil
				case op == "//":
					return math.Floor(x / y), nil
				}
				return x - y*math.Floor(x/y), nil
			})
		default:
			return a
		}
	}
}

// power reads a sign and a power, which groups to the right.
func (p *exprParser) power() evalFunc {
	if p.depth++; p.depth > maxExprDepth {
		p.fail("the expression is nested deeper than %d", maxExprDepth)
	}
	defer func() { p.depth-- }()
	if p.accept("-") {
		a := p.power()
		return func(v values) (float64, error) {
			x, err := a(v)
			return -x, err
		}
	}
	a := p.primary()
	if p.accept("**") {
		return both(a, p.power(), func(x, y float64) (float64, error) { return math.Pow(x, y), nil })
	}
	return a
}

func (p *exprParser) primary() evalFunc {
	tok := p.tok
	switch {
	case tok == "":
		p.fail("the expression ends too early")
	case tok == "(":
		p.next()
		a := p.choice()
		p.expect(")")
		return a
	case tok == "min" || tok == "max":
		return p.extreme(tok)
	case tok == "if" || tok == "else":
		p.fail("unexpected %q", tok)
	case isLetter(tok[0]):
		p.names = append(p.names, mention{tok, p.start})
		p.next()
		return func(v values) (float64, error) {
			x, ok := v[tok]
			if !ok {
				return 0, fmt.Errorf("%s reads %s, which is inactive here", p.src, tok)
			}
			return x, nil
		}
	case isDigit(tok[0]) || tok[0] == '.':
		x, err := strconv.ParseFloat(tok, 64)
		if n, ierr := strconv.ParseInt(tok, 0, 64); ierr == nil {
			x, err = float64(n), nil
		}
		if err != nil {
			p.fail("%s is not a number", tok)
		}
		p.next()
		return func(values) (float64, error) { return x, nil }
	}
	p.fail("unexpected %q", tok)
	return nil
}

func (p *exprParser) extreme(name string) evalFunc {
	better := math.Min
	if name == "max" {
		better = math.Max
	}
	p.next()
	p.expect("(")
	a := p.choice()
	for p.accept(",") {
		a = both(a, p.choice(), func(x, y float64) (float64, error) { return better(x, y), nil })
	}
	p.expect(")")
	return a
}
