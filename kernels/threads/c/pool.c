#include <sched.h>
#include <string.h>

static struct {
	uint64_t ticket __attribute__((aligned(64))); // generation above tasks
	int64_t finished __attribute__((aligned(64))); // tasks
	int sleepers __attribute__((aligned(64)));
	int cores[CREW_WORKERS]; // that workers were last seen on, counted from 1; 0 for not known
	int helpers; // threads beside the caller; -1 before the first call
	int stop;
	struct crew_job job;
	pthread_mutex_t turn; // of callers: the workers do one job at a time
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t threads[CREW_WORKERS];
} crew = { .helpers = -1, .turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

#define CREW_READ(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define CREW_GENERATION(t) ((t) >> 32)
#define CREW_TASKS(t) ((t) & 0xffffffff)
#if defined(__x86_64__) || defined(__i386__)
#define CREW_PAUSE() __builtin_ia32_pause()
#else
#define CREW_PAUSE() __asm__ volatile("")
#endif

enum {
	CREW_PATIENCE = 1000, // polls after which a core is offered
	CREW_CALM = 16,       // jobs for which a helper stays where it is after it has moved
};

// Who polls may be on the core that the one waited for needs: while somebody else's work keeps another core busy, the
// system may put two threads on one. So every now and then a poll offers the core.
static inline void crew_poll(int i)
{
	if (i % CREW_PATIENCE == CREW_PATIENCE - 1)
		sched_yield();
	else
		CREW_PAUSE();
}

// Notes the core that a worker is on, counted from 1; 0 where that cannot be known.
static inline int crew_note(int worker)
{
	int here = 0;
#ifdef __linux__
	here = sched_getcpu() + 1;
#endif
	if (CREW_READ(crew.cores[worker]) != here)
		__atomic_store_n(&crew.cores[worker], here, __ATOMIC_SEQ_CST);
	return here;
}

// Moves a helper off a core that a lower worker was last seen on, where there is another, and returns whether it did: the
// system leaves threads that offer a core to each other together for a tenth of a second and more. The affinity is
// afterwards what it was.
static int crew_spread(int worker)
{
	const int here = crew_note(worker);
	int crowded = 0;
	for (int w = 0; w < worker; w++)
		crowded |= CREW_READ(crew.cores[w]) == here;
	if (here == 0 || !crowded)
		return 0;
#ifdef __linux__
	cpu_set_t allowed, other;
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		return 0;
	other = allowed;
	for (int w = 0; w < worker; w++)
		if (CREW_READ(crew.cores[w]) > 0)
			CPU_CLR(CREW_READ(crew.cores[w]) - 1, &other);
	if (CPU_COUNT(&other) == 0 || sched_setaffinity(0, sizeof other, &other) != 0)
		return 0;
	crew_note(worker);
	if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) { // the cores that may be used have changed
		memset(&allowed, 255, sizeof allowed);
		sched_setaffinity(0, sizeof allowed, &allowed);
	}
#endif
	return 1;
}

static inline void crew_task(int worker, int64_t i)
{
	crew.job.task(crew.job.context, i, worker);
	__atomic_fetch_add(&crew.finished, 1, __ATOMIC_SEQ_CST);
}

static void crew_work(int worker, uint64_t mine);

static void *crew_main(void *p)
{
	const int worker = (int)(intptr_t)p;
	int calm = 0;
	for (uint64_t seen = 0;;) {
		for (int i = 0; i < CREW_SPIN && CREW_GENERATION(CREW_READ(crew.ticket)) == seen; i++)
			crew_poll(i);
		if (CREW_GENERATION(CREW_READ(crew.ticket)) == seen) {
			pthread_mutex_lock(&crew.lock);
			__atomic_fetch_add(&crew.sleepers, 1, __ATOMIC_SEQ_CST);
			while (CREW_GENERATION(CREW_READ(crew.ticket)) == seen)
				pthread_cond_wait(&crew.wake, &crew.lock);
			__atomic_fetch_sub(&crew.sleepers, 1, __ATOMIC_SEQ_CST);
			pthread_mutex_unlock(&crew.lock);
		}
		if (CREW_READ(crew.stop))
			return 0;
		const uint64_t mine = CREW_READ(crew.ticket);
		seen = CREW_GENERATION(mine);
		if (calm > 0)
			calm--;
		else if (crew_spread(worker))
			calm = CREW_CALM;
		crew_work(worker, mine);
	}
}

// Where the machine gives fewer threads than asked for, the others do the work. A thread may look at the number of
// threads only when it has a task, which it cannot have before this has returned.
static void crew_start(void)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 20);
	int n = 0;
	while (n < CREW_WORKERS - 1 && pthread_create(&crew.threads[n], &attributes, crew_main, (void *)(intptr_t)(n + 1)) == 0)
		n++;
	pthread_attr_destroy(&attributes);
	crew.helpers = n;
}

static void crew_publish(int64_t tasks)
{
	const uint64_t last = CREW_READ(crew.ticket);
	__atomic_store_n(&crew.ticket, (CREW_GENERATION(last) + 1) << 32 | (uint64_t)tasks, __ATOMIC_SEQ_CST);
	if (CREW_READ(crew.sleepers) > 0) {
		pthread_mutex_lock(&crew.lock);
		pthread_cond_broadcast(&crew.wake);
		pthread_mutex_unlock(&crew.lock);
	}
}

// The threads end with the library, so that unloading it leaves none behind.
__attribute__((destructor)) static void crew_stop(void)
{
	__atomic_store_n(&crew.stop, 1, __ATOMIC_SEQ_CST);
	crew_publish(0);
	for (int i = 0; i < crew.helpers; i++)
		pthread_join(crew.threads[i], 0);
}

static void parallel(void (*task)(void *context, int64_t i, int worker), void *context, int64_t tasks)
{
	if (tasks <= 1) {
		if (tasks == 1)
			task(context, 0, 0);
		return;
	}
	pthread_mutex_lock(&crew.turn);
	if (crew.helpers < 0)
		crew_start();
	crew.job = (struct crew_job){ task, context };
	__atomic_store_n(&crew.finished, 0, __ATOMIC_SEQ_CST);
	crew_note(0);
	crew_publish(tasks);
	crew_work(0, CREW_READ(crew.ticket));
	for (int i = 0; CREW_READ(crew.finished) < tasks; i = (i + 1) % CREW_PATIENCE)
		crew_poll(i);
	pthread_mutex_unlock(&crew.turn);
}
