package gemm

// entry writes tune_kernel, and for several workers the pool of threads that share a product.
type entry struct {
	*writer
	c       Config
	nt      bool
	rowUnit int // rows of C that a task's share is a multiple of
	colUnit int
	// part writes the statement that computes the m by n part of C that begins at row i0 and column j0, of
	// the job j, with the scratch s. m and n are texts.
	part func(m, n string)
}

func (e *entry) write() {
	e.lines(`
struct job {
	const float *a, *b;
	float *c;
	i64 m, n, k, lda, ldb;
};
`)
	e.f("\n// Computes rows i0 to i1 and columns j0 to j1 of C.")
	e.f("static void part(struct scratch *s, struct job j, i64 i0, i64 i1, i64 j0, i64 j1) {")
	e.in()
	e.part("i1 - i0", "j1 - j0")
	e.out()
	e.f("}")
	if e.c.Workers > 1 {
		e.pool()
	} else {
		e.f("\nstatic struct scratch scratch;")
		e.f("\nvoid tune_kernel(void *const *args, const i64 *dims) {")
		e.in()
		e.job()
		e.f("part(&scratch, j, 0, j.m, 0, j.n);")
		e.out()
		e.f("}")
	}
}

func (e *entry) job() {
	ldb := "dims[1]"
	if e.nt {
		ldb = "dims[2]"
	}
	e.f("struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[2], %s};", ldb)
}

// pool writes the threads. A job is divided into tasks of Chunk tiles along one axis. The caller publishes a job
// by storing a ticket, a generation above a number of tasks, works on it too, and waits until every task is
// finished. A thread polls for another generation for a while and then sleeps.
//
// In a static division the number stays and each thread has every n-th task. In a dynamic one it counts the tasks
// that are left, and a task is had by lowering it: a thread that wakes up late finds nothing to do, and the caller
// does not wait for it. Either way a thread reads the job only when it has a task of it, and the job stands until
// its last task is finished.
func (e *entry) pool() {
	unit, axis := e.rowUnit, "m"
	if e.c.Split == "columns" {
		unit, axis = e.colUnit, "n"
	}
	e.f("\n#include <pthread.h>")
	e.f("#include <sched.h>")
	e.f("\n#define WORKERS %d", e.c.Workers)
	e.f("#define POLLS %d", e.c.Spin*1000)
	e.lines(`#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("")
#endif

static struct scratch scratch[WORKERS];
static struct job job;
static i64 share; // rows or columns of a task
static int threads = -1; // beside the caller
static unsigned long ticket __attribute__((aligned(64))); // generation above tasks
static int finished __attribute__((aligned(64))); // tasks
static int sleepers __attribute__((aligned(64)));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

#define READ(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define GENERATION(t) ((t) >> 32)
#define TASKS(t) ((t) & 0xffffffff)

static void task(int me, i64 number) {
`)
	e.in()
	e.f("const i64 from = number * share;")
	if axis == "n" {
		e.f("part(&scratch[me], job, 0, job.m, from, least(job.n, from + share));")
	} else {
		e.f("part(&scratch[me], job, from, least(job.m, from + share), 0, job.n);")
	}
	e.f("__atomic_fetch_add(&finished, 1, __ATOMIC_SEQ_CST);")
	e.out()
	e.f("}")
	if e.c.Dynamic {
		e.lines(`
static void work(int me, unsigned long mine) {
	for (unsigned long t = READ(ticket); GENERATION(t) == GENERATION(mine) && TASKS(t) > 0; t = READ(ticket))
		if (__atomic_compare_exchange_n(&ticket, &t, t - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) task(me, (i64)TASKS(t) - 1);
}
`)
	} else {
		e.lines(`
static void work(int me, unsigned long mine) {
	for (unsigned long t = me; t < TASKS(mine); t += threads + 1) task(me, (i64)t);
}
`)
	}
	e.lines(`
static void *run(void *arg) {
	const int me = (int)(i64)arg;
	for (unsigned long seen = 0;;) {
		for (int i = 0; i < POLLS && GENERATION(READ(ticket)) == seen; i++) PAUSE();
		if (GENERATION(READ(ticket)) == seen) {
			pthread_mutex_lock(&lock);
			__atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
			while (GENERATION(READ(ticket)) == seen) pthread_cond_wait(&wake, &lock);
			__atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
			pthread_mutex_unlock(&lock);
		}
		const unsigned long mine = READ(ticket);
		seen = GENERATION(mine);
		work(me, mine);
	}
	return 0;
}

// Where the machine gives fewer threads than asked for, the others do the work. A thread may look at the number of
// threads only when it has a task, which it cannot have before this has returned.
static void start(void) {
	int n = 0;
	for (pthread_t t; n < WORKERS - 1 && !pthread_create(&t, 0, run, (void *)(i64)(n + 1)); n++) pthread_detach(t);
	threads = n;
}

void tune_kernel(void *const *args, const i64 *dims) {
`)
	e.in()
	e.job()
	if e.c.Chunk > 0 {
		e.f("share = %d;", unit*e.c.Chunk)
	} else {
		e.f("share = (j.%s + %d) / %d * %d;", axis, unit*e.c.Workers-1, unit*e.c.Workers, unit)
	}
	e.f("const i64 tasks = (j.%s + share - 1) / share;", axis)
	e.f("if (tasks == 1) {")
	e.f("\tpart(&scratch[0], j, 0, j.m, 0, j.n);")
	e.f("\treturn;")
	e.f("}")
	e.lines(`	if (threads < 0) start();
	job = j;
	finished = 0;
	const unsigned long mine = ((GENERATION(ticket) + 1) << 32 | tasks);
	__atomic_store_n(&ticket, mine, __ATOMIC_SEQ_CST);
	if (READ(sleepers) > 0) {
		pthread_mutex_lock(&lock);
		pthread_cond_broadcast(&wake);
		pthread_mutex_unlock(&lock);
	}
	work(0, mine);
	// A thread may have lost its core; after a while the caller offers its own.
	for (int i = 0; READ(finished) < tasks; i++)
		if (i < 10000) PAUSE();
		else sched_yield();
}
`)
	e.out()
}
