package gemm

import "tune/kernels/threads"

// entry writes tune_kernel, which for several workers divides a product.
type entry struct {
	*writer
	c       Config
	nt      bool
	rowUnit int // rows of C that a task's share is a multiple of
	colUnit int
	// part writes the statement that computes the m by n part of C that begins at row i0 and column j0, of
	// the job j, with the scratch s. m and n are texts.
	part func(m, n string)
}

func (e *entry) write() {
	e.lines(`
struct job {
	const float *a, *b;
	float *c;
	i64 m, n, k, lda, ldb;
};
`)
	e.f("\n// Computes rows i0 to i1 and columns j0 to j1 of C.")
	e.f("static void part(struct scratch *s, struct job j, i64 i0, i64 i1, i64 j0, i64 j1) {")
	e.in()
	e.part("i1 - i0", "j1 - j0")
	e.out()
	e.f("}")
	if e.c.Workers > 1 {
		e.pool()
	} else {
		e.f("\nstatic struct scratch scratch;")
		e.f("\nvoid tune_kernel(void *const *args, const i64 *dims) {")
		e.in()
		e.job()
		e.f("part(&scratch, j, 0, j.m, 0, j.n);")
		e.out()
		e.f("}")
	}
}

func (e *entry) job() {
	ldb := "dims[1]"
	if e.nt {
		ldb = "dims[2]"
	}
	e.f("struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[2], %s};", ldb)
}

// pool writes a product that several workers share. It is divided into tasks of Chunk tiles along one axis.
func (e *entry) pool() {
	unit, axis, part := e.rowUnit, "m", "from, least(c->j.m, from + c->share), 0, c->j.n"
	if e.c.Split == "columns" {
		unit, axis, part = e.colUnit, "n", "0, c->j.m, from, least(c->j.n, from + c->share)"
	}
	crew := threads.Config{Workers: e.c.Workers, HandOut: threads.Static, Start: threads.Pool, Spin: e.c.Spin * 1000}
	if e.c.Dynamic {
		crew.HandOut = threads.Dynamic
	}
	e.f("")
	e.lines(crew.Text())
	e.lines(`
static struct scratch scratch[CREW_WORKERS];

struct call {
	struct job j;
	i64 share; // rows or columns of a task
};

static void task(void *context, int64_t number, int worker) {
	const struct call *c = context;
	const i64 from = number * c->share;
`)
	e.in()
	e.f("part(&scratch[worker], c->j, %s);", part)
	e.out()
	e.lines(`}

void tune_kernel(void *const *args, const i64 *dims) {
`)
	e.in()
	e.job()
	if e.c.Chunk > 0 {
		e.f("struct call c = {j, %d};", unit*e.c.Chunk)
	} else {
		e.f("struct call c = {j, (j.%s + %d) / %d * %d};", axis, unit*e.c.Workers-1, unit*e.c.Workers, unit)
	}
	e.f("parallel(task, &c, (j.%s + c.share - 1) / c.share);", axis)
	e.out()
	e.f("}")
}
