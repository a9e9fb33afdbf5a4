// Package searchtest holds what the tests of strategies and of the loop share: the conformance suite that every strategy passes,
// the spaces and landscapes that it uses, and a recorder in memory.
//
// A test of a strategy is one line:
//
//	func TestConformance(t *testing.T) { searchtest.Conformance(t, "mine", mine.New) }
package searchtest
