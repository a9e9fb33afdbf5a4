package t1

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tune/space"
)

// Bounds on the text and the shape of an expression.
const (
	maxExprBytes  = 1 << 20
	maxParseDepth = 200
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenInt
	tokenFloat
	tokenString
	tokenSymbol
)

// token is one word of an expression; at is its offset in bytes.
type token struct {
	kind tokenKind
	text string
	num  int64
	flt  float64
	at   int
}

// symbols are the operators and brackets of Python's expressions, longest first.
var symbols = []string{
	"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ".",
	"&", "|", "^", "~", "=",
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// fault describes what is wrong at an offset of an expression.
func fault(src string, at int, format string, args ...any) error {
	at = min(at, len(src))
	if len(src) > 4096 {
		return fmt.Errorf("column %d: %s", utf8.RuneCountInString(src[:at])+1, fmt.Sprintf(format, args...))
	}
	return &space.ExprError{Expr: src, Column: utf8.RuneCountInString(src[:at]) + 1, Reason: fmt.Sprintf(format, args...)}
}

// lex returns the tokens of src, with a tokenEnd last.
func lex(src string) ([]token, error) {
	if len(src) > maxExprBytes {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxExprBytes)
	}
	if !utf8.ValidString(src) {
		return nil, fmt.Errorf("the expression is not valid UTF-8")
	}
	tokens := make([]token, 0, len(src)/3+2)
	for at := 0; ; {
		for at < len(src) && strings.IndexByte(" \t\r\n\f", src[at]) >= 0 {
			at++
		}
		if at == len(src) {
			return append(tokens, token{kind: tokenEnd, at: at}), nil
		}
		t, n, err := next(src, at)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		at += n
	}
}

// next reads the token at an offset, and says how many bytes it has.
func next(src string, at int) (token, int, error) {
	rest := src[at:]
	switch c := rest[0]; {
	case isLetter(c):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		return token{kind: tokenName, text: rest[:n], at: at}, n, nil
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return numeral(src, at)
	case c == '\'' || c == '"':
		return quoted(src, at)
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			return token{kind: tokenSymbol, text: s, at: at}, len(s), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, 0, fault(src, at, "unexpected character %q", r)
}

// numeral reads an integer in base 2, 8, 10 or 16, or a float.
func numeral(src string, at int) (token, int, error) {
	rest, n, isFloat := src[at:], 0, false
	based := len(rest) > 1 && rest[0] == '0' && strings.IndexByte("xXbBoO", rest[1]) >= 0
	digitsFrom := func() {
		for n < len(rest) && (isDigit(rest[n]) || rest[n] == '_') {
			n++
		}
	}
	if based {
		for n = 2; n < len(rest) && (isDigit(rest[n]) || isLetter(rest[n])); {
			n++
		}
	} else {
		digitsFrom()
		if n < len(rest) && rest[n] == '.' {
			isFloat = true
			n++
			digitsFrom()
		}
		if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
			exponent := strings.TrimLeft(rest[n+1:min(n+2, len(rest))], "+-")
			sign := 1 - len(exponent)
			if at := n + 1 + sign; at < len(rest) && isDigit(rest[at]) {
				isFloat = true
				n = at
				digitsFrom()
			}
		}
	}
	text := rest[:n]
	digits := strings.ReplaceAll(text, "_", "")
	if strings.HasSuffix(text, "_") || strings.Contains(text, "__") {
		return token{}, 0, fault(src, at, "%s is not a number", text)
	}
	if isFloat {
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return token{}, 0, fault(src, at, "%s is not a finite number", text)
		}
		return token{kind: tokenFloat, flt: v, at: at}, n, nil
	}
	base := 10
	if based {
		base = 0
	} else if len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0") != "" {
		return token{}, 0, fault(src, at, "%s: Python allows no leading zeros", text)
	}
	v, err := strconv.ParseInt(digits, base, 64)
	if err != nil {
		return token{}, 0, fault(src, at, "%s is not an integer of 64 bits", text)
	}
	return token{kind: tokenInt, num: v, at: at}, n, nil
}

// quoted reads a string in either quote.
func quoted(src string, at int) (token, int, error) {
	quote, rest := src[at], src[at+1:]
	total := len(rest)
	var text strings.Builder
	for {
		if rest == "" || rest[0] == '\n' {
			return token{}, 0, fault(src, at, "the string has no closing %c", quote)
		}
		if rest[0] == quote {
			break
		}
		// Python knows both quotes after a backslash in either kind of string.
		if len(rest) > 1 && rest[0] == '\\' && (rest[1] == '\'' || rest[1] == '"') {
			text.WriteByte(rest[1])
			rest = rest[2:]
			continue
		}
		r, _, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return token{}, 0, fault(src, at, "the string has an escape that is not understood")
		}
		text.WriteRune(r)
		rest = tail
	}
	return token{kind: tokenString, text: text.String(), at: at}, 1 + total - len(rest) + 1, nil
}

// op is the operation of a node.
type op uint8

const (
	opLiteral op = iota // value
	opName              // text
	opUnary             // text is -, + or not
	opBinary            // text is the operator
	opAnd
	opOr
	opCompare // operands, and the comparisons between them in cmp
	opChoose  // condition, value where true, value where false
	opCall    // text is the function
	opList
	opTuple
	opFor // element, then for each clause the iterable; clauses has names and conditions
)

// node is one node of the syntax tree.
type node struct {
	op      op
	at      int
	kids    []*node
	text    string
	value   any // int64, float64, string, bool
	cmp     []string
	clauses []clause // opFor; the iterable of clause i is kids[1+i]
	list    bool     // opFor: in brackets, rather than the argument of a function
}

// clause is one "for names in … if …" of a comprehension.
type clause struct {
	names      []string
	conditions []*node
}

// keywords cannot be names.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "if": true, "else": true, "for": true, "True": true, "False": true,
	"None": true, "is": true, "lambda": true,
}

// parser is a recursive-descent parser of the expressions of Python's grammar.
type parser struct {
	src    string
	tokens []token
	at     int
	depth  int
}

func parseExpr(src string) (*node, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{src: src, tokens: tokens}
	if p.peek().kind == tokenEnd {
		return nil, fault(src, 0, "the expression is empty")
	}
	list, comma, err := p.elements("")
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, fault(src, t.at, "unexpected %s", p.word(t))
	}
	if comma {
		return &node{op: opTuple, kids: list}, nil
	}
	return list[0], nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) word(t token) string {
	switch t.kind {
	case tokenEnd:
		return "end of the expression"
	case tokenInt:
		return strconv.FormatInt(t.num, 10)
	case tokenFloat:
		return show(t.flt)
	case tokenString:
		return show(t.text)
	}
	return t.text
}

// is reports whether the next token is one of the symbols or keywords.
func (p *parser) is(words ...string) bool {
	t := p.peek()
	if t.kind != tokenSymbol && (t.kind != tokenName || !keywords[t.text]) {
		return false
	}
	for _, w := range words {
		if t.text == w {
			return true
		}
	}
	return false
}

func (p *parser) accept(word string) bool {
	if p.is(word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(word string) error {
	if !p.accept(word) {
		return fault(p.src, p.peek().at, "expected %q, found %s", word, p.word(p.peek()))
	}
	return nil
}

// enter counts how deep expressions nest.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxParseDepth {
		return fault(p.src, p.peek().at, "the expression nests deeper than %d", maxParseDepth)
	}
	return nil
}

// elements reads one expression, or several with commas between them, up to a closing bracket. Comma says that there was
// a comma, so that it is a tuple where the brackets are parentheses.
func (p *parser) elements(closing string) (list []*node, comma bool, err error) {
	for {
		n, err := p.expression()
		if err != nil {
			return nil, false, err
		}
		list = append(list, n)
		if !p.accept(",") {
			return list, comma, nil
		}
		comma = true
		if p.is(closing) || p.peek().kind == tokenEnd {
			return list, comma, nil
		}
	}
}

// expression is a conditional or what binds more tightly.
func (p *parser) expression() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	n, err := p.or()
	if err != nil || !p.is("if") {
		return n, err
	}
	at := p.peek().at
	p.at++
	condition, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect("else"); err != nil {
		return nil, err
	}
	other, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &node{op: opChoose, at: at, kids: []*node{condition, n, other}}, nil
}

func (p *parser) or() (*node, error) {
	return p.junction("or", opOr, func() (*node, error) { return p.junction("and", opAnd, p.not) })
}

// junction reads operands with one word between them.
func (p *parser) junction(word string, o op, operand func() (*node, error)) (*node, error) {
	n, err := operand()
	if err != nil || !p.is(word) {
		return n, err
	}
	n = &node{op: o, at: p.peek().at, kids: []*node{n}}
	for p.accept(word) {
		kid, err := operand()
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	return n, nil
}

func (p *parser) not() (*node, error) {
	if !p.is("not") {
		return p.comparison()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	at := p.peek().at
	p.at++
	kid, err := p.not()
	if err != nil {
		return nil, err
	}
	return &node{op: opUnary, text: "not", at: at, kids: []*node{kid}}, nil
}

func (p *parser) comparison() (*node, error) {
	n, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.is("is") {
		return nil, fault(p.src, p.peek().at, `"is" compares identities; write ==`)
	}
	if p.is("=") {
		return nil, fault(p.src, p.peek().at, "a lone = compares nothing; write ==")
	}
	if !p.is("<", "<=", ">", ">=", "==", "!=", "in", "not") {
		return n, nil
	}
	n = &node{op: opCompare, at: p.peek().at, kids: []*node{n}}
	for p.is("<", "<=", ">", ">=", "==", "!=", "in", "not") {
		word := p.peek().text
		p.at++
		if word == "not" {
			if err := p.expect("in"); err != nil {
				return nil, err
			}
			word = "not in"
		}
		kid, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		n.kids, n.cmp = append(n.kids, kid), append(n.cmp, word)
	}
	return n, nil
}

// levels are the operators that group to the left, weakest first.
var levels = [][]string{{"<<", ">>"}, {"+", "-"}, {"*", "//", "/", "%"}}

func (p *parser) binary(level int) (*node, error) {
	if level == len(levels) {
		return p.sign()
	}
	n, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for length := 0; p.is(levels[level]...); length++ {
		if length > 5*maxParseDepth {
			return nil, fault(p.src, p.peek().at, "more than %d operators in a row", 5*maxParseDepth)
		}
		t := p.peek()
		p.at++
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		n = &node{op: opBinary, text: t.text, at: t.at, kids: []*node{n, right}}
	}
	if p.is("&", "|", "^", "~") {
		return nil, fault(p.src, p.peek().at, "bitwise operators are not understood")
	}
	return n, nil
}

// sign reads the signs before a power: -x ** 2 is -(x ** 2), and 2 ** -1 is allowed.
func (p *parser) sign() (*node, error) {
	if p.is("-", "+") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		t := p.peek()
		p.at++
		kid, err := p.sign()
		if err != nil {
			return nil, err
		}
		if t.text == "-" && kid.op == opLiteral {
			switch v := kid.value.(type) {
			case int64:
				return &node{op: opLiteral, at: t.at, value: -v}, nil
			case float64:
				return &node{op: opLiteral, at: t.at, value: -v}, nil
			}
		}
		return &node{op: opUnary, text: t.text, at: t.at, kids: []*node{kid}}, nil
	}
	n, err := p.primary()
	if err != nil || !p.is("**") {
		return n, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	at := p.peek().at
	p.at++
	right, err := p.sign()
	if err != nil {
		return nil, err
	}
	return &node{op: opBinary, text: "**", at: at, kids: []*node{n, right}}, nil
}

func (p *parser) primary() (*node, error) {
	t := p.peek()
	p.at++
	n := &node{op: opLiteral, at: t.at}
	switch t.kind {
	case tokenInt:
		n.value = t.num
	case tokenFloat:
		n.value = t.flt
	case tokenString:
		text := t.text
		for p.peek().kind == tokenString { // Neighbouring strings are one, as in C.
			text += p.peek().text
			p.at++
		}
		n.value = text
	case tokenName:
		switch {
		case t.text == "True" || t.text == "False":
			n.value = t.text == "True"
		case keywords[t.text]:
			return nil, fault(p.src, t.at, "unexpected %s where a value should stand", t.text)
		case p.is("("):
			return p.call(t)
		default:
			n.op, n.text = opName, t.text
		}
	case tokenEnd:
		p.at--
		return nil, fault(p.src, t.at, "the expression ends where a value should stand")
	default:
		return p.brackets(t)
	}
	if p.is("[", "(", ".") {
		return nil, fault(p.src, p.peek().at, "indices, attributes and calls of values are not understood")
	}
	return n, nil
}

// brackets reads a list, a tuple, an expression in parentheses, or a comprehension in either bracket.
func (p *parser) brackets(t token) (*node, error) {
	closing, isList := ")", t.text == "["
	switch t.text {
	case "(":
	case "[":
		closing = "]"
	case "{":
		return nil, fault(p.src, t.at, "sets and dictionaries are not understood; write a list")
	case "~":
		return nil, fault(p.src, t.at, "bitwise operators are not understood")
	default:
		return nil, fault(p.src, t.at, "unexpected %s where a value should stand", p.word(t))
	}
	n := &node{op: opTuple, at: t.at}
	if isList {
		n.op = opList
	}
	if p.accept(closing) {
		return n, nil
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	list, comma, err := p.elements(closing)
	if err != nil {
		return nil, err
	}
	n.kids = list
	switch {
	case p.is("for") && !comma:
		if n, err = p.comprehension(list[0], isList); err != nil {
			return nil, err
		}
	case !isList && !comma:
		n = list[0]
	}
	return n, p.expect(closing)
}

// call reads the arguments of a function.
func (p *parser) call(t token) (*node, error) {
	n := &node{op: opCall, text: t.text, at: t.at}
	p.at++
	for !p.accept(")") {
		if len(n.kids) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.accept(")") {
				break
			}
		}
		kid, err := p.expression()
		if err != nil {
			return nil, err
		}
		if p.is("for") && len(n.kids) == 0 {
			if kid, err = p.comprehension(kid, false); err != nil {
				return nil, err
			}
		}
		if p.is("=") {
			return nil, fault(p.src, p.peek().at, "named arguments are not understood")
		}
		n.kids = append(n.kids, kid)
	}
	if p.is("[", "(", ".") {
		return nil, fault(p.src, p.peek().at, "indices, attributes and calls of values are not understood")
	}
	return n, nil
}

// comprehension reads the clauses after the element.
func (p *parser) comprehension(element *node, list bool) (*node, error) {
	n := &node{op: opFor, at: p.peek().at, kids: []*node{element}, list: list}
	for p.accept("for") {
		var c clause
		for {
			t := p.peek()
			if t.kind != tokenName || keywords[t.text] {
				return nil, fault(p.src, t.at, "expected the name of a variable, found %s", p.word(t))
			}
			p.at++
			c.names = append(c.names, t.text)
			if !p.accept(",") {
				break
			}
		}
		if err := p.expect("in"); err != nil {
			return nil, err
		}
		iterable, err := p.or()
		if err != nil {
			return nil, err
		}
		for p.accept("if") {
			condition, err := p.or()
			if err != nil {
				return nil, err
			}
			c.conditions = append(c.conditions, condition)
		}
		n.kids, n.clauses = append(n.kids, iterable), append(n.clauses, c)
	}
	return n, nil
}
