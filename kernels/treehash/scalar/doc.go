// Package scalar generates the scalar family of tree-hash programs: unrolled over rounds and items,
// without a vector slot. It spans the programs of a public study of this kernel, from one slot a bundle
// (147,734 cycles at height 10, rounds 16, batch 256) over its three lanes (64,383) to list scheduling of
// 32 lanes.
//
// Build works in three steps:
//
//  1. Allocate scratch: the header, the constants, and a set of registers for each lane.
//  2. Emit the slots in program order, as a machine with one slot a bundle would execute them. A group is
//     one item for each lane; lanes past the batch's end are masked off.
//  3. Pack the slots into bundles: one each, strictly in order, or by list scheduling. A packer knows
//     nothing of the kernel; it respects what each slot reads and writes.
package scalar
