// Package results keeps what a run found: its journal, its exports and its reports.
//
// A run is one search with its seed. It has a directory with these files:
//
//	run.json       what the run was asked to do (Settings); written once
//	journal.jsonl  everything that it asked and was told (Journal); only ever appended to
//	summary.json   what the journal says up to some place, for lists; it can be deleted
//	lock           held locked by the process that writes; it says which one that is
//
// A line of the journal is a JSON object whose last member is a checksum; docs/design/journal.md has its members. The
// header is first; a batch comes before its trials are evaluated; an outcome, as soon as it is known; and an end, when a
// sitting stops by itself. A sitting that is killed leaves no end, and perhaps a part of a line, which the next one removes.
//
// From the search to an export:
//
//  1. Create makes the directory; Open goes on with one that was made before.
//  2. The search writes to Run.Journal. Each record is in the hands of the kernel before the call that
//     makes it returns, so that nothing recorded is lost when tune is killed, and Journal.Sync waits until
//     it survives a power failure too.
//  3. Read, ReadJournal and List look at runs, also at running ones, and change nothing. Run.Rounds reads the journal batch
//     by batch, however long it is.
//  4. Summarise, Convergence and WriteCSV report on a history. They depend on nothing else, so that
//     they say the same of a run whatever number of workers it had.
//  5. A Schedule is the exported best point: what it costs, where that comes from, and the files that
//     were built from it, with their SHA-256 sums.
//
// Two histories are the same where they agree on everything but Elapsed and Outcome.Seconds, the only
// readings of the clock in them.
package results
