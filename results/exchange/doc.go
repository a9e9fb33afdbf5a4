// Package exchange reads and writes files of measured search spaces, its own form and those of other tuners:
//
//   - recorded, tune's own: one JSON object with the names and values of the parameters, and a row for every
//     configuration that was measured, as positions in these values;
//   - kerneltuner, the cache file of Kernel Tuner, also one whose end is missing because the tuner that wrote it was
//     stopped: Kernel Tuner appends an entry at a time, and writes the closing braces last;
//   - t4, the results format T4 of the Open Autotuning community (github.com/odgaard/TuningSchema).
//
// Each may be compressed with gzip. [Read] tells them apart by their content and returns a [File]. Its Write methods
// write any of the formats; the one that the file was read in comes out with every value as it was written, in its
// order, and with the keys that nobody here knows. Another form keeps, in the recorded one, each original entry beside
// its row, so that the way back loses nothing either.
//
// What is wrong with a file is an [Error], which names the line, the column and the field.
package exchange
