package space

import (
	gocmp "cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Formula is an arithmetic expression over named numbers, such as "n // tile * 4 if packed else n". It has the grammar of
// constraints, and is computed in float64: whole numbers are exact up to 2^53. The zero Formula has no value.
type Formula struct {
	src  string
	root *node
}

// Mention is a name in an expression.
type Mention struct {
	Name   string
	Column int // in characters from 1
}

// ParseFormula reads a formula. An error is an *ExprError.
func ParseFormula(src string) (Formula, error) {
	root, err := parse(src, true)
	if err != nil {
		return Formula{}, err
	}
	if text := root.find(opString); text != nil {
		return Formula{}, &ExprError{Expr: src, Column: text.col, Reason: "text has no value in a formula, which computes with numbers"}
	}
	return Formula{src, root}, nil
}

// find returns a node of an operation at or below n; nil where there is none.
func (n *node) find(o op) *node {
	if n.op == o {
		return n
	}
	for _, kid := range n.kids {
		if found := kid.find(o); found != nil {
			return found
		}
	}
	return nil
}

// IsZero reports whether f is the zero Formula.
func (f Formula) IsZero() bool { return f.root == nil }

// String returns the formula as it was written.
func (f Formula) String() string { return f.src }

// Mentions returns the names in a formula from left to right, each as often as it occurs.
func (f Formula) Mentions() []Mention {
	var out []Mention
	var visit func(n *node)
	visit = func(n *node) {
		if n.op == opName {
			out = append(out, Mention{n.text, n.col})
		}
		for _, kid := range n.kids {
			visit(kid)
		}
	}
	if f.root != nil {
		visit(f.root)
	}
	slices.SortFunc(out, func(a, b Mention) int { return gocmp.Compare(a.Column, b.Column) })
	return out
}

// Value computes the formula. A name without a value stands for a parameter that is inactive: that is an error where its
// value is needed, as are a division by zero and a result that is not finite.
func (f Formula) Value(of map[string]float64) (float64, error) {
	x, err := f.at(f.root, of)
	if err == nil && math.IsInf(x, 0) {
		err = f.infinite()
	}
	return x, err
}

func (f Formula) infinite() error { return fmt.Errorf("%s has no finite value", f.src) }

// at computes the part of a formula below n. Truth values are 1 and 0, and any number but 0 is true.
func (f Formula) at(n *node, of map[string]float64) (float64, error) {
	switch n.op {
	case opBool:
		return float64(n.num), nil
	case opFloat:
		return n.flt, nil
	case opName:
		x, ok := of[n.text]
		if !ok {
			return 0, fmt.Errorf("%s reads %s, which is inactive here", f.src, n.text)
		}
		return x, nil
	case opAnd, opOr:
		for _, kid := range n.kids {
			x, err := f.at(kid, of)
			if err != nil || (x != 0) == (n.op == opOr) {
				return oneIf(x != 0), err
			}
		}
		return oneIf(n.op == opAnd), nil
	case opChoose:
		x, err := f.at(n.kids[0], of)
		switch {
		case err != nil:
			return 0, err
		case x != 0:
			return f.at(n.kids[1], of)
		}
		return f.at(n.kids[2], of)
	}
	operands := make([]float64, len(n.kids))
	for i, kid := range n.kids {
		var err error
		if operands[i], err = f.at(kid, of); err != nil {
			return 0, err
		}
	}
	return f.apply(n, operands)
}

// apply computes an operator that needs all of its operands.
func (f Formula) apply(n *node, x []float64) (float64, error) {
	switch n.op {
	case opNot:
		return oneIf(x[0] == 0), nil
	case opNegate:
		return -x[0], nil
	case opAbs:
		return math.Abs(x[0]), nil
	case opMin:
		return slices.Min(x), nil
	case opMax:
		return slices.Max(x), nil
	case opChain:
		for i, cmp := range n.cmp {
			if comparisonTables[cmp][1+gocmp.Compare(x[i], x[i+1])] != isTrue {
				return 0, nil
			}
		}
		return 1, nil
	case opIn, opNotIn:
		return oneIf(slices.Contains(x[1:], x[0]) == (n.op == opIn)), nil
	case opDiv, opFloorDiv, opMod:
		if x[1] == 0 {
			return 0, fmt.Errorf("%s divides by zero", f.src)
		}
	}
	v := floatOps[n.op](x[0], x[1])
	if math.IsNaN(v) {
		return 0, f.infinite() // a comparison with it would mean nothing
	}
	return v, nil
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// anyNumber reads a number of a formula, in any notation that Go has for one, as a float.
func (l *lexer) anyNumber() (token, error) {
	rest, column, n := l.src[l.at:], l.column, 0
	hex := len(rest) > 1 && rest[1]|0x20 == 'x' // where an e is a digit
	for n < len(rest) && (isDigit(rest[n]) || isLetter(rest[n]) || rest[n] == '.' ||
		(rest[n] == '+' || rest[n] == '-') && rest[n-1]|0x20 == 'e' && !hex) {
		n++
	}
	text := rest[:n]
	v, err := strconv.ParseFloat(text, 64)
	if whole, bad := strconv.ParseInt(text, 0, 64); bad == nil {
		v, err = float64(whole), nil
	}
	if err != nil {
		return token{}, l.fail(column, "%s is not a number", text)
	}
	l.advance(n)
	return token{kind: tokenFloat, flt: v, col: column}, nil
}

// Bind replaces some names in an expression by their values, and leaves the rest of its text unchanged. An expression with a
// syntax error stays unchanged.
func Bind(src string, values map[string]int) string {
	tokens, err := lex(src, false)
	if err != nil {
		return src
	}
	var b strings.Builder
	text, at := []rune(src), 0
	for _, t := range tokens {
		v, ok := values[t.text]
		if t.kind != tokenName || !ok {
			continue
		}
		b.WriteString(string(text[at : t.col-1]))
		if v < 0 {
			fmt.Fprintf(&b, "(%d)", v)
		} else {
			b.WriteString(strconv.Itoa(v))
		}
		at = t.col - 1 + len(t.text)
	}
	b.WriteString(string(text[at:]))
	return b.String()
}
