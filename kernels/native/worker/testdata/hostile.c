/* Every way to misbehave that the tests know; dims[0] chooses one. The buffers are A, B (in), C (out) and D (in and
 * out), of dims[1] floats each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int zero;
static volatile int64_t sink;

static int overflow_stack(int depth)
{
	volatile char frame[4096];
	frame[depth % 4096] = (char)depth;
	return overflow_stack(depth + 1) + frame[0];
}

static void *spin(void *arg)
{
	(void)arg;
	for (;;)
		sink++;
}

static void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void *write_far(void *arg)
{
	*(volatile char *)arg = 1;
	return NULL;
}

static void *overflow_there(void *arg)
{
	(void)arg;
	sink = overflow_stack(0);
	return NULL;
}

static void flood(int fd)
{
	char text[4096];
	memset(text, 'x', sizeof text);
	for (;;)
		if (write(fd, text, sizeof text) < 0)
			return;
}

void tune_kernel(void *const *args, const int64_t *dims)
{
	char *A = args[0], *C = args[2];
	int64_t bytes = dims[1] * 4;
	pthread_t thread;
	switch (dims[0]) {
	case 1: /* null */
		*(volatile int *)8 = 1;
		break;
	case 2: /* wild */
		*(volatile int *)0x123456789000 = 1;
		break;
	case 3: /* non-canonical */
		sink = *(volatile int *)0x8123456789000000;
		break;
	case 4:
		abort();
	case 5:
#if defined(__x86_64__)
		__asm__ volatile("ud2");
#else
		__asm__ volatile("udf #0");
#endif
		break;
	case 6: /* endless loop */
		for (;;)
			sink++;
	case 7: /* sleeps for ever */
		for (;;)
			pause();
	case 8: { /* malloc and touch, all at once */
		char *p = malloc((size_t)1 << 40);
		memset(p, 1, (size_t)1 << 40);
		break;
	}
	case 9: /* malloc and touch, bit by bit */
		for (;;) {
			char *p = malloc(16 << 20);
			memset(p, 1, 16 << 20);
		}
	case 10: { /* mmap without looking */
		char *p = mmap(NULL, (size_t)1 << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		p[0] = 1;
		break;
	}
	case 11: /* fork bomb */
		for (;;)
			fork();
	case 12: { /* a program through vfork and exec */
		pid_t pid;
		char *argv[] = {"true", NULL};
		posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);
		break;
	}
	case 13:
		execl("/bin/true", "true", (char *)NULL);
		break;
	case 14:
		sink = system("true");
		break;
	case 15: /* daemon */
		setsid();
		if (fork() == 0)
			for (;;)
				pause();
		break;
	case 16:
		flood(1);
		break;
	case 17:
		flood(2);
		break;
	case 18:
		exit(0);
	case 19:
		_exit(3);
	case 20:
		C[bytes] = 1;
		break;
	case 21:
		C[bytes + 4096] = 1;
		break;
	case 22:
		C[-1] = 1;
		break;
	case 23:
		C[-70000] = 1;
		break;
	case 24:
		A[5] = 1;
		break;
	case 25:
		sink = A[bytes + 500000];
		break;
	case 26:
		sink = overflow_stack(0);
		break;
	case 27:
		sink = 7 / zero;
		break;
	case 28: {
		jmp_buf env;
		memset(&env, 0x41, sizeof env);
		longjmp(env, 1);
	}
	case 29: /* closes everything and goes on */
		for (int fd = 0; fd < 256; fd++)
			close(fd);
		for (;;)
			pause();
	case 30: /* closes everything and returns */
		for (int fd = 0; fd < 256; fd++)
			close(fd);
		break;
	case 31:
		kill(getppid(), SIGKILL);
		break;
	case 32:
		raise(SIGSTOP);
		break;
	case 33: /* threads that go on after the return */
		pthread_create(&thread, NULL, spin, NULL);
		pthread_create(&thread, NULL, spin, NULL);
		memset(C, 0, bytes);
		break;
	case 34:
		pthread_exit(NULL);
	case 35: /* a fault in a thread of its own */
		pthread_create(&thread, NULL, write_far, C + bytes + 4096);
		pthread_join(thread, NULL);
		break;
	case 36:
		pthread_create(&thread, NULL, overflow_there, NULL);
		pthread_join(thread, NULL);
		break;
	case 37: /* jumps to nowhere */
		((void (*)(void))0x7000000000)();
		break;
	case 38: { /* damages the heap */
		char *volatile p = malloc(32);
		free(p);
		free(p);
		break;
	}
	case 39: /* speaks on all descriptors */
		for (int fd = 3; fd < 64; fd++)
			if (write(fd, "{}", 2) < 0)
				continue;
		break;
	case 40: /* takes the signals for itself and faults */
		signal(SIGSEGV, SIG_IGN);
		*(volatile int *)8 = 1;
		break;
	case 41: { /* a large file */
		static char block[1 << 20];
		FILE *f = tmpfile();
		for (int i = 0; i < 8; i++)
			if (fwrite(block, 1, sizeof block, f) != sizeof block)
				abort();
		break;
	}
	case 42: /* threads without end */
		for (;;)
			if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
				abort();
	case 43: /* leaks a descriptor */
		sink = open("/dev/null", O_RDONLY);
		memset(C, 0, bytes);
		break;
	case 44: /* takes the memory away from tune */
		for (int fd = 3; fd < 64; fd++)
			if (ftruncate(fd, 0) < 0)
				continue;
		mprotect((void *)((uintptr_t)C & ~4095ul), 4096, PROT_NONE);
		C[0] = 1;
		break;
	case 45:
		raise(SIGTERM);
		break;
	default:
		memset(C, 0, bytes);
	}
}
