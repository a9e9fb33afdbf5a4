// Package worker runs native code that may be wrong in every way, and keeps tune out of its reach.
//
// A candidate is a shared object with one function,
//
//	void tune_kernel(void *const *args, const int64_t *dims);
//
// It is loaded and called in a process of its own. Three processes take part, all of them the same binary:
//
//		tune ──lifeline──► supervisor ──starts──► worker: dlopen, call, time
//		  └──────────── control socket, shared memory ──────┘
//
//	  - tune holds a [Worker]: it sends requests, watches wall and CPU time, and reads what the worker prints.
//	  - The supervisor is a child subreaper. When the lifeline ends, because tune asked or because tune died in
//	    whatever way, it kills everything that descends from it and leaves.
//	  - The worker drops what a kernel has no use for: a seccomp filter refuses new processes, new sessions,
//	    signals to others and changes to the system; root's capabilities and the access to other processes' memory
//	    go; its limits bound memory, files and descriptors.
//
// [Run] runs a whole program under a supervisor in the same way, without the filter. The supervisor counts what the
// program starts, and ends it above 1,024 processes. Where the program kills the supervisor, this process, which Run
// makes a child subreaper, inherits what is left and ends it.
//
// The buffers of a call live in shared memory. Each one is mapped in the worker between two guard areas that
// cannot be touched, with its end as close to the guard as an alignment of 64 bytes allows; what is left of
// the pages holds a pattern that is checked after each call. Inputs are mapped read only.
//
// What a candidate does wrong is a [kernels.Rejection] whose reason says what happened: "wrote past the end of
// buffer C", "tried to start a process (clone)", "ran past its limit of 2s". The worker that it harmed is
// replaced at the next [Worker.Load]; the caller sees nothing of it. A worker that was left clean (no thread,
// no descriptor, no library left over) serves the next candidate too, on a fresh thread.
//
// A binary that uses workers begins with
//
//	if worker.IsChild() {
//		worker.Main()
//	}
//
// in main, and in the TestMain of each test that starts one.
//
// # What is not defended
//
// The fence is for code that is wrong, not for code that attacks. A candidate shares its process with the
// protocol, so it can forge answers and times; impossible times are refused (see [Worker.Time]). It has the
// rights of the user: it may read and remove files, and open connections. A command may also signal and change whatever
// its user may, tune itself with it.
package worker
