// Package asktell makes a kernel of a space whose points are scored outside of tune, by a client: a program in any language that
// answers questions. Client is tune's side of the protocol, which docs/protocol.md describes: JSON objects, one a line.
//
//	k, err := asktell.Load("space.yaml", 0)       the space
//	client := asktell.NewClient(in, out, hello)   the client, which reads out and writes in
//	evaluate := k.Attach(client)                  the evaluator of the search: one question for each trial
//
// Each point is asked once. From then on its score is what the journal of the run says, and so it is exact: whatever scores the
// point again, such as an export, looks it up there.
package asktell
