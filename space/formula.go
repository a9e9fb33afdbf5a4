package space

import (
	gocmp "cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Formula is an expression over named values whose result may be a number, a truth value or a text, such as "n // tile * 4 if
// packed else n". It has the grammar and the types of constraints. The zero Formula has no value.
type Formula struct {
	src  string
	root *node
}

// Mention is a name in an expression.
type Mention struct {
	Name   string
	Column int // in characters from 1
}

// ErrInactive is in the errors of a Formula that needs the value of a name that has none.
var ErrInactive = errors.New("which is inactive here")

// ParseFormula reads a formula. An error is an *ExprError.
func ParseFormula(src string) (Formula, error) {
	root, err := parseExpr(src)
	if err != nil {
		return Formula{}, err
	}
	return Formula{src, root}, nil
}

// IsZero reports whether f is the zero Formula.
func (f Formula) IsZero() bool { return f.root == nil }

// String returns the formula as it was written.
func (f Formula) String() string { return f.src }

// Mentions returns the names in a formula from left to right, each as often as it occurs.
func (f Formula) Mentions() []Mention {
	var out []Mention
	for n := range f.nodes(opName) {
		out = append(out, Mention{n.text, n.col})
	}
	slices.SortFunc(out, func(a, b Mention) int { return gocmp.Compare(a.Column, b.Column) })
	return out
}

// IsTruth reports whether the result of the formula is true or false wherever it has one.
func (f Formula) IsTruth() bool { return f.root != nil && f.root.isTruth() }

func (n *node) isTruth() bool {
	switch n.op {
	case opBool, opAnd, opOr, opNot, opChain, opIn, opNotIn:
		return true
	case opChoose:
		return n.kids[1].isTruth() && n.kids[2].isTruth()
	}
	return false
}

// Texts returns the texts that stand in a formula.
func (f Formula) Texts() []string {
	var out []string
	for n := range f.nodes(opString) {
		out = append(out, n.text)
	}
	return out
}

// nodes yields the nodes of an operation.
func (f Formula) nodes(o op) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		var visit func(n *node) bool
		visit = func(n *node) bool {
			if n.op == o && !yield(n) {
				return false
			}
			return !slices.ContainsFunc(n.kids, func(kid *node) bool { return !visit(kid) })
		}
		if f.root != nil {
			visit(f.root)
		}
	}
}

// Check reports what is wrong with the types of a formula over some parameters, as New does for a constraint, or a LoneNumber, and
// otherwise whether its result is a text. The error is an *ExprError.
func (f Formula) Check(params []Parameter) (text bool, err error) {
	s := &scope{index: map[string]int{}}
	for i, p := range params {
		if values, err := normaliseValues(p.Values); err == nil {
			p.Values = values
		}
		s.params, s.index[p.Name] = append(s.params, p), i
	}
	root, err := parseExpr(f.src) // the checker changes the tree
	if err != nil {
		return false, err
	}
	c := &checker{src: f.src, scope: s, visible: len(params), reads: map[int]bool{}}
	if err := c.check(root); err != nil {
		return false, err
	}
	return root.typ == typeString, LoneNumber(f.src)
}

// Value computes the formula. A name without a value stands for a parameter that is inactive: where its value is needed, the error
// is an ErrInactive. A division by zero and a result that is not finite are errors too. Integers have 64 bits; where an operation
// on them overflows, or is a negative power, the formula goes on with a float.
func (f Formula) Value(of map[string]Value) (Value, error) { return f.at(f.root, of) }

// at computes the part of a formula below n.
func (f Formula) at(n *node, of map[string]Value) (Value, error) {
	switch n.op {
	case opBool:
		return BoolValue(n.num != 0), nil
	case opInt:
		return IntValue(n.num), nil
	case opFloat:
		return FloatValue(n.flt), nil
	case opString:
		return StringValue(n.text), nil
	case opName:
		v, ok := of[n.text]
		if !ok {
			return Value{}, fmt.Errorf("%s reads %s, %w", f.src, n.text, ErrInactive)
		}
		return v, nil
	case opAnd, opOr:
		for _, kid := range n.kids {
			is, err := f.truth(kid, of)
			if err != nil || is == (n.op == opOr) {
				return BoolValue(is), err
			}
		}
		return BoolValue(n.op == opAnd), nil
	case opChoose:
		is, err := f.truth(n.kids[0], of)
		switch {
		case err != nil:
			return Value{}, err
		case is:
			return f.at(n.kids[1], of)
		}
		return f.at(n.kids[2], of)
	case opNot:
		is, err := f.truth(n.kids[0], of)
		return BoolValue(!is), err
	}
	operands := make([]Value, len(n.kids))
	for i, kid := range n.kids {
		var err error
		if operands[i], err = f.at(kid, of); err != nil {
			return Value{}, err
		}
	}
	return f.apply(n, operands)
}

// truth computes a part that has to be true or false. A number is true where it is not 0.
func (f Formula) truth(n *node, of map[string]Value) (bool, error) {
	v, err := f.at(n, of)
	if err != nil {
		return false, err
	}
	x, ok := v.counted().Number()
	if !ok {
		return false, fmt.Errorf("%s takes the text %v for true or false", f.src, v)
	}
	return x != 0, nil
}

// counted returns a truth value as the number 1 or 0, and any other value as it is.
func (v Value) counted() Value {
	if v.kind == kindBool {
		return IntValue(int64(v.bits))
	}
	return v
}

// apply computes an operator that needs all of its operands.
func (f Formula) apply(n *node, x []Value) (Value, error) {
	switch n.op {
	case opChain:
		for i, cmp := range n.cmp {
			order, ok := compareAny(x[i], x[i+1])
			if !ok {
				return Value{}, fmt.Errorf("%s compares %v with %v", f.src, x[i], x[i+1])
			}
			if comparisonTables[cmp][1+order] != isTrue {
				return BoolValue(false), nil
			}
		}
		return BoolValue(true), nil
	case opIn, opNotIn:
		found := slices.ContainsFunc(x[1:], func(v Value) bool {
			order, ok := compareAny(x[0], v)
			return ok && order == 0
		})
		return BoolValue(found == (n.op == opIn)), nil
	}
	whole := n.op != opDiv
	for i, v := range x {
		x[i] = v.counted()
		if _, ok := x[i].Number(); !ok {
			return Value{}, fmt.Errorf("%s computes with the text %v", f.src, v)
		}
		whole = whole && x[i].kind == kindInt
	}
	if n.op == opDiv || n.op == opFloorDiv || n.op == opMod {
		if by, _ := x[1].Number(); by == 0 {
			return Value{}, fmt.Errorf("%s divides by zero", f.src)
		}
	}
	if whole {
		if v, state := applyInts(n.op, x); state == fine {
			return IntValue(v), nil
		}
	}
	v := applyFloats(n.op, x)
	if !Finite(v) {
		return Value{}, fmt.Errorf("%s has no finite value", f.src)
	}
	return FloatValue(v), nil
}

// compareAny orders two numbers or two texts; truth values count as 1 and 0.
func compareAny(a, b Value) (order int, ok bool) {
	a, b = a.counted(), b.counted()
	if a.kind == kindString || b.kind == kindString {
		return gocmp.Compare(a.text, b.text), a.kind == b.kind
	}
	switch {
	case a.kind == kindInt && b.kind == kindInt:
		return gocmp.Compare(a.int(), b.int()), true
	case a.kind == kindInt:
		return compareIntFloat(a.int(), b.float()), true
	case b.kind == kindInt:
		return -compareIntFloat(b.int(), a.float()), true
	}
	return gocmp.Compare(a.float(), b.float()), true
}

// applyInts computes an operator on integers.
func applyInts(o op, x []Value) (int64, truth) {
	first := x[0].int()
	switch o {
	case opNegate:
		return subInt(0, first)
	case opAbs:
		if first >= 0 {
			return first, fine
		}
		return subInt(0, first)
	case opMin, opMax:
		for _, v := range x[1:] {
			if (v.int() < first) == (o == opMin) {
				first = v.int()
			}
		}
		return first, fine
	case opMul:
		return mulInt(first, x[1].int())
	}
	return intOps[o](first, x[1].int())
}

// applyFloats computes an operator on numbers as floats.
func applyFloats(o op, values []Value) float64 {
	x := make([]float64, len(values))
	for i, v := range values {
		x[i], _ = v.Number()
	}
	switch o {
	case opNegate:
		return -x[0]
	case opAbs:
		return max(x[0], -x[0])
	case opMin:
		return slices.Min(x)
	case opMax:
		return slices.Max(x)
	}
	return floatOps[o](x[0], x[1])
}

// Bind replaces some names in an expression by their values, and leaves the rest of its text unchanged. An expression with a syntax
// error stays unchanged.
func Bind(src string, values map[string]int) string {
	tokens, err := lex(src)
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
