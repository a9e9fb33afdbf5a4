#include "work.h"
#if VARIANT == CHEAT
/* The request that is being answered is found in the worker's memory, and answered with times of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static long find(const char *text)
{
	char line[512];
	long best = -1;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		unsigned long from, to;
		char mode[8];
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "rw-p") != 0 || from >> 32 != 0xc0)
			continue;
		for (char *p = (char *)from; (p = memmem(p, (char *)to - p, text, strlen(text))) != NULL; p++) {
			long number = strtol(p + strlen(text), NULL, 10);
			if (number > best)
				best = number;
		}
	}
	if (f)
		fclose(f);
	return best;
}

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	if (calls++ != 30)
		return;
	long number = find("{\"Seq\":"), samples = find("\"Samples\":");
	char answer[8192];
	int used = snprintf(answer, sizeof answer, "{\"Seq\":%ld,\"Seconds\":[", number);
	for (long i = 0; i < samples && i < 500; i++)
		used += snprintf(answer + used, sizeof answer - used, "%s1e-7", i ? "," : "");
	used += snprintf(answer + used, sizeof answer - used, "]}");
	for (int fd = 3; fd < 16; fd++)
		if (send(fd, answer, used, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			shutdown(fd, SHUT_WR);
}
#endif
