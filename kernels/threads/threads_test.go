package threads_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tune/kernels/native/cc"
	"tune/kernels/threads"
)

// mainText calls parallel with various numbers of tasks, from two threads at once, and checks that each task runs once before parallel
// returns, and that no worker runs two of a call at a time.
const mainText = `
#include <stdio.h>

enum { MOST = 40 };
struct call { int64_t once; int done[MOST], busy[CREW_WORKERS]; };

static void task(void *context, int64_t i, int worker)
{
	struct call *c = context;
	if (worker < 0 || worker >= CREW_WORKERS || __atomic_fetch_add(&c->busy[worker], 1, __ATOMIC_SEQ_CST) != 0)
		c->done[i] += 100;
	c->done[i] += c->once;
	__atomic_fetch_sub(&c->busy[worker], 1, __ATOMIC_SEQ_CST);
}

static void *caller(void *p)
{
	for (int call = 0; call < 1000; call++) {
		struct call c = { .once = 1 };
		const int64_t tasks = call % MOST;
		parallel(task, &c, tasks);
		for (int i = 0; i < MOST; i++)
			if (c.done[i] != (i < tasks)) {
				printf("call %d of %d tasks: task %d ran %d times\n", call, (int)tasks, i, c.done[i]);
				return "";
			}
	}
	return p;
}

int main(void)
{
	pthread_t other;
	void *wrong;
	pthread_create(&other, 0, caller, 0);
	const int own = caller(0) != 0;
	pthread_join(other, &wrong);
	return own || wrong;
}
`

// TestParallel: every task runs once, in every configuration, and the program ends: no thread is left in a wait.
func TestParallel(t *testing.T) {
	compilers, err := cc.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, compiler := range compilers {
		for _, start := range []threads.Start{threads.Pool, threads.Spawn} {
			for i, hand := range []threads.HandOut{threads.Static, threads.Dynamic} {
				for _, spin := range []int{0, 1000} {
					if start == threads.Spawn && spin > 0 {
						continue
					}
					c := threads.Config{Workers: 3 + i, HandOut: hand, Start: start, Spin: spin}
					t.Run(fmt.Sprintf("%s/start=%s,hand_out=%s,spin=%d", compiler.Name, start, hand, spin), func(t *testing.T) {
						program := build(t, dir, compiler.Path, c.Text()+mainText)
						if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil {
							t.Errorf("%v: %s", err, out)
						}
					})
				}
			}
		}
	}
}

// build compiles a program. SANITIZE=thread in the environment adds that sanitizer.
func build(t *testing.T, dir, compiler, text string) (program string) {
	t.Helper()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source}, threads.Flags()...)
	if s := os.Getenv("SANITIZE"); s != "" {
		args = append(args, "-g", "-fsanitize="+s)
	}
	if out, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// apartText puts a helper on the caller's core, and prints how often it was on another one a few calls later.
const apartText = `
#include <stdio.h>
#include <time.h>

static int core[2], together;

static void task(void *context, int64_t i, int worker)
{
	(void)context, (void)i;
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < 50000);
	if (together && worker == 1) {
		cpu_set_t all, one;
		sched_getaffinity(0, sizeof all, &all);
		CPU_ZERO(&one);
		CPU_SET(core[0], &one);
		sched_setaffinity(0, sizeof one, &one);
		sched_setaffinity(0, sizeof all, &all);
	}
	core[worker] = sched_getcpu();
}

int main(void)
{
	cpu_set_t all;
	sched_getaffinity(0, sizeof all, &all);
	if (CPU_COUNT(&all) < 2)
		return 2;
	int apart = 0;
	for (int i = 0; i < 100; i++) {
		parallel(task, 0, 2);
		together = 1;
		parallel(task, 0, 2);
		together = 0;
		for (int call = 0; call < 24; call++)
			parallel(task, 0, 2);
		apart += core[0] != core[1];
	}
	printf("%d\n", apart);
	return 0;
}
`

// TestApart: a helper leaves the core of the caller. With a dynamic hand-out the caller takes what a helper on its core does
// not, so that it takes longer, and is not tested.
func TestApart(t *testing.T) {
	compilers, err := cc.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	c := threads.Config{Workers: 2, HandOut: threads.Static, Start: threads.Pool, Spin: 10_000}
	program := build(t, t.TempDir(), compilers[0].Path, c.Text()+apartText)
	out, err := exec.CommandContext(t.Context(), program).Output()
	if e := new(exec.ExitError); errors.As(err, &e) && e.ExitCode() == 2 {
		t.Skip("this process may use one core only")
	} else if err != nil {
		t.Fatal(err)
	}
	var apart int
	if _, err := fmt.Sscan(string(out), &apart); err != nil {
		t.Fatal(err)
	}
	t.Logf("apart %d times of 100", apart)
	if apart < 60 {
		t.Errorf("helper and caller were apart %d times of 100", apart)
	}
}
