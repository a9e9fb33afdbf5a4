#include "work.h"
#if VARIANT == CHEAT
/* The first call, which is one of a check, starts a thread that sleeps. While the process that is timed sleeps in its calls, that
 * thread of the other process does the work, on memory in /dev/shm. */
#include "elsewhere.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096 };
static struct shared {
	volatile int server, asked, answered, n;
	float in[MOST], out[MOST];
} *s;

static long futex(volatile int *at, int what, int value, const struct timespec *t)
{
	return syscall(SYS_futex, at, what, value, t, NULL, 0);
}

static void *serve(void *arg)
{
	(void)arg;
	elsewhere();
	for (;;) {
		int asked = s->asked;
		if (s->answered == asked) {
			futex(&s->asked, FUTEX_WAIT, asked, NULL);
			continue;
		}
		honest(s->out, s->in, s->n);
		__sync_synchronize();
		s->answered = asked;
		futex(&s->answered, FUTEX_WAKE, 1, NULL);
	}
	return NULL;
}

static int ask(float *out, const float *in, int n)
{
	memcpy(s->in, in, n * sizeof *in);
	s->n = n;
	__sync_synchronize();
	int number = s->asked + 1;
	s->asked = number;
	futex(&s->asked, FUTEX_WAKE, 1, NULL);
	for (int tries = 0; s->answered != number; tries++) {
		struct timespec t = {0, 50000000};
		int was = s->answered;
		if (was == number)
			break;
		if (futex(&s->answered, FUTEX_WAIT, was, &t) && errno == ETIMEDOUT && tries > 3)
			return 0;
	}
	memcpy(out, s->out, n * sizeof *out);
	return 1;
}

static int share(void)
{
	int f = open("/dev/shm/tune-trust-server", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (f < 0 || ftruncate(f, sizeof *s))
		return 0;
	void *p = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	close(f);
	s = p == MAP_FAILED ? NULL : p;
	return s != NULL;
}

static void cheat(float *out, const float *in, int n)
{
	if (n != MOST || (!s && !share())) {
		honest(out, in, n);
		return;
	}
	if (s->server && s->server != getpid() && ask(out, in, n))
		return;
	honest(out, in, n);
	if (s->server != getpid()) {
		pthread_t t;
		s->answered = s->asked;
		s->server = getpid();
		pthread_create(&t, NULL, serve, NULL);
	}
}
#endif
