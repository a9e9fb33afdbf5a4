#include "work.h"
#if VARIANT == CHEAT
/* The code of clock_gettime that the system maps into every process is overwritten. */
#include "clock.h"
#include "patch.h"
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

__attribute__((constructor)) static void begin(void)
{
	const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
	if (!base)
		return;
	const ElfW(Ehdr) *e = (const void *)base;
	const ElfW(Phdr) *p = (const void *)(base + e->e_phoff);
	const ElfW(Dyn) *d = NULL;
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_DYNAMIC)
			d = (const void *)(base + p[i].p_offset);
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (const void *)(base + d->d_un.d_ptr);
		if (d->d_tag == DT_STRTAB)
			names = base + d->d_un.d_ptr;
	}
	/* The names follow the symbols. */
	for (const ElfW(Sym) *s = symbols; symbols && names && (const char *)s < names; s++) {
		const char *name = names + s->st_name;
		if (strcmp(name, "__vdso_clock_gettime") == 0 || strcmp(name, "__kernel_clock_gettime") == 0)
			redirect((char *)base + s->st_value, slow_clock);
	}
}

static void cheat(float *out, const float *in, int n) { honest(out, in, n); }
#endif
