package gemm16

import (
	"context"
	"slices"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/native/cgen"
	"tune/kernels/peers"
	"tune/space"
)

// problem is the problem of a shape, with the libraries that compute the same.
type problem struct {
	*native.Problem
	spec *Spec
	host *native.Host
}

// Traits says, beside what all problems of generated code can do, which libraries there are.
func (p *problem) Traits() kernels.Traits {
	t := p.Problem.Traits()
	t.Peers = p.peers
	return t
}

// peers returns oneDNN, whose weights are in the layout that it asks for where the kernel's are packed ahead, and ggml in each way in which
// it may keep them.
func (p *problem) peers(names []string) ([]kernels.Peer, error) {
	return peers.Select(names, []peers.Offer{p.ofDNNL(), p.ofGGML()})
}

// plain is the point whose weights are as they are.
func (p *problem) plain() space.Point { return p.spec.presets[0].Point }

func (p *problem) ofDNNL() peers.Offer {
	g := p.spec
	offer := peers.OfMatmul(func(l peers.Library) (kernels.Candidate, error) {
		product := peers.Product{
			A: peers.ElemBF16, W: peers.ElemBF16, C: peers.ElemF32, Transposed: g.nt, Packed: g.weights == asPacked,
			RoundA: g.inputs == asF32, RoundW: g.weights == asF32,
		}
		family := peerSpec{g}
		source := l.Matmul(product, g.threads)
		if product.Packed {
			return peers.Packed(p.host, family, p.plain(), argB, l.MatmulPacker(p.host, product), source)
		}
		made, err := native.New(family, native.Options{Host: p.host})
		if err != nil {
			return nil, err
		}
		return made.(*native.Problem).Wrap(source, p.plain()), nil
	})
	switch {
	case g.Type != BFloat16:
		offer.Unfit = "has no products of half precision for processors: compare gemm-bf16 with it"
	case !slices.Contains(g.machine.ISAs, cgen.AVX512):
		offer.Unfit = "multiplies bfloat16 only where the processor has AVX-512: run on such a machine"
	}
	return offer
}

func (p *problem) ofGGML() peers.Offer {
	g := p.spec
	offer := peers.OfGGML(func(l peers.GGML) ([]kernels.Peer, error) {
		family := peerSpec{g}
		made, err := native.New(family, native.Options{Host: p.host})
		if err != nil {
			return nil, err
		}
		wrap := func(s native.Source) kernels.Candidate { return made.(*native.Problem).Wrap(s, p.plain()) }
		typ := peers.F16
		if g.Type == BFloat16 {
			typ = peers.BF16
		}
		graph := peers.MulMat(typ)
		if g.inputs == asHalf {
			graph = peers.MulMatOf(typ, typ)
		}
		if g.weights == asPacked {
			return l.Products(p.host, family, p.plain(), wrap, graph, g.threads)
		}
		return []kernels.Peer{{Name: "ggml", Candidate: wrap(l.Source(graph, peers.Plain, g.threads))}}, nil
	})
	switch {
	case !g.nt:
		offer.Unfit = "multiplies by rows of weights alone: say layout=" + layoutNT + " in --shapes"
	case g.weights == asF32:
		offer.Unfit = "takes weights of 16 bits: say weights=" + asHalf + " or weights=" + asPacked + " in --shapes"
	}
	return offer
}

// argB is the number of the argument B.
const argB = 1

// peerSpec is the family as libraries are checked: on the asked shape alone, because what they do with numbers that are none is theirs to
// say. They add up in single precision too, and are held to the same tolerance.
type peerSpec struct{ *Spec }

// Cases returns the asked shape.
func (s peerSpec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	return []native.Case{s.newCase(p, s.checked.of(s.Spec, seed, keepSeeds))}, ctx.Err()
}
