package native

import (
	"context"

	"tune/kernels"
	"tune/space"
)

// Elem is the type of a buffer's elements.
type Elem uint8

// The element types.
const (
	F32 Elem = iota + 1
	F64
	I8
	U8
	I16
	U16
	I32
	U32
	I64
	U64
)

// Size returns the bytes of an element.
func (e Elem) Size() int {
	switch e {
	case I8, U8:
		return 1
	case I16, U16:
		return 2
	case F32, I32, U32:
		return 4
	case F64, I64, U64:
		return 8
	}
	return 0
}

var elemNames = [...]string{"", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}

// String returns the name of the type, such as "f32".
func (e Elem) String() string {
	if int(e) < len(elemNames) {
		return elemNames[e]
	}
	return ""
}

// C returns the name of the type in C, such as "float".
func (e Elem) C() string {
	return [...]string{"void", "float", "double", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"}[e]
}

// Mode says how a kernel uses a buffer.
type Mode uint8

// The modes of a buffer.
const (
	In    Mode = iota + 1 // read only: writing to it is a fault
	Out                   // written; its content before the call is arbitrary
	InOut                 // read and written
)

// String returns "in", "out" or "inout".
func (m Mode) String() string { return [...]string{"", "in", "out", "inout"}[m] }

// Buffer is one array argument of a kernel.
type Buffer struct {
	Name string
	Elem Elem
	Len  int // elements
	Mode Mode
}

// Bytes returns the size of the buffer.
func (b Buffer) Bytes() int { return b.Len * b.Elem.Size() }

// Source is generated code, with how to compile it. It exports one function with C linkage,
//
//	void tune_kernel(void *const *args, const int64_t *dims);
//
// where args[i] is the first element of the i-th buffer, aligned to 64 bytes, and dims are the dimensions of the case. It may be
// called many times. It may keep memory and threads between calls, but nothing that a result is taken from.
type Source struct {
	Lang     string   // "c" or "c++"
	Text     string   // one translation unit
	Compiler string   // "gcc" or "clang"; "" means the first that is installed
	Flags    []string // for the compiler, without those for a shared object
	Threads  int      // how many a call uses; 0 means 1. More than one are timed by wall clock
	// Header is a C header for users of the kernel, exported beside the text. "" means one that declares tune_kernel and
	// describes its arguments.
	Header string
	// Call says how programs call the function that tune_kernel calls; nil where they call tune_kernel.
	Call *Call
	// Pack says that an argument arrives in a layout that the function tune_pack of the text makes; nil where it arrives as it is.
	Pack *Pack
	// Overlaps says that several threads may call tune_kernel at once.
	Overlaps bool
	// Takes is the condition, in C over the dimensions of a linkage, on which linked code may be called; "" for code that takes all.
	Takes string
	// Symbols are the names beside tune_kernel that linked code defines for others, where they are known: Problem.Symbols.
	Symbols []string
}

// Pack is the layout of an argument, and how the function tune_pack makes it.
type Pack struct {
	space.Repacking
	// Parameters are those of tune_pack, as the text declares them; their first is the layout, their second what is repacked.
	Parameters string `json:"parameters"`
	// Sizes are the values of the other parameters, at the shape that was asked for.
	Sizes []int64 `json:"sizes"`
	// Name is that of the layout among those of the family, whatever the shape, and Length its size in bytes, in C over those other
	// parameters. Both are for libraries that call the code at any shape.
	Name   string `json:"-"`
	Length string `json:"-"`
}

// Case is what a candidate is checked on: one shape, inputs, and the reference of the results. The shape is the asked one, that of the
// problem, or another one that the code claims to support.
type Case struct {
	Name    string // for messages, e.g. "M=37 N=41 K=5"
	Dims    []int64
	Buffers []Buffer
	// Inputs holds the content of In and InOut buffers, in the machine's byte order, nil for Out.
	Inputs [][]byte
	// Verify compares the buffers after a call with the reference, and returns how large the errors are. Where they are too large
	// it returns a *kernels.Rejection with status WrongAnswer that names the worst element, its value and the expected one.
	Verify func(buffers [][]byte) (kernels.Deviation, error)
	// Agree compares the results of two calls from the same inputs, with this number of threads, where they may differ because
	// threads add up in any order. It returns a rejection where they differ by more than the tolerance; nil requires the same
	// bytes.
	Agree func(threads int, got, want [][]byte) error
	// Tolerant says that Agree accepts results of one thread that differ. A result may then be kept while small parts of the inputs
	// change, and each request of samples has calls on wholly new inputs too.
	Tolerant bool
	// Unwritten says, by buffer, whether the reference leaves elements of it unwritten for these inputs. nil stands for none.
	Unwritten []bool
	// With returns the same case with other inputs, which were put together from those of several cases, and what is right for them. nil
	// stands for a case whose reference says nothing of such inputs, or cannot be called on them.
	With func(ctx context.Context, inputs [][]byte) (Case, error)
	// Loose says that timed calls may be on inputs that the function does not count on, so that With proves something only where the
	// baseline agrees with it.
	Loose bool
}

// CaseClasser is implemented by a Spec whose cases are the same for many points. The problem then keeps cases by class and seed,
// instead of asking for them at every check; points of the same class have the same cases. A Spec without it is asked each time,
// and should cache what is expensive.
type CaseClasser interface {
	CaseClass(space.Point) string
}

// Work is what one call at the asked shape does. It is used for rates and to detect impossible times.
type Work struct {
	Ops     float64 // arithmetic operations, a multiply-add counted as two; 0 where not stated
	OpsName string  // "GFLOP/s" or "GOP/s"
	Unit    Unit    // of the operations; the zero value decides by OpsName
	Bytes   float64 // minimum memory traffic; 0 where not stated
	// MinSeconds is a time below which no right call can be on this machine; 0 where there is no such bound.
	MinSeconds float64
	// Plausible rejects times that the processor cannot reach: below the time for Ops at its peak rate, or for Bytes (without them,
	// the buffers of the asked case) at the rate of the first-level cache.
	Plausible bool
	// Cold asks for timing with the operands out of the caches: calls rotate over copies of the buffers that together exceed the
	// last-level cache.
	Cold bool
}

// Spec is what a family of native kernels provides for one shape. The problem that New makes of it does everything else:
// compiling, isolating, checking, timing, exporting.
type Spec interface {
	Space() *space.Space
	Presets() []kernels.Preset // the first is the baseline
	// Generate writes the code of a point. A point that cannot be generated is a *kernels.Rejection.
	Generate(space.Point) (Source, error)
	// Cases returns the problems that a point's code is checked on, with inputs drawn from seed. The first is the asked shape,
	// which is also timed. References may take long, so Cases returns early, with the error of the context, when that is done.
	Cases(ctx context.Context, p space.Point, seed uint64) ([]Case, error)
	// Work describes one call at the asked shape.
	Work() Work
}
