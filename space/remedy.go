package space

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// foreign are operators and characters of other languages, of shells and of typeset text, the longest first, and what to write in an
// expression instead. None of them can begin a token.
var foreign = [...]struct{ text, remedy string }{
	{"===", "there is no ===; write =="},
	{"!==", "there is no !==; write !="},
	{"=!", "there is no =!; write !="},
	{"=<", "there is no =<; write <="},
	{"=>", "there is no =>; write >="},
	{"<>", "there is no <>; write !="},
	{"<<", "there is no <<; write * 2 ** n"},
	{">>", "there is no >>; write // 2 ** n"},
	{":=", "there is no :=; write =="},
	{"->", "there is no ->; write not a or b where a implies b"},
	{"{{", "an expression names parameters without braces; leave them out"},
	{"{", "there are no braces; write a list in brackets, as in [1, 2], and a name alone"},
	{"}", "there are no braces; write a list in brackets, as in [1, 2], and a name alone"},
	{"$", "an expression names parameters without $; leave it out"},
	{"^", "there is no ^; write a power with **, as in n ** 3, or as a product, n * n * n"},
	{"~", "there is no ~; write not"},
	{";", "there is no ;; write and between two conditions, and nothing at the end"},
	{"“", "a text stands in straight quotes; write ' or \""},
	{"”", "a text stands in straight quotes; write ' or \""},
	{"‘", "a text stands in straight quotes; write ' or \""},
	{"’", "a text stands in straight quotes; write ' or \""},
	{"`", "a text stands in straight quotes; write ' or \""},
	{"≤", "there is no ≤; write <="},
	{"≥", "there is no ≥; write >="},
	{"≠", "there is no ≠; write !="},
	{"×", "there is no ×; write *"},
	{"·", "there is no ·; write *"},
	{"÷", "there is no ÷; write /"},
	{"−", "this is no minus sign of ASCII; write -"},
	{"–", "this is no minus sign of ASCII; write -"},
	{"∧", "there is no ∧; write and"},
	{"∨", "there is no ∨; write or"},
	{"¬", "there is no ¬; write not"},
	{"∈", "there is no ∈; write in"},
	{"\u00a0", "this is a blank that holds words together; write a plain one"},
}

// bitwise says what to write instead of & or |, with which a text begins. The lowest bits of a number are what is left by a division.
func bitwise(text string) string {
	if text[0] == '|' {
		return "there are no bitwise operators; write ||"
	}
	digits := strings.TrimLeft(text[1:], " ")
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	if mask, err := strconv.ParseInt(digits, 10, 32); err == nil && mask > 0 && mask&(mask+1) == 0 {
		return fmt.Sprintf("there are no bitwise operators; write %% %d for & %d", mask+1, mask)
	}
	return "there are no bitwise operators; write && between conditions, and % for the lowest bits, as in a % 2"
}

// operators are words that other languages have for operators.
var operators = map[string]string{
	"is": "==", "eq": "==", "equals": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "mod": "%", "div": "//", "xor": "!=", "x": "*", "times": "*",
}

// remedyAfter says what to do about the next token, with which an expression cannot go on.
func (p *parser) remedyAfter() string {
	t := p.peek()
	if before := p.tokens[p.at-1]; before.kind == tokenName && strings.EqualFold(before.text, "not") {
		return ": write not in small letters"
	}
	if t.kind == tokenName {
		operator := operators[strings.ToLower(t.text)]
		if next := p.tokens[p.at+1]; operator == "==" && next.kind == tokenSymbol && next.text == "not" {
			operator = "!="
		}
		if operator != "" {
			return ": write " + operator
		}
		if hint := DidYouMean(t.text, []string{"and", "or", "in", "not in", "if", "else"}); hint != "" {
			return hint
		}
	}
	if t.kind == tokenSymbol {
		switch t.text {
		case ",":
			return ": write and between two conditions"
		case ")", "]":
			return ": leave it out, or open it before"
		case ":":
			return ": write it after ?, as in c ? a : b"
		case "else":
			return ": write it after if, as in a if c else b"
		case "!":
			return ": write !="
		case "[":
			if next := p.tokens[p.at+1]; p.tokens[p.at-1].kind == tokenName && next.kind == tokenString {
				return fmt.Sprintf(": write the name of the parameter alone, %s", next.text)
			}
			return ": write in before a list"
		}
	}
	return ": write an operator before it, such as ==, < or and"
}

// calls says how to write what functions of other languages compute.
var calls = map[string]string{
	"pow": "a ** b", "sqrt": "a ** 0.5", "mod": "a % b", "fmod": "a % b", "floor": "a // b", "int": "a // 1, or a alone where it is whole", "ceil": "(a + b - 1) // b", "cdiv": "(a + b - 1) // b",
	"and": "a and b", "or": "a or b", "not": "not a", "clamp": "min(max(a, low), high)",
	"log2": "a comparison of powers, as in a <= 2 ** 4", "log": "a comparison of powers, as in a <= 2 ** 4", "log10": "a comparison of powers, as in a <= 10 ** 4",
	"round": "(a + 0.5) // 1", "trunc": "a // 1", "float": "a / 1", "double": "a / 1", "bool": "a != 0", "len": "a comparison of the text itself, as in a == 'x'",
	"sizeof": "4 for float, and not at all in a length, which counts elements",
}

// remedyCall says what to write instead of the call of a function that there is not.
func remedyCall(name string) string {
	if form := calls[strings.ToLower(name)]; form != "" {
		return ": write it as " + form
	}
	return ": want min, max or abs" + DidYouMean(name, []string{"min", "max", "abs"})
}

// castTypes are the words of types in C, of which a cast consists.
var castTypes = map[string]bool{"int": true, "long": true, "short": true, "char": true, "unsigned": true, "signed": true, "float": true, "double": true, "size_t": true,
	"uint": true, "int32_t": true, "int64_t": true, "uint32_t": true, "uint64_t": true}

// cast returns the types of a cast as in C that begins with the parenthesis before the next token; "" where there is none.
func (p *parser) cast() string {
	end := p.at
	for castTypes[p.tokens[end].text] && p.tokens[end].kind == tokenName {
		end++
	}
	if t := p.tokens[end]; end == p.at || t.kind != tokenSymbol || t.text != ")" {
		return ""
	}
	if t := p.tokens[end+1]; t.kind == tokenEnd || t.kind == tokenSymbol && t.text != "(" {
		return "" // it may be the name of a parameter
	}
	var words []string
	for _, t := range p.tokens[p.at:end] {
		words = append(words, t.text)
	}
	return strings.Join(words, " ")
}

// asList says how to write the list that should follow in and begins with the next token.
func (p *parser) asList() string {
	open := p.peek()
	switch {
	case open.kind == tokenName && open.text == "range":
		return ": write a range as comparisons, as in 1 <= a <= 4"
	case open.kind == tokenString:
		return fmt.Sprintf(": write it in brackets, ['%s']", open.text)
	case open.kind == tokenInt || open.kind == tokenFloat:
		return fmt.Sprintf(": write it in brackets, [%s], or a range as comparisons, as in 1 <= a <= 4", open)
	case open.kind == tokenName || open.text == "-":
		word := string([]rune(p.src)[open.col-1:])
		if end := strings.IndexAny(word, " \t\r\n,)]"); end >= 0 {
			word = word[:end]
		}
		return fmt.Sprintf(": write a text in quotes and brackets, as in ['%s']", word)
	}
	return ""
}

// dotted says what to write in place of a name behind a dot, as in math.log2(n) or p.n.
func dotted(rest string) string {
	n := 1
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
		n++
	}
	name := rest[1:n]
	if strings.HasPrefix(rest[n:], "(") {
		return fmt.Sprintf("there is no function %q%s", name, remedyCall(name))
	}
	if name != "" {
		return "a name has no dot; write the name of the parameter alone, " + name
	}
	return "a dot stands in a number alone; leave it out"
}

// truths are words for true and false.
var truths = map[string]string{"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}

// NameHint returns what to write instead of a name in an expression that none of names is, to append to an error: DidYouMeanOneOf or,
// where the name is a word such as yes or FALSE and none is near, true or false.
func NameHint(name string, names []string) string {
	hint := DidYouMean(name, names)
	if truth := truths[strings.ToLower(name)]; truth != "" && hint == "" {
		return ": write " + truth
	}
	if hint == "" {
		return DidYouMeanOneOf(name, names)
	}
	return hint
}

// unquoted reports a text without quotes with which a parameter that holds texts is compared.
func (c *checker) unquoted(n *node) error {
	for i, kid := range n.kids[1:] {
		other := n.kids[0]
		if n.op == opChain {
			other = n.kids[i]
		}
		for _, pair := range [][2]*node{{other, kid}, {kid, other}} {
			if err := c.unquotedValue(pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// unquotedValue reports a node that is written as a text without quotes, beside a parameter that holds texts.
func (c *checker) unquotedValue(name, value *node) error {
	at, ok := c.scope.index[name.text]
	if name.op != opName || !ok || at >= c.visible || c.scope.params[at].kind() != kindString || !c.unknown(value) {
		return nil
	}
	text, texts := strings.ReplaceAll(value.String(), " ", ""), c.scope.params[at].texts()
	if slices.Contains(texts, text) {
		return c.fail(value, "%s is a text: write it in quotes, '%[1]s'", text)
	}
	return c.fail(value, "parameter %q has no value %s%s: write one of its texts, in quotes", name.text, text, DidYouMeanOneOf(text, texts))
}

// unknown reports whether a node reads names, and none of them is that of a parameter.
func (c *checker) unknown(n *node) bool {
	if n.op == opName {
		_, known := c.scope.index[n.text]
		return !known
	}
	names := false
	for _, kid := range n.kids {
		if kid.op == opInt || kid.op == opFloat {
			continue
		}
		if !c.unknown(kid) {
			return false
		}
		names = true
	}
	return names
}

// LoneNumber reports a number that is an operand of and or of or, as in a == 2 or 4. New and ParseFormula take it for true or false,
// because Bind writes numbers where names stood, but who writes an expression means a comparison: it is for texts as their authors wrote
// them. The error is an *ExprError. What cannot be read is no fault of this kind, and others report it.
func LoneNumber(src string) error {
	root, err := parseExpr(src)
	if err != nil {
		return nil
	}
	return root.lone(src)
}

// lone is LoneNumber for the part of an expression below n.
func (n *node) lone(src string) error {
	for _, kid := range n.kids {
		if (n.op == opAnd || n.op == opOr) && (kid.op == opInt || kid.op == opFloat) {
			return &ExprError{src, kid.col, fmt.Sprintf("%s needs true or false, and a number alone compares nothing: write the comparison, as in a == 2 or a == 4", n.word())}
		}
		if err := kid.lone(src); err != nil {
			return err
		}
	}
	return nil
}

// remedyTypes says how to make two operands comparable, where one of them is written in the text.
func remedyTypes(a, b *node) string {
	for _, pair := range [][2]*node{{a, b}, {b, a}} {
		written, other := pair[0], pair[1]
		if written.op == opString && other.typ != typeString {
			if _, err := strconv.ParseFloat(written.text, 64); err == nil || written.text == "true" || written.text == "false" {
				return ": leave the quotes out"
			}
		}
		if (written.op == opInt || written.op == opFloat || written.op == opBool) && other.op == opName && other.typ == typeString {
			return fmt.Sprintf(": write it in quotes, '%s'", written)
		}
	}
	return ""
}
