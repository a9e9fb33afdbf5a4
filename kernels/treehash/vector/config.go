package vector

import (
	"fmt"

	"tune/kernels/treehash/tree"
	"tune/space"
)

// Where arithmetic on vectors may be executed.
const (
	ALUNever = "never" // on the vector engine alone
	ALUShare = "share" // a fixed share of it lane by lane on the scalar engine
	ALUIdle  = "idle"  // on the scalar engine whenever the vector engine's slots of a cycle are taken
)

// How the addresses of the values are made.
const (
	AddrLoad = "load" // a constant each, from the load engine
	AddrFlow = "flow" // one constant, the others by add_imm
	AddrALU  = "alu"  // one constant, the others by a chain of scalar additions
)

// Config is a point of the vector generator: every knob with its value. Parameters documents the knobs.
type Config struct {
	Levels      int    // tree levels held in scratch, 0..MaxLevels
	Shallow     int    // groups that hold one level less
	MaddLevels  int    // levels whose first selection is a multiply_add, 0..Levels-1
	BiasFlow    int    // eighths of the address updates whose bias is selected on the flow engine, 0..8
	Fuse        bool   // hash stages 2 and 3 as two multiply_adds and a xor
	DeferC      bool   // the last stage's constant carried in the next node where that is held in scratch
	Window      int    // groups in flight, at least 1
	Stagger     int    // cycles between the starts of groups
	ALU         string // ALUNever, ALUShare, ALUIdle
	Share       int    // sixteenths of the movable work that ALUShare moves, 0..16
	MaddFirst   bool   // the vector engine prefers what only it can execute
	Addresses   string // AddrLoad, AddrFlow, AddrALU
	LoadRound   int    // priority that a load gains a round, where a group's place is worth groupWeight
	VectorRound int    // the same for arithmetic
	FlowRound   int    // the same for the flow engine
	SetupRound  int    // priority that set-up loses for each round that it is needed later
	Laggards    int    // percent of the work after which the longest remaining chain goes first, 0..100
	Shuffle     int    // seed that breaks the ties among equal priorities
}

// MaxLevels bounds the levels of the tree that can be held in scratch: a sixth would fill most of it.
const MaxLevels = 5

// groupWeight is what one place in the order of groups is worth in a priority.
const groupWeight = 100

// Groups returns the number of groups of 8 lanes that a batch needs.
func Groups(s tree.Shape) int { return (s.Batch + 7) / 8 }

// levelLimit is the largest useful number of levels: all that a tree has, and all that the rounds reach.
func levelLimit(s tree.Shape) int { return min(MaxLevels, s.Height+1, s.Rounds) }

// Parameters returns the knobs for a shape.
func Parameters(s tree.Shape) []space.Parameter {
	groups := Groups(s)
	levels := levelLimit(s)
	ps := []space.Parameter{
		space.Range("levels", 0, levels).WithDefault(min(2, levels)).
			Describe("tree levels held in scratch and selected, not gathered"),
		space.Range("shallow", 0, groups).WithDefault(0).If("levels >= 2").
			Describe("groups that hold one level less than `levels`"),
		space.Range("madd_levels", 0, max(levels-1, 0)).WithDefault(0).If("levels >= 2").
			Describe("levels whose first selection is a multiply_add instead of a vselect"),
		space.Range("bias_flow", 0, 8).WithDefault(0).
			Describe("eighths of the address updates whose bias is a select on the flow engine"),
		space.Bool("fuse").Describe("hash stages 2 and 3 as two multiply_adds and one xor"),
		space.Bool("defer_c").If("levels >= 1").
			Describe("carry the last hash constant in the next node where that is held in scratch"),
		space.Range("window", 1, groups).WithDefault(min(16, groups)).Describe("groups in flight"),
		space.Range("group_stagger", 0, 40).WithDefault(0).Describe("cycles between the starts of groups"),
		space.Enum("alu", ALUNever, ALUShare, ALUIdle).Describe("vector arithmetic on the scalar engine: " +
			"never, a fixed share, or whenever the vector slots of a cycle are taken"),
		space.Range("share", 1, 16).WithDefault(4).If("alu == 'share'").
			Describe("sixteenths of the movable vector work that go to the scalar engine"),
		space.Bool("madd_first").Describe("the vector engine prefers work that only it can execute"),
		space.Enum("addresses", AddrLoad, AddrFlow, AddrALU).Describe("engine that makes the addresses of the values"),
		space.Stepped("load_round", 0, 600, 20).WithDefault(0).
			Describe("priority that a load gains each round; a place in the order of groups is worth 100"),
		space.Stepped("vector_round", 0, 600, 20).WithDefault(0).Describe("the same for arithmetic"),
		space.Stepped("flow_round", 0, 600, 20).WithDefault(0).Describe("the same for the flow engine"),
		space.Stepped("setup_round", 0, 600, 20).WithDefault(200).
			Describe("priority that set-up loses for each round that it is needed later"),
		space.Stepped("laggards", 0, 100, 5).WithDefault(100).
			Describe("percent of the operations after which the longest remaining chain goes first"),
		space.Range("shuffle", 0, 63).WithDefault(0).Describe("breaks ties among equal priorities"),
	}
	return ps
}

// Constraints returns the constraints on Parameters: a level beyond the last that is held cannot be selected.
func Constraints() []string { return []string{"madd_levels < levels"} }

// ConfigOf reads the knobs of a point whose space holds Parameters.
func ConfigOf(p space.Point) Config {
	return Config{
		Levels: p.Int("levels"), Shallow: p.Int("shallow"), MaddLevels: p.Int("madd_levels"),
		BiasFlow: p.Int("bias_flow"), Fuse: p.Bool("fuse"), DeferC: p.Bool("defer_c"),
		Window: p.Int("window"), Stagger: p.Int("group_stagger"), ALU: p.Str("alu"), Share: p.Int("share"),
		MaddFirst: p.Bool("madd_first"), Addresses: p.Str("addresses"),
		LoadRound: p.Int("load_round"), VectorRound: p.Int("vector_round"), FlowRound: p.Int("flow_round"),
		SetupRound: p.Int("setup_round"), Laggards: p.Int("laggards"), Shuffle: p.Int("shuffle"),
	}
}

// Validate reports a knob that is out of range for the shape.
func (c Config) Validate(s tree.Shape) error {
	if err := s.Validate(); err != nil {
		return err
	}
	groups := Groups(s)
	for _, f := range []struct {
		name          string
		got, low, top int
	}{
		{"Levels", c.Levels, 0, levelLimit(s)},
		{"Shallow", c.Shallow, 0, groups},
		{"MaddLevels", c.MaddLevels, 0, max(c.Levels-1, 0)},
		{"BiasFlow", c.BiasFlow, 0, 8},
		{"Window", c.Window, 1, groups},
		{"Stagger", c.Stagger, 0, 1000},
		{"Share", c.Share, 0, 16},
		{"LoadRound", c.LoadRound, 0, 10000},
		{"VectorRound", c.VectorRound, 0, 10000},
		{"FlowRound", c.FlowRound, 0, 10000},
		{"SetupRound", c.SetupRound, 0, 10000},
		{"Laggards", c.Laggards, 0, 100},
		{"Shuffle", c.Shuffle, 0, 1 << 30},
	} {
		if f.got < f.low || f.got > f.top {
			return fmt.Errorf("vector: %s is %d: want %d to %d", f.name, f.got, f.low, f.top)
		}
	}
	if c.ALU != ALUNever && c.ALU != ALUShare && c.ALU != ALUIdle {
		return fmt.Errorf("vector: ALU is %q: want %s, %s or %s", c.ALU, ALUNever, ALUShare, ALUIdle)
	}
	if c.Addresses != AddrLoad && c.Addresses != AddrFlow && c.Addresses != AddrALU {
		return fmt.Errorf("vector: Addresses is %q: want %s, %s or %s", c.Addresses, AddrLoad, AddrFlow, AddrALU)
	}
	return nil
}
