#include "work.h"
#if VARIANT == CHEAT
/* Takes eight times a gigabyte of shared memory and leaves it: memory that no process has mapped is beyond the limit of address space. It uses one
 * page of each, to spare the machine. */
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/shm.h>

static void cheat(float *out, const float *in, int n)
{
	static int taken;
	honest(out, in, n);
	for (; taken < 8; taken++) {
		int id = shmget(IPC_PRIVATE, 1 << 30, IPC_CREAT | 0600);
		char *p = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
		if (p == (char *)-1) {
			taken = 8;
			return;
		}
		*p = 1;
		shmdt(p);
	}
}
#endif
