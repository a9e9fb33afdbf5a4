package space

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// exprType is the type of an expression.
type exprType uint8

const (
	typeInt exprType = iota + 1
	typeFloat
	typeString
	typeBool
)

func (t exprType) String() string {
	return [...]string{"nothing", "an integer", "a number with a fraction", "a string", "true or false"}[t]
}

func (t exprType) numeric() bool { return t == typeInt || t == typeFloat }

// expr is a compiled expression. It reads ordinals, so that evaluating it allocates nothing.
type expr struct {
	src   string
	text  string // canonical
	reads []int  // the parameters it names, in order
	size  int    // nodes in the tree
	root  *node
	scope *scope
	eval  func(ords []int) truth
}

// last is the last parameter that e reads, -1 where it reads none.
func (e *expr) last() int {
	if len(e.reads) == 0 {
		return -1
	}
	return e.reads[len(e.reads)-1]
}

// checker gives every node its type and reports errors.
type checker struct {
	src   string
	scope *scope
	// visible is the number of parameters that may be named; a condition sees only earlier ones.
	visible int
	reads   map[int]bool
	size    int
}

// scope is the set of names that an expression may use.
type scope struct {
	params []Parameter
	index  map[string]int
}

// Canonical returns an expression in its canonical spelling, and the names in it in order of first appearance. It knows no
// parameters, so it finds only syntax errors; the error is an *ExprError.
func Canonical(src string) (text string, names []string, err error) {
	root, err := parseExpr(src)
	if err != nil {
		return "", nil, err
	}
	var visit func(n *node)
	visit = func(n *node) {
		if n.op == opName && !slices.Contains(names, n.text) {
			names = append(names, n.text)
		}
		for _, kid := range n.kids {
			visit(kid)
		}
	}
	visit(root)
	return root.String(), names, nil
}

// compile parses, checks and compiles src, which may name the first visible parameters.
func (s *scope) compile(src string, visible int) (*expr, error) {
	root, err := parseExpr(src)
	if err != nil {
		return nil, err
	}
	text := root.String()
	c := &checker{src: src, scope: s, visible: visible, reads: map[int]bool{}}
	if err := c.check(root); err != nil {
		return nil, err
	}
	if root.op == opChoose && root.typ != typeBool {
		return nil, c.fail(root, "the expression is %s; it has to be true or false: compare it, as in (a if c else b) > 1", root.typ)
	}
	if root.typ != typeBool {
		return nil, c.fail(root, "the expression is %s; it has to be true or false: compare it, as in a %% 2 == 0", root.typ)
	}
	k := &compiler{src: src, scope: s}
	e := &expr{src: src, text: text, size: c.size, root: root, scope: s, eval: k.bool(root)}
	if k.err != nil {
		return nil, k.err
	}
	for i := range c.reads {
		e.reads = append(e.reads, i)
	}
	slices.Sort(e.reads)
	e.tabulate()
	return e, nil
}

// mostCases bounds the table of an expression.
const mostCases = 512

// tabulate makes evaluating e a look into a table, where the parameters that it reads have few combinations of ordinals, -1 included.
func (e *expr) tabulate() {
	strides, cases, width := make([]int, len(e.reads)), 1, e.last()+1
	for k, i := range e.reads {
		n := e.scope.params[i].Len() + 1
		if n > mostCases/cases {
			return
		}
		strides[k] = cases
		cases *= n
	}
	if width == 0 {
		return
	}
	table, ords := make([]truth, cases), make([]int, width)
	for at := range table {
		for k, i := range e.reads {
			ords[i] = at/strides[k]%(e.scope.params[i].Len()+1) - 1
		}
		table[at] = e.eval(ords)
	}
	reads, first := e.reads, e.reads[0]
	if len(reads) == 1 {
		e.eval = func(ords []int) truth { return table[ords[first]+1] }
		return
	}
	e.eval = func(ords []int) truth {
		at := 0
		for k, i := range reads {
			at += (ords[i] + 1) * strides[k]
		}
		return table[at]
	}
}

// conjuncts splits a constraint at its ands. The constraint is broken exactly where one of the parts is, because and stops at the
// first part that is false or has no value.
func (e *expr) conjuncts() []*expr {
	var parts []*node
	switch {
	case e.root.op == opAnd:
		parts = e.root.kids
	case e.root.op == opChain && len(e.root.cmp) > 1:
		for i, cmp := range e.root.cmp {
			n := &node{op: opChain, col: e.root.col, kids: e.root.kids[i : i+2], cmp: []string{cmp}, typ: typeBool}
			n.span()
			parts = append(parts, n)
		}
	default:
		return []*expr{e}
	}
	var out []*expr
	for _, n := range parts {
		k := &compiler{src: e.src, scope: e.scope}
		part := &expr{src: e.src, text: e.text, root: n, scope: e.scope, eval: k.bool(n)}
		reads := map[int]bool{}
		n.collect(reads)
		for _, i := range e.reads {
			if reads[i] {
				part.reads = append(part.reads, i)
			}
		}
		if len(part.reads) == 0 {
			if t := part.eval(nil); t != isTrue && t != isUnknown {
				return []*expr{e}
			}
			continue
		}
		part.tabulate()
		out = append(out, part.conjuncts()...)
	}
	return out
}

// collect gathers the parameters that n reads.
func (n *node) collect(reads map[int]bool) {
	if n.op == opName {
		reads[n.param] = true
	}
	for _, kid := range n.kids {
		kid.collect(reads)
	}
}

// span records the first and the last parameter that n reads, from its children.
func (n *node) span() {
	n.first, n.last = math.MaxInt, -1
	if n.op == opName {
		n.first, n.last = n.param, n.param
	}
	for _, kid := range n.kids {
		n.first, n.last = min(n.first, kid.first), max(n.last, kid.last)
	}
}

func (c *checker) fail(n *node, format string, args ...any) error {
	return &ExprError{Expr: c.src, Column: n.col, Reason: fmt.Sprintf(format, args...)}
}

// check determines the types of n and of the nodes below it. Where a number stands for a truth value or the reverse, it writes the
// conversion into the tree.
func (c *checker) check(n *node) error {
	c.size++
	if n.op == opChain || n.op == opIn || n.op == opNotIn {
		if err := c.unquoted(n); err != nil {
			return err
		}
	}
	for _, kid := range n.kids {
		if err := c.check(kid); err != nil {
			return err
		}
	}
	defer n.span()
	switch n.op {
	case opInt:
		n.typ = typeInt
	case opFloat:
		n.typ = typeFloat
	case opString:
		n.typ = typeString
	case opBool:
		n.typ = typeBool
	case opName:
		return c.name(n)
	case opNot, opAnd, opOr:
		n.typ = typeBool
		for i, kid := range n.kids {
			if kid.op == opString {
				return c.fail(kid, "%s needs true or false, and a text alone compares nothing: write the comparison, as in a == 'x' or a == 'y'", n.word())
			}
			if kid.typ == typeString {
				return c.fail(kid, "%s needs true or false, this is %s", n.word(), kid.typ)
			}
			n.kids[i] = kid.truth()
		}
	case opChain, opIn, opNotIn:
		n.typ = typeBool
		return c.comparison(n)
	case opChoose:
		return c.conditional(n)
	default:
		n.typ = typeInt
		for i, kid := range n.kids {
			if kid.typ == typeString {
				return c.fail(kid, "%s needs numbers, this is %s", n.word(), kid.typ)
			}
			if kid.typ == typeFloat || n.op == opDiv {
				n.typ = typeFloat
			}
			n.kids[i] = kid.number()
		}
	}
	return nil
}

// comparison checks the operands of a chain of comparisons, or of a test for membership.
func (c *checker) comparison(n *node) error {
	numbers := slices.ContainsFunc(n.cmp, func(cmp string) bool { return cmp != "==" && cmp != "!=" }) ||
		slices.ContainsFunc(n.kids, func(kid *node) bool { return kid.typ.numeric() })
	for i, kid := range n.kids {
		if numbers && kid.typ == typeBool {
			n.kids[i] = kid.number()
		}
	}
	if n.op == opChain {
		for i, cmp := range n.cmp {
			if err := c.comparable(n.kids[i], n.kids[i+1], cmp); err != nil {
				return err
			}
		}
		return nil
	}
	for _, element := range n.kids[1:] {
		if err := c.comparable(n.kids[0], element, "=="); err != nil {
			return err
		}
	}
	return nil
}

// conditional checks the operands of a conditional.
func (c *checker) conditional(n *node) error {
	if condition := n.kids[0]; condition.typ == typeString {
		return c.fail(condition, "a condition needs true or false, this is %s", condition.typ)
	}
	n.kids[0] = n.kids[0].truth()
	if n.kids[1].typ.numeric() {
		n.kids[2] = n.kids[2].number()
	}
	if n.kids[2].typ.numeric() {
		n.kids[1] = n.kids[1].number()
	}
	switch a, b := n.kids[1].typ, n.kids[2].typ; {
	case a == b:
		n.typ = a
	case a.numeric() && b.numeric():
		n.typ = typeFloat
	default:
		return c.fail(n.kids[2], "the two sides of a conditional differ: %s and %s", a, b)
	}
	return nil
}

// literal returns a node of a whole number that stands for nothing in the text.
func literal(v int64, column int) *node {
	n := &node{op: opInt, col: column, num: v, typ: typeInt}
	n.span()
	return n
}

// truth returns n as a truth value: a number is true where it is not 0.
func (n *node) truth() *node {
	if !n.typ.numeric() {
		return n
	}
	out := &node{op: opChain, col: n.col, kids: []*node{n, literal(0, n.col)}, cmp: []string{"!="}, typ: typeBool, height: n.height + 1}
	out.span()
	return out
}

// number returns n as a number: true is 1, false is 0.
func (n *node) number() *node {
	if n.typ != typeBool {
		return n
	}
	out := &node{op: opChoose, col: n.col, kids: []*node{n, literal(1, n.col), literal(0, n.col)}, typ: typeInt, height: n.height + 1}
	out.span()
	return out
}

// word names the operator of n in an error.
func (n *node) word() string { return strings.TrimSpace(opText[n.op]) }

// name resolves the name of a parameter.
func (c *checker) name(n *node) error {
	i, ok := c.scope.index[n.text]
	if !ok {
		names := make([]string, c.visible)
		for j := range names {
			names[j] = c.scope.params[j].Name
		}
		return c.fail(n, "there is no parameter %q%s", n.text, NameHint(n.text, names))
	}
	if i >= c.visible {
		return c.fail(n, "%s", c.scope.ahead(c.visible, i))
	}
	n.param = i
	c.reads[i] = true
	n.typ = [...]exprType{kindInt: typeInt, kindFloat: typeFloat, kindString: typeString, kindBool: typeBool}[c.scope.params[i].kind()]
	return nil
}

// ahead says why the condition of parameter i cannot name parameter j, which is not before it.
func (s *scope) ahead(i, j int) string {
	own, other := s.params[i].Name, s.params[j].Name
	if i == j {
		return "a condition cannot name its own parameter: name another one, or leave the condition out"
	}
	if way := s.needs(j, i, map[int]bool{}); way != nil {
		text := fmt.Sprintf("%s needs %s", own, other)
		for k, name := range way[1:] {
			text += fmt.Sprintf(", %s needs %s", way[k], name)
		}
		return fmt.Sprintf("these conditions go in a circle: %s: leave one of them out", text)
	}
	return fmt.Sprintf("a condition may name only parameters declared before it: move %s before %s", other, own)
}

// needs returns the names of the parameters through whose conditions parameter i depends on parameter j, both included; nil where
// it does not.
func (s *scope) needs(i, j int, seen map[int]bool) []string {
	if i == j {
		return []string{s.params[i].Name}
	}
	if seen[i] || s.params[i].When == "" {
		return nil
	}
	seen[i] = true
	_, names, err := Canonical(s.params[i].When)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if k, ok := s.index[name]; ok {
			if way := s.needs(k, j, seen); way != nil {
				return append([]string{s.params[i].Name}, way...)
			}
		}
	}
	return nil
}

// comparable says why a and b cannot be compared.
func (c *checker) comparable(a, b *node, cmp string) error {
	switch {
	case a.typ != b.typ && !(a.typ.numeric() && b.typ.numeric()):
		return c.fail(b, "%s cannot be compared with %s%s", b.typ, a.typ, remedyTypes(a, b))
	case a.typ == typeString && cmp != "==" && cmp != "!=":
		return c.fail(b, "%s has no order; only == and != compare it", a.typ)
	}
	for _, pair := range [][2]*node{{a, b}, {b, a}} {
		name, literal := pair[0], pair[1]
		if name.op != opName || literal.op != opString {
			continue
		}
		p := &c.scope.params[name.param]
		if texts := p.texts(); !slices.Contains(texts, literal.text) {
			return c.fail(literal, "parameter %q has no value %q%s", p.Name, literal.text, DidYouMeanOneOf(literal.text, texts))
		}
	}
	return nil
}
