//go:build stress

package kernelstest

// sampled is how many random points of a shape Run evaluates.
const sampled = 12
