// Package cc finds the C compilers of a machine and turns source text into shared objects.
//
// A [Toolchain] compiles in child processes that are limited in time, memory and output, and keeps every object in a cache on
// disk. An object is named by the hash of everything that decides its content: the text (preprocessed where it includes files of
// its own), the language, the compiler with its version, the flags, and the processor, which -march=native depends on. Several
// processes may share a cache: an object appears under its name complete or not at all.
//
// Compilers must not disturb measurements: [Toolchain.Pause] stops all of them during one.
package cc
