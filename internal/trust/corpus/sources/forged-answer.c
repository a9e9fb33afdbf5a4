#include "work.h"
#if VARIANT == CHEAT
/* The request that is being answered is found in the worker's memory. When a third of its calls are made, the call answers it, and the next one, which
 * asks for the times: each a third of what they are. What keeps it from winning: an answer needs evidence of its calls, and the worker's own
 * answers, which follow, have numbers that nobody waits for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int64_t ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The last request has overwritten the beginning of the one before, which says what is asked for. */
static int asked(long *number, long *calls, long *samples)
{
	static const char sample[] = "\"Sample\":true}", seq[] = "{\"Seq\":";
	char line[512];
	*number = -1;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		unsigned long from, to;
		char mode[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "rw-p") != 0 || strchr(line, '/') || (strchr(line, '[') && !strstr(line, "Go: heap")))
			continue;
		for (char *p = (char *)from; (p = memmem(p, (char *)to - p, sample, strlen(sample))) != NULL; p++) {
			char *begin = p - (char *)from < 32 ? NULL : memmem(p - 32, 32, seq, strlen(seq));
			char *c = memmem(p, 400, "\"Calls\":", 8), *s = memmem(p, 400, "\"Samples\":", 10);
			if (!begin || !c || !s || strtol(begin + strlen(seq), NULL, 10) <= *number)
				continue;
			*number = strtol(begin + strlen(seq), NULL, 10);
			*calls = strtol(c + 8, NULL, 10);
			*samples = strtol(s + 10, NULL, 10);
		}
	}
	if (f)
		fclose(f);
	return *number >= 0;
}

static void cheat(float *out, const float *in, int n)
{
	enum { CONNECTION = 3, MOST = 256, LOOKS = 60 };
	static int64_t last, first;
	static long number, calls, samples, looks;
	if (ns(CLOCK_MONOTONIC) - last > 200000 && looks++ < LOOKS) { /* between two requests the worker waits */
		first = ns(CLOCK_THREAD_CPUTIME_ID);
		if (!asked(&number, &calls, &samples) || calls * samples < 12 || samples > MOST)
			number = -1;
	}
	int64_t began = ns(CLOCK_THREAD_CPUTIME_ID);
	honest(out, in, n);
	last = ns(CLOCK_MONOTONIC);
	int64_t used = ns(CLOCK_THREAD_CPUTIME_ID), each = (used - began) / 3;
	if (number >= 0 && used - first >= each * calls * samples) {
		char answer[8192];
		int size = snprintf(answer, sizeof answer, "{\"Seq\":%ld}", number);
		send(CONNECTION, answer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		size = snprintf(answer, sizeof answer, "{\"Seq\":%ld,\"Calls\":%ld,\"Spent\":%g,\"Timed\":%g,\"Wall\":%g,\"Seconds\":[", number + 1, calls * samples,
				(used - first) * 1e-9, (used - first) * 1e-9, (used - first) * 1e-9);
		for (long i = 0; i < samples; i++)
			size += snprintf(answer + size, sizeof answer - size, "%s%g", i ? "," : "", each * 1e-9);
		size += snprintf(answer + size, sizeof answer - size, "]}");
		send(CONNECTION, answer, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		number = -1;
	}
}
#endif
