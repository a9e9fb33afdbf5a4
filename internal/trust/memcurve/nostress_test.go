//go:build !stress

package memcurve

// How many evaluations the runs of TestPerPoint have, but those of grid.
const mostEvaluations, autoEvaluations, surrogateEvaluations = 6_000, 450, 150
