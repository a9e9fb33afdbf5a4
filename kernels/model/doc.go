// Package model says which kernels a language model calls, at which shapes, and how often.
//
// A [Config] is read from a config.json of Hugging Face or from the metadata of a GGUF file. Its families are transformers that decode:
// attention and a feed-forward net in each layer, norms between them, and a product with the vocabulary at the end. A [Scenario] is a
// step of such a model: one token for each of a batch of sequences, or a prompt. Its operations are kernels of tune at shapes that follow
// from the config:
//
//	symbols of the model ──► shape of a kernel
//	m=tokens,n=heads*head_dim,k=embed        m=1,n=896,k=896
//
// The symbols are tokens (rows of activations in a step), queries (of one sequence), context (keys that one sequence sees), embed, heads,
// kv_heads, head_dim, rotary (the part of a head that is turned), intermediate and vocab.
//
// # What a step has
//
// Residual sums are part of the norms behind them (add-rmsnorm). The products of q, k and v are three, and those of the gate and the
// feed-forward net two, because that is how files of models keep the weights; where their shapes are the same, they are one task. A
// prompt takes the product with the vocabulary for its last token alone. Sequences of a batch attend one by one, each to its own keys.
//
// Looking up embeddings, writing the cache of keys and values and drawing the next token are no operations: they move a few kilobytes
// a token.
package model
