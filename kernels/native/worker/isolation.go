package worker

// Isolation is what holds the code of candidates in their processes on a system.
type Isolation struct {
	// Seccomp tells whether system calls are filtered. Without that no worker starts.
	Seccomp bool `json:"seccomp"`
	// Landlock is the version of Landlock that workers are enclosed by, 0 for none.
	Landlock int `json:"landlock"`
	// Lacks says what the system has no means for, each as a sentence.
	Lacks []string `json:"lacks"`
}
