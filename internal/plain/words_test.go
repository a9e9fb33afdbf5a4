package plain

import (
	"io"
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 faults", 1: "1 fault", 2: "2 faults"} {
		if got := Count(n, "fault"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct{ text, want string }{{"", ""}, {"äöü", "äöü"}, {"äöüß", "äöü…"}} {
		if got := Clip(test.text, 3); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

func TestASCII(t *testing.T) {
	for text, want := range map[string]string{
		"best 1.5 µs (2.00× as fast) · 3 evaluated": "best 1.5 us (2.00x as fast) | 3 evaluated",
		"1 ± 0.1·¦want¦, 3–4, …\uFFFD":              "1 +- 0.1*¦want¦, 3-4, ...?",
		"Jürgen":                                    "Jürgen",
	} {
		var out strings.Builder
		w := NewWriter(&out)
		w.ASCII = true
		if _, err := io.WriteString(w, text); err != nil || out.String() != want {
			t.Errorf("%q is %q, want %q (%v)", text, out.String(), want, err)
		}
	}
}

func TestJSONInASCII(t *testing.T) {
	if got, want := string(JSONInASCII([]byte("{\n\t\"a\": \"µ🙂\x7f\"}"))), "{\n\t\"a\": \"\\u00b5\\ud83d\\ude42\\u007f\"}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
