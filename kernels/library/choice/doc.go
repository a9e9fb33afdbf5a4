// Package choice decides which variants of a kernel a library holds, and which of them a call of a given shape takes.
//
// It is arithmetic on a matrix of costs, which someone else measured: it reads no clock and no file, and the same matrix
// gives the same result, whatever the order of its rows.
//
//	matrix ──► Choose ──► Grow ──► Evaluate ──► Certificate
//	       ├───── Fit ─────┤
//	       └── Dispatch ───┘
//
// Choose takes the few variants with the least regret, Grow makes a decision tree that finds the right one of them, and Fit does both
// with an eye to each other. Dispatch takes predicted costs in place of that tree, where they choose better: a cost is a sum of what
// a variant does, as its kernel says, at prices that are fitted to the matrix. Evaluate says what a choice costs at shapes that played no
// part. The simpler rules in use elsewhere are Rules too, so that they are judged by the same function on the same matrix.
package choice
