// Package treehash is the tree-hash kernel on the VLIW machine of package sim: every item of a batch walks
// down a tree and hashes its value with each node that it meets (see package tree). Its cost is the exact
// number of cycles.
//
// A point's first parameter names its family, and each family has knobs of its own:
//
//   - scalar (package scalar): one item to a lane of ordinary registers, as in the public study of this
//     kernel, whose programs are the presets "baseline" and "study".
//   - vector (package vector): eight items to a vector register, through a small compiler whose choices are
//     the knobs.
package treehash
