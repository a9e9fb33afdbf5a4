#include "plain.h"
/* A thread of its own that stays from call to call, which the file declares. */
#include <pthread.h>
#include <sched.h>

static struct { float *out; const float *in; int n; } job;
static int wanted, done, leave;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *help(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (int seen = 0;;) {
		while (wanted == seen && !leave)
			pthread_cond_wait(&changed, &lock);
		if (leave)
			break;
		seen = wanted;
		pthread_mutex_unlock(&lock);
		for (int i = 0; i < job.n / 2; i++)
			job.out[i] = polynomial(job.in[i]);
		pthread_mutex_lock(&lock);
		done = seen;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

__attribute__((destructor)) static void end(void)
{
	if (!thread)
		return;
	pthread_mutex_lock(&lock);
	leave = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

void work(float *out, const float *in, int n)
{
	pthread_mutex_lock(&lock);
	if (!thread)
		pthread_create(&thread, NULL, help, NULL);
	job.out = out;
	job.in = in;
	job.n = n;
	int ticket = ++wanted;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = n / 2; i < n; i++)
		out[i] = polynomial(in[i]);
	pthread_mutex_lock(&lock);
	while (done != ticket)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}
