// Package t1 reads and writes T1 files, the JSON form in which the auto-tuning community (Kernel Tuner, KTT, the
// benchmark hub of the AutoTuning Association) describes a tuning problem: the parameters with their values, and
// conditions on their combinations. [Read] checks a file against the format and turns it into a [space.Document]; [File.Space]
// opens that.
//
// # Expressions
//
// Values and conditions are Python expressions. Supported are integers of 64 bits, floats, strings, True and False; + - * / // %
// ** << >>, comparisons and their chains, in and not in, and, or, not, a if c else b; lists, tuples, their sums and multiples by
// integers; comprehensions; and the functions abs, all, any, bool, float, int, len, list, max, min, pow, range, set, sorted, sum
// and tuple.
//
// Values are evaluated as Python would. Conditions are translated into the language of package space. A number that is used as a
// truth value becomes a comparison with zero, a truth value in arithmetic becomes 1 or 0, and a part without parameters is
// replaced by its value. A condition that raises an exception in Python, as 5 % 0 does, counts as broken.
//
// The format has no defaults; where a file gives one, as many do, it is used if it is among the values.
package t1
