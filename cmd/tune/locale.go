package main

import (
	"io"
	"strings"

	"tune/internal/plain"
)

// onlyASCII reports whether the environment names a locale whose characters are not those of UTF-8. Where none is named, as in
// many containers, UTF-8 is shown all the same.
func onlyASCII(environ []string) bool {
	values := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the first that is set decides
		if value := strings.ToUpper(values[name]); value != "" {
			return !strings.Contains(value, "UTF-8") && !strings.Contains(value, "UTF8")
		}
	}
	return false
}

// asciiWriter writes the symbols of messages in ASCII.
type asciiWriter struct{ w io.Writer }

// Write implements io.Writer.
func (w asciiWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, plain.ASCII(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
