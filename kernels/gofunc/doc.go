// Package gofunc makes a kernel of a Go function, which runs in this process. tune.Func is the short way to it.
//
// A point is timed by wall clock, because a function may use goroutines, in samples of many calls. As in package testing, the number
// of calls is calibrated, and garbage is collected before a sample where calls allocate. At the end the best points and the baseline
// take turns in short samples, and the winner is confirmed against the baseline in random order, and the function is made anew
// for each turn (see packages kernels and kernels/native/timing).
//
// A function that keeps its result from one call to the next would win without working. So before a point scores, the inputs change
// between calls, and calls on new ones are compared with calls on those that the function has seen (kept.go). What it keeps of a call of
// less than some microseconds may go unnoticed, and without Inputs only what the made function keeps is seen. After the timed calls a few more
// are checked, whose outputs Inputs has cleared, because a call that leaves out work would find the right result in them. What a call saves on inputs and
// outputs that it has met is added to its cost; at the end, if any point saves something, Inputs comes before each timed call of all of them (afresh.go).
//
// Nothing isolates the function: a panic or a runtime.Goexit costs only the point, but a goroutine of its own that panics, a fatal error of the
// runtime, or a call that never returns is the end of the program.
package gofunc
