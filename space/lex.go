package space

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tune/internal/plain"
)

// maxExprBytes bounds the text of an expression.
const maxExprBytes = 1 << 16

// ExprError describes an error in an expression, with its position.
type ExprError struct {
	// Expr is the whole expression.
	Expr string
	// Column is the position of the error, in characters from 1. It is one past the end where something is missing there.
	Column int
	// Reason says what is wrong.
	Reason string
}

// Error returns the column, the reason and the expression, in one line. A long expression is cut off.
func (e *ExprError) Error() string {
	return fmt.Sprintf("column %d: %s, in %q", e.Column, e.Reason, plain.Clip(e.Expr, mostShown))
}

// mostShown is how many characters of an expression an error shows.
const mostShown = 100

// reserved are the words that cannot name a parameter.
var reserved = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "if": true, "else": true,
	"true": true, "false": true, "True": true, "False": true,
	"min": true, "max": true, "abs": true,
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func isIdentifier(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenInt
	tokenFloat
	tokenString
	tokenSymbol // an operator, a bracket, or a reserved word
)

// token is one word of an expression. Its text is the name, the operator in its canonical spelling
// (&& is "and"), or the contents of a string.
type token struct {
	kind tokenKind
	text string
	num  int64
	flt  float64
	col  int
}

// symbols are the operators, longest first, each with its canonical spelling. The C-style ! stays
// apart from "not" because it binds more tightly.
var symbols = [...]struct{ text, canonical string }{
	{"**", "**"}, {"//", "//"}, {"<=", "<="}, {">=", ">="}, {"==", "=="}, {"!=", "!="}, {"&&", "and"}, {"||", "or"},
	{"+", "+"}, {"-", "-"}, {"*", "*"}, {"/", "/"}, {"%", "%"}, {"<", "<"}, {">", ">"}, {"!", "!"},
	{"(", "("}, {")", ")"}, {"[", "["}, {"]", "]"}, {",", ","}, {"?", "?"}, {":", ":"},
}

// lexer cuts an expression into tokens. It goes through the bytes once and keeps the column, counted
// in characters, beside the offset.
type lexer struct {
	src    string
	at     int
	column int
}

func (l *lexer) fail(column int, format string, args ...any) error {
	return &ExprError{Expr: l.src, Column: column, Reason: fmt.Sprintf(format, args...)}
}

// lex returns the tokens of src, with a tokenEnd last.
func lex(src string) ([]token, error) {
	l := &lexer{src: src, column: 1}
	if len(src) > maxExprBytes {
		return nil, &ExprError{Expr: src[:64] + "…", Column: 1, Reason: fmt.Sprintf("the expression is longer than %d bytes", maxExprBytes)}
	}
	if !utf8.ValidString(src) {
		return nil, &ExprError{Expr: strings.ToValidUTF8(src, "�"), Column: 1, Reason: "the expression is not valid UTF-8"}
	}
	var tokens []token
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens, nil
		}
	}
}

// advance moves on by n bytes.
func (l *lexer) advance(n int) {
	l.column += utf8.RuneCountInString(l.src[l.at : l.at+n])
	l.at += n
}

func (l *lexer) next() (token, error) {
	for l.at < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.at]) >= 0 {
		l.advance(1)
	}
	column := l.column
	if l.at == len(l.src) {
		return token{kind: tokenEnd, col: column}, nil
	}
	rest := l.src[l.at:]
	switch c := rest[0]; {
	case isLetter(c):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		l.advance(n)
		switch word := rest[:n]; word {
		case "True", "False":
			return token{kind: tokenSymbol, text: strings.ToLower(word), col: column}, nil
		default:
			if reserved[word] {
				return token{kind: tokenSymbol, text: word, col: column}, nil
			}
			return token{kind: tokenName, text: word, col: column}, nil
		}
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number()
	case c == '\'' || c == '"':
		return l.quoted(c)
	}
	for _, f := range foreign {
		if strings.HasPrefix(rest, f.text) {
			return token{}, l.fail(column, "%s", f.remedy)
		}
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s.text) {
			l.advance(len(s.text))
			return token{kind: tokenSymbol, text: s.canonical, col: column}, nil
		}
	}
	switch r, _ := utf8.DecodeRuneInString(rest); r {
	case '=':
		return token{}, l.fail(column, "a lone = compares nothing; write ==, or put a text that has it in quotes")
	case '.':
		return token{}, l.fail(column, "%s", dotted(rest))
	case '&', '|':
		return token{}, l.fail(column, "%s", bitwise(rest))
	default:
		return token{}, l.fail(column, "unexpected character %q", r)
	}
}

// number reads a number, in any notation that Go has for one. An integer of more than 64 bits becomes a float.
func (l *lexer) number() (token, error) {
	rest, column, n := l.src[l.at:], l.column, 0
	hex := len(rest) > 1 && rest[1]|0x20 == 'x' // where an e is a digit
	for n < len(rest) && (isDigit(rest[n]) || isLetter(rest[n]) || rest[n] == '.' ||
		(rest[n] == '+' || rest[n] == '-') && rest[n-1]|0x20 == 'e' && !hex) {
		n++
	}
	text := rest[:n]
	l.advance(n)
	if len(text) > 1 && text[0] == '0' && (isDigit(text[1]) || text[1] == '_') && !strings.ContainsAny(text, ".eE") {
		return token{}, l.fail(column, "%s: a leading zero could mean octal; leave it out, or write 0o", text)
	}
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return token{kind: tokenInt, num: v, col: column}, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && strings.Contains(text, ".."):
		return token{}, l.fail(column, "%s: write a range as comparisons, as in 1 <= a <= 4", text)
	case err != nil:
		return token{}, l.fail(column, "%s is not a finite number: write digits alone, without a unit, and * before a name", text)
	}
	return token{kind: tokenFloat, flt: v, col: column}, nil
}

// quoted reads a string in either quote, with the escapes of Go.
func (l *lexer) quoted(quote byte) (token, error) {
	rest, column := l.src[l.at+1:], l.column
	total := len(rest)
	var text strings.Builder
	for {
		if rest == "" {
			return token{}, l.fail(column, "the string has no closing %c", quote)
		}
		if rest[0] == quote {
			l.advance(1 + total - len(rest) + 1)
			break
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return token{}, l.fail(column, "the string has a bad escape: write \\\\ for a backslash")
		}
		if r < utf8.RuneSelf || !multibyte {
			text.WriteByte(byte(r))
		} else {
			text.WriteRune(r)
		}
		rest = tail
	}
	if !utf8.ValidString(text.String()) {
		return token{}, l.fail(column, "the string is not valid UTF-8")
	}
	return token{kind: tokenString, text: text.String(), col: column}, nil
}
