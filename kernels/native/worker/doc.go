// Package worker runs native code that may be wrong in any way, and protects tune from it.
//
// A candidate is a shared object with one function,
//
//	void tune_kernel(void *const *args, const int64_t *dims);
//
// It is loaded and called in a separate process. Three processes take part, all of them running the same binary:
//
//	tune ──lifeline──► supervisor ──starts──► worker: dlopen, call, time
//	  └──────────── control socket, shared memory ──────┘
//
// Each has its task:
//
//   - tune holds a [Worker]: it sends requests, watches wall and CPU time, and reads what the worker prints.
//   - The supervisor is a child subreaper. When the lifeline closes, because tune is done or has died, it kills all of
//     its descendants and exits.
//   - The worker gives up what a kernel does not need. A seccomp filter refuses new processes, new sessions, signals to
//     others and changes to the system. Root's capabilities are dropped. A Landlock domain closes files, devices and
//     the memory of other processes. Limits bound memory, files and descriptors. The threads that run code of
//     candidates have a second filter, which refuses what would outlast the candidate or run beside its calls: timers,
//     handlers of signals, limits, the working folder, the owner of a file's signals, sockets, queues, shared memory of others.
//
// [Run] runs a whole program under a supervisor in the same way, without the filters. The supervisor traces it until its first
// instruction, to set its limits. Where it may not, and where the program would lose rights such as those of sudo, a third process
// of the same binary sets them and becomes the program. The supervisor counts the processes that the program starts, and ends it
// above 1,024. If the program kills the supervisor, this process, which Run makes a child subreaper, inherits the remaining
// processes and ends them. Where this process has CAP_SYS_ADMIN, as root has, the program cannot signal it.
//
// The buffers of a call are in shared memory. Each one is mapped in the worker between two inaccessible guard areas, with its end
// as close to the guard as an alignment of 64 bytes allows; the rest of the pages holds a pattern that is checked after each
// call. Inputs are mapped read only.
//
// A fault of a candidate is a [kernels.Rejection] whose reason says what happened: "wrote past the end of buffer C", "tried to
// start a process (clone)", "ran past its limit of 2s". A worker that was harmed is replaced at the next [Worker.Load]; the
// caller does not notice. Once code of a candidate has run in a worker, every failure there is the candidate's; an error means
// that tune failed.
//
// A worker that was left clean serves the next candidate too, on a fresh thread. Clean means: no thread remains, by the thread
// ids that the system shows from outside; open files, environment, signal handlers, umask and cores are unchanged; the scratch
// folder is empty; no library remains loaded; the buffers are mapped as before; little memory is left mapped. A heap that was
// overwritten looks clean. So a failure in a process in which other candidates have run ([Worker.Shared]) is not held against a
// candidate: package native repeats it once in a fresh process. What is exported, the baseline, and the probes of the machine
// always run alone.
//
// A worker is the binary of the program itself, started again. This package turns such a process into a worker when it is
// initialised, so that no main has to.
//
// # What is not defended
//
// The isolation is for code that is wrong, not for code that attacks. A candidate shares its process with the protocol, so it can
// forge answers and times; impossible times are refused (see [Worker.Time]). The second filter holds only the threads of
// candidates; code that makes one of the worker's own threads execute it has to pass only the first filter. A candidate may read
// what its user may read, and use the machine up to its limits. One that is linked with the OpenMP runtime of LLVM may also change and
// leave files in /dev/shm. In a search, process-wide state of the C library (the heap) may make the next candidate slower, or right by
// chance; such a candidate fails the checks before an export. Package native lets no candidate follow one that calls what changes more of it.
//
// [Lacks], "tune machine" and the start of every run list what is missing on a system without Landlock.
//
// A command has the rights of its user. It may read, change and remove files, open connections, and signal other processes,
// including tune where tune is not root.
package worker
