package cgen

// Ceil returns a/b, rounded up: how many blocks of b elements hold a of them. Neither may be negative, and b not 0.
func Ceil(a, b int) int { return (a + b - 1) / b }
