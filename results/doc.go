// Package results keeps what a run found, in the directory of the run: settings, journal, schedule. It also sums up what a journal holds.
//
// A run is one search with its seed. This package writes these files to its directory:
//
//	run.json       the settings of the run (Settings); written once
//	origin.json    proves that the run was made here (Sign); written once
//	from.json      the measurements of earlier runs that the run began with, if any (WriteSources); written once
//	journal.jsonl  everything that the run asked and was told (Journal); append-only
//	summary.json   a summary of the journal up to some place, for lists of runs; it can be deleted
//	lock           locked by the process that writes to the run; holds its process id
//
// Others keep what belongs to the run beside them: package schedule what it exports (best.json and the files that it names, and in
// final.json the pairs that best.json sums up), and a kernel its own files, such as the folder of a user's kernel or a file of measurements.
//
// A line of the journal is a JSON object whose last member is a checksum; docs/design/journal.md lists the members. The header
// comes first. A batch is written before its trials are evaluated, an outcome as soon as it is known, and an end when a sitting
// stops by itself. A sitting that is killed writes no end and may leave an incomplete line, which the next sitting removes.
//
// From the search to an export:
//
//  1. Create makes the directory; Open opens an existing one to resume its run.
//  2. The search writes to Run.Journal. The call that makes a record returns only when the operating system has it,
//     so that nothing recorded is lost when tune is killed. Journal.Sync waits until it survives a power failure too.
//  3. Read, ReadJournal and List read runs, also running ones, and change nothing. Run.Rounds reads the journal batch
//     by batch, however long it is.
//  4. Summarise, Convergence and WriteCSV report on a history. They depend on nothing else, so that
//     they report the same for a run whatever number of workers it had.
//  5. A Schedule is the exported best point: its cost, how that was found, and the files that were built from the
//     point, with their SHA-256 sums.
//
// Two histories are equal if they agree in everything but Elapsed and Outcome.Seconds, which say when and how long, and which no
// strategy sees. Where costs are measured, they and their metrics differ between runs too. Under a limit of time the journal also
// holds how much of it was left when a batch was asked for, because strategies see that.
package results
