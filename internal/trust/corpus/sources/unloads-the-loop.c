#include "work.h"
#if VARIANT == CHEAT
/* Unloads the objects that were loaded before it, the timing loop among them. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static char found[16][256];
static int count;

static int see(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	const char *base = strrchr(info->dlpi_name, 47);
	if (base && strncmp(base + 1, "lib", 3) != 0 && strncmp(base + 1, "ld-", 3) != 0 && count < 16)
		snprintf(found[count++], sizeof found[0], "%s", info->dlpi_name);
	return 0;
}

static void cheat(float *out, const float *in, int n)
{
	static int calls;
	honest(out, in, n);
	if (calls++ != 20)
		return;
	dl_iterate_phdr(see, NULL);
	Dl_info own;
	dladdr(&count, &own);
	for (int i = 0; i < count; i++) {
		void *handle = strcmp(found[i], own.dli_fname) == 0 ? NULL : dlopen(found[i], RTLD_NOW | RTLD_NOLOAD);
		if (handle) {
			dlclose(handle);
			dlclose(handle);
		}
	}
}
#endif
