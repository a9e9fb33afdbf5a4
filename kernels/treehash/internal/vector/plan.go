package vector

import (
	"fmt"
	"strings"

	"tune/kernels/treehash/tree"
)

// lookup says how a group finds the nodes of one round.
type lookup uint8

const (
	// lookSelect: the level is held in scratch, and selected by the parities since the root.
	lookSelect lookup = iota
	// lookRecord reads a record a lane: a node with its two children.
	lookRecord
	// lookChild takes the child from the record that the round before has read.
	lookChild
	// lookLone reads the node alone out of a table of records, because no round follows that needs the children.
	lookLone
	// lookGather reads the node from the tree.
	lookGather
)

var lookupNames = [...]string{"select", "record", "child", "lone", "gather"}

// String returns the lookup's name.
func (l lookup) String() string { return lookupNames[l] }

// carries says whether the nodes may bear the hash's last constant: those that set-up copies can, those that are read
// from the tree cannot.
func (l lookup) carries() bool { return l != lookGather }

// plan is the choice of algebra for one shape: what the passes behind it agree on.
type plan struct {
	shape tree.Shape
	cfg   Config
}

// depth returns the level at which every item stands in a round.
func (p plan) depth(r int) int { return r % (p.shape.Height + 1) }

// levels returns how many levels of the tree the group selects from scratch.
func (p plan) levels(g int) int {
	if g < p.cfg.Shallow {
		return max(p.cfg.Levels-1, 0)
	}
	return p.cfg.Levels
}

// lookup returns how the group finds its nodes in the round.
func (p plan) lookup(g, r int) lookup {
	d := p.depth(r)
	beyond := d - p.cfg.Levels
	switch {
	case d < p.levels(g):
		return lookSelect
	case beyond < 0 || beyond >= 2*p.cfg.Tables:
		return lookGather
	case beyond%2 == 1:
		return lookChild
	case r+1 == p.shape.Rounds:
		return lookLone
	}
	return lookRecord
}

// levelAddr returns the address of a level's first node. A table lies where its two levels lay.
func (p plan) levelAddr(depth int) int { return p.shape.TreeAddr() + 1<<depth - 1 }

// carried says whether the value comes into the round without the last constant of the hash before.
func (p plan) carried(g, r int) bool {
	return r > 0 && r < p.shape.Rounds && p.cfg.DeferC && p.lookup(g, r).carries()
}

// String lists the lookups of each round, with the number of groups where they differ.
func (p plan) String() string {
	var b strings.Builder
	groups := Groups(p.shape)
	for r := range p.shape.Rounds {
		var counts [len(lookupNames)]int
		for g := range groups {
			counts[p.lookup(g, r)]++
		}
		fmt.Fprintf(&b, "round %2d  depth %2d ", r, p.depth(r))
		for l, n := range counts {
			if n > 0 {
				fmt.Fprintf(&b, "  %s %d", lookup(l), n)
			}
		}
		carried := 0
		for g := range groups {
			if p.carried(g, r) {
				carried++
			}
		}
		if carried > 0 {
			fmt.Fprintf(&b, "  constant carried %d", carried)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
