package nativetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	out, err := Compile(t, l.dir, "sh", "-c", l.build+" && "+l.command[0]+" -O1 -pthread -o main main.c kernel.o -lm")
	if err != nil {
		t.Fatalf("%s: %v: %s\n%s", p, err, out, main)
	}
	run := exec.CommandContext(t.Context(), "./main")
	run.Dir = l.dir
	if out, err = run.CombinedOutput(); err != nil {
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

// Linker is a spec whose code programs can call at any shape.
type Linker interface {
	native.Spec
	native.Linker
}

// Linkage checks what a family says of its code for libraries, at several shapes that of makes specs of. The code of the presets of the first
// one and the plain form are right at all of them, with arguments in the layout of the code. What the linkage says of the sizes of arrays is
// true of the baseline's. The plain form needs no features, and the flags of the others name theirs.
func Linkage[S Linker](t *testing.T, of func(shape string) S, shapes ...string) {
	t.Helper()
	spec := of(shapes[0])
	l := spec.Linkage()
	if l.About == "" || len(l.Buffers) != len(l.Extents) || l.Contents != nil && len(l.Contents) != len(l.Buffers) {
		t.Errorf("the linkage is incomplete: %+v", l)
	}
	if needs := native.NeedsOf(l.Plain.Flags); len(needs) > 0 || slices.Contains(l.Plain.Flags, "-march=native") {
		t.Errorf("the plain form needs %v: %v", needs, l.Plain.Flags)
	}
	var sources []native.Source // of the presets
	for i, preset := range spec.Presets() {
		source, err := spec.Linked().Generate(preset.Point)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(source.Flags, "-march=native") || i == 0 && slices.Equal(source.Flags, l.Plain.Flags) {
			t.Errorf("%s: the flags %v name no features", preset.Name, source.Flags)
		}
		sources = append(sources, Quick(source))
	}
	checkLayouts(t, spec)
	for _, shape := range shapes {
		other := of(shape)
		linked, problem := other.Linked(), Problem(t, other.Linked())
		checkExtents(t, other)
		if err := problem.Adopt(Quick(l.Plain), other.Presets()[0].Point).Check(t.Context(), 3); err != nil {
			t.Errorf("plain at %s: %v", shape, err)
		}
		for i, source := range sources {
			name := spec.Presets()[i].Name
			point, err := problem.PointOf(source)
			if err != nil {
				t.Fatalf("%s at %s: %v", name, shape, err)
			}
			taken, err := linked.Generate(point)
			if err != nil {
				t.Fatal(err)
			}
			if (taken.Pack == nil) != (source.Pack == nil) || taken.Pack != nil && taken.Pack.Name != source.Pack.Name {
				t.Errorf("%s at %s: the layout is %+v, want %+v", name, shape, taken.Pack, source.Pack)
			}
			if err := problem.Adopt(source, point).Check(t.Context(), 3); err != nil {
				t.Errorf("%s at %s: %v", name, shape, err)
			}
		}
	}
}

// checkLayouts finds a point for the layout of each of some random points.
func checkLayouts(t *testing.T, spec Linker) {
	t.Helper()
	problem, r := Problem(t, spec.Linked()), rand.New(rand.NewPCG(5, 6))
	for range 40 {
		p, err := spec.Space().Sample(r)
		if err != nil {
			t.Fatal(err)
		}
		source, err := problem.Source(p)
		if err != nil {
			continue // the generator refuses it
		}
		other, err := problem.PointOf(source)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if found, err := problem.Source(other); err != nil || source.Pack != nil && (found.Pack == nil || found.Pack.Name != source.Pack.Name) {
			t.Errorf("%s: the layout of %s is %+v, %v, want %+v", p, other, found.Pack, err, source.Pack)
		}
	}
}

// Layouts checks that the name of a layout says all of it: on each kind of machine, random points whose layouts have one name take the same
// arguments, byte for byte. Otherwise code would be given weights in the order of another instruction set.
func Layouts[S native.Spec](t *testing.T, of func(native.Machine) S) {
	t.Helper()
	compared := 0
	for name, machine := range Machines() {
		spec, r := of(machine), rand.New(rand.NewPCG(7, 8))
		sums := map[string]uint64{} // of the inputs, by the name of their layout
		for range 120 {
			p, err := spec.Space().Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			source, err := spec.Generate(p)
			if err != nil || source.Pack == nil {
				continue // the generator refuses it, or it takes what all take
			}
			cases, err := spec.Cases(t.Context(), p, 1)
			if err != nil {
				t.Fatal(err)
			}
			sum := fnv.New64a()
			for _, input := range cases[0].Inputs {
				sum.Write(input)
			}
			if other, ok := sums[source.Pack.Name]; ok {
				compared++
				if other != sum.Sum64() {
					t.Errorf("%s: %s: its layout differs from another one of the name %q", name, p, source.Pack.Name)
				}
			}
			sums[source.Pack.Name] = sum.Sum64()
		}
	}
	if compared == 0 {
		t.Error("no two points have the same layout")
	}
}

// checkExtents compares the sizes that a linkage gives to arrays with those of the baseline's case.
func checkExtents(t *testing.T, spec Linker) {
	t.Helper()
	cases, err := spec.Cases(t.Context(), spec.Presets()[0].Point, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, l := cases[0], spec.Linkage()
	sizes := map[string]int64{"": 1}
	for i, d := range l.Dims {
		sizes[d.Name] = one.Dims[i]
	}
	for i, e := range l.Extents {
		count := sizes[e.Rows] * sizes[e.Cols]
		if e.Count != nil {
			count = e.Count(one.Dims)
		}
		width := map[string]int64{"float": 4, "int32_t": 4, "uint16_t": 2, "uint8_t": 1, "int8_t": 1}[strings.Trim(strings.TrimPrefix(l.Buffers[i].Type, "const "), " *")]
		if got := int64(one.Buffers[i].Bytes()); got != width*count {
			t.Errorf("%s: array %s has %d bytes, and %d elements of %d by its extent", one.Name, l.Buffers[i].Name, got, count, width)
		}
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
