package vector

import (
	"errors"
	"fmt"

	"tune/kernels/treehash/tree"
	"tune/sim"
	"tune/space"
)

// Config is a point of the vector generator: every knob with its value. Parameters documents the knobs.
type Config struct {
	// The algebra: which operations there are.
	Levels       int  // tree levels held in scratch, 0..maxLevels
	Shallow      int  // groups that hold one level less, 0..Groups
	Tables       int  // tables of records behind the levels in scratch, each of two levels of the tree
	Fuse         bool // hash stages 2 and 3 as two multiply_adds and a xor
	DeferC       bool // the last stage's constant carried in the next node where that is a copy
	Madd1        int  // 32nds of the selections of level 1 that are multiply_adds
	Madd2        int  // likewise of the first selections of level 2
	Madd3        int  // likewise of the first selections of the levels from 3 on
	FirstFlow    int  // parities that choose on the flow engine in first addresses, over 32 of them, 0..3*32
	NextFlow     int  // likewise in addresses two levels below another, 0..2*32
	ChainFlow    int  // likewise in addresses one level below another, 0..32
	LastTable    bool // the last records have a table of their own, whose addresses take fewer operations
	LastFlow     int  // 32nds of the addresses in that table where the flow engine adds the first two parities
	LastCopies   int  // 32nds of the copies out of that table that go through memory by the store engine
	WindowGather int  // 32nds of the gathers that load a vector a lane, at an address that is easier to compute
	SplitRecords int  // 32nds of the records that are read into a wide window, where no child is copied
	StoreCopies  int  // 32nds of the copies of a record's child that go through memory by the store engine
	CopyBuffers  int  // 16ths of StoreCopies or LastCopies, the greater of them, that there are buffers for those copies, 0..16
	// StoreBroadcasts is in how many of the last rounds words that are first needed there get into all lanes through memory,
	// by the store engine, 0..Rounds, where copies go that way too. They and the copies out of the last table then take turns in
	// buffers of their own.
	StoreBroadcasts int
	AddressFlow     int // 32nds of the set-up's addresses that the flow engine adds; the others are the scalar engine's
	// 32nds of the constants that are computed from others where one operation does, and of the others those
	// that the flow engine makes; what is left is loaded.
	DeriveConstants, ConstantFlow int

	// The schedule: what goes first.
	Window      int  // groups in flight, at least 1
	Lanes       bool // vector arithmetic may go to the scalar engine, lane by lane
	MaddFirst   bool // the vector engine prefers what only it can execute
	LoadRound   int  // priority that a load gains a round, where a group's place is worth groupWeight
	VectorRound int  // the same for vector arithmetic
	ScalarRound int  // the same for scalar arithmetic and stores
	FlowRound   int  // the same for the flow engine
	SetupRound  int  // priority that set-up loses for each round that it is needed later
	Laggards    int  // percent of the work after which the longest remaining chain goes first, 0..100
	Shuffle     int  // seed that breaks the ties among equal priorities, and drives the finisher
}

// maxLevels bounds the levels of the tree that can be held in scratch: a sixth would fill most of it.
const maxLevels = 5

// leastTableLevel is the uppermost level of a table: above, a table is no whole number of vectors.
const leastTableLevel = 3

// needAtOnce is in how many of the first rounds a search leaves the constants that are needed there to broadcasts: everything
// waits for them.
const needAtOnce = 3

// groupWeight is what one place in the order of groups is worth in a priority.
const groupWeight = 100

// Groups returns the number of groups of 8 lanes that a batch needs.
func Groups(s tree.Shape) int { return (s.Batch + 7) / 8 }

// levelLimit is the largest useful number of levels: all that a tree has, and all that the rounds reach.
func levelLimit(s tree.Shape) int { return min(maxLevels, s.Height+1, s.Rounds) }

// recordReach is how far behind its first word a record's vector may reach out of its table.
const recordReach = 5

// tableLimit is the first level that no table may reach: they end with the tree, and are of no use beyond the last
// round. A record is read with five words that follow it, which have to be part of the image.
func tableLimit(s tree.Shape) int {
	end := s.Height + 1
	if 2*s.Batch < recordReach {
		end--
	}
	return min(end, s.Rounds+1)
}

// maxTables bounds the tables.
const maxTables = 4

// lastTableFits says whether the last records may have a table of their own: the nodes of the last round but one have to
// be at its level, not for the first time, and there have to be index words that nobody needs.
func lastTableFits(s tree.Shape, indices bool) bool {
	last := s.Rounds - 2
	return !indices && s.Height > lastTableLevel && last > s.Height && last%(s.Height+1) == lastTableLevel &&
		s.Batch >= lastTableWords+sim.VLen
}

// Parameters returns the knobs for a shape, with the final indices as outputs or without.
func Parameters(s tree.Shape, indices bool) []space.Parameter {
	groups := Groups(s)
	levels := levelLimit(s)
	parameters := []space.Parameter{
		space.Range("levels", 0, levels).WithDefault(min(2, levels)).
			Describe("tree levels held in scratch and selected, not read"),
		space.Range("shallow", 0, groups).WithDefault(0).If("levels >= 4").
			Describe("groups that hold one level less than `levels`"),
		space.Range("reach", leastTableLevel, max(leastTableLevel, tableLimit(s))).WithDefault(leastTableLevel).If("levels >= 3").
			Describe("level that tables of records go down to from `levels` on, two levels each: " +
				"a record is a node with its children, read at once"),
		space.Bool("fuse").Describe("hash stages 2 and 3 as two multiply_adds and one xor"),
		space.Bool("defer_c").Describe("carry the last hash constant in the next node where that is a copy"),
		space.Range("madd_1", 0, shares).WithDefault(0).If("levels >= 2").
			Describe("32nds of the selections of level 1 that are multiply_adds instead of vselects"),
		space.Range("madd_2", 0, shares).WithDefault(0).If("levels >= 3").
			Describe("32nds of the first selections of level 2 that are multiply_adds"),
		space.Range("madd_3", 0, shares).WithDefault(0).If("levels >= 4").
			Describe("32nds of the first selections of deeper levels that are multiply_adds"),
		space.Range("first_flow", 0, 3*shares).WithDefault(0).
			Describe("parities that choose on the flow engine in 32 addresses made from the root"),
		space.Range("next_flow", 0, 2*shares).WithDefault(0).If("levels >= 3 && reach >= levels + 2").
			Describe("parities that choose on the flow engine in 32 addresses made from one two levels up"),
		space.Range("chain_flow", 0, shares).WithDefault(0).
			Describe("parities that choose on the flow engine in 32 addresses made from one a level up"),
	}
	copies := "store_copies > 0"
	if lastTableFits(s, indices) {
		copies += " || last_copies > 0"
		parameters = append(parameters,
			space.Bool("last_table").If("levels == 3 && reach >= 5").
				Describe("the last records have a table of their own, with addresses that are sums of parities"),
			space.Range("last_flow", 0, shares).WithDefault(0).If("last_table").
				Describe("32nds of the addresses in that table where the flow engine adds the first two parities"),
			space.Range("last_copies", 0, shares).WithDefault(0).If("last_table").
				Describe("32nds of the copies out of that table that the store engine makes, through memory"))
	}
	return append(parameters,
		space.Range("window_gather", 0, shares).WithDefault(0).
			Describe("32nds of the gathers that load a whole vector a lane, at an address that takes less to compute"),
		space.Range("split_records", 0, shares).WithDefault(0).If("levels >= 3 && reach >= levels + 2").
			Describe("32nds of the records whose children both stay where they are read, to be chosen by two selections"),
		space.Range("store_copies", 0, shares).WithDefault(0).If("levels >= 3 && reach >= levels + 2").
			Describe("32nds of the copies out of the other records that the store engine makes, through memory"),
		space.Range("copy_buffers", 1, bufferShares).WithDefault(bufferShares/2).If(copies).
			Describe("copies through memory that may be under way at once, in 16ths of store_copies or last_copies"),
		space.Range("store_broadcasts", 0, max(0, s.Rounds-needAtOnce)).WithDefault(0).If(copies).
			Describe("last rounds in which words that are first needed there get into all lanes by the store engine"),
		space.Range("address_flow", 0, shares).WithDefault(shares).
			Describe("32nds of the set-up's addresses that are made on the flow engine, not the scalar one"),
		space.Range("derive_constants", 0, shares).WithDefault(0).
			Describe("32nds of the constants that are computed on the scalar engine where two others give them"),
		space.Range("constant_flow", 0, shares).WithDefault(0).
			Describe("32nds of the other constants that are made on the flow engine, not loaded"),
		space.Range("window", 1, groups).WithDefault(min(16, groups)).Describe("groups in flight"),
		space.Bool("spread").Describe("vector arithmetic goes to the scalar engine, lane by lane, where that has slots"),
		space.Bool("madd_first").Describe("the vector engine prefers work that only it can execute"),
		space.Range("load_round", 0, 600).WithDefault(0).
			Describe("priority that a load gains each round; a place in the order of groups is worth 100"),
		space.Range("vector_round", 0, 600).WithDefault(0).Describe("the same for vector arithmetic"),
		space.Range("scalar_round", 0, 600).WithDefault(0).Describe("the same for scalar arithmetic and stores"),
		space.Range("flow_round", 0, 600).WithDefault(0).Describe("the same for the flow engine"),
		space.Range("setup_round", 0, 600).WithDefault(200).
			Describe("priority that set-up loses for each round that it is needed later"),
		space.Range("laggards", 0, 100).WithDefault(100).
			Describe("percent of the operations after which the longest remaining chain goes first"),
		space.Range("shuffle", 0, 63).WithDefault(0).Describe("breaks ties among equal priorities"))
}

// ScheduleKnobs names the parameters that say in which order the operations are scheduled, and not what they are: a
// bound does not depend on them.
func ScheduleKnobs() []string {
	return []string{"window", "madd_first", "load_round", "vector_round", "scalar_round", "flow_round", "setup_round", "laggards", "shuffle"}
}

// tablesTo returns how many tables fit between the levels in scratch and the level that they may reach. The knob is that
// level, not their number, so that a step from one number of levels to another leaves the levels below as they are.
func tablesTo(reach, levels int) int {
	if levels < leastTableLevel {
		return 0
	}
	return max(0, min(maxTables, (reach-levels)/2))
}

// ConfigOf reads the knobs of a point whose space holds Parameters.
func ConfigOf(p space.Point) Config {
	c := Config{
		Levels: p.Int("levels"), Shallow: p.Int("shallow"), Tables: tablesTo(p.Int("reach"), p.Int("levels")),
		Fuse: p.Bool("fuse"), DeferC: p.Bool("defer_c"),
		Madd1: p.Int("madd_1"), Madd2: p.Int("madd_2"), Madd3: p.Int("madd_3"),
		FirstFlow: p.Int("first_flow"), NextFlow: p.Int("next_flow"), ChainFlow: p.Int("chain_flow"),
		WindowGather: p.Int("window_gather"), SplitRecords: p.Int("split_records"),
		StoreCopies: p.Int("store_copies"), CopyBuffers: p.Int("copy_buffers"), StoreBroadcasts: p.Int("store_broadcasts"),
		AddressFlow: p.Int("address_flow"), DeriveConstants: p.Int("derive_constants"), ConstantFlow: p.Int("constant_flow"),
		Window: p.Int("window"), Lanes: p.Bool("spread"), MaddFirst: p.Bool("madd_first"),
		LoadRound: p.Int("load_round"), VectorRound: p.Int("vector_round"), ScalarRound: p.Int("scalar_round"),
		FlowRound: p.Int("flow_round"), SetupRound: p.Int("setup_round"), Laggards: p.Int("laggards"),
		Shuffle: p.Int("shuffle"),
	}
	if p.Has("last_table") {
		c.LastTable, c.LastFlow, c.LastCopies = p.Bool("last_table"), p.Int("last_flow"), p.Int("last_copies")
	}
	return c
}

// Validate reports a knob that is out of range for the shape, with the final indices as outputs or without.
func (c Config) Validate(s tree.Shape, indices bool) error {
	if err := s.Validate(); err != nil {
		return err
	}
	groups := Groups(s)
	tables := tablesTo(tableLimit(s), c.Levels)
	last := 0
	if c.LastTable {
		// A group with a level less reads nodes of the level above from where that table lies.
		if !lastTableFits(s, indices) || c.Levels != lastTableLevel || c.Tables == 0 || c.Shallow > 0 {
			return errors.New("vector: LastTable is set: there is no room for that table, or no other one at its level")
		}
		last = shares
	}
	for _, f := range []struct {
		name          string
		got, low, top int
	}{
		{"Levels", c.Levels, 0, levelLimit(s)},
		{"Shallow", c.Shallow, 0, groups},
		{"Tables", c.Tables, 0, tables},
		{"Madd1", c.Madd1, 0, shares},
		{"Madd2", c.Madd2, 0, shares},
		{"Madd3", c.Madd3, 0, shares},
		{"FirstFlow", c.FirstFlow, 0, 3 * shares},
		{"NextFlow", c.NextFlow, 0, 2 * shares},
		{"ChainFlow", c.ChainFlow, 0, shares},
		{"LastFlow", c.LastFlow, 0, last},
		{"LastCopies", c.LastCopies, 0, last},
		{"WindowGather", c.WindowGather, 0, shares},
		{"SplitRecords", c.SplitRecords, 0, shares},
		{"StoreCopies", c.StoreCopies, 0, shares},
		{"CopyBuffers", c.CopyBuffers, 0, bufferShares},
		{"StoreBroadcasts", c.StoreBroadcasts, 0, s.Rounds},
		{"AddressFlow", c.AddressFlow, 0, shares},
		{"DeriveConstants", c.DeriveConstants, 0, shares},
		{"ConstantFlow", c.ConstantFlow, 0, shares},
		{"Window", c.Window, 1, groups},
		{"LoadRound", c.LoadRound, 0, 10000},
		{"VectorRound", c.VectorRound, 0, 10000},
		{"ScalarRound", c.ScalarRound, 0, 10000},
		{"FlowRound", c.FlowRound, 0, 10000},
		{"SetupRound", c.SetupRound, 0, 10000},
		{"Laggards", c.Laggards, 0, 100},
		{"Shuffle", c.Shuffle, 0, 1 << 30},
	} {
		if f.got < f.low || f.got > f.top {
			return fmt.Errorf("vector: %s is %d: want %d to %d", f.name, f.got, f.low, f.top)
		}
	}
	return nil
}
