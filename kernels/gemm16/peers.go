package gemm16

import (
	"context"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/peers"
	"tune/space"
)

// peers returns oneDNN, whose weights are in the layout that it asks for where the kernel's are packed ahead, and ggml in each way in which
// it may keep them.
func (g *Spec) peers(p *native.Problem, names []string) ([]kernels.Peer, error) {
	return peers.Select(names, []peers.Offer{g.ofDNNL(p.Host()), g.ofGGML(p.Host())})
}

// plain is the point whose weights are as they are.
func (g *Spec) plain() space.Point { return g.Presets()[0].Point }

func (g *Spec) ofDNNL(host *native.Host) peers.Offer {
	product := peers.Product{
		A: peers.ElemBF16, W: peers.ElemBF16, C: peers.ElemF32, Transposed: g.nt, Packed: g.weights == asPacked,
		RoundA: g.inputs == asF32, RoundW: g.weights == asF32,
	}
	unfit := product.Unfit(g.machine.ISAs)
	if g.Type != BFloat16 {
		unfit = "has no products of half precision for processors: compare gemm-bf16 with it"
	}
	return peers.OfMatmul(unfit, func(l peers.Library) (kernels.Candidate, error) {
		family := peerSpec{g}
		source := l.Matmul(product, g.threads)
		if product.Packed {
			return peers.Packed(host, family, g.plain(), argB, l.MatmulPacker(host, product), source)
		}
		wrap, err := peers.WrapAs(host, family, g.plain())
		if err != nil {
			return nil, err
		}
		return wrap(source), nil
	})
}

func (g *Spec) ofGGML(host *native.Host) peers.Offer {
	offer := peers.OfGGML(func(l peers.GGML) ([]kernels.Peer, error) {
		family := peerSpec{g}
		wrap, err := peers.WrapAs(host, family, g.plain())
		if err != nil {
			return nil, err
		}
		typ := peers.F16
		if g.Type == BFloat16 {
			typ = peers.BF16
		}
		graph := peers.MulMat(typ)
		if g.inputs == asHalf {
			graph = peers.MulMatOf(typ, typ)
		}
		if g.weights == asPacked {
			return l.Products(host, family, g.plain(), wrap, graph, g.threads)
		}
		return []kernels.Peer{{Name: "ggml", Candidate: wrap(l.Source(graph, peers.Plain, g.threads))}}, nil
	})
	switch {
	case !g.nt:
		offer.Unfit = "multiplies only by rows of weights: say layout=" + layoutNT + " in --shapes"
	case g.weights == asF32:
		offer.Unfit = "takes weights of 16 bits: say weights=" + asHalf + " or weights=" + asPacked + " in --shapes"
	}
	return offer
}

// argB is the number of the argument B.
const argB = 1

// peerSpec is the family as libraries are checked: on the asked shape alone, because what they do with NaN is theirs to
// say. They add up in single precision too, and are held to the same tolerance.
type peerSpec struct{ *Spec }

// Cases returns the asked shape.
func (s peerSpec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	return []native.Case{s.newCase(p, s.asked(&s.checked, seed))}, ctx.Err()
}
