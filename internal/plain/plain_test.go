package plain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// attacks are texts that change a terminal or a page, and what is left of them in a line.
var attacks = []struct{ name, text, line string }{
	{"plain", "the check ended with status 1: größer, 日本, 🙂", "the check ended with status 1: größer, 日本, 🙂"},
	{"colour", "\x1b[1;31merror:\x1b[0m no", "error: no"},
	{"title of the window", "a\x1b]0;owned\x07b", "ab"},
	{"title ended by ST", "a\x1b]2;owned\x1b\\b", "ab"},
	{"clipboard", "a\x1b]52;c;cm0gLXJm\x07b", "ab"},
	{"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
	{"device control", "\x1bP+q544e\x1b\\x", "x"},
	{"reset", "a\x1bcb", "ab"},
	{"cursor up", "a\x1b[2A\x1b[2Kok", "aok"},
	{"unended OSC", "a\x1b]0;x", "a0;x"},
	{"lone escape", "a\x1b", "a\uFFFD"},
	{"sequence in a sequence", "\x1b\x1b[m[31mx", "x"},
	{"C1 CSI", "a\u009b31mb", "ab"},
	{"C1 OSC", "a\u009d0;t\u009cb", "ab"},
	{"raw C1 bytes", "a\x9b31mb", "a\uFFFD31mb"},
	{"invalid UTF-8", "a\xff\xfeb", "a\uFFFDb"},
	{"bell, backspace, DEL", "a\a\b\x7fb", "a\uFFFD\uFFFD\uFFFDb"},
	{"nul", "a\x00b", "a\uFFFDb"},
	{"carriage return", "bad\rok ", "bad ok "},
	{"lines", "a\r\nb\nc\td", "a b c d"},
	{"bidi override", "a\u202Eb\u2066c\u2069", "a\uFFFDb\uFFFDc\uFFFD"},
	{"marks and joiners", "\u200fa\u200bb\ufeff", "\uFFFDa\uFFFDb\uFFFD"},
	{"tags", "a\U000E0041", "a\uFFFD"},
	{"separators", "a\u2028b\u0085c", "a b c"},
}

func TestLine(t *testing.T) {
	for _, a := range attacks {
		if got := Line(a.text); got != a.line {
			t.Errorf("%s: %q becomes %q, want %q", a.name, a.text, got, a.line)
		}
	}
}

// hidden returns the first character that must not be shown; also are those that may.
func hidden(s, also string) (rune, bool) {
	for _, r := range s {
		if Hidden(r) && !strings.ContainsRune(also, r) {
			return r, true
		}
	}
	return 0, false
}

func FuzzPlain(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.text, len(a.text)/2)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		for name, got := range map[string]string{"Line": Line(s), "Text": Text(s)} {
			also := ""
			if name == "Text" {
				also = "\n\t"
			}
			if r, bad := hidden(got, also); bad {
				t.Errorf("%s(%q) has %U", name, s, r)
			}
		}
		if again := Line(Line(s)); again != Line(s) {
			t.Errorf("Line is not stable: %q, %q", Line(s), again)
		}
		var b strings.Builder
		w := NewWriter(&b)
		at := min(max(cut, 0), len(s))
		w.Write([]byte(s[:at]))
		w.Write([]byte(s[at:]))
		w.Flush()
		if r, bad := hidden(b.String(), "\n\t"); bad {
			t.Errorf("a writer passes %U of %q", r, s)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := JSON(text)
		var back, want string
		if json.Unmarshal(escaped, &back) != nil || json.Unmarshal(text, &want) != nil || back != want {
			t.Errorf("%q is %q after JSON", s, back)
		}
		if r, bad := hidden(string(escaped), ""); bad {
			t.Errorf("JSON of %q has %U", s, r)
		}
	})
}

func TestWriterKeepsWholeCharacters(t *testing.T) {
	var b strings.Builder
	w := NewWriter(&b)
	for _, c := range []byte("größer 🙂\n") {
		w.Write([]byte{c})
	}
	w.Write([]byte{0xe2, 0x82})
	w.Flush()
	if got := b.String(); got != "größer 🙂\n\uFFFD" {
		t.Errorf("%q", got)
	}
}

// TestNotJSON: what is wrong with a JSON text is told in words, with what to do.
func TestNotJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1,}`:         "a comma stands before the }: leave it out",
		"[1,\n]":            "a comma stands before the ]: leave it out",
		`{"a": 1 "b": 2}`:   "a comma is missing before \"",
		"{\"a\": [1 2]}":    "a comma is missing before 2",
		`{"a" 1}`:           "a colon is missing before 1",
		`{"a": }`:           "a value is missing before }",
		`{a: 1}`:            "a stands where a key begins: write the key in double quotes",
		`{'a': 1}`:          "a text is in single quotes: write double quotes",
		`{"a": 'b'}`:        "a text is in single quotes: write double quotes",
		`{"a": True}`:       "True is no value of JSON: write true",
		`{"a": None}`:       "None is no value of JSON: write null",
		`{"a": NaN}`:        "NaN is no value of JSON: write null",
		`{"a": llama}`:      "llama is no value of JSON: write a text in double quotes",
		`{"a": falsch}`:     "falsch is no value of JSON: write a text in double quotes",
		`{"a": 1} {}`:       "{ follows the end of the value: leave it out",
		`{"a": "\d"}`:       `a backslash begins no escape here: write \\ for a backslash`,
		"{\"a\": \"b\nc\"}": `a text has a line break or another control character: close its quotes, or write \n for a line break`,
		`{"a": 1.x}`:        "x cannot stand in a number: write it as 1.5 or 1e6",
		`{"a": 1, // one`:   "JSON has no comments: leave it out",
		`{"a": 1 # one`:     "JSON has no comments: leave it out",
		`{"a": [1`:          "it ends too early: a quote, bracket or brace is not closed",
		" ":                 "it is empty",
		``:                  "it is empty",
		"{\"a\": \u0080}":   `a value is missing before '\u0080'`,
		`{"a": é}`:          "é is no value of JSON: write a text in double quotes",
	} {
		var v any
		if got := NotJSON([]byte(text), json.Unmarshal([]byte(text), &v)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := NotJSON(nil, errors.New("another")); got != "another" {
		t.Errorf("another error is %s", got)
	}
}
