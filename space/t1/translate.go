package t1

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tune/space"
)

// translator writes conditions in the language of package space.
type translator struct {
	params map[string]space.Parameter
	names  []string
	src    string
	*evaluator
}

func newTranslator(params []space.Parameter) *translator {
	t := &translator{params: make(map[string]space.Parameter, len(params))}
	for _, p := range params {
		t.params[p.Name] = p
		t.names = append(t.names, p.Name)
	}
	return t
}

// shape is the type of a translated part.
type shape uint8

const (
	isInt shape = iota
	isFloat
	isText
	isTruth
	isSequence
)

func (s shape) String() string {
	return [...]string{"an integer", "a number", "a string", "a truth", "a list"}[s]
}

func (s shape) numeric() bool { return s == isInt || s == isFloat || s == isTruth }

// part is a translated subexpression.
type part struct {
	node  *node
	shape shape
	// text is the translation. It can stand as an operand of any operator.
	text string
	// constant is whether the part reads no parameter; then value has its value.
	constant bool
	value    any
	// parameter is the name of the parameter that the part is, and "" where it is something else.
	parameter string
	// elements are those of a sequence.
	elements []part
}

// maxTranslation limits the text of a translation: and and or used as values, and comprehensions, can make it grow very large.
const maxTranslation = 1 << 16

// condition translates one condition.
func (t *translator) condition(src string) (string, error) {
	n, err := parseExpr(src)
	if err != nil {
		return "", err
	}
	t.src, t.evaluator = src, newEvaluator(src)
	p, err := t.truthPart(n, nil)
	if err != nil {
		return "", err
	}
	canonical, _, err := space.Canonical(p.text)
	return canonical, err
}

// literal is the part of a value.
func (t *translator) literal(n *node, v any) part {
	p := part{node: n, constant: true, value: v}
	switch v := v.(type) {
	case int64:
		p.shape, p.text = isInt, strconv.FormatInt(v, 10)
	case float64:
		p.shape, p.text = isFloat, showFloat(v)
	case string:
		p.shape, p.text = isText, strconv.Quote(v)
	case bool:
		p.shape, p.text = isTruth, strconv.FormatBool(v)
	default:
		p.shape = isSequence
		elements, _ := elementsOf(v)
		for _, e := range elements {
			p.elements = append(p.elements, t.literal(n, e))
		}
	}
	if strings.HasPrefix(p.text, "-") {
		// The smallest integer has no literal without its sign.
		if p.text == "-9223372036854775808" {
			p.text = "-9223372036854775807 - 1"
		}
		p.text = "(" + p.text + ")"
	}
	return p
}

// made is a part of several others.
func (t *translator) made(n *node, s shape, format string, args ...any) (part, error) {
	text := "(" + fmt.Sprintf(format, args...) + ")"
	if len(text) > maxTranslation {
		return part{}, t.fail(n, "the condition becomes longer than %d bytes", maxTranslation)
	}
	return part{node: n, shape: s, text: text}, nil
}

// constant reports whether n reads no parameter but those of comprehensions that in binds.
func constant(n *node, bound names, own map[string]bool) bool {
	if n.op == opName {
		_, ok := bound[n.text]
		return ok || own[n.text]
	}
	if n.op == opFor {
		inner := map[string]bool{}
		for name := range own {
			inner[name] = true
		}
		for _, c := range n.clauses {
			for _, name := range c.names {
				inner[name] = true
			}
		}
		own = inner
		for _, c := range n.clauses {
			for _, condition := range c.conditions {
				if !constant(condition, bound, own) {
					return false
				}
			}
		}
	}
	for _, kid := range n.kids {
		if !constant(kid, bound, own) {
			return false
		}
	}
	return true
}

// part translates n, where comprehensions have bound the names in.
func (t *translator) part(n *node, in names) (part, error) {
	if n.op != opName && constant(n, in, nil) {
		v, err := t.eval(n, in)
		if err != nil {
			return part{}, err
		}
		return t.literal(n, v), nil
	}
	switch n.op {
	case opName:
		return t.name(n, in)
	case opAnd, opOr:
		return t.junction(n, in)
	case opCompare:
		return t.chain(n, in)
	case opFor:
		return t.comprehension(n, in)
	}
	if n.op == opCall {
		if err := checkCall(t.src, n); err != nil {
			return part{}, err
		}
	}
	kids := make([]part, len(n.kids))
	for i, kid := range n.kids {
		translate := t.part
		if n.op == opUnary && n.text == "not" || n.op == opChoose && i == 0 {
			translate = t.truthPart
		}
		var err error
		if kids[i], err = translate(kid, in); err != nil {
			return part{}, err
		}
	}
	switch n.op {
	case opUnary:
		return t.unaryPart(n, kids[0])
	case opList, opTuple:
		return part{node: n, shape: isSequence, elements: kids}, nil
	case opChoose:
		return t.choose(n, kids[0], kids[1], kids[2])
	case opCall:
		return t.callPart(n, kids)
	}
	return t.binaryPart(n, kids[0], kids[1])
}

func (t *translator) name(n *node, in names) (part, error) {
	if v, ok := in[n.text]; ok {
		return t.literal(n, v), nil
	}
	p, ok := t.params[n.text]
	if !ok {
		return part{}, t.fail(n, "there is no parameter %q%s", n.text, space.DidYouMean(n.text, t.names))
	}
	if p.Len() == 0 {
		return part{}, t.fail(n, "parameter %q has no values", n.text)
	}
	out := part{node: n, text: n.text, parameter: n.text}
	switch p.At(0).Any().(type) {
	case int64:
		out.shape = isInt
	case float64:
		out.shape = isFloat
	case string:
		out.shape = isText
	case bool:
		out.shape = isTruth
	}
	return out, nil
}

// truth is bool(p).
func (t *translator) truth(p part) part {
	switch {
	case p.shape == isTruth:
		return p
	case p.constant:
		return t.literal(p.node, truthOf(p.value))
	case p.shape == isSequence:
		return t.literal(p.node, len(p.elements) > 0)
	case p.shape == isText && p.parameter != "" && !t.has(p.parameter, ""):
		return t.literal(p.node, true)
	case p.shape == isText:
		return part{node: p.node, shape: isTruth, text: "(" + p.text + ` != "")`}
	}
	return part{node: p.node, shape: isTruth, text: "(" + p.text + " != 0)"}
}

// has reports whether a parameter has the value.
func (t *translator) has(name, value string) bool {
	_, ok := t.params[name].Ordinal(space.StringValue(value))
	return ok
}

// numeric is p where arithmetic wants a number.
func (t *translator) numeric(p part) (part, error) {
	switch {
	case !p.shape.numeric():
		return part{}, t.fail(p.node, "a number should stand here, not %s", p.shape)
	case p.shape != isTruth:
		return p, nil
	case p.constant:
		v, _ := number(p.value)
		return t.literal(p.node, v), nil
	}
	return part{node: p.node, shape: isInt, text: "(1 if " + p.text + " else 0)"}, nil
}

// numerics is numeric for two parts.
func (t *translator) numerics(a, b part) (part, part, error) {
	a, err := t.numeric(a)
	if err == nil {
		b, err = t.numeric(b)
	}
	return a, b, err
}

// truthPart translates n where only its truth value matters, so that and and or are translated directly.
func (t *translator) truthPart(n *node, in names) (part, error) {
	if n.op != opAnd && n.op != opOr || constant(n, in, nil) {
		p, err := t.part(n, in)
		if err != nil {
			return part{}, err
		}
		return t.truth(p), nil
	}
	parts := make([]part, len(n.kids))
	for i, kid := range n.kids {
		var err error
		if parts[i], err = t.truthPart(kid, in); err != nil {
			return part{}, err
		}
	}
	return t.join(n, parts)
}

// join translates and, or between truths.
func (t *translator) join(n *node, parts []part) (part, error) {
	word := " and "
	if n.op == opOr {
		word = " or "
	}
	var texts []string
	for _, p := range parts {
		if !p.constant || truthOf(p.value) != (n.op == opAnd) {
			texts = append(texts, p.text)
		}
	}
	return t.made(n, isTruth, "%s", strings.Join(texts, word))
}

// junction translates and and or used as values: the result is the last operand that Python evaluates.
func (t *translator) junction(n *node, in names) (part, error) {
	parts := make([]part, len(n.kids))
	truths := true
	for i, kid := range n.kids {
		p, err := t.part(kid, in)
		if err != nil {
			return part{}, err
		}
		parts[i] = p
		truths = truths && p.shape == isTruth
	}
	if truths {
		return t.join(n, parts)
	}
	out := parts[len(parts)-1]
	for i := len(parts) - 2; i >= 0; i-- {
		var err error
		if n.op == opAnd {
			out, err = t.choose(n, t.truth(parts[i]), out, parts[i])
		} else {
			out, err = t.choose(n, t.truth(parts[i]), parts[i], out)
		}
		if err != nil {
			return part{}, err
		}
	}
	return out, nil
}

// choose is a conditional.
func (t *translator) choose(n *node, c, a, b part) (part, error) {
	if c.constant {
		if truthOf(c.value) {
			return a, nil
		}
		return b, nil
	}
	s := a.shape
	switch {
	case a.shape == isSequence || b.shape == isSequence:
		return part{}, t.fail(n, "a list that depends on a parameter is not understood here")
	case a.shape == b.shape:
	case a.shape.numeric() && b.shape.numeric():
		var err error
		if a, b, err = t.numerics(a, b); err != nil {
			return part{}, err
		}
		s = max(a.shape, b.shape)
	default:
		return part{}, t.fail(n, "the two sides of a conditional differ: %s and %s", a.shape, b.shape)
	}
	return t.made(n, s, "%s if %s else %s", a.text, c.text, b.text)
}

func (t *translator) unaryPart(n *node, p part) (part, error) {
	if n.text == "not" {
		return t.made(n, isTruth, "not %s", p.text)
	}
	p, err := t.numeric(p)
	if err != nil || n.text == "+" {
		return p, err
	}
	return t.made(n, p.shape, "-%s", p.text)
}

func (t *translator) binaryPart(n *node, a, b part) (part, error) {
	if n.text == "+" && a.shape == isSequence && b.shape == isSequence {
		return part{node: n, shape: isSequence, elements: slices.Concat(a.elements, b.elements)}, nil
	}
	a, b, err := t.numerics(a, b)
	if err != nil {
		return part{}, err
	}
	s := max(a.shape, b.shape)
	switch n.text {
	case "/":
		s = isFloat
	case "**":
		return t.power(n, a, b)
	case "<<", ">>":
		// A shift by a negative number has no value, and neither has a power with a negative exponent.
		if s != isInt {
			return part{}, t.fail(n, "%s needs integers", n.text)
		}
		return t.made(n, isInt, "%s %s 2 ** %s", a.text, map[string]string{"<<": "*", ">>": "//"}[n.text], b.text)
	}
	return t.made(n, s, "%s %s %s", a.text, n.text, b.text)
}

// power handles a distinction that Python makes only at run time: an integer to a negative power is a float.
func (t *translator) power(n *node, a, b part) (part, error) {
	s := max(a.shape, b.shape)
	if s == isInt && !t.neverNegative(b) {
		return t.made(n, isFloat, "%s ** %s if %s >= 0 else (%s + 0.0) ** %s", a.text, b.text, b.text, a.text, b.text)
	}
	return t.made(n, s, "%s ** %s", a.text, b.text)
}

// neverNegative reports whether an integer part is plainly at least 0.
func (t *translator) neverNegative(p part) bool {
	if v, ok := p.value.(int64); ok {
		return v >= 0
	}
	if p.parameter == "" {
		return false
	}
	parameter := t.params[p.parameter]
	if parameter.Type != space.TypeEnum {
		return parameter.From >= 0
	}
	return !slices.ContainsFunc(parameter.Values, func(v space.Value) bool { i, _ := v.Any().(int64); return i < 0 })
}

// chain translates comparisons. One of numbers stays a chain; elsewhere a < b in c is a < b and b in c.
func (t *translator) chain(n *node, in names) (part, error) {
	parts, numbers := make([]part, len(n.kids)), true
	for i, kid := range n.kids {
		var err error
		if parts[i], err = t.part(kid, in); err != nil {
			return part{}, err
		}
		numbers = numbers && parts[i].shape.numeric() && (i == 0 || !strings.Contains(n.cmp[i-1], "in"))
	}
	if numbers && len(n.cmp) > 1 {
		var text strings.Builder
		for i, p := range parts {
			p, err := t.numeric(p)
			if err != nil {
				return part{}, err
			}
			if i > 0 {
				text.WriteString(" " + n.cmp[i-1] + " ")
			}
			text.WriteString(p.text)
		}
		return t.made(n, isTruth, "%s", text.String())
	}
	texts := make([]string, len(n.cmp))
	for i, word := range n.cmp {
		var link part
		var err error
		if word == "in" || word == "not in" {
			link, err = t.member(n, parts[i], parts[i+1], word == "not in")
		} else {
			link, err = t.comparison(n, parts[i], parts[i+1], word)
		}
		if err != nil {
			return part{}, err
		}
		texts[i] = link.text
	}
	return t.made(n, isTruth, "%s", strings.Join(texts, " and "))
}

// comparison translates one link of a chain.
func (t *translator) comparison(n *node, a, b part, word string) (part, error) {
	if a.constant && b.constant {
		holds, err := t.compare(n, word, a.value, b.value)
		return t.literal(n, holds), err
	}
	switch equality := word == "==" || word == "!="; {
	case a.shape == isTruth && b.shape == isTruth && equality:
	case a.shape.numeric() && b.shape.numeric():
		var err error
		if a, b, err = t.numerics(a, b); err != nil {
			return part{}, err
		}
	case a.shape == isText && b.shape == isText:
		return t.compareTexts(n, a, b, word)
	case a.shape == isSequence && b.shape == isSequence && equality:
		return t.compareSequences(n, a, b, word)
	case equality:
		// Values of different types are never equal.
		return t.literal(n, word == "!="), nil
	default:
		return part{}, t.fail(n, "%s and %s have no order", a.shape, b.shape)
	}
	return t.made(n, isTruth, "%s %s %s", a.text, word, b.text)
}

// compareSequences compares element by element.
func (t *translator) compareSequences(n *node, a, b part, word string) (part, error) {
	if len(a.elements) != len(b.elements) {
		return t.literal(n, word == "!="), nil
	}
	texts := []string{"true"}
	for i := range a.elements {
		p, err := t.comparison(n, a.elements[i], b.elements[i], "==")
		if err != nil {
			return part{}, err
		}
		texts = append(texts, p.text)
	}
	if word == "!=" {
		return t.made(n, isTruth, "not (%s)", strings.Join(texts, " and "))
	}
	return t.made(n, isTruth, "%s", strings.Join(texts, " and "))
}

// compareTexts compares strings. Against a constant, a parameter is compared by listing its values that pass, because the
// language of spaces does not order strings, and rejects a value that a parameter cannot have.
func (t *translator) compareTexts(n *node, a, b part, word string) (part, error) {
	p, text, flipped := a, b, false
	if a.constant {
		p, text, flipped = b, a, true
	}
	if p.parameter == "" || !text.constant {
		if word != "==" && word != "!=" {
			return part{}, t.fail(n, "strings are ordered only where a parameter is compared with a constant")
		}
		return t.made(n, isTruth, "%s %s %s", a.text, word, b.text)
	}
	return t.choices(n, p, func(v any) (bool, error) {
		if flipped {
			return t.compare(n, word, text.value, v)
		}
		return t.compare(n, word, v, text.value)
	})
}

// choices is true where the parameter has a value that passes.
func (t *translator) choices(n *node, p part, pass func(v any) (bool, error)) (part, error) {
	parameter := t.params[p.parameter]
	var words []string
	for i := range parameter.Len() {
		v := parameter.At(i).Any()
		ok, err := pass(v)
		if err != nil {
			return part{}, err
		}
		if ok {
			words = append(words, t.literal(n, v).text)
		}
	}
	switch len(words) {
	case 0:
		return t.literal(n, false), nil
	case parameter.Len():
		return t.literal(n, true), nil
	case 1:
		return t.made(n, isTruth, "%s == %s", p.text, words[0])
	}
	return t.made(n, isTruth, "%s in [%s]", p.text, strings.Join(words, ", "))
}

// member translates in and not in.
func (t *translator) member(n *node, a, b part, negate bool) (part, error) {
	out, err := t.isMember(n, a, b)
	if err != nil || !negate {
		return out, err
	}
	if out.constant {
		return t.literal(n, !truthOf(out.value)), nil
	}
	return t.made(n, isTruth, "not %s", out.text)
}

func (t *translator) isMember(n *node, a, b part) (part, error) {
	switch {
	case b.shape == isText && b.constant && a.parameter != "":
		return t.choices(n, a, func(v any) (bool, error) { return t.compare(n, "in", v, b.value) })
	case b.shape != isSequence:
		return part{}, t.fail(n, "what follows in is %s: want a list", b.shape)
	case a.shape == isText && a.parameter != "" && b.constant:
		return t.choices(n, a, func(v any) (bool, error) { return t.compare(n, "in", v, b.value) })
	}
	var numbers, tests []string
	a0 := a
	if a.shape.numeric() {
		var err error
		if a, err = t.numeric(a); err != nil {
			return part{}, err
		}
	}
	for _, element := range b.elements {
		if a0.shape.numeric() && element.shape.numeric() {
			p, err := t.numeric(element)
			if err != nil {
				return part{}, err
			}
			numbers = append(numbers, p.text)
			continue
		}
		p, err := t.comparison(n, a0, element, "==")
		if err != nil {
			return part{}, err
		}
		if !p.constant {
			tests = append(tests, p.text)
		} else if truthOf(p.value) {
			return p, nil
		}
	}
	if len(numbers) > 0 {
		tests = append(tests, fmt.Sprintf("%s in [%s]", a.text, strings.Join(numbers, ", ")))
	}
	if len(tests) == 0 {
		return t.literal(n, false), nil
	}
	return t.made(n, isTruth, "%s", strings.Join(tests, " or "))
}

// comprehension translates one whose element or conditions read parameters: what it iterates over is constant.
func (t *translator) comprehension(n *node, in names) (part, error) {
	for i, c := range n.clauses {
		if len(c.conditions) > 0 && !constant(c.conditions[0], in, allNames(n)) {
			return part{}, t.fail(n, "a comprehension may not choose its elements by a parameter")
		}
		if !constant(n.kids[1+i], in, allNames(n)) {
			return part{}, t.fail(n.kids[1+i], "a comprehension may not iterate over what depends on a parameter")
		}
	}
	out := part{node: n, shape: isSequence}
	err := t.iterate(n, 0, in, func(inner names) error {
		p, err := t.part(n.kids[0], inner)
		out.elements = append(out.elements, p)
		return err
	})
	return out, err
}

// allNames are the names that a comprehension binds.
func allNames(n *node) map[string]bool {
	own := map[string]bool{}
	for _, c := range n.clauses {
		for _, name := range c.names {
			own[name] = true
		}
	}
	return own
}

// callPart translates a call of which an argument reads a parameter.
func (t *translator) callPart(n *node, args []part) (part, error) {
	if n.text == "bool" {
		return t.truth(args[0]), nil
	}
	elements := args
	if len(args) == 1 && args[0].shape == isSequence {
		elements = args[0].elements
	}
	switch n.text {
	case "len", "list", "tuple":
		if len(args) != 1 || args[0].shape != isSequence {
			return part{}, t.fail(n, "%s of what is not a list", n.text)
		}
		if n.text == "len" {
			return t.literal(n, int64(len(elements))), nil
		}
		return part{node: n, shape: isSequence, elements: elements}, nil
	case "all", "any":
		if args[0].shape != isSequence {
			return part{}, t.fail(n, "%s of what is not a list", n.text)
		}
		word, texts := " or ", []string{"false"}
		if n.text == "all" {
			word, texts = " and ", []string{"true"}
		}
		for _, p := range elements {
			texts = append(texts, t.truth(p).text)
		}
		return t.made(n, isTruth, "%s", strings.Join(texts, word))
	case "range", "set", "sorted":
		return part{}, t.fail(n, "%s of what depends on a parameter is not understood", n.text)
	}
	return t.arithmetic(n, elements)
}

// arithmetic translates the functions of numbers.
func (t *translator) arithmetic(n *node, elements []part) (part, error) {
	s, texts := isInt, make([]string, len(elements))
	for i, p := range elements {
		p, err := t.numeric(p)
		if err != nil {
			return part{}, err
		}
		elements[i], texts[i], s = p, p.text, max(s, p.shape)
	}
	if len(elements) == 0 {
		if n.text == "sum" {
			return t.literal(n, int64(0)), nil
		}
		return part{}, t.fail(n, "%s of nothing", n.text)
	}
	first := texts[0]
	switch n.text {
	case "pow":
		return t.power(n, elements[0], elements[1])
	case "abs":
		return t.made(n, s, "abs(%s)", first)
	case "sum":
		return t.made(n, s, "%s", strings.Join(texts, " + "))
	case "float":
		return t.made(n, isFloat, "%s + 0.0", first)
	case "int":
		if s == isInt {
			return elements[0], nil
		}
		return t.made(n, isFloat, "%s // 1 if %s >= 0 else -(-%s // 1)", first, first, first)
	}
	if len(elements) == 1 {
		return elements[0], nil
	}
	return t.made(n, s, "%s(%s)", n.text, strings.Join(texts, ", "))
}
