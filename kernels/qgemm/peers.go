package qgemm

import (
	"context"
	"fmt"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/peers"
	"tune/space"
)

// peers returns ggml, in each way in which it may keep the weights: as they are, which is what the form plain takes, or rearranged.
func (g *Spec) peers(p *native.Problem, names []string) ([]kernels.Peer, error) {
	return peers.Select(names, []peers.Offer{peers.OfGGML(func(l peers.GGML) ([]kernels.Peer, error) {
		for _, t := range peers.Types() {
			if t.Name != g.weights.Name {
				continue
			}
			plain := g.Presets()[0].Point
			wrap, err := peers.WrapAs(p.Host(), peerSpec{g}, plain)
			if err != nil {
				return nil, err
			}
			return l.Products(p.Host(), peerSpec{g}, plain, wrap, peers.MulMat(t), g.threads)
		}
		return nil, fmt.Errorf("ggml has no products with weights in %s", g.weights.Name)
	})})
}

// peerTolerance is how far the results of a library may be from the exact ones, relative to the sum of the sizes of the parts that are
// added up. ggml rounds the scales of activations to fp16, which moves a part by up to 2⁻¹¹ of it, and rounds a few activations of blocks of
// 256 to the other neighbour: 4.3e-4 was seen, with rows of one block.
const peerTolerance = 2e-3

// peerSpec is the family as libraries are checked: on the asked shape alone, because what they do with NaN is theirs to
// say, and with a tolerance of their own.
type peerSpec struct{ *Spec }

// Cases returns the asked shape.
func (s peerSpec) Cases(ctx context.Context, p space.Point, seed uint64) ([]native.Case, error) {
	d, err := s.drawnOf(&s.inputs, seed)
	if err != nil {
		return nil, err
	}
	return []native.Case{s.tolerant(p, d)}, ctx.Err()
}

// Variant returns the asked shape with the inputs of a seed.
func (s peerSpec) Variant(_ context.Context, p space.Point, seed uint64) (native.Case, error) {
	d, err := s.drawnOf(&s.varied, seed)
	if err != nil {
		return native.Case{}, err
	}
	return s.tolerant(p, d), nil
}

// tolerant returns a case with the tolerance of libraries.
func (s peerSpec) tolerant(p space.Point, d *drawn) native.Case {
	one := s.newCase(p, d)
	one.Verify = func(buffers [][]byte) (kernels.Deviation, error) {
		return d.want.within(native.AsFloats(buffers[len(buffers)-1]), peerTolerance)
	}
	return one
}
