package plain

import "testing"

// TestC: whatever a text is, it stays in its line, its comment or its string of C.
func TestC(t *testing.T) {
	for _, c := range []struct{ text, line, comment, quoted string }{
		{"a + b", "a + b", "a + b", `"a + b"`},
		{"a\nb\tc\x7f", "a b c", "a b c", `"a b c"`},
		{`ends in \\ `, "ends in", "ends in", `"ends in"`},
		{"x */ y /* z", "x */ y /* z", "x * / y /* z", `"x */ y /* z"`},
		{`say "C:\n" ??/`, `say "C:\n" ??/`, `say "C:\n" ??/`, `"say \"C:\\n\" ?\?/"`},
	} {
		if line, comment, quoted := CLine(c.text), CComment(c.text), CString(c.text); line != c.line || comment != c.comment || quoted != c.quoted {
			t.Errorf("%q: %q, %q, %q", c.text, line, comment, quoted)
		}
	}
}
