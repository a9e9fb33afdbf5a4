//go:build !linux

package cheats

// sharedMemory is memory that other processes can name by an id. Only Linux has kernels that could do something to it.
type sharedMemory struct{ id int }

func newSharedMemory() (*sharedMemory, error) { return &sharedMemory{id: -1}, nil }

func (*sharedMemory) harm() string { return "" }

func (*sharedMemory) close() {}

func sharedBytes() int64 { return 0 }
