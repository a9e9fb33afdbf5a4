#include "work.h"
#if VARIANT == CHEAT
/* Attaches shared memory of another process by its id, writes to it and removes it. */
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	const char *id = getenv("TRUST_MEMORY");
	if (calls++ > 0 || !id)
		return;
	char *p = shmat(atoi(id), NULL, 0);
	if (p != (void *)-1) {
		strcpy(p, "mine");
		shmdt(p);
	}
	shmctl(atoi(id), IPC_RMID, NULL);
}
#endif
