// Package peers makes candidates of other people's libraries, so that they are built, checked and timed as generated code is, each in
// a process of its own. A library is loaded by the candidate when it is first called; nothing is linked with it, and no header of
// it is needed.
//
// # Libraries
//
// OpenBLAS, BLIS and oneDNN are found where the system has installed them ([Find]). ggml is what llama.cpp runs language models on: [Fetch]
// brings its libraries, as the npm package of node-llama-cpp ships them for many processors, into a folder of the user's cache, and
// [FindGGML] picks the one for this processor.
//
// # Families
//
// A family of kernels says which libraries compute the same as it does: the Peers of its Traits are [Select] of a list of [Offer].
// A graph of ggml is a [Graph]; MulMat, Softmax, RMSNorm, LayerNorm, Rope, SiLU, GELU, SwiGLU, ArgMax and Attention return those of the
// usual operations, for arguments of the family's own numbers:
//
//	peers.Select(names, []peers.Offer{peers.OfGGML(func(g peers.GGML) ([]kernels.Peer, error) {
//		source := g.Source(peers.Softmax(2, "dims[0]", "dims[1]", 0, 1), peers.Plain, threads)
//		return []kernels.Peer{{Name: "ggml", Candidate: problem.Wrap(source, baseline)}}, nil
//	})})
//
// # Weights that are laid out ahead
//
// Programs lay out weights once, when they load them, and so may a peer. It is not left to the peer's first call: the contents of
// timed calls vary at the same addresses. [Packed] has the weights of each content laid out by the library before any call, as a family
// whose weights are packed ahead does for its own points. Of ggml, [GGML.Products] has the plain form and all others that the processor
// has; the fastest of them is what ggml can do.
//
// # Tolerances
//
// A library may be less exact than the family asks of its own code: ggml adds up values of half precision in half precision, rounds
// activations to the precision of the weights, and has GELU in a table. Such a peer is wrapped by a problem of the family with a
// tolerance of its own, which is native.New of another Spec on the same host: candidates of several problems can be compared. The bench
// reports the largest error of each peer.
//
// # Matrix tiles
//
// ggml configures the matrix tiles of a thread once, at its first product there. Code that configures them in another way on the same thread
// makes it compute nonsense. A candidate is called by a thread that no other candidate runs on (package worker), and a peer is a
// candidate like any other, so that neither finds the other's configuration.
package peers
