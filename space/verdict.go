package space

import "slices"

// Verdict says how an exported point compares with the baseline.
type Verdict string

const (
	// Faster means that the point is proven to be faster: its cost is exact and lower, or the whole interval of its ratio is
	// above 1 in a series of pairs that had no part in choosing it.
	Faster Verdict = "faster"
	// NoGain means that no point is proven to be faster than the baseline.
	NoGain Verdict = "no gain"
	// Unverified means that no conclusive measurement exists: too few pairs, or a machine that was not quiet.
	Unverified Verdict = "unverified"
)

// Verdicts lists all of them.
func Verdicts() []Verdict { return []Verdict{Faster, NoGain, Unverified} }

// Valid reports whether v is one of Verdicts.
func (v Verdict) Valid() bool { return slices.Contains(Verdicts(), v) }
