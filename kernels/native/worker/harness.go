package worker

import _ "embed"

// HarnessC is the timing loop, which is compiled with [HarnessFlags]. Its own comment says how it is kept apart from candidates.
//
//go:embed c/harness.c
var HarnessC string

// HarnessFlags are the flags for HarnessC. Without the last one, compilers would turn the loops into calls of memcpy and memset,
// which a candidate could define. The source itself tells gcc the same once more, by a pragma, because clang refuses that flag.
func HarnessFlags() []string {
	return []string{"-O2", "-ffreestanding", "-nostdlib", "-fno-stack-protector", "-fno-builtin"}
}
