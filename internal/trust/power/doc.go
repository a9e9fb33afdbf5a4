// Package power repeats the final contest of a run many times, with kernels that are compiled and timed like any other. It
// measures how often a contest says "faster" of a kernel that is not faster, and how often of one that is.
package power
