package nativetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tune/kernels"
	"tune/kernels/native"
	"tune/space"
)

// LinkedAs says how a program uses an exported kernel.
type LinkedAs bool

// The ways to use a kernel.
const (
	AsProgram LinkedAs = false // kernel.c and kernel.h, with the arguments in an array
	AsLibrary LinkedAs = true  // what tune export --format library writes
)

// Linked exports a point and compiles it into a C program, which reads the inputs of the asked case from files. What the point takes in
// another layout is made by the exported function from what the baseline takes. Two threads call the kernel at the same time, one with the elements of the
// first argument shifted by one, and each has to get what it gets alone. The result without a shift has to pass the case.
func Linked(t *testing.T, spec native.Spec, p space.Point, as LinkedAs) {
	t.Helper()
	c, err := Problem(t, spec).Build(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	l := linked{dir: t.TempDir(), as: as}
	l.write(t, c)
	cases, err := spec.Cases(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := cases[0]
	plain, err := spec.Cases(t.Context(), spec.Presets()[0].Point, 1)
	if err != nil {
		t.Fatal(err)
	}
	main := l.program(t, one, plain[0].Inputs)
	l.file(t, "main.c", main)
	build := exec.CommandContext(t.Context(), "sh", "-c", l.build+" && "+l.command[0]+" -O1 -pthread -o main main.c kernel.o -lm")
	build.Dir = l.dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s\n%s", p, err, out, main)
	}
	run := exec.CommandContext(t.Context(), "./main")
	run.Dir = l.dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", p, err, out)
	}
	buffers := make([][]byte, len(one.Buffers))
	for i, b := range one.Buffers {
		if buffers[i] = one.Inputs[i]; b.Mode != native.In {
			if buffers[i], err = os.ReadFile(filepath.Join(l.dir, fmt.Sprintf("out%d", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := one.Verify(buffers); err != nil {
		t.Errorf("%s: in a program: %v", p, err)
	}
}

// linked is an export in a folder.
type linked struct {
	dir     string
	as      LinkedAs
	command []string // that compiles the program; its first word is the compiler
	build   string   // makes kernel.o
	header  string
	pack    *native.Pack
}

func (l *linked) file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// write exports a candidate.
func (l *linked) write(t *testing.T, c kernels.Candidate) {
	t.Helper()
	artifacts, err := c.Artifacts()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, a := range artifacts {
		var b bytes.Buffer
		if err := a.Write(&b); err != nil {
			t.Fatal(err)
		}
		texts[a.Name] = b.String()
	}
	var build struct {
		Flags   []string     `json:"flags"`
		Command []string     `json:"command"`
		Pack    *native.Pack `json:"pack"`
	}
	if err := json.Unmarshal([]byte(texts["build.json"]), &build); err != nil {
		t.Fatal(err)
	}
	l.pack, l.header = build.Pack, "best.kernel.h"
	if l.command = build.Command; l.as == AsProgram {
		l.file(t, "best.kernel.c", texts["kernel.c"])
		l.file(t, l.header, texts["kernel.h"])
		l.build = strings.Join(append(append(l.command[:1:1], build.Flags...), "-c", "-o", "kernel.o", "best.kernel.c"), " ")
		return
	}
	library, err := native.NewLibrary([]byte(texts["kernel.c"]), []byte(texts["build.json"]), "linked", "a test")
	if err != nil {
		t.Fatal(err)
	}
	l.file(t, library.SourceName, string(library.Source))
	l.file(t, library.HeaderName, string(library.Header))
	l.header, l.build = library.HeaderName, strings.Join(library.Command, " ")+" && mv linked.o kernel.o"
}

// program writes the C of a program that calls the kernel.
func (l *linked) program(t *testing.T, one native.Case, plain [][]byte) string {
	t.Helper()
	var setup, names, dims []string
	for i, b := range one.Buffers {
		setup = append(setup, fmt.Sprintf("for (int w = 0; w < 3; w++) args[w][%d] = room(%d);", i, b.Bytes()))
		if b.Mode != native.In {
			setup = append(setup, fmt.Sprintf("bytes[%d] = %d;", i, b.Bytes()))
		}
		switch {
		case l.pack != nil && b.Name == l.pack.Argument:
			raw := plain[i]
			if int64(len(raw)) != l.pack.Bytes || int64(b.Bytes()) != l.pack.PackedBytes {
				t.Errorf("pack says %s, and the case has %d and %d bytes", l.pack, len(raw), b.Bytes())
			}
			l.file(t, "raw", string(raw))
			name := "tune_pack"
			if l.as == AsLibrary {
				name = "linked_pack"
			}
			var sizes string
			for _, n := range l.pack.Sizes {
				sizes += fmt.Sprintf(", %d", n)
			}
			setup = append(setup, fmt.Sprintf("void *raw = room(%d); load(raw, \"raw\", %d);", len(raw), len(raw)),
				fmt.Sprintf("for (int w = 0; w < 3; w++) %s(args[w][%d], raw%s);", name, i, sizes))
		case b.Mode != native.Out:
			l.file(t, fmt.Sprintf("in%d", i), string(one.Inputs[i]))
			setup = append(setup, fmt.Sprintf("for (int w = 0; w < 3; w++) load(args[w][%d], \"in%d\", %d);", i, i, b.Bytes()))
		}
		names = append(names, fmt.Sprintf("args[w][%d]", i))
	}
	first := one.Buffers[0]
	setup = append(setup, fmt.Sprintf("memmove(args[1][0], (char *)args[0][0] + %d, %d); // the other thread has other inputs", first.Elem.Size(), first.Bytes()-first.Elem.Size()))
	for _, d := range one.Dims {
		dims = append(dims, fmt.Sprint(d))
	}
	call := "tune_kernel(args[w], dims)"
	if l.as == AsLibrary {
		call = "linked(" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf(linkedProgram, l.header, len(one.Buffers), len(one.Buffers), strings.Join(append(dims, "0"), ", "), call, len(one.Buffers), strings.Join(setup, "\n\t"), len(one.Buffers))
}

// linkedProgram calls a kernel alone and then from two threads. The results of each call are compared by bytes.
const linkedProgram = `#include "%s"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 300 };
static void *args[3][%d]; // of the two threads, and of a call for comparison
static void *alone[2][%d];
static long bytes[16]; // of outputs
static const int64_t dims[] = { %s };
static pthread_barrier_t start;
static int differ[2];

static void *room(long n)
{
	void *p = aligned_alloc(64, (n + 127) / 64 * 64);
	memset(p, 0, (n + 127) / 64 * 64);
	return p;
}

static void load(void *to, const char *name, long n)
{
	FILE *f = fopen(name, "rb");
	if (!f || fread(to, 1, n, f) != (size_t)n)
		exit(10);
	fclose(f);
}

static void call(int w)
{
	(void)dims;
	%s;
}

static void *work(void *p)
{
	const int w = *(int *)p;
	for (int i = 0; i < CALLS; i++) {
		pthread_barrier_wait(&start);
		call(w);
		for (int b = 0; b < %d; b++)
			differ[w] += bytes[b] && memcmp(args[w][b], alone[w][b], bytes[b]) != 0;
	}
	return 0;
}

int main(void)
{
	%s
	for (int w = 0; w < 2; w++) {
		call(w);
		for (int b = 0; b < %[8]d; b++)
			if (bytes[b]) {
				alone[w][b] = room(bytes[b]);
				memcpy(alone[w][b], args[w][b], bytes[b]);
			}
	}
	for (int b = 0; b < %[8]d; b++)
		if (bytes[b]) {
			char name[16];
			snprintf(name, sizeof name, "out%%d", b);
			FILE *f = fopen(name, "wb");
			fwrite(alone[0][b], 1, bytes[b], f);
			fclose(f);
			if (memcmp(alone[0][b], alone[1][b], bytes[b]) == 0)
				return printf("both threads have the same result: a mistake would not be seen\n");
		}
	pthread_barrier_init(&start, 0, 2);
	pthread_t other;
	int first = 0, second = 1;
	pthread_create(&other, 0, work, &second);
	work(&first);
	pthread_join(other, 0);
	if (differ[0] + differ[1])
		return printf("of %%d calls at the same time %%d and %%d had another result than alone\n", CALLS, differ[0], differ[1]);
	return 0;
}
`
