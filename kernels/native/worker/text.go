package worker

import (
	"strings"
	"time"

	"tune/internal/plain"
)

// lastWords returns the most informative line of a dying program's output.
func lastWords(stderr string) string {
	lines := strings.Split(stderr, "\n")
	word := ""
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "fatal error: ") {
			word = line
			break
		}
		if word == "" && line != "" {
			word = line
		}
	}
	// libc++abi and libstdc++ explain an exception in two lines.
	if i := strings.LastIndex(stderr, "terminate called"); i >= 0 {
		word = strings.Join(strings.Fields(stderr[i:]), " ")
	}
	const most = 160
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, word)
	return plain.Clip(clean, most)
}

// durationText writes a limit without needless zeros.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
