//go:build !stress

package native_test

// damages is how often a candidate damages the heap.
const damages = 3
