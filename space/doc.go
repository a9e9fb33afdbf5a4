// Package space describes what may vary in a kernel: a search space of parameters, the conditions
// under which they matter, the constraints on their combinations, and the points that are left.
//
// # Vocabulary
//
// A [Parameter] has a name and an ordered, finite domain: integers in a range with a step, powers of two, listed values, the numbers of
// a [Grid] (a range of floats, or of whole numbers on a logarithmic scale), or false and true. The position of a value in its domain is
// its ordinal. A condition ("when") says where a parameter is active: the parameters of one algorithm mean nothing where another one is
// chosen. A constraint is an expression that has to hold at every point. A [Point] is a value for each active parameter such that no
// constraint is broken. An inactive parameter has no value, so that two points never differ only in something without effect. A point has
// a canonical text, its key. Where the points can be counted it also has an index in the canonical order: by the ordinal of the first
// parameter, then of the second, and so on, with inactive before all values.
//
// The package also defines the vocabulary that search, kernels and results share. Of a run: [Proposal], [Trial], [Batch], [Progress],
// [Outcome] with its [Status] and its metrics, [Entry], [Round], [History]. Of what a run looks for: [Objective], [Goals], [Front]. Of what
// is known before: [Source].
//
// # From definition to points
//
//  1. [New], [Read] (for the YAML form) or [FromRows] (for a list of points) checks the definition. Every error names the
//     parameter or constraint; an error in an expression is an [ExprError] that points at the column.
//  2. Conditions and constraints are compiled to closures that read ordinals and allocate nothing.
//  3. The space is compiled to a decision diagram that counts the points.
//  4. [Space.Len], [Space.At], [Space.Index], [Space.Sample] and [Space.All] walk the diagram.
//     [Space.Neighbours], [Space.Neighbour] and [Space.Complete] change points and repair which parameters are active.
//
// # Expressions
//
// Expressions read like Python or C. From the weakest operator to the strongest:
//
//	a if c else b, c ? a : b      a conditional
//	or, ||                        |
//	and, &&                       | true and false
//	not                           |
//	< <= > >= == != in, not in    comparisons, which chain: 1 <= a < b; x in [1, 2]
//	+ -                           |
//	* / // %                      | numbers; / divides to a fraction, // and % round down
//	-x +x !x                      a sign; ! is not
//	**                            a power, grouped to the right
//
// and parentheses, min(a, b, …), max(a, b, …), abs(a), numbers in any notation of Go (without a leading zero that could mean octal),
// 'strings' or "strings", true and false, and the names of parameters. Types are checked when the space is made. Where a number is
// needed, true counts as 1 and false as 0; where a truth value is needed, any number but 0 is true. Strings compare with strings only,
// and only for equality. A string that is compared with a parameter has to be one of its values. A constraint and a condition have to
// be true or false themselves.
//
// Integers have 64 bits. A division by zero, an overflow, a float that is not finite, and a negative power of an integer have no
// value: the constraint then counts as broken, and the condition as not true. In a part without parameters this is an error of
// the definition. And, or and conditionals are evaluated from left to right and stop when the result is certain, so that "n != 0
// and m % n == 0" is safe. Every other operator evaluates its operands from left to right and stops at the first that has no
// value or is unknown.
//
// An expression that needs the value of an inactive parameter is unknown, in the three-valued logic of Kleene: "x > 3 or packed"
// is true where packed is, whether or not x is active. A constraint excludes a point only where it is definitely false; a
// condition that is unknown means inactive.
//
// A [Formula] is an expression in the same language whose result may be a number, a truth value or a string: a length, or a part of
// a text. Where its integers overflow, it goes on with floats.
//
// # The diagram
//
// The points are the paths of a layered multi-valued decision diagram [Bryant, "Graph-based algorithms for Boolean function
// manipulation", IEEE Transactions on Computers C-35(8), 1986; Bergman et al., "Decision Diagrams for Optimization", 2016]. Layer
// i decides parameter i. A node stands for what the open checks still require of the parameters from i on; nodes with the same
// requirements are merged. Each node counts its completions. This gives the number of points, the i-th point, the index of a
// point and uniform random points, without a list of them. The chain of trees of pyATF [Rasch, Schulze, Steuwer, Gorlatch,
// "Efficient auto-tuning of parallel programs with interdependent tuning parameters via auto-tuning framework (ATF)", ACM TACO
// 18(1), 2021] has the same purpose and keeps one tree for each group of dependent parameters; a diagram needs no groups, and
// shares equal subtrees. Neighbouring edges to the same child are stored as one run, so that a parameter that no check reads
// costs the same for 2 values as for 2^40.
//
// Every constraint, split at its ands, and every condition is an automaton over the parameters that it reads. Its state after
// some of them is called a residue. Residues are distinguished by the values of those parts of the expression that are fully
// bound: after a and b, "a * b * c <= 64" knows only a * b. Interval bounds over the open parameters find residues that can no
// longer fail, which are dropped, and residues that can no longer pass, which are cut off. Before the last parameter, residues
// are distinguished by the values that they allow for it. The successors of a residue are computed once, when they are first
// needed, as a list of ranges: comparisons and products by halving ranges, multiples and divisors directly. The diagram is the
// product of the automata: a node is a vector of residues, and making an edge means looking up each of them.
//
// Where the diagram would exceed two million edges and evaluations, the constraints that widen it most are left out, and
// conditions too if necessary. Points are then drawn from the smaller diagram, and rejected where they break the rest, which
// keeps the draw uniform; enumeration is a depth-first search. Len, Size, At and Index are not available then, and Estimate says
// which share of the draws is accepted.
//
// Counting, and drawing by counts, work as for binary diagrams in Knuth, "The Art of Computer Programming", volume 4A, section
// 7.1.4.
package space
