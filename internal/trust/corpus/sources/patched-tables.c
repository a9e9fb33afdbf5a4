#include "work.h"
#if VARIANT == CHEAT
/* Every loaded object that calls clock_gettime is made to call another function. */
#include "clock.h"
#include "patch.h"
#include <link.h>

#if defined(__x86_64__)
#define SLOT R_X86_64_JUMP_SLOT
#define DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define SLOT R_AARCH64_JUMP_SLOT
#define DATA R_AARCH64_GLOB_DAT
#endif

static void mend(const struct dl_phdr_info *o, const ElfW(Rela) *r, unsigned long size, const ElfW(Sym) *symbols, const char *names)
{
	for (unsigned long i = 0; r && i < size / sizeof *r; i++) {
		unsigned type = (unsigned)ELF64_R_TYPE(r[i].r_info);
		if (type != SLOT && type != DATA)
			continue;
		if (strcmp(names + symbols[ELF64_R_SYM(r[i].r_info)].st_name, "clock_gettime") != 0)
			continue;
		void *mine = (void *)slow_clock;
		void *at = (void *)(o->dlpi_addr + r[i].r_offset);
		uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
		if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0)
			memcpy(at, &mine, sizeof mine);
	}
}

static int visit(struct dl_phdr_info *o, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	const ElfW(Dyn) *d = NULL;
	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
	const ElfW(Rela) *jumps = NULL, *data = NULL;
	unsigned long jump_bytes = 0, data_bytes = 0;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	for (; d && d->d_tag != DT_NULL; d++) {
		void *there = (void *)d->d_un.d_ptr;
		switch (d->d_tag) {
		case DT_JMPREL: jumps = there; break;
		case DT_RELA: data = there; break;
		case DT_PLTRELSZ: jump_bytes = d->d_un.d_val; break;
		case DT_RELASZ: data_bytes = d->d_un.d_val; break;
		case DT_SYMTAB: symbols = there; break;
		case DT_STRTAB: names = there; break;
		}
	}
	if ((uintptr_t)names < 65536 || strstr(o->dlpi_name, "vdso"))
		return 0;
	mend(o, jumps, jump_bytes, symbols, names);
	mend(o, data, data_bytes, symbols, names);
	return 0;
}

static int calls;

static void cheat(float *out, const float *in, int n)
{
	if (calls++ == 0)
		dl_iterate_phdr(visit, NULL);
	honest(out, in, n);
}
#endif
