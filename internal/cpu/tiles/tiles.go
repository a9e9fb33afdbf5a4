// Package tiles asks the system for the state of matrix tiles. It is apart from package cpu, which asks the processor for all that it has
// whenever a process starts: workers need no more than this, and are started thousands of times.
package tiles
