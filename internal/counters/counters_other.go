//go:build !linux

package counters

import "errors"

var errSystem = errors.New("only Linux has these counters")

// Probe returns an error.
func (Counters) Probe(string) error { return errSystem }

// Begin returns an error.
func (Counters) Begin(int, []string) (end func() ([]float64, error), err error) {
	return nil, errSystem
}
