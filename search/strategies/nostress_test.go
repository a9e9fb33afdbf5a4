//go:build !stress

package strategies_test

const stress = false
