package space

import "slices"

// Verdict says how a point that is exported compares with the baseline.
type Verdict string

const (
	// Faster is a point that is proven to be faster: its cost is exact and less, or the whole interval of its ratio is
	// above 1 in a series of pairs that had no part in choosing it.
	Faster Verdict = "faster"
	// NoGain means that no point is proven to be faster than the baseline.
	NoGain Verdict = "no gain"
	// Unverified means that there is no measurement that would tell: too few pairs, or a machine that was not quiet.
	Unverified Verdict = "unverified"
)

// Verdicts are all.
func Verdicts() []Verdict { return []Verdict{Faster, NoGain, Unverified} }

// Valid reports whether it is one of Verdicts.
func (v Verdict) Valid() bool { return slices.Contains(Verdicts(), v) }
