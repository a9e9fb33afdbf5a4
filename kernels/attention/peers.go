package attention

import (
	"context"
	"math"

	"tune/kernels"
	"tune/kernels/native"
	"tune/kernels/peers"
	"tune/space"
)

// The dimensions of a call, by their numbers.
const (
	dimQueries = iota
	dimContext
	dimHeads
	dimKVHeads
	dimHead
	dims
)

// The arguments of a call, by their numbers.
const (
	argQ = iota
	argK
	argV
	argOut
)

// peers returns ggml in both forms that it has: in one pass, and by all scores with the values turned ahead.
func (a *Spec) peers(p *native.Problem, names []string) ([]kernels.Peer, error) {
	return peers.Select(names, []peers.Offer{peers.OfGGML(func(g peers.GGML) ([]kernels.Peer, error) {
		family, scored := a.forPeers()
		baseline := a.Presets()[0].Point
		wrap, err := peers.WrapAs(p.Host(), family, baseline)
		if err != nil {
			return nil, err
		}
		once := a.asGraph()
		naive := once
		naive.Naive = true
		turn := peers.Turned(once.Type.Bytes, true, func(d []int64) (heads, tokens, width int64) {
			return d[dimKVHeads], d[dimContext], d[dimHead]
		})
		byScores, err := peers.Packed(p.Host(), scored, baseline, argV, turn, g.Source(naive.Graph(), peers.Plain, a.threads))
		if err != nil {
			return nil, err
		}
		onePass := wrap(g.Source(once.Graph(), peers.Plain, a.threads))
		return []kernels.Peer{{Name: "ggml", Candidate: onePass}, {Name: "ggml-naive", Candidate: byScores, Optional: true}}, nil
	})})
}

// asGraph describes the shape to ggml.
func (a *Spec) asGraph() peers.Attention {
	return peers.Attention{
		Dims: dims, Type: map[string]peers.Type{kvF32: peers.F32, kvF16: peers.F16, kvBF16: peers.BF16}[a.kv],
		Width: "dims[4]", Queries: "dims[0]", Keys: "dims[1]", Heads: "dims[2]", KVHeads: "dims[3]",
		Scale: float32(1 / math.Sqrt(float64(a.head))), Causal: a.causal, ByHead: true,
		Q: argQ, K: argK, V: argV, Y: argOut,
	}
}

// The accuracies that libraries are held to where keys and values have 16 bits. ggml rounds queries and weights to their type. In one pass
// it adds up in half precision too: errors of 4.8e-3 were seen. bfloat16 has as large ones in both forms (4.9e-3), and half precision by
// all scores has 6.6e-4. Where keys and values have 32 bits, nothing is rounded, and the accuracy is that of exact kernels.
const (
	accuracyPeers  = "of libraries"
	accuracyHalves = "of libraries in half precision"
)

// forPeers returns the family as the form in one pass is held to it, and as that by all scores is.
func (a *Spec) forPeers() (onePass, byScores peerSpec) {
	with := func(accuracy string) peerSpec {
		return peerSpec{&Spec{
			size: a.size, head: a.head, causal: a.causal, kv: a.kv, accuracy: accuracy, threads: a.threads, cache: a.cache,
			machine: a.machine, Choices: a.Choices,
		}}
	}
	switch a.kv {
	case kvF32:
		onePass = with(accuracyExact)
	case kvF16:
		return with(accuracyPeers), with(accuracyHalves)
	default:
		onePass = with(accuracyPeers)
	}
	return onePass, onePass
}

// peerSpec is the family on the asked shape alone.
type peerSpec struct{ *Spec }

// CaseClass names one class for all points.
func (s peerSpec) CaseClass(space.Point) string { return "" }

// Cases returns the asked shape.
func (s peerSpec) Cases(ctx context.Context, _ space.Point, seed uint64) ([]native.Case, error) {
	return s.askedOf(ctx, seed)
}
