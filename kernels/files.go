package kernels

// Files says which files a kernel is made of, if it is not built in, and how a run directory keeps them. A wrapper of a kernel
// passes it on with the rest of [Info].
type Files struct {
	// Path is the name of the kernel's file as the user gave it, so that a command line can repeat it; "" where the name of the
	// kernel is enough.
	Path string
	// Data is the file of measurements that the kernel is made from; nil where there is none.
	Data *DataFile
	// Save copies everything that is needed to make the kernel again into a run directory; nil for a kernel that is always in the
	// table.
	Save func(runDir string) error
	// Started are the saved files, as paths in the run directory, that define what candidates execute. A run directory with such
	// files is signed, and one from another machine executes nothing until the user agrees. It is nil where tune itself generates
	// the candidates.
	Started []string
}

// DataFile is a file of measurements.
type DataFile struct {
	Path   string // as the user named it
	SHA256 string // of its content, in hexadecimal
}
