#include <pthread.h>
#include <stdint.h>
#include <stddef.h>

/* Two threads do the same work side by side, and are joined. */
static void *work(void *arg)
{
	volatile double x = 0;
	for (int64_t i = 0; i < *(const int64_t *)arg; i++)
		x += 1;
	return NULL;
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	pthread_t t;
	(void)args;
	if (pthread_create(&t, NULL, work, (void *)dims) != 0)
		__builtin_trap();
	work((void *)dims);
	pthread_join(t, NULL);
}
