//go:build !stress

package vector

// manyPoints is how many points of each shape TestManyPoints tries.
const manyPoints = 250
