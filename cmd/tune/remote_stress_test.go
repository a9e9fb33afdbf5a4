//go:build stress

package main

// How many workers TestWorkers tries, and how many runs it kills at least.
var fleets, killRuns = []int{1, 2, 4, 8}, 30

// leastKills is how many processes TestWorkers kills at least. On a fast machine a run ends after a few kills, and more runs follow.
const leastKills = 400

// mostKills is how often a run has its coordinator killed, and its server; mostWorkers is how often it has a worker killed.
const mostKills, mostWorkers = 10, 100

// ownEvals is how many points TestOwnKernelKilled evaluates.
const ownEvals = "100"

// farEvals is how many points TestNetworks evaluates.
const farEvals = 500

// largestFiles says whether TestFilesAreBounded reads a space and settings that are as large as they may be.
const largestFiles = true

// denseBlocks is the size of the largest file of values that TestFilesAreBounded has read, in blocks of 64 KiB: as many as a file may have.
const denseBlocks = 500

// buildsForeign says whether TestForeign builds tune for another architecture.
const buildsForeign = true

const endlessCommand = "while :; do :; done"
