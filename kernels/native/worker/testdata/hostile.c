/* Every way to misbehave that the tests know; dims[0] chooses one. The buffers are A, B (in), C (out) and D (in and
 * out), of dims[1] floats each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
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

/* The process that started the supervisor. */
static pid_t tune(void)
{
	char path[64], text[512] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
	int fd = open(path, O_RDONLY), pid = 0;
	if (read(fd, text, sizeof text - 1) > 0)
		sscanf(strrchr(text, ')'), ") %*c %d", &pid);
	close(fd);
	return pid;
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
			for (int i = 0; i < 16 << 20; i += 1 << 16)
				p[i] = 1;
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
		char path[256];
		snprintf(path, sizeof path, "%s/large", getenv("TMPDIR"));
		FILE *f = fopen(path, "w");
		if (!f)
			abort();
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
		if (mprotect((void *)((uintptr_t)C & ~4095ul), 4096, PROT_NONE) != 0)
			abort();
		C[0] = 1;
		break;
	case 45:
		raise(SIGTERM);
		break;
	case 46:
		raise(SIGKILL);
		break;
	case 47: {
		/* What it is already, so that nothing is lost where this works. */
		struct rlimit limit;
		prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit);
		prlimit(getppid(), RLIMIT_NOFILE, &limit, NULL);
		break;
	}
	case 48:
	case 49: {
		pid_t pid = dims[0] == 48 ? getppid() : tune();
		cpu_set_t set;
		sched_getaffinity(pid, sizeof set, &set);
		sched_setaffinity(pid, sizeof set, &set);
		break;
	}
	case 50:
		setpriority(PRIO_PROCESS, getppid(), 1);
		break;
	case 51:
		setpriority(PRIO_USER, 12345, 1);
		break;
	case 52:
		syscall(SYS_tkill, getppid(), 0);
		break;
	case 53: {
		static char word[8];
		struct iovec here = {word, 8}, there = {(void *)8, 8};
		process_vm_writev(getppid(), &here, 1, &there, 1, 0);
		break;
	}
	case 54:
		ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
		break;
	case 55:
		mount("none", "/nowhere", "tmpfs", 0, NULL);
		break;
	case 56:
		sethostname(NULL, 65);
		break;
	case 57:
		swapon("/nowhere", 0);
		break;
	case 58:
		syscall(SYS_settimeofday, (void *)8, NULL);
		break;
	case 59:
		unshare(0);
		break;
	case 60:
		setns(-1, 0);
		break;
	case 61: {
		struct sched_param param = {1};
		if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
			abort();
		break;
	}
	case 62: { /* runtimes pin their threads, and lower their priority */
		cpu_set_t set;
		pthread_getaffinity_np(pthread_self(), sizeof set, &set);
		if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
			abort();
		if (setpriority(PRIO_PROCESS, 0, 19) != 0 || raise(SIGCONT) != 0)
			abort();
		memset(C, 0, bytes);
		break;
	}
	case 63:
		if (munmap((void *)((uintptr_t)C & ~4095ul), 4096) != 0)
			abort();
		C[0] = 1;
		break;
	case 64:
		kill(-1, 0);
		break;
	case 65:
		syscall(SYS_bpf, -1, NULL, 0);
		break;
	default:
		memset(C, 0, bytes);
	}
}
