// Package user makes kernels from YAML files, so that users can tune their own programs: a C or C++ function, or any command that
// prints a number.
//
// A file says what may vary (the space, in the form of package space), how the values get into the program, how to tell a right
// result from a wrong one, and what to measure:
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
// A file is processed as follows:
//
//  1. [Load] reads it, and every file that it names. Errors come as [Faults]: all at once, each with its file, line,
//     column and field. schema.go is the table of all fields, from which the published JSON schema is generated.
//  2. [Kernel.Problem] evaluates the expressions at a shape and makes the space, without compilers that are not
//     installed. Before a run, the arguments of a source are compared with its functions: see [SourceProblem.Examine].
//  3. For each point, a source becomes one translation unit: the parameters as #defines or inserted for {{name}}, the
//     user's text, and a wrapper that package native calls. A command becomes a separate process, limited as native
//     candidates are.
//  4. [Kernel.Save] copies the file, and all files that it names, into a run directory. [Open] reads that copy, so that
//     a run can be resumed and verified even if the originals have changed or gone.
//
// # Steps of a command
//
// setup runs once, before everything else, and cleanup once, when the kernel is closed; build runs once for each candidate, prepare
// before each run, and check after the first and the last run that counts. Only run is measured.
//
// # Values in text
//
// {{name}} stands for the value of a parameter or of a constant of the shape. Integers and floats are written in decimal,
// booleans as 1 and 0, texts unchanged. {{n // 2}} stands for what an expression comes to. A parameter that is inactive at a point is
// replaced by nothing; a word of a command, or a compiler flag, that needs an inactive parameter is left out completely. A parameter
// with the field flag switches compiler flags, which follow the others.
//
// # What is right
//
// The reference is compiled once, separately from all points: with strict flags, and with values that do not depend on the order
// of an enum or on a default. See the fields flags and parameters of reference.
//
// # Expressions
//
// Conditions and constraints are those of package space. Lengths, scalars, rates, threads and placeholders are its formulas over
// parameters and constants, in the same language.
package user
