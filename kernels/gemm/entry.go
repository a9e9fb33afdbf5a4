package gemm

import (
	"fmt"

	"tune/kernels/threads"
)

// entry writes tune_kernel. For several workers it divides the product among them.
type entry struct {
	*writer
	c       Config
	nt      bool
	linked  bool // the leading dimensions are arguments
	rowUnit int  // the rows of a task are a multiple of this
	colUnit int  // and its columns of this
	scratch int  // bytes of the struct scratch, roughly
	asked   Dims
	// part writes the statement that computes the part of C with m rows and n columns from row i0 and column j0 on. In the C code
	// the job is j and the scratch is s; m and n are C expressions.
	part func(m, n string)
}

func (e *entry) write() {
	e.Piece(pieces, "job", map[string]any{"Linked": e.linked})
	if e.c.Thin {
		newThinWriter(e.writer, e.c.ISA).write()
	}
	if !e.stack() {
		e.Line("#include <stdint.h>")
		e.Line("#include <stdlib.h>")
		e.Blank()
		e.Piece(pieces, "scratch", nil)
	}
	e.Comment("Computes rows i0 to i1 and columns j0 to j1 of C.")
	e.Open("static void part(struct scratch *s, struct job j, i64 i0, i64 i1, i64 j0, i64 j1)")
	e.part("i1 - i0", "j1 - j0")
	e.Close()
	if e.c.Workers > 1 {
		e.pool()
	} else {
		e.Piece(pieces, "serial", map[string]any{"Job": e.job(), "Stack": e.stack(), "Thin": e.c.Thin, "Asked": e.asked})
	}
}

// stackBytes is how much scratch memory a call takes from the stack. Calls that need more take long enough to find it elsewhere.
const stackBytes = 32 << 10

// stack reports whether the scratch memory of all workers stands on the stack of the caller.
func (e *entry) stack() bool { return e.scratch*max(e.c.Workers, 1) <= stackBytes }

// job returns the C definition of the job, made from the arguments of tune_kernel.
func (e *entry) job() string {
	ldb := "dims[1]"
	if e.nt {
		ldb = "dims[2]"
	}
	if e.linked {
		return "struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[3], dims[4], dims[5]};"
	}
	return fmt.Sprintf("struct job j = {args[0], args[1], args[2], dims[0], dims[1], dims[2], dims[2], %s};", ldb)
}

// result returns the C expressions of the part of C that the job of a task begins at, and of its leading dimension.
func (e *entry) result() string {
	ldc := "j.n"
	if e.linked {
		ldc = "j.ldc"
	}
	return fmt.Sprintf("j.c + i0 * %s + j0, %s", ldc, ldc)
}

// pool writes the version for several workers. It divides the product into tasks of Chunk tiles along one axis, or into one task
// for each worker.
func (e *entry) pool() {
	crew := threads.Config{Workers: e.c.Workers, HandOut: threads.Static, Start: threads.Pool, Spin: e.c.Spin * 1000}
	if e.c.Dynamic {
		crew.HandOut = threads.Dynamic
	}
	columns := e.c.Split == "columns"
	unit, axis := e.rowUnit, "m"
	if columns {
		unit, axis = e.colUnit, "n"
	}
	share := fmt.Sprint(unit * e.c.Chunk)
	if e.c.Chunk == 0 {
		share = fmt.Sprintf("(j.%s + %d) / %d * %d", axis, unit*e.c.Workers-1, unit*e.c.Workers, unit)
	}
	e.Blank()
	e.Text(crew.Text())
	e.Piece(pieces, "parallel", map[string]any{"Job": e.job(), "Columns": columns, "Axis": axis, "Share": share, "Stack": e.stack()})
}
