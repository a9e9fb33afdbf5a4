//go:build race

package worker

// The race detector reserves terabytes of address space, so that a limit on it means nothing.
const raceDetector = true
