package vector

import "tune/sim"

// linear is a register whose lanes hold base + stride*k, where k is the number of a lane's node within its level. The
// address of a node is such a form, whether it stands in the tree or in a table.
type linear struct {
	reg          operand // reg -1 where nothing is known but the parities
	base, stride uint32
	depth        int
}

// parity is the low bit of a value. It is inverted where the hash's last constant, which is odd, has not been applied
// to the value.
type parity struct {
	reg      operand
	inverted bool
}

// inverse returns the multiplicative inverse of an odd number mod 2^32, by Newton's iteration.
func inverse(x uint32) uint32 {
	y := x // right to 3 bits
	for range 4 {
		y *= 2 - x*y
	}
	return y
}

// advance returns base + stride*k for the level at which the group stands after the given parities since the root,
// made from the last form that is known and the parities since. The first `onFlow` of these choose between constants
// on the flow engine, and each of the others is a multiply_add:
//
//	k' = k*2^n + sum p_i*2^(n-1-i)
//	base' + stride'*k' = m*(base + stride*k) + (base' - m*base) + sum p_i*stride'*2^(n-1-i), m = stride'*2^n/stride
//
// An inverted parity is 1 - p: its weight changes sign, and is added to the constant.
func (b *lowering) advance(from linear, bits []parity, base, stride uint32, onFlow int) linear {
	to := linear{base: base, stride: stride, depth: len(bits)}
	fresh := bits
	constant, m := base, uint32(0)
	if from.reg.reg >= 0 {
		fresh = bits[from.depth:]
		m = stride << len(fresh) * inverse(from.stride)
		constant -= m * from.base
	}
	n := len(fresh)
	weights := make([]uint32, n)
	for i, p := range fresh {
		weights[i] = stride << (n - 1 - i)
		if p.inverted {
			constant += weights[i]
			weights[i] = -weights[i]
		}
	}
	onFlow = min(onFlow, n)
	var sum operand
	switch {
	case from.reg.reg >= 0 && onFlow == 0 && n == 1 && constant == 0 && weights[0] == 1:
		sum, fresh = b.valu(sim.OpMultiplyAdd, from.reg, b.vector(m), fresh[0].reg), nil
	case from.reg.reg >= 0:
		// What is known first is summed first, because the newest parity comes last.
		offset := b.choose(fresh[:onFlow], weights, constant)
		switch {
		case m != 1:
			sum = b.valu(sim.OpMultiplyAdd, from.reg, b.vector(m), offset)
		case n == 0 && constant == 0:
			sum = from.reg
		default:
			sum = b.valu(sim.OpVAdd, from.reg, offset)
		}
		fresh, weights = fresh[onFlow:], weights[onFlow:]
	default:
		sum = b.choose(fresh[:onFlow], weights, constant)
		fresh, weights = fresh[onFlow:], weights[onFlow:]
	}
	for i, p := range fresh {
		switch weights[i] {
		case 1:
			sum = b.valu(sim.OpVAdd, sum, p.reg)
		case ^uint32(0):
			sum = b.valu(sim.OpVSub, sum, p.reg)
		default:
			sum = b.valu(sim.OpMultiplyAdd, p.reg, b.vector(weights[i]), sum)
		}
	}
	to.reg = sum
	return to
}

// choose returns constant + sum of the weights of the parities that are 1, by a tree of selections over constants.
func (b *lowering) choose(bits []parity, weights []uint32, constant uint32) operand {
	if len(bits) == 0 {
		return b.vector(constant)
	}
	newest := len(bits) - 1
	zero := b.choose(bits[:newest], weights, constant)
	one := b.choose(bits[:newest], weights, constant+weights[newest])
	return b.emit(sim.OpVSelect, onFlow, vectorWidth, 0, bits[newest].reg, one, zero)
}

// site is a kind of address computation, each with a knob of its own for what the flow engine does of it.
type site uint8

const (
	siteFirst site = iota // from the parities since the root alone
	siteNext              // from an address two or more levels up
	siteChain             // from the address one level up
)

// flowBits returns how many parities of an address choose on the flow engine. The knobs count them over 32 groups;
// the groups that get one more are spread evenly.
func (b *lowering) flowBits(s site) int {
	return share([...]int{b.cfg.FirstFlow, b.cfg.NextFlow, b.cfg.ChainFlow}[s], b.turn())
}

// turn spreads the shares of knobs over groups and rounds.
func (b *lowering) turn() int { return (int(b.group)*13 + int(b.round)*7) % shares }

// otherTurn does so for a second choice, about what a first one has left.
func (b *lowering) otherTurn() int { return (int(b.group)*5 + int(b.round)*11) % shares }

// shares is what knobs that divide work between two engines count in.
const shares = 32

// share returns how much of x, which is to be spread over `shares` turns, falls on turn i (Bresenham's line).
func share(x, i int) int { return (i+1)*x/shares - i*x/shares }
