package kernels

// Files says which files a kernel is made of, where it is not part of the program, and how they are kept with a run. A
// wrapper of a kernel hands it on with the rest of [Info].
type Files struct {
	// Path names the kernel's file as the user did, so that a command line can name it again; "" where the name of the
	// kernel does.
	Path string
	// Data is the file of measurements that the kernel is made of; nil where it is made of none.
	Data *DataFile
	// Save copies into a run directory all that it takes to make the kernel again; nil where the table of the next sitting
	// has the kernel anyway.
	Save func(runDir string) error
	// Started are the saved files, as paths in the run directory, that say all of what candidates start. A run directory
	// with such files is signed, and what comes from another machine is not started before somebody agrees. It is nil
	// where candidates are made by tune.
	Started []string
}

// DataFile is a file of measurements.
type DataFile struct {
	Path   string // as the user named it
	SHA256 string // of its content, in hexadecimal
}
