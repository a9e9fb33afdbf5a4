/* Overwrites the beginning of a function with a jump to another one. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static __attribute__((unused)) int patch(void *at, const void *code, unsigned long size)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
	if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
	    mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return -1;
	memcpy(at, code, size);
	__builtin___clear_cache((char *)at, (char *)at + size);
	return 0;
}

static __attribute__((unused)) int redirect(void *from, void *to)
{
#if defined(__x86_64__)
	unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* movabs $to, %rax; jmp *%rax */
	memcpy(jump + 2, &to, sizeof to);
#elif defined(__aarch64__)
	uint32_t jump[4] = {0x58000050, 0xd61f0200, 0, 0}; /* ldr x16, .+8; br x16 */
	memcpy(jump + 2, &to, sizeof to);
#endif
	return patch(from, jump, sizeof jump);
}
