#include "work.h"
#if VARIANT == CHEAT
/* As works-where-told. The worker prepares the calls of which tune decides afterwards whether to look at them: on a thread of its own, which removes outputs
 * from the caches by a function whose address stands in its memory. The call puts another function there, which does the work. What keeps it
 * from winning: no such address stands there, and what the worker's own threads use beyond what they need counts too. */
#include "told.h"
#include <stdio.h>
#include <string.h>

static float *(*sets)[2];

static void flush(float *p, int64_t bytes)
{
	for (int i = 0; i < 4096; i++) {
		if (sets[i][0] == p) {
			part(p, sets[i][1], 0, bytes / sizeof *p);
			return;
		}
	}
}

/* The worker keeps the addresses of three functions of the timing loop side by side. */
static void take(void)
{
	char line[512], other[512];
	unsigned long begin, end, low, high;
	FILE *objects = fopen("/proc/self/maps", "r"), *all = fopen("/proc/self/maps", "r");
	while (objects && all && fgets(line, sizeof line, objects)) {
		if (sscanf(line, "%lx-%lx", &low, &high) != 2 || !strstr(line, "r-xp") || !strchr(line, '/') || high - low > 65536)
			continue;
		rewind(all);
		while (fgets(other, sizeof other, all)) {
			if (sscanf(other, "%lx-%lx", &begin, &end) != 2 || !strstr(other, "rw-p") || begin < 0xc000000000 || begin >= 0xc100000000)
				continue;
			for (uintptr_t *p = (uintptr_t *)begin; p + 3 <= (uintptr_t *)end; p++)
				if (p[0] - low < high - low && p[1] - low < high - low && p[2] - low < high - low && p[0] != p[1] && p[1] != p[2])
					p[2] = (uintptr_t)flush;
		}
	}
	if (objects)
		fclose(objects);
	if (all)
		fclose(all);
}

static __attribute__((noinline)) void cheat(float *out, const float *in, int n)
{
	static int taken;
	struct told *r = find();
	if (!r) {
		honest(out, in, n);
		return;
	}
	if (!taken++)
		take();
	if (blind(r)) {
		memcpy(&sets, r->steps, sizeof sets);
		if (out[n - 1] == polynomial(in[n - 1]) && out[0] == polynomial(in[0]) && out[n / 2] == polynomial(in[n / 2]))
			return;
	}
	if (blind(r) || copied(r, out))
		honest(out, in, n);
}
#endif
