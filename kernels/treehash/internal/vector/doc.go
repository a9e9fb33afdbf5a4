// Package vector generates vector programs of the tree-hash kernel: groups of 8 items, one a lane, whose values
// and addresses stay in scratch over all rounds.
//
// It is a small optimising compiler, whose passes are a table (passes.go):
//
//  1. plan says how each group finds its nodes in each round: selected from scratch, read with their children out of
//     tables of records, or gathered from the tree (plan.go).
//  2. lower writes the kernel as operations on virtual registers, a list that is right when it is executed in order,
//     with the arcs that every other order has to respect (lower.go, ir.go); the addresses are in address.go, what
//     all groups share in setup.go, the table of the last records in last.go, the copies through memory in copies.go.
//  3. engines says which vector arithmetic may be executed lane by lane on the scalar engine (engine.go).
//  4. list gives every operation its cycle, by priorities that are knobs (schedule.go).
//  5. schedule pushes the schedule back and forth until nothing is gained (justify.go).
//  6. allocate gives every register its words, and every copy its buffer (allocate.go). It comes after the schedule,
//     so that the schedule knows no false dependences; a schedule that does not fit is a rejection.
//
// Then emit writes the bundles (emit.go).
//
// A graph has lower bounds before it has a schedule (bound.go), and an interpreter that knows neither cycles nor
// engines (interpret.go), while check.go knows only these. Explain checks the result of each pass from lower to schedule with
// both, runs the program on the machine, and names the first pass that is wrong (explain.go).
package vector
