//go:build stress

package strategies_test

// stress says that the tests are those of make stress: they take every seed of strategies that think for long.
const stress = true
