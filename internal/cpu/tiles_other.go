//go:build !(linux && amd64)

package cpu

func tilesOffered() bool { return false }

// RequestTiles does nothing: only Linux on amd64 has matrix tiles.
func RequestTiles() error { return nil }
