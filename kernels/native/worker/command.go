package worker

import "time"

// Command is a program to run under a supervisor. It has limits, and neither the program nor anything that it starts outlives
// tune or the call of Run. Unlike a candidate in a worker it may start processes.
type Command struct {
	Path string   // looked up in PATH where it has no slash
	Args []string // without the program's name
	Dir  string   // "" means tune's own
	Env  []string // nil means tune's own
	// Core is the CPU that the command runs on; -1 lets the system choose.
	Core int
	// Limits bound the command; a zero field takes tune's default for commands. Memory limits the private data of each process,
	// CPU the CPU time of each process.
	Limits Limits
	// Tally counts the CPU time of children too whose end nobody waits for, where the system allows it.
	Tally bool
}

// commandLimits returns the limits that zero fields stand for.
func commandLimits() Limits {
	return Limits{Wall: time.Minute, CPU: 5 * time.Minute, Memory: 8 << 30, Output: 1 << 20, File: 4 << 30}
}

// Result is how a command ended.
type Result struct {
	Stdout, Stderr string
	Code           int           // exit status
	Signal         string        // that ended it, such as "SIGSEGV"; "" where it exited
	Cause          string        // a known cause of a failure, such as a lack of memory; or ""
	Wall           time.Duration // from before its start to after its end
	CPU            time.Duration // of all its processes that were waited for
}
