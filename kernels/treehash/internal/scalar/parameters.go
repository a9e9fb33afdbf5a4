package scalar

import (
	"slices"

	"tune/space"
)

// The words of the parameters, indexed by the constants of their types.
var (
	loadOrders     = []string{"kind", "lane", "diagonal"}
	indexRegisters = []string{"single", "cur_next"}
	hashOrders     = []string{"free", "token", "barrier"}
	hashOutputs    = []string{"in_place", "renamed"}
	packings       = []string{"single", "in_order", "list"}
	priorities     = []string{"path", "order"}
	memories       = []string{"one", "full"}
	offsets        = []string{"counter", "constant"}
)

// Parameters returns the knobs of the family. Some are active only where they can affect the cycles.
func Parameters() []space.Parameter {
	return []space.Parameter{
		space.Range("lanes", 1, MaxLanes).
			Describe("items in a group, each with registers of its own"),
		space.Enum("offsets", offsets...).
			Describe("an item's offset: a counter of its lane, or a constant of the item"),
		space.Enum("packing", packings...).
			Describe("slots into bundles: one each, strictly in order, or by list scheduling"),
		space.Enum("priority", priorities...).If("packing == 'list'").
			Describe("list scheduling takes first: the longest path to an end, or the slot emitted first"),
		space.Enum("memory", memories...).If("packing != 'single'").
			Describe("loads and stores in a bundle: one in all, or as many as the machine has"),
		space.Enum("load_order", loadOrders...).If("packing != 'single' && lanes > 1").
			Describe("a group's loads: kind by kind, lane by lane, or on a diagonal"),
		space.Range("stagger", 1, MaxStagger).If("load_order == 'diagonal'").
			Describe("slots between the loads of a lane and of the next"),
		space.Enum("index_registers", indexRegisters...).
			Describe("the next index: over the current one, or in a register of its own"),
		space.Enum("hash_output", hashOutputs...).
			Describe("the hash: over the value, or in a register of its own"),
		space.Enum("hash_order", hashOrders...).
			Describe("order of the hash's stages beyond their data: none, a token for each lane, or a pause between stages"),
	}
}

// ConfigOf returns the configuration of a point that has the parameters.
func ConfigOf(p space.Point) Config {
	return Config{
		Lanes:          p.Int("lanes"),
		LoadOrder:      choice[LoadOrder](p, "load_order", loadOrders),
		Stagger:        p.Int("stagger"),
		IndexRegisters: choice[IndexRegisters](p, "index_registers", indexRegisters),
		HashOrder:      choice[HashOrder](p, "hash_order", hashOrders),
		HashOutput:     choice[HashOutput](p, "hash_output", hashOutputs),
		Packing:        choice[Packing](p, "packing", packings),
		Priority:       choice[Priority](p, "priority", priorities),
		Memory:         choice[Memory](p, "memory", memories),
		Offsets:        choice[Offsets](p, "offsets", offsets),
	}
}

// choice returns the constant of a parameter's word, the first where the parameter is inactive.
func choice[T ~uint8](p space.Point, name string, words []string) T {
	return T(max(0, slices.Index(words, p.Str(name))))
}
