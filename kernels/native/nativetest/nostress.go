//go:build !stress

package nativetest

// Stress says that the tests are those of make stress, which take every shape, form and instruction set together.
const Stress = false
