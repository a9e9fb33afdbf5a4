// Package power repeats the final contest of a run many times, with kernels that are compiled and timed like any other. It
// measures how often a contest says "faster" of a kernel that is not faster, and how often of one that is.
//
// A program that calls [Run] also starts its own binary as the workers, so that its main must begin with
//
//	if worker.IsChild() {
//		worker.Main()
//	}
package power
