// Package timing says what measured times mean, on machines that are shared and noisy.
//
// It measures nothing itself: it plans samples ([Calls], [Race]), sums them up ([Summarise]), compares candidates that
// were measured in turns ([Pairs]), and reads how busy the machine is ([ReadLoad], [Load.Since], [Idle]).
//
// Two clocks have two kinds of error. The CPU time of a thread hardly feels what else runs, but sometimes under-reports
// grossly, so that a minimum must never be taken of it and times below what the machine can do are dropped. Wall time
// feels everything, so that it counts only where the machine was idle before and after. The lower quartile of five or
// more samples survives one wild sample on either side.
package timing
