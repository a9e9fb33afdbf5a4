//go:build !stress

package main

// How many workers TestWorkers tries, and how many runs it kills.
var fleets, killRuns = []int{1, 4}, 1

// mostKills is how often a run has its coordinator killed, and its server. Its workers are killed ten times as often.
const mostKills = 2

// farEvals is how many points TestNetworks evaluates.
const farEvals = 64

// buildsForeign says whether TestForeign builds tune for another architecture.
const buildsForeign = false

// endlessCommand is a command of TestHostile that never ends. It needs little time of the processor; that of make stress needs all.
const endlessCommand = "trap '' HUP INT TERM; while :; do sleep 1; done"
