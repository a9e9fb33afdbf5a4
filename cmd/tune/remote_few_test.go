//go:build !stress

package main

// How many workers TestWorkers tries, and how many runs it kills.
var fleets, killRuns = []int{1, 4}, 1
