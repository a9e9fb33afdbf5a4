//go:build !(linux && amd64)

package tiles

// Offered reports that there are none.
func Offered() bool { return false }

// Request does nothing: only Linux on amd64 has matrix tiles.
func Request() error { return nil }
