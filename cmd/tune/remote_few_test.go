//go:build !stress

package main

// How many workers TestWorkers tries, and how many runs it kills at least.
var fleets, killRuns = []int{1, 4}, 1

// leastKills is how many processes TestWorkers kills at least.
const leastKills = 1

// mostKills is how often a run has its coordinator killed, and its server; mostWorkers is how often it has a worker killed.
const mostKills, mostWorkers = 2, 6

// ownEvals is how many points TestOwnKernelKilled evaluates.
const ownEvals = "60"

// farEvals is how many points TestNetworks evaluates.
const farEvals = 64

// largestFiles says whether TestFilesAreBounded reads a space and settings that are as large as they may be. A kernel is read anyway.
const largestFiles = false

// denseBlocks is the size of the largest file of values that TestFilesAreBounded has read, in blocks of 64 KiB: a quarter of what a file may have.
const denseBlocks = 125

// buildsForeign says whether TestForeign builds tune for another architecture.
const buildsForeign = false

// endlessCommand is a command of TestHostile that never ends. It needs little time of the processor; that of make stress needs all.
const endlessCommand = "trap '' HUP INT TERM; while :; do sleep 1; done"
