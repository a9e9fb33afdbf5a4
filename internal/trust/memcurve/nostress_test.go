//go:build !stress

package memcurve

// long is how many times as long the runs of TestPerPoint are.
const long = 1
