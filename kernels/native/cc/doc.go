// Package cc finds the C compilers of a machine and turns source text into shared objects.
//
// A [Toolchain] compiles in child processes that are limited in time, memory and output, and keeps every object in
// a cache on disk, named by the hash of all that decides its bytes: the text (preprocessed where it includes files
// of its own), the language, the compiler with its version, the flags, and the processor, which -march=native reads.
// Several processes may share a cache: an object appears under its name whole or not at all.
//
// Compilers must not disturb what is being timed: [Toolchain.Pause] stops them all for as long as a measurement takes.
package cc
