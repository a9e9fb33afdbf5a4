// Package vector generates vector programs of the tree-hash kernel: groups of 8 items, one a lane, whose values
// and addresses stay in scratch over all rounds.
//
// It is a small compiler:
//
//  1. lower writes the kernel as operations on virtual registers, with true dependences (lower.go, ir.go): which
//     tree levels are selected from scratch and which are gathered, and the algebra of the hash.
//  2. chooseEngines says which vector arithmetic may be executed lane by lane on the scalar engine (engine.go).
//  3. listSchedule gives every operation its cycle, by priorities that are knobs (schedule.go).
//  4. allocate gives every register its words (allocate.go). It comes after the schedule, so that the schedule
//     knows no false dependences; a schedule that does not fit is a rejection.
//  5. emit writes the bundles (emit.go).
package vector
