package space

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits on the shape of an expression: how deep the parser recurses, and how high the tree may get by long chains of operators
// that nest to the left.
const (
	maxParseDepth = 200
	maxTreeHeight = 1000
)

// op is the operation of a node.
type op uint8

const (
	opInt op = iota
	opFloat
	opString
	opBool
	opName
	opNot
	opNegate
	opAnd // any number of operands
	opOr
	opChain // operands a, b, c and the comparisons between them
	opIn    // the first operand among the others
	opNotIn
	opAdd
	opSub
	opMul
	opDiv
	opFloorDiv
	opMod
	opPow
	opMin
	opMax
	opAbs
	opChoose // kids: condition, value where true, value where false
)

// binding powers, weakest first. Not binds more weakly than comparisons, as in Python; ! is a prefix
// operator as tight as the minus sign, as in C.
const (
	bindChoose = iota + 1
	bindOr
	bindAnd
	bindNot
	bindCompare
	bindAdd
	bindMul
	bindPrefix
	bindPow
	bindPrimary
)

// infix operators but for comparisons and conditionals.
var infix = map[string]struct {
	op   op
	bind int
}{
	"or": {opOr, bindOr}, "and": {opAnd, bindAnd},
	"+": {opAdd, bindAdd}, "-": {opSub, bindAdd},
	"*": {opMul, bindMul}, "/": {opDiv, bindMul}, "//": {opFloorDiv, bindMul}, "%": {opMod, bindMul},
	"**": {opPow, bindPow},
}

var comparisons = map[string]bool{"<": true, "<=": true, ">": true, ">=": true, "==": true, "!=": true}

var functions = map[string]op{"min": opMin, "max": opMax, "abs": opAbs}

// node is one node of the syntax tree.
type node struct {
	op     op
	col    int
	kids   []*node
	cmp    []string // the comparisons of opChain, one fewer than kids
	num    int64    // opInt; opBool has 0 or 1
	flt    float64
	text   string // opName, opString
	height int

	// The checker fills these in.
	typ   exprType
	param int // opName: its place in the space
	// first and last are the first and the last parameter that the node reads; last is -1 where it reads none.
	first, last int
}

// parser is a Pratt parser [Pratt, "Top down operator precedence", POPL 1973].
type parser struct {
	src    string
	tokens []token
	at     int
	depth  int
}

// parseExpr returns the syntax tree of an expression. Every error is an *ExprError.
func parseExpr(src string) (*node, error) {
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{src: src, tokens: tokens}
	if p.peek().kind == tokenEnd {
		return nil, p.fail(p.peek().col, "the expression is empty")
	}
	n, err := p.parse(bindChoose)
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, p.fail(t.col, "unexpected %s after the end of the expression%s", t, p.remedyAfter())
	}
	return n, nil
}

// String shows the token in an error.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "end of the expression"
	case tokenInt:
		return strconv.FormatInt(t.num, 10)
	case tokenFloat:
		return formatFloat(t.flt)
	case tokenString:
		return strconv.Quote(t.text)
	}
	return t.text
}

func (p *parser) fail(column int, format string, args ...any) error {
	return &ExprError{Expr: p.src, Column: column, Reason: fmt.Sprintf(format, args...)}
}

func (p *parser) peek() token { return p.tokens[p.at] }

// accept takes the next token if it is the symbol.
func (p *parser) accept(symbol string) bool {
	if t := p.peek(); t.kind == tokenSymbol && t.text == symbol {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(symbol string) error {
	if !p.accept(symbol) {
		return p.fail(p.peek().col, "expected %q, found %s", symbol, p.peek())
	}
	return nil
}

// grow finishes a node with children; it refuses a tree that has become too high.
func (p *parser) grow(n *node) (*node, error) {
	for _, kid := range n.kids {
		n.height = max(n.height, kid.height+1)
	}
	if n.height > maxTreeHeight {
		return nil, p.fail(n.col, "the expression nests more than %d operators", maxTreeHeight)
	}
	return n, nil
}

// parse reads an expression whose operators bind at least as tightly as bind.
func (p *parser) parse(bind int) (*node, error) {
	if p.depth++; p.depth > maxParseDepth {
		return nil, p.fail(p.peek().col, "the expression is nested deeper than %d", maxParseDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.prefix(bind)
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		if t.kind != tokenSymbol {
			return left, nil
		}
		var next *node
		switch info, ok := infix[t.text]; {
		case ok && info.bind >= bind:
			next, err = p.binary(left, info.op, info.bind)
		case (comparisons[t.text] || t.text == "in" || t.text == "not") && bindCompare >= bind:
			next, err = p.comparison(left)
		case (t.text == "if" || t.text == "?") && bindChoose >= bind:
			next, err = p.choose(left)
		default:
			return left, nil
		}
		if err != nil {
			return nil, err
		}
		left = next
	}
}

// binary reads the operator and its right side. And and or gather their operands in one node; powers
// group to the right, the rest to the left.
func (p *parser) binary(left *node, o op, bind int) (*node, error) {
	t := p.peek()
	p.at++
	right := bind + 1
	if o == opPow {
		right = bindPrefix
	}
	r, err := p.parse(right)
	if err != nil {
		return nil, err
	}
	if o != opAnd && o != opOr {
		return p.grow(&node{op: o, col: t.col, kids: []*node{left, r}})
	}
	if left.op != o {
		left = &node{op: o, col: t.col, kids: []*node{left}}
	}
	if r.op == o {
		left.kids = append(left.kids, r.kids...)
	} else {
		left.kids = append(left.kids, r)
	}
	return p.grow(left)
}

// comparison reads "< b <= c …", "in [b, c]" or "not in [b, c]" after its left side.
func (p *parser) comparison(left *node) (*node, error) {
	t := p.peek()
	if t.text == "in" || t.text == "not" {
		n := &node{op: opIn, col: t.col, kids: []*node{left}}
		p.at++
		if t.text == "not" {
			n.op = opNotIn
			if err := p.expect("in"); err != nil {
				return nil, err
			}
		}
		if err := p.list(n); err != nil {
			return nil, err
		}
		if after := p.peek(); after.kind == tokenSymbol && (comparisons[after.text] || after.text == "in" || after.text == "not") {
			return nil, p.fail(after.col, "put parentheses around the test for membership")
		}
		return p.grow(n)
	}
	n := &node{op: opChain, col: t.col, kids: []*node{left}}
	for t := p.peek(); t.kind == tokenSymbol && comparisons[t.text]; t = p.peek() {
		p.at++
		right, err := p.parse(bindCompare + 1)
		if err != nil {
			return nil, err
		}
		n.kids, n.cmp = append(n.kids, right), append(n.cmp, t.text)
	}
	if after := p.peek(); after.kind == tokenSymbol && (after.text == "in" || after.text == "not") {
		return nil, p.fail(after.col, "put parentheses around the comparison")
	}
	return p.grow(n)
}

// list reads a list in brackets or parentheses and adds its elements to n. A comma may stand at the end.
func (p *parser) list(n *node) error {
	open, end := p.peek(), "]"
	if !p.accept("[") {
		end = ")"
		if !p.accept("(") {
			return p.fail(open.col, "expected a list such as [1, 2], found %s%s", open, p.asList())
		}
	}
	for !p.accept(end) {
		if len(n.kids) > 1 {
			if err := p.expect(","); err != nil {
				return err
			}
			if p.accept(end) {
				break
			}
		}
		element, err := p.parse(bindChoose)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, element)
	}
	if len(n.kids) == 1 {
		return p.fail(open.col, "the list is empty")
	}
	return nil
}

// choose reads "if c else b" after a, or "? a : b" after c.
func (p *parser) choose(left *node) (*node, error) {
	t := p.peek()
	p.at++
	first, second, separator := bindOr, bindChoose, "else"
	if t.text == "?" {
		first, separator = bindChoose, ":"
	}
	middle, err := p.parse(first)
	if err != nil {
		return nil, err
	}
	if separator == "else" && p.peek().kind == tokenEnd {
		return nil, p.fail(p.peek().col, "an if has no else: write a if c else b, or not c or a where a has to hold only if c does")
	}
	if err := p.expect(separator); err != nil {
		return nil, err
	}
	right, err := p.parse(second)
	if err != nil {
		return nil, err
	}
	kids := []*node{left, middle, right}
	if t.text == "if" {
		kids[0], kids[1] = middle, left
	}
	return p.grow(&node{op: opChoose, col: t.col, kids: kids})
}

// prefix reads an operand with the prefix operators before it.
func (p *parser) prefix(bind int) (*node, error) {
	t := p.peek()
	p.at++
	switch t.kind {
	case tokenInt:
		return &node{op: opInt, col: t.col, num: t.num}, nil
	case tokenFloat:
		return &node{op: opFloat, col: t.col, flt: t.flt}, nil
	case tokenString:
		return &node{op: opString, col: t.col, text: t.text}, nil
	case tokenName:
		if p.peek().text == "(" && p.peek().kind == tokenSymbol {
			return nil, p.fail(t.col, "there is no function %q%s", t.text, remedyCall(t.text))
		}
		return &node{op: opName, col: t.col, text: t.text}, nil
	case tokenEnd:
		p.at--
		return nil, p.fail(t.col, "the expression ends where a value should stand")
	}
	switch t.text {
	case "true", "false":
		n := &node{op: opBool, col: t.col}
		if t.text == "true" {
			n.num = 1
		}
		return n, nil
	case "(":
		if types := p.cast(); types != "" {
			return nil, p.fail(t.col, "there are no casts: leave (%s) out, and write // for a division without a fraction", types)
		}
		n, err := p.parse(bindChoose)
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	case "not":
		if bind > bindNot {
			return nil, p.fail(t.col, "put parentheses around the not")
		}
		return p.unary(opNot, t.col, bindNot)
	case "!":
		return p.unary(opNot, t.col, bindPrefix)
	case "-":
		return p.unary(opNegate, t.col, bindPrefix)
	case "+":
		return p.parse(bindPrefix)
	case "if":
		return nil, p.fail(t.col, "unexpected if where a value should stand: write it as a if c else b, or as not c or a where a has to hold only if c does")
	case "[":
		return nil, p.fail(t.col, "unexpected [ where a value should stand: a list follows in, as in a in [1, 2]")
	case "min", "max", "abs":
		return p.call(t)
	}
	return nil, p.fail(t.col, "unexpected %s where a value should stand", t)
}

func (p *parser) unary(o op, column, bind int) (*node, error) {
	kid, err := p.parse(bind)
	if err != nil {
		return nil, err
	}
	return p.grow(&node{op: o, col: column, kids: []*node{kid}})
}

// call reads the arguments of a function.
func (p *parser) call(t token) (*node, error) {
	n := &node{op: functions[t.text], col: t.col}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for !p.accept(")") {
		if len(n.kids) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		kid, err := p.parse(bindChoose)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	switch {
	case n.op == opAbs && len(n.kids) != 1:
		return nil, p.fail(t.col, "abs takes one argument, not %d", len(n.kids))
	case len(n.kids) == 0:
		return nil, p.fail(t.col, "%s takes at least one argument", t.text)
	}
	return p.grow(n)
}

// String prints the tree in its canonical spelling: Python's words, one blank around operators, no
// parentheses that the grammar does not need. It parses back to an equal tree.
func (n *node) String() string {
	var b strings.Builder
	n.print(&b, bindChoose)
	return b.String()
}

// opText is the canonical spelling of the operators that have one.
var opText = map[op]string{
	opNot: "not ", opNegate: "-", opAnd: " and ", opOr: " or ", opAdd: " + ", opSub: " - ", opMul: " * ", opDiv: " / ",
	opFloorDiv: " // ", opMod: " % ", opPow: " ** ", opMin: "min", opMax: "max", opAbs: "abs",
}

// print writes n where the context binds with bind.
func (n *node) print(b *strings.Builder, bind int) {
	own := n.bind()
	if own < bind {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch n.op {
	case opInt:
		b.WriteString(strconv.FormatInt(n.num, 10))
	case opFloat:
		b.WriteString(formatFloat(n.flt))
	case opString:
		b.WriteString(strconv.Quote(n.text))
	case opBool:
		b.WriteString(strconv.FormatBool(n.num != 0))
	case opName:
		b.WriteString(n.text)
	case opNot:
		b.WriteString(opText[n.op])
		n.kids[0].print(b, bindNot)
	case opNegate:
		b.WriteString(opText[n.op])
		n.kids[0].print(b, bindPrefix)
	case opAnd, opOr:
		printList(b, n.kids, opText[n.op], own+1)
	case opChain:
		for i, kid := range n.kids {
			if i > 0 {
				b.WriteString(" " + n.cmp[i-1] + " ")
			}
			kid.print(b, bindCompare+1)
		}
	case opIn, opNotIn:
		n.kids[0].print(b, bindCompare+1)
		if n.op == opNotIn {
			b.WriteString(" not")
		}
		b.WriteString(" in [")
		printList(b, n.kids[1:], ", ", bindChoose)
		b.WriteByte(']')
	case opPow:
		n.kids[0].print(b, bindPrimary)
		b.WriteString(opText[n.op])
		n.kids[1].print(b, bindPrefix)
	case opMin, opMax, opAbs:
		b.WriteString(opText[n.op] + "(")
		printList(b, n.kids, ", ", bindChoose)
		b.WriteByte(')')
	case opChoose:
		n.kids[1].print(b, bindOr)
		b.WriteString(" if ")
		n.kids[0].print(b, bindOr)
		b.WriteString(" else ")
		n.kids[2].print(b, bindChoose)
	default:
		n.kids[0].print(b, own)
		b.WriteString(opText[n.op])
		n.kids[1].print(b, own+1)
	}
}

func printList(b *strings.Builder, kids []*node, separator string, bind int) {
	for i, kid := range kids {
		if i > 0 {
			b.WriteString(separator)
		}
		kid.print(b, bind)
	}
}

// bind is how tightly the node's own operator binds.
func (n *node) bind() int {
	switch n.op {
	case opChoose:
		return bindChoose
	case opOr:
		return bindOr
	case opAnd:
		return bindAnd
	case opNot:
		return bindNot
	case opChain, opIn, opNotIn:
		return bindCompare
	case opAdd, opSub:
		return bindAdd
	case opMul, opDiv, opFloorDiv, opMod:
		return bindMul
	case opNegate:
		return bindPrefix
	case opPow:
		return bindPow
	}
	return bindPrimary
}
