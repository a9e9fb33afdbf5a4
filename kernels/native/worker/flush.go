//go:build linux && (amd64 || arm64)

package worker

import "unsafe"

// flush removes n bytes from all caches. It is part of this program, and not of an object that is loaded, so that no address of it stands in memory where a
// candidate could put that of another function, for the worker to call.
//
//go:noescape
func flush(p unsafe.Pointer, n int)
