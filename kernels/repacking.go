package kernels

import "tune/space"

// Repacker is implemented by candidates that may take an argument in a layout of their own.
type Repacker interface {
	// Repacking describes the layout; nil where arguments are taken as they are.
	Repacking() *space.Repacking
}

// RepackingOf returns the layout that a candidate takes an argument in; nil where it takes all as they are.
func RepackingOf(c Candidate) *space.Repacking {
	if r, ok := c.(Repacker); ok {
		return r.Repacking()
	}
	return nil
}
