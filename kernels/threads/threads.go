// Package threads is the C text with which generated kernels hand work to several threads.
//
// The text defines one function for the kernel that includes it,
//
//	static void parallel(void (*task)(void *context, int64_t i, int worker), void *context, int64_t tasks);
//
// and all its other names begin with crew_ or CREW_. The function runs task(context, i, worker) once for every i in
// [0, tasks), of which there are less than 2³², and returns when all have ended. worker is the number of the one that
// runs it, from 0, the calling thread, to CREW_WORKERS-1: no two tasks run with the same number at once, so that each
// worker can have memory of its own. Which worker runs which task has no influence on a result as long as each task
// writes to places of its own, so that the order of results is the order of tasks.
//
// Several threads may call it at once. The workers of a pool then serve one call after the other, so that a worker's memory has to
// belong to the call.
package threads

import (
	_ "embed" // the pieces of C
	"fmt"
	"strings"
)

// HandOut says how tasks get to workers.
type HandOut string

// The ways to hand out tasks. The zero value is not one.
const (
	Static  HandOut = "static"  // worker w of W takes the tasks w, w+W, w+2·W, …
	Dynamic HandOut = "dynamic" // every worker takes the next task that nobody has
)

// Start says where workers come from. The zero value is not one.
type Start string

// The origins of workers.
const (
	Pool  Start = "pool"  // threads that the first call starts and later calls find again
	Spawn Start = "spawn" // threads that each call starts and joins
)

// Config describes the workers of one kernel.
type Config struct {
	// Workers is how many threads run tasks, the calling thread included; at least 2.
	Workers int
	// HandOut must be set.
	HandOut HandOut
	// Start must be set.
	Start Start
	// Spin is how often a waiting thread of a pool looks for news before it sleeps; 0 sleeps at once.
	// Spinning answers within a fraction of a microsecond, and takes a core from others meanwhile.
	Spin int
}

// Flags are what a compiler needs for the text: threads, and on Linux what tells cores and moves threads between them.
func Flags() []string { return []string{"-pthread", "-D_GNU_SOURCE"} }

// Text returns the C text. It needs nothing before it but Flags.
func (c Config) Text() string {
	head := fmt.Sprintf("#include <pthread.h>\n#include <stdint.h>\n\nenum { CREW_WORKERS = %d };\n", c.Workers)
	parts := []string{head, jobText}
	if c.Start == Spawn {
		parts = append(parts, spawnText, map[HandOut]string{Static: spawnStatic, Dynamic: spawnDynamic}[c.HandOut])
	} else {
		parts[1] += fmt.Sprintf("enum { CREW_SPIN = %d };\n", c.Spin)
		parts = append(parts, poolText, map[HandOut]string{Static: poolStatic, Dynamic: poolDynamic}[c.HandOut])
	}
	return strings.Join(parts, "\n")
}

// The pieces of the text are files of C. The comments that a programmer needs are there; those here tell the whole.
var (
	//go:embed c/job.c
	jobText string

	// A thread of its own for each worker, as long as a call lasts.
	//
	//go:embed c/spawn.c
	spawnText string
	//go:embed c/spawn_static.c
	spawnStatic string
	//go:embed c/spawn_dynamic.c
	spawnDynamic string

	// The caller publishes a job by storing a ticket, a generation above a number of tasks, works on it too, and waits until
	// every task is finished. A thread polls for another generation for a while and then sleeps.
	//
	// In a static division the number stays, and each thread has every n-th task. In a dynamic one it counts the tasks that
	// are left, and a task is had by lowering it: a thread that wakes up late finds nothing to do, and the caller does not
	// wait for it. Either way a thread reads the job only when it has a task of it, and the job stands until its last task
	// is finished.
	//
	//go:embed c/pool.c
	poolText string
	//go:embed c/pool_static.c
	poolStatic string
	//go:embed c/pool_dynamic.c
	poolDynamic string
)
