//go:build stress

package main

// How many workers TestWorkers tries, and how many runs it kills.
var fleets, killRuns = []int{1, 2, 4, 8}, 30

// mostKills is how often a run has its coordinator killed, and its server. Its workers are killed ten times as often.
const mostKills = 10

// farEvals is how many points TestNetworks evaluates.
const farEvals = 500

// buildsForeign says whether TestForeign builds tune for another architecture.
const buildsForeign = true

const endlessCommand = "while :; do :; done"
