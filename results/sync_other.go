//go:build !linux

package results

import "os"

// syncData makes the content and the length of a file durable.
func syncData(file *os.File) error { return file.Sync() }
