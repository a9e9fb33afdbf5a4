//go:build stress

package user

// stress says that the tests are those of make stress: they try every type of elements and every order of values.
const stress = true
