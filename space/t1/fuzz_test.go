package t1

import (
	"bytes"
	"testing"

	"tune/space"
)

// FuzzExpr parses, evaluates and translates whatever comes: there is a result or an error, in bounded time, and a
// translation is an expression of package space.
func FuzzExpr(f *testing.F) {
	for _, seed := range []string{
		"[2**i for i in range(0, 6)]", "[1, 2] + list(range(32, 1024+1, 32))", "a % (b * 2) == 0 and not f > 1.5", "1 <= a < b in [1, 2]",
		"(a or b) ** -1", "sum([a, b, 1]) // 2", "any([i == a for i in (1, 2)])", "s in 'xyz' or s < 'y'", "'a' * 3", "[[0] * 9] * 9", "1_000and 2",
	} {
		f.Add(seed)
	}
	params := []space.Parameter{space.Ints("a", -3, 0, 5), space.Range("b", 1, 8), space.Floats("f", 0.5, -2), space.Bool("t"), space.Enum("s", "x", "z")}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseExpr(text); err == nil {
			if v, err := newEvaluator(text).eval(n, nil); err == nil {
				_ = show(v)
			}
		}
		translated, err := newTranslator(params).condition(text)
		if err != nil {
			return
		}
		if again, _, err := space.Canonical(translated); err != nil || again != translated {
			t.Fatalf("%q became %q: %v", text, translated, err)
		}
	})
}

// FuzzRead reads whatever comes, and writes what can be read so that it reads back the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, file); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var second bytes.Buffer
		if err := Write(&second, again); err != nil || !bytes.Equal(out.Bytes(), second.Bytes()) {
			t.Fatalf("what is written changes when it is read and written again: %v", err)
		}
	})
}
