// Package user makes kernels of YAML files, so that tune tunes the programs of its users: a C or C++ function, or any
// command that prints a number.
//
// A file says what may vary (the space, in the form of package space), how the values get into the program, how to
// tell a right result from a wrong one, and what to measure:
//
//	kernel:
//	  name: sum
//	  shape: {n: 4096}              # constants of the problem; --shape n=100 changes them
//	space:
//	  parameters:
//	    - {name: LANES, type: pow2, from: 1, to: 16}
//	source:                         # or command:
//	  file: sum.c
//	  function: sum
//	  arguments:
//	    - {name: x, type: float, length: n, access: read}
//	    - {name: total, type: float, length: 1, access: write}
//	    - {name: n, type: int, value: n}
//	  reference: {function: sum_plain}
//	run: {budget: 1m}               # settings of the tool; optional
//
// The path of a file:
//
//  1. [Load] reads it, and every file that it names. What is wrong comes as [Faults]: all of it, each with its file, line,
//     column and field. schema.go is the table of all fields; the published JSON schema is written from it.
//  2. [Kernel.Problem] evaluates the expressions at a shape and makes the space. Compilers that are not installed are left
//     out of it.
//     The arguments of a source are held against its functions before a run: see [SourceProblem.Examine].
//  3. A source becomes one translation unit a point: the parameters as #defines or put in for {{name}}, the user's text, and
//     a wrapper that package native calls. A command becomes a process of its own, limited as native candidates are.
//  4. [Kernel.Save] copies the file, and all that it names, into a run directory; [Open] reads that copy, so that a run can
//     be resumed and verified whatever has become of the originals.
//
// # Values in text
//
// {{name}} stands for the value of a parameter or of a constant of the shape. Integers and floats are written in decimal,
// truth values as 1 and 0, texts as they are. A parameter that is inactive at a point leaves nothing behind; a word of a
// command, or a compiler flag, that names an inactive parameter is left out as a whole.
//
// # What is right
//
// The reference is compiled apart from all points: with strict flags, and with values that neither the order of an enum nor
// a default changes. See the fields flags and parameters of reference.
//
// # Expressions
//
// Lengths, scalars and rates are formulas of package space over parameters and constants, in the grammar of its constraints.
// They are computed in float64, so that whole numbers are exact up to 2^53.
package user
