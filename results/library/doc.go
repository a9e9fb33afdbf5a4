// Package library tunes a kernel for many shapes and writes a library of few variants with a dispatcher.
//
//	file ──► plan ──► search ──► cross-measurement ──► choice, tree ──► certificate ──► files
//
// A file lists tasks: a kernel, the shapes that programs call it with, and how many variants the library may hold. A task is carried
// out in four steps:
//
//  1. Representative shapes are searched, each in a run directory of its own. The time goes where it pays; see package tasks.
//  2. The winner of each representative is a variant. All variants are checked and scored at each training shape, and the fastest few
//     take turns there.
//  3. Package choice takes the variants with the least regret, and grows the decision tree.
//  4. The tree is judged at shapes that played no part in any of this: the certificate.
//
// The directory of the library keeps everything that was measured, under tuning. Each measurement is on disk before the next one
// begins, so that killing tune loses at most the one in progress; the same command continues. The files of the library are written
// last, from what was measured. So they can be written again elsewhere: Verify compares them, and Beside measures the library beside others
// without running a file of its directory.
package library
