//go:build stress

package main

// How many workers TestWorkers tries, and how many runs it kills.
var fleets, killRuns = []int{1, 2, 4, 8}, 30
