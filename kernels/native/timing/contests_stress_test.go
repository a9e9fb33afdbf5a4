//go:build stress

package timing

// How many contests are held on each machine.
const alikeContests, gainContests = 500, 250

// How many series of each kind a sequential test decides.
const sequentialTrials = 400
