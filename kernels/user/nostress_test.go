//go:build !stress

package user

const stress = false
