// Package exchange reads and writes files of measured search spaces, its own form and those of other tuners:
//
//   - recorded, tune's own: one JSON object with the names and values of the parameters, and a row for every
//     measured configuration, which refers to the values by position;
//   - kerneltuner, the cache file of Kernel Tuner. Kernel Tuner appends an entry at a time and writes the closing
//     braces last; a file without these, because the tuner was stopped, is read too;
//   - t4, the results format T4 of the Open Autotuning community (github.com/odgaard/TuningSchema).
//
// Each may be compressed with gzip. [Read] recognises the format by the content and returns a [File]. Its Write methods
// write any of the formats. A file that is written in the format that it was read in keeps every value exactly as it was
// written, in the same order, with keys that tune does not know. In another format this is lost, except in recorded: it
// keeps each original entry beside its row, so that converting back loses nothing.
//
// An error in a file is an [Error], which names the line, the column and the field.
package exchange
