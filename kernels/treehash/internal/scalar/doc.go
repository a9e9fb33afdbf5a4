// Package scalar generates the scalar family of tree-hash programs: unrolled over rounds and items, without vector slots. The
// family contains the programs of a public study of this kernel, from one slot per bundle (147,734 cycles at height 10, rounds
// 16, batch 256) to three lanes (64,383), and goes on to list scheduling of 32 lanes.
//
// Build works in three steps:
//
//  1. Allocate scratch: the header, the constants, and a set of registers for each lane.
//  2. Emit the slots in program order, as a machine with one slot per bundle would execute them. A group is
//     one item for each lane; lanes past the end of the batch are masked off.
//  3. Pack the slots into bundles: one each, strictly in order, or by list scheduling. A packer knows
//     nothing about the kernel; it respects what each slot reads and writes.
package scalar
