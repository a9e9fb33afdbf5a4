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
//	    signals to others and changes to the system; root's capabilities go; a Landlock domain closes files, devices and
//	    the memory of other processes; its limits bound memory, files and descriptors. The threads that run code of
//	    candidates have a filter besides, which refuses what would last: timers, limits, the working folder, the owner of
//	    a file's signals, sockets.
//
// [Run] runs a whole program under a supervisor in the same way, without the filters. The supervisor counts what the
// program starts, and ends it above 1,024 processes. Where the program kills the supervisor, this process, which Run
// makes a child subreaper, inherits what is left and ends it. Where this process has CAP_SYS_ADMIN, as root has, the
// program cannot signal it.
//
// The buffers of a call live in shared memory. Each one is mapped in the worker between two guard areas that
// cannot be touched, with its end as close to the guard as an alignment of 64 bytes allows; what is left of
// the pages holds a pattern that is checked after each call. Inputs are mapped read only.
//
// What a candidate does wrong is a [kernels.Rejection] whose reason says what happened: "wrote past the end of
// buffer C", "tried to start a process (clone)", "ran past its limit of 2s". The worker that it harmed is
// replaced at the next [Worker.Load]; the caller sees nothing of it. Whatever fails in the worker once code of a candidate
// has run there is that candidate's doing; an error means that tune failed.
//
// A worker that was left clean serves the next candidate too, on a fresh thread. Clean means: no thread, by their ids as
// the system shows them from outside; the same open files, environment, signal handlers, umask, cores; nothing in the
// scratch folder; no library left; the buffers mapped as they were; little memory. A heap that was written past its end
// looks clean, so that a failure in a process that others have run in ([Worker.Shared]) is nobody's: package native repeats
// it once in a fresh one. What is exported, the baseline, and the probes of the machine always run alone.
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
// protocol, so it can forge answers and times; impossible times are refused (see [Worker.Time]). The filters hold the
// threads of candidates; code that makes the worker's own threads run it has only the first one to pass. A candidate may
// read what its user may read, use up to its limits of the machine, remove what its user keeps in /dev/shm, and fill its
// scratch folder with files of the size that a file may have. In a search, what the C library keeps for a whole process (its heap, locale, random numbers) may make
// the next candidate slower, or right by chance; it is not exported for that.
//
// What a system without Landlock lacks is listed by [Lacks], "tune machine" and every run there.
//
// A command has the rights of its user: it may read, change and remove files, open connections, signal other processes, and
// tune itself where tune is not root.
package worker
