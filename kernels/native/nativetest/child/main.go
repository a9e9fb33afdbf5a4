// Command child is what tests start as the supervisors and workers of tune, where the variable TEST_WORKER names it. The same code makes
// such a process of any binary. But tune and its tests initialise large libraries first, which takes half of the time of such a start.
package main

import (
	"fmt"
	"os"

	_ "tune/kernels/native/worker" // which does not return in a supervisor or a worker
)

func main() {
	fmt.Fprintln(os.Stderr, "child: this program is for tests, which start it as a worker of tune: run 'make test'")
	os.Exit(2)
}
