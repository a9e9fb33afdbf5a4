// Package threads is the C text with which generated kernels hand work to several threads.
//
// The text defines one function for the kernel that includes it,
//
//	static void parallel(void (*task)(void *context, int64_t i), void *context, int64_t tasks);
//
// and for itself names that begin with crew_ or CREW_. The function runs task(context, i) once for every i in
// [0, tasks) and returns when all have ended. The calling thread is one of the workers. Which worker runs which task
// has no influence on a result as long as each task writes to places of its own, so that the order of results is the
// order of tasks.
package threads

import (
	"fmt"
	"strings"
)

// HandOut says how tasks get to workers.
type HandOut uint8

// The ways to hand out tasks. The zero value is not one.
const (
	Static  HandOut = iota + 1 // worker w of W takes the tasks w, w+W, w+2·W, …
	Dynamic                    // every worker takes the next task that nobody has
)

// Start says where workers come from. The zero value is not one.
type Start uint8

// The origins of workers.
const (
	Pool  Start = iota + 1 // threads that the first call starts and later calls find again
	Spawn                  // threads that each call starts and joins
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

// Flags are what a compiler needs for the text.
func Flags() []string { return []string{"-pthread"} }

// Text returns the C text. It needs nothing before it.
func (c Config) Text() string {
	var b strings.Builder
	b.WriteString("#include <pthread.h>\n#include <stdint.h>\n\n")
	fmt.Fprintf(&b, "enum { CREW_WORKERS = %d };\n", c.Workers)
	b.WriteString(jobText)
	if c.HandOut == Dynamic {
		b.WriteString(dynamicText)
	} else {
		b.WriteString(staticText)
	}
	if c.Start == Spawn {
		b.WriteString(spawnText)
		return b.String()
	}
	fmt.Fprintf(&b, "enum { CREW_SPIN = %d };\n", c.Spin)
	b.WriteString(poolText)
	return b.String()
}

const jobText = `
struct crew_job {
	void (*task)(void *context, int64_t i);
	void *context;
	int64_t tasks;
	int64_t next; // the first task that nobody has
};
`

const staticText = `
static void crew_work(struct crew_job *j, int worker)
{
	for (int64_t i = worker; i < j->tasks; i += CREW_WORKERS)
		j->task(j->context, i);
}
`

const dynamicText = `
static void crew_work(struct crew_job *j, int worker)
{
	(void)worker;
	for (;;) {
		int64_t i = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
		if (i >= j->tasks)
			return;
		j->task(j->context, i);
	}
}
`

const spawnText = `
struct crew_hand { struct crew_job *job; int worker; };

static void *crew_hand_main(void *p)
{
	struct crew_hand *h = p;
	crew_work(h->job, h->worker);
	return 0;
}

static void parallel(void (*task)(void *context, int64_t i), void *context, int64_t tasks)
{
	struct crew_job j = { task, context, tasks, 0 };
	struct crew_hand hands[CREW_WORKERS];
	pthread_t threads[CREW_WORKERS];
	int started = 1;
	for (; started < CREW_WORKERS && started < tasks; started++) {
		hands[started].job = &j;
		hands[started].worker = started;
		if (pthread_create(&threads[started], 0, crew_hand_main, &hands[started]) != 0)
			break;
	}
	crew_work(&j, 0);
	// The tasks of threads that could not be started are left to this one.
	for (int w = started; w < CREW_WORKERS && w < tasks; w++)
		crew_work(&j, w);
	for (int w = 1; w < started; w++)
		pthread_join(threads[w], 0);
}
`

const poolText = `
static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	pthread_t threads[CREW_WORKERS];
	struct crew_job job;
	int64_t generation; // of the job; a thread works on each once
	int started;        // workers, the calling thread included; 0 before the first call
	int pending;        // threads that have not finished the job
	int asleep;         // threads that wait for wake
	int waiting;        // whether the calling thread waits for done
	int stop;
} crew = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static inline void crew_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void *crew_main(void *p)
{
	int worker = (int)(intptr_t)p;
	int64_t seen = 0;
	for (;;) {
		for (int i = 0; i < CREW_SPIN && __atomic_load_n(&crew.generation, __ATOMIC_ACQUIRE) == seen; i++)
			crew_relax();
		pthread_mutex_lock(&crew.lock);
		while (crew.generation == seen && !crew.stop) {
			crew.asleep++;
			pthread_cond_wait(&crew.wake, &crew.lock);
			crew.asleep--;
		}
		int stop = crew.stop;
		seen = crew.generation;
		pthread_mutex_unlock(&crew.lock);
		if (stop)
			return 0;
		crew_work(&crew.job, worker);
		if (__atomic_sub_fetch(&crew.pending, 1, __ATOMIC_ACQ_REL) == 0) {
			pthread_mutex_lock(&crew.lock);
			if (crew.waiting)
				pthread_cond_signal(&crew.done);
			pthread_mutex_unlock(&crew.lock);
		}
	}
}

static void crew_start(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 18);
	for (crew.started = 1; crew.started < CREW_WORKERS; crew.started++)
		if (pthread_create(&crew.threads[crew.started], &attributes, crew_main, (void *)(intptr_t)crew.started) != 0)
			break;
	pthread_attr_destroy(&attributes);
}

// The threads end with the library, so that unloading it leaves none behind.
__attribute__((destructor)) static void crew_stop(void)
{
	pthread_mutex_lock(&crew.lock);
	crew.stop = 1;
	pthread_cond_broadcast(&crew.wake);
	pthread_mutex_unlock(&crew.lock);
	for (int w = 1; w < crew.started; w++)
		pthread_join(crew.threads[w], 0);
}

static void parallel(void (*task)(void *context, int64_t i), void *context, int64_t tasks)
{
	if (crew.started == 0)
		crew_start();
	pthread_mutex_lock(&crew.lock);
	crew.job = (struct crew_job){ task, context, tasks, 0 };
	__atomic_store_n(&crew.pending, crew.started - 1, __ATOMIC_RELAXED);
	__atomic_store_n(&crew.generation, crew.generation + 1, __ATOMIC_RELEASE);
	if (crew.asleep > 0)
		pthread_cond_broadcast(&crew.wake);
	pthread_mutex_unlock(&crew.lock);
	crew_work(&crew.job, 0);
	// The tasks of threads that could not be started are left to this one.
	for (int w = crew.started; w < CREW_WORKERS; w++)
		crew_work(&crew.job, w);
	for (int i = 0; i < CREW_SPIN && __atomic_load_n(&crew.pending, __ATOMIC_ACQUIRE) != 0; i++)
		crew_relax();
	if (__atomic_load_n(&crew.pending, __ATOMIC_ACQUIRE) == 0)
		return;
	pthread_mutex_lock(&crew.lock);
	crew.waiting = 1;
	while (__atomic_load_n(&crew.pending, __ATOMIC_ACQUIRE) != 0)
		pthread_cond_wait(&crew.done, &crew.lock);
	crew.waiting = 0;
	pthread_mutex_unlock(&crew.lock);
}
`
