package plain_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tune/internal/plain"
)

func TestShellWord(t *testing.T) {
	for _, word := range []string{"a", "-O3", "runs/x_1.yaml", "m=1,n=2"} {
		if got := plain.ShellWord(word); got != word {
			t.Errorf("%s became %s", word, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching("[a-zA-Z0-9 '\"$`\\\\*?;&|<>()#~!\n\té-]{0,8}"), 1, 20).Draw(t, "words")
		line := "printf '%s|'"
		for _, w := range words {
			line += " " + plain.ShellWord(w)
		}
		out, err := exec.Command("sh", "-c", line).Output()
		if want := strings.Join(words, "|") + "|"; err != nil || string(out) != want {
			t.Fatalf("%s printed %q (%v), want %q", line, out, err, want)
		}
	})
}
