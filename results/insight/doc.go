// Package insight says what a run found out about its parameters: which of them matter, what it costs to leave one at its default, and
// what the candidates that failed have in common.
//
//  1. A [Table] holds the outcomes of a run in columns, of a long run every n-th one.
//  2. [Shares] say where the variance of the costs comes from: those of the outcomes themselves, and those of a model that was learned
//     from them. A search asks for good points mostly, so that its outcomes are no fair sample of the space; what a model expects of all
//     points is.
//  3. [Loss] compares the best outcome with the best one that has a parameter at its default. The baseline counts as one.
//  4. [Effect] lists what was measured with each value of a parameter.
//  5. [Failure] names the smallest conditions that cover the failures of a kind, and that no right candidate meets.
//
// [Look] does all of it. It evaluates nothing, and the same outcomes give the same answers.
package insight
