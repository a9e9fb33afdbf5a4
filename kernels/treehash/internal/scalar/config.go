package scalar

import "fmt"

// MaxLanes is the largest lane count.
const MaxLanes = 32

// LoadOrder is the order in which a group's loads are emitted.
type LoadOrder uint8

// The load orders.
const (
	LoadsByKind   LoadOrder = iota // every lane's index, then every value, then every node
	LoadsByLane                    // a lane's index, value and node, then the next lane's
	LoadsDiagonal                  // each lane runs Config.Stagger slots behind the lane before it
)

// IndexRegisters says where the next index is computed.
type IndexRegisters uint8

// The index registers.
const (
	IndexSingle  IndexRegisters = iota // over the current index
	IndexCurNext                       // in a register of its own
)

// HashOrder says what orders the stages of a hash beyond their data.
type HashOrder uint8

// The hash orders.
const (
	HashFree    HashOrder = iota // nothing
	HashToken                    // a lane's stage starts after the lane's stage before it, across items too
	HashBarrier                  // a pause, which no slot crosses, between any two stages of a group
)

// HashOutput says where the hash is computed.
type HashOutput uint8

// The hash outputs.
const (
	HashInPlace HashOutput = iota // over the value
	HashRenamed                   // in a register of its own, so that the value's is free for the next load
)

// Packing is how slots become bundles.
type Packing uint8

// The packings.
const (
	PackSingle  Packing = iota // one slot a bundle
	PackInOrder                // strictly in order; a bundle ends where the next slot does not fit
	PackList                   // list scheduling
)

// Priority decides which of the slots that are ready list scheduling takes first.
type Priority uint8

// The priorities. Each ends its ties by the order in which the slots were emitted.
const (
	PriorityPath  Priority = iota // the longest path of dependences to an end
	PriorityOrder                 // the order of emission, so that the load order counts
)

// Memory limits the loads and stores of a bundle.
type Memory uint8

// The memory limits.
const (
	MemoryOne  Memory = iota // one load or one store, not both; a const counts as a load
	MemoryFull               // two loads and two stores, as many as the machine has
)

// Offsets says where an item's offset into the indices and values comes from.
type Offsets uint8

// The offsets.
const (
	OffsetCounter  Offsets = iota // a register of each lane, advanced after every group
	OffsetConstant                // a constant of each item
)

// Config is a point of the family. The zero value of each field but Lanes is its first choice above.
type Config struct {
	Lanes          int            // items in a group, 1 to MaxLanes
	LoadOrder      LoadOrder      // default LoadsByKind
	Stagger        int            // slots between lanes, 1 to MaxStagger, where LoadOrder is LoadsDiagonal; else unused
	IndexRegisters IndexRegisters // default IndexSingle
	HashOrder      HashOrder      // default HashFree
	HashOutput     HashOutput     // default HashInPlace
	Packing        Packing        // default PackSingle
	Priority       Priority       // default PriorityPath; no effect where Packing is not PackList
	Memory         Memory         // default MemoryOne; no effect where Packing is PackSingle
	Offsets        Offsets        // default OffsetCounter
}

// MaxStagger is the largest stagger that differs from LoadsByLane: a lane loads in six slots.
const MaxStagger = loadSteps - 1

// Validate reports a field that is out of range.
func (c Config) Validate() error {
	if c.Lanes < 1 || c.Lanes > MaxLanes {
		return fmt.Errorf("scalar: lanes %d is out of range: want 1 to %d", c.Lanes, MaxLanes)
	}
	if c.LoadOrder == LoadsDiagonal && (c.Stagger < 1 || c.Stagger > MaxStagger) {
		return fmt.Errorf("scalar: stagger %d is out of range: want 1 to %d", c.Stagger, MaxStagger)
	}
	for _, f := range []struct {
		name      string
		got, last uint8
	}{
		{"load order", uint8(c.LoadOrder), uint8(LoadsDiagonal)},
		{"index registers", uint8(c.IndexRegisters), uint8(IndexCurNext)},
		{"hash order", uint8(c.HashOrder), uint8(HashBarrier)},
		{"hash output", uint8(c.HashOutput), uint8(HashRenamed)},
		{"packing", uint8(c.Packing), uint8(PackList)},
		{"priority", uint8(c.Priority), uint8(PriorityOrder)},
		{"memory", uint8(c.Memory), uint8(MemoryFull)},
		{"offsets", uint8(c.Offsets), uint8(OffsetConstant)},
	} {
		if f.got > f.last {
			return fmt.Errorf("scalar: %s %d is unknown: want 0 to %d", f.name, f.got, f.last)
		}
	}
	return nil
}
