// Package power holds the final of a run again and again, with kernels that are compiled and timed as any other, to see how often it
// says "faster" of what is not, and how often of what is.
//
// A program that calls [Run] is the one that its workers are started from, so that its main must begin with
//
//	if worker.IsChild() {
//		worker.Main()
//	}
package power
