package worker

// Isolation says how a system isolates the code of candidates.
type Isolation struct {
	// Seccomp says whether system calls are filtered. Without that no worker starts.
	Seccomp bool `json:"seccomp"`
	// Landlock is the version of Landlock that encloses workers, 0 for none.
	Landlock int `json:"landlock"`
	// Lacks lists, as sentences, what the system has no means for.
	Lacks []string `json:"lacks"`
}
