package rowwise

import (
	"context"
	"fmt"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/peers"
	"tune/space"
)

// peers returns ggml, for the operations that it has in one call.
func (k *Spec) peers(p *native.Problem, names []string) ([]kernels.Peer, error) {
	offer := peers.OfGGML(func(g peers.GGML) ([]kernels.Peer, error) {
		graph, _ := k.graph()
		wrap, err := peers.WrapAs(p.Host(), peerSpec{k.forPeers()}, k.Presets()[0].Point)
		if err != nil {
			return nil, err
		}
		return []kernels.Peer{{Name: "ggml", Candidate: wrap(g.Source(graph, peers.Plain, k.threads))}}, nil
	})
	if _, ok := k.graph(); !ok {
		offer.Unfit = fmt.Sprintf("has no operation that is op=%s: leave it out", k.op.name)
	}
	return peers.Select(names, []peers.Offer{offer})
}

// graph returns what ggml computes for the operation; false where it has none.
func (k *Spec) graph() (peers.Graph, bool) {
	const dims, rows, cols = 3, peers.Size("dims[0]"), peers.Size("dims[1]")
	eps := float32(k.eps)
	switch k.op.name {
	case "softmax":
		return peers.Softmax(dims, rows, cols, 0, 1), true
	case "rmsnorm":
		return peers.RMSNorm(dims, rows, cols, eps, 0, 1, 2), true
	case "add-rmsnorm":
		return peers.AddRMSNorm(dims, rows, cols, eps, 0, 1, 2, 3, 4), true
	case "layernorm":
		return peers.LayerNorm(dims, rows, cols, eps, 0, 1, 2, 3), true
	case "rope", "rope-pairwise":
		return peers.Rope(dims, "dims[0] / dims[2]", "dims[2]", cols, ropeBase, k.op.name == "rope", 0, peers.None, 2), true
	case "silu":
		return peers.SiLU(dims, rows, cols, 0, 1), true
	case "swiglu":
		return peers.SwiGLU(dims, rows, cols, 0, 1, 2), true
	case "gelu", "gelu-erf":
		return peers.GELU(dims, rows, cols, k.op.name == "gelu-erf", 0, 1), true
	case "argmax":
		return peers.ArgMax(dims, rows, cols, 0, 1), true
	}
	return peers.Graph{}, false
}

// forPeers returns the family as libraries are held to it: with positions from 0 on, because ggml computes the angles itself, and with
// the tolerance of exact kernels. Only GELU by tanh has the wide one, because ggml has it in a table of half precision: half of the wide
// tolerance was seen, and of the others a fifth of the exact one.
func (k *Spec) forPeers() *Spec {
	held := *k
	held.fast, held.fromZero = k.op.name == "gelu", true
	return &held
}

// peerSpec is the family on the asked shape alone: what libraries do with special numbers is theirs to say.
type peerSpec struct{ *Spec }

// Cases returns the asked shape.
func (s peerSpec) Cases(ctx context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	return []native.Case{s.newCase(s.size, ordinary, seed, 0)}, ctx.Err()
}
