package kernels

import "tune/internal/plain"

// ShellWord writes a word so that a POSIX shell reads it back as that one word.
func ShellWord(word string) string { return plain.ShellWord(word) }
