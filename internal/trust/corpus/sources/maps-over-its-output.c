#include "work.h"
#if VARIANT == CHEAT
/* Tries to have its output come from elsewhere in all ways that there are: a file in memory mapped over it, advice, a key, pages in another order. */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void map_over(char *begin, size_t size)
{
	madvise(begin, size, MADV_DONTNEED);
	madvise(begin, size, MADV_FREE);
	int key = syscall(SYS_pkey_alloc, 0, 1);
	if (key >= 0)
		syscall(SYS_pkey_mprotect, begin, size, PROT_READ | PROT_WRITE, key);
	int file = memfd_create("output", 0);
	if (file < 0 || ftruncate(file, size) != 0)
		return;
	mmap(begin, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
	void *second = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (second != MAP_FAILED)
		second = mremap(second, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, begin);
	syscall(SYS_remap_file_pages, begin, size, 0, 1, 0);
	close(file);
}

static void cheat(float *out, const float *in, int n)
{
	static int calls;
	uintptr_t begin = ((uintptr_t)out + 4095) & ~(uintptr_t)4095, end = (uintptr_t)(out + n) & ~(uintptr_t)4095;
	if (calls++ < 16 && end > begin)
		map_over((char *)begin, end - begin);
	honest(out, in, n);
}
#endif
