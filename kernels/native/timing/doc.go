// Package timing interprets measured times on shared and noisy machines.
//
// It measures nothing itself: it plans samples ([Calls], [Sampling]), summarises them ([Summarise]), compares candidates that are
// measured in turns ([Series], [Pairs]), and reads how busy the machine is ([ReadLoad], [Load.Shares], [Idle]). What package native gives
// to Sampling as one sample is a turn, which it has cut into shorter samples.
//
// The two clocks have different errors. The CPU time of a thread is hardly affected by other work, but is sometimes far too low.
// So a minimum of it must never be used, and times below what the machine can do are dropped. Wall time is affected by
// everything, so that it counts only where the machine was idle before and after. The lower quartile of five or more samples
// tolerates one wild sample on either side.
package timing
