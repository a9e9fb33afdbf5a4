// Package treehash is the tree-hash kernel on the VLIW machine of package sim: every item of a batch walks down a tree and
// combines its value with each node on the way by a hash (see package tree). The cost is the exact number of cycles.
//
// The first parameter of a point names its family, and each family has its own parameters (knobs):
//
//   - scalar (package scalar): each item has a lane of ordinary registers, as in the public study of this
//     kernel, whose programs are the presets "baseline" and "study".
//   - vector (package vector): eight items share a vector register; a small compiler makes the program, and its choices
//     are the knobs.
package treehash
