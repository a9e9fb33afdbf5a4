package space

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestSyntaxError: what is wrong with the syntax of a text is told by its own line and column, and what to do.
func TestSyntaxError(t *testing.T) {
	for _, test := range []struct {
		text         string
		line, column int
		want         string
	}{
		{"space:\n  parameters:\n    - name: level\n     type: int\n", 4, 6, "this line fits nothing in the list that begins in line 3: indent it by 6 spaces, as the fields of an element are"},
		{"space:\n  parameters:\n    - name: level\n    type: int\n", 4, 5, "the list that begins in line 3 needs a - before each element: write one, or indent this line further"},
		{"a: 1\nkernel:\n  name: x\n  shape: {n: 3}\n doc: y\nb: 2\n", 5, 2, "this line fits nothing in the mapping that begins in line 1: indent it by 0 spaces, as its fields are, or by 2, as the line above"},
		{"kernel:\n  name: x\n   doc: y\n", 3, 4, "mapping values are not allowed in this context: the line before lacks a colon, this line is indented too far"},
		{"kernel:\n  name: x\n  - doc\n", 3, 3, "an element of a list stands among the fields of the mapping that begins in line 2: indent it like the other elements, or leave the - out"},
		{"a: 1\nb: 2\nrun: \"echo\" done\nc: 3\n", 3, 1, "something follows a text that has ended, or a key without its colon: put a text with quotes in it into quotes of the other kind, and a colon behind a key"},
		{"a: 1\nb: [1, 2]]\nc: 3\n", 2, 10, "] closes nothing: leave it out"},
		{"a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nvalues: [1, 2, 3}\nf: 6\n", 6, 17, "} cannot close the [ of line 6, column 9: write ] instead"},
		{"a: 1\nb: {values: [1, 2, 3}\n", 2, 21, "} cannot close the [ of line 2, column 13: write ] before it"},
		{"{a: 1]\n", 1, 6, "] cannot close the { of line 1, column 1: write } instead"},
		{"a: 1\n# é\nb: ['é', {c: 1,\n  d: 2, e: [3]\n", 3, 10, "{ is not closed: write } at the end of the mapping that begins here"},
		{"a: 1\nb: [it's, \"x\" y]\n", 2, 11, "a comma is missing in this element, or before it: write one, or put a text with quotes, brackets or \": \" in it into quotes"},
		{"a: 1\nb: {c: \"x\" y}\n", 2, 5, "a comma is missing in this element, or before it: write one"},
		{"a: 1\nb: [1, {name: x type: int, to: 3}, 2]\n", 2, 9, "a comma is missing in this element, or before it: write one"},
		{"a: [1,\n  2,\n  {b: 3} {c: 4}]\n", 3, 11, "a comma is missing in this element, or before it: write one"},
		{"a: 1\nrun: \"{{x}}\" done\n", 2, 1, "something follows a text that has ended"},
		{"a: 1\nrun: \"echo \"{{x}}\"\"\n", 2, 13, "the text in quotes ends before {{: put a text with quotes in it into quotes of the other kind"},
		{"a: ]\n", 1, 4, "] closes nothing: leave it out"},
		{"a: 1\npattern: \"time (\\d+)\"\n", 2, 17, `\d is no escape in double quotes: write \\d, or put the text into single quotes, where a backslash is one`},
		{"a: 1\npath: \"\\users\"\n", 2, 8, `\u is no escape in double quotes: write \\u, or put the text into single quotes`},
		{"a: 1\nb: @x\n", 2, 4, "a text cannot begin with @ without quotes: put it into quotes"},
		{"a: 1\nb: [%d]\n", 2, 5, "a text cannot begin with % without quotes: put it into quotes"},
		{"a: 1\nb: *.c\n", 2, 4, "a text cannot begin with * without quotes: put it into quotes"},
		{"a: 1\nb: *c\n", 2, 4, "YAML reads *c as the name of a value before it: put a text that begins with * into quotes"},
		{"a: 1\nb:\n  - !c > d\n", 3, 5, "a text cannot begin with ! without quotes: put it into quotes"},
		{"a: 1\nb:\n  - !(c > d)\n", 3, 5, "a text cannot begin with ! without quotes: put it into quotes"},
		{"a: 1\nb:\n  - > d\n", 3, 5, "a text cannot begin with > without quotes: put it into quotes, and an expression with what stands before its >"},
		{"a: 1\nb:\n  - >= d\n", 3, 5, "a text cannot begin with > without quotes"},
		{"a: 1\nb: [> d]\n", 2, 5, "a text cannot begin with > without quotes"},
		{"a: 1\nb:\n  - | d\n", 3, 5, "a text cannot begin with | without quotes: put it into quotes"},
		{"a: 1\nb:\n  - &c > d\n", 3, 5, "a text cannot begin with & without quotes: put it into quotes"},
		{"a: 1\nb: [!c]\n", 2, 5, "a text cannot begin with ! without quotes: put it into quotes"},
		{"a: 1\nb: \"x\nc: 3\n", 2, 1, "found unexpected end of stream: a text in quotes lacks the closing quote"},
		{"kernel\n  name: a\n", 2, 3, `mapping values are not allowed in this context: the line before lacks a colon, this line is indented too far, or a text with ": " in it needs quotes`},
		{"a: 1\nb: \x01\n", 2, 4, "control characters are not allowed: remove it"},
		{"a: 1\nb: é\xff\n", 2, 5, "UTF-8"},
		{"\x7fELF\x00", 1, 1, "it has NUL characters, as programs have: want a text in YAML"},
		{"a: 1\nb:\n\tc: 2\n", 3, 1, "a tab indents this line"},
	} {
		var node yaml.Node
		err := SyntaxError([]byte(test.text), yaml.Unmarshal([]byte(test.text), &node))
		at, ok := errors.AsType[*TextError](err)
		if !ok || at.Line != test.line || at.Column != test.column || !strings.Contains(at.Reason, test.want) {
			t.Errorf("%q: %+v (%v), want %d:%d: %s", test.text, at, err, test.line, test.column, test.want)
		}
	}
	for text, want := range map[string]string{
		"a: 1\nb:\n  - ! c > d\n":              "line 3: YAML leaves out a ! that a blank follows: put the text into quotes, \"! c > d\"",
		"é: ! c\n":                             "line 1: YAML leaves out a ! that a blank follows: put the text into quotes, \"! c\"",
		"a: |\n  - ! c\nb: [\"! c\", c ! d]\n": "",
	} {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Unread([]byte(text), &node); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if err := errors.New("another"); SyntaxError(nil, err) != err {
		t.Error("an error that is not about the syntax was changed")
	}
}

// FuzzSyntaxError: whatever is wrong with a text, the place of the mistake is in it.
func FuzzSyntaxError(f *testing.F) {
	for _, text := range []string{"a: [1, {b: 2]\n", "a:\n  - b\n c: \"\\d\"\n", "a: *b\n!c\n\t- {{d}}", "{a b: c, 'd' e}", "a: \"x\n", "%a\n---\n@", "a\r\n b: c: d\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var node yaml.Node
		err := yaml.Unmarshal([]byte(text), &node)
		if err == nil {
			return
		}
		at, ok := errors.AsType[*TextError](SyntaxError([]byte(text), err))
		if lines := strings.Split(text, "\n"); ok && (at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column > len(lines[at.Line-1])+1 || at.Reason == "") {
			t.Errorf("%q: %+v", text, at)
		}
	})
}
