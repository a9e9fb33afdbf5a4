// Package sim is a VLIW SIMD machine whose only cost is cycles. It reads programs, executes them exactly as the published machine
// does, counts their cycles, and explains where the cycles went.
//
// # The machine
//
// Words are unsigned and have 32 bits; arithmetic is mod 2^32. There are 1536 words of scratch, which is the register file, and a
// memory as long as its image. A program is a list of bundles. A bundle takes one cycle and gives each engine a list of slots: up
// to 12 for alu, 6 for valu (vectors of 8 words), 2 for load, 2 for store and 1 for flow; debug slots do nothing. All slots of a
// bundle read the state before the cycle, and all writes land at its end; where two slots write the same word, the later one
// wins, in the order of engines and slots.
//
// # Vocabulary
//
//   - program: a list of bundles
//   - bundle: what is executed in one cycle
//   - slot: one operation of a bundle
//   - engine: a unit that executes slots
//   - code: a program that was validated and compiled, ready to run
//   - fault: something that the machine refuses, with bundle, engine and slot
//   - pause: an operation that returns control to the caller, in runs that ask for it
//   - visits: how often each bundle was executed, for programs with jumps
//   - vectors: test vectors: programs with the states in which the published machine ended
//
// # Pipeline
//
//  1. A program comes from a generator or from Read, which reports errors in the text.
//  2. Decode checks it once (slots of each engine, operands, jumps) and compiles it.
//  3. Machine.Run executes the code on a memory image, as often as there are images. It allocates nothing.
//  4. The caller compares memory with its reference, and takes Result.Cycles as the cost.
//  5. Utilisation, LowerBound, WriteTrace and Lint say where the cycles went, how few they could be, and
//     what looks like a mistake.
//  6. Program.Write gives the program to others, in a form that the published machine takes.
package sim
