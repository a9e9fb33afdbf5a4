// Package model tunes the kernels that a language model calls, and writes them as a library with a program that runs the model's layers.
//
//	config ──► plan ──► search ──► final measurement ──► table, library
//
// Package kernels/model says which kernels at which shapes, and how often a token calls them. Each kernel and shape is a task.
//
//  1. Each task is searched in a run directory of its own. The time goes where it pays: a task counts by its share of the time of a
//     step, on average over the scenarios; see package tasks.
//  2. The best points of a task are measured again beside the baseline, as the contest of a run does, and the one that is exported then
//     beside the installed libraries and the machine's roof.
//  3. The exported kernels become the sources of a library. Its functions are for one shape each, because all shapes are known.
//
// The directory of the library keeps everything that was measured, under tuning. Each measurement is on disk before the next one begins.
// So killing tune loses at most the one in progress, and the same command continues.
package model
