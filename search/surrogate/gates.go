package surrogate

// This table has the numbers by which the strategy decides: which model to believe, when to trust it, and where to look. Each
// comment says how the number was chosen. The figures are from searches of measured spaces, as docs/design/search-auto.md
// describes them: "@50" is the optimum over the best cost after 50 evaluations, as a mean over seeds and spaces; "±" is a
// standard error; "+" is a gain. A number that was chosen by hand was not compared with another one. A default that users may
// change has the name of its constant in brackets.
const (
	// How many points are asked for at once?

	// A batch has smallBatch points up to smallUntil evaluations, middlingBatch up to middlingUntil, and then largeBatch [batch].
	// Batches of 1 and of 2 from 64 evaluations on gained .005 ± .006 and .003 ± .006 @100 on convolution; the numbers of
	// evaluations were chosen by hand.
	smallBatch, smallUntil       = 2, 64
	middlingBatch, middlingUntil = 4, 512
	largeBatch                   = 8

	// The first points.

	// initialPoints is how many points are asked for before the model is used [initial]. On convolution on the A100, 8 initial
	// points reached .670 @25, and 4 reached .663, each the most aligned of 8; 6 is a number between.
	initialPoints = 6
	// spreadOver is from how many points the farthest one is chosen at the start. It was chosen by hand; without any spreading it
	// was .828 @25 instead of .849.
	spreadOver = 6
	// alignedOf is from how many random points the most aligned one is chosen. Alignment matters to many kernels, and no model
	// can know that before it has seen both kinds. With climbing and mostTwos as they are, 16 gained .022 ± .007 @25, 12 gained
	// .002 ± .007 and 8 .011 ± .007.
	alignedOf = 16
	// mostTwos is how many factors of two count there: 8 instead of 6 gained .012 ± .009 @25.
	mostTwos = 8
	// featureTwos is how many count as a feature of the model. With 8 of them 84 % of searches found the optimum of convolution
	// on the A100, with 6 it was 94 %: on the longer scale, blocks of 16 and 32 come too close together.
	featureTwos = 6

	// What the model assumes before it has seen anything.

	// additive is the share of the kernel that is a sum of functions of one parameter. 60 % reached .863, .928 and .969 @25, @50
	// and @100, against .864, .918 and .973; 20 % and 80 % did not differ from a half beyond chance.
	additive = 0.5
	// Lengths are near 1.3 times the range of a parameter: weights around e⁻⁰·⁵. Around e⁰·³ it was .741 @25 instead of .757.
	weightMean, weightSpread = -0.5, 1.5
	// Those of two-valued parameters are longer, since a switch matters less often than a size: around e⁻² it was .757 @25
	// instead of .742, and with other first points .788 instead of .771.
	switchMean, switchSpread = -2, 2
	// There is little noise: around e⁻⁸ it was .854 @25 instead of .849 around e⁻⁶.
	noiseMean, noiseSpread = -8, 1.5
	// The logarithms of all hyper-parameters are bounded, by hand: beyond the bounds a parameter has no effect, or is the only
	// one that has.
	leastLog, mostWeight, mostNoise = -10, 6, 0
	// listedDomain is the largest domain whose features are kept in a table. It bounds memory, and was chosen by hand.
	listedDomain = 1 << 12

	// When and how well the hyper-parameters are learned.

	// sampleCount is how many samples of the hyper-parameters are kept while little is known [samples]: .845, .917 and .981 @25,
	// @50 and @100 instead of .834, .923 and .973 with the most probable ones alone.
	sampleCount = 8
	// sampledUntil is the number of observations up to which they are sampled [sampled_until]: up to 100 it gained .001 ± .008
	// @100 on convolution, and cost 6.5 ms more for each evaluation.
	sampledUntil = 64
	// sliceWidth is the initial width of a slice: about the width of the posterior where little is known. It was chosen by hand.
	sliceWidth = 3
	// fitMost is how many observations a fit uses. It bounds the time of a fit, and was chosen by hand.
	fitMost = 112
	// A fit takes firstSteps steps. It takes laterSteps where an earlier fit exists and laterFrom observations are known, as it
	// then starts near the answer. They were chosen by hand.
	firstSteps, laterSteps, laterFrom = 20, 10, 32
	// The next fit follows when the number of observations has grown by refitTenths tenths, and by refitLeast at least. A fit
	// after every 8 gained .004 ± .005 @100 on convolution and lost .003 ± .003 on gemm.
	refitTenths, refitLeast = 3, 2
	// Steps of Rprop begin at stepFirst, grow and shrink by these factors, and stay within these bounds. They were chosen by hand.
	stepFirst, stepUp, stepDown, stepMost, stepLeast = 0.4, 1.3, 0.5, 1.5, 1e-3

	// observedMost is how many points the process observes at once [most]. It bounds the time, and was chosen by hand.
	observedMost = 200

	// The pool of candidates.

	// poolSize is how many candidates there are [pool]: 3,000 gained .006 ± .005 @100 on convolution for 5.5 ms more an
	// evaluation.
	poolSize = 1000
	// From narrowFrom observations on, the pool is half as large, and the processes are rebuilt before they grow: by then the
	// promising points are known to be near the best ones. With a faster kernel it cut the time at 1,000 observations from 2.1 to
	// 1.3 ms an evaluation; the number was chosen by hand.
	narrowFrom = 512
	// stream is the share of the pool that is replaced at each batch by random points; where points near the best one are sought,
	// mutants of the best one come first. It was chosen by hand.
	stream = 0.1
	// recall is how many of the sources' best points are added to the pool with each fit, as a share of its initial size, until
	// they prove to be the least promising: in a large space, random points and neighbours are seldom the points that a source
	// knows to be good. Dedispersion W6600 from the MI250X was at .995 @100 with 400 points, and at .990 with 64.
	recall = 0.4
	// elites is how many of the best points contribute their neighbours to the pool. It was chosen by hand.
	elites = 4
	// climbed is how many of the most promising candidates contribute their neighbours too, up to climbUntil evaluations, so that
	// the pool climbs from batch to batch. With mostTwos as it is, it was +.016 ± .006 @50 against +.007 ± .008 without; 4
	// instead of 2 made no difference beyond the noise.
	climbed = 2
	// climbUntil is where that ends: later, random points are more useful; climbing lost .003 ± .003 @100 on 80 seeds of
	// convolution.
	climbUntil = 64
	// mostNeighbours and mostAhead bound how many neighbours of an observation and of a candidate are added to the pool. They
	// were chosen by hand.
	mostNeighbours, mostAhead = 100, 40
	// mutants is how many points near the best one are drawn for the pool at each batch, where such points are sought. It was
	// chosen by hand.
	mutants = 100
	// mostMisses is how many random points in a row may be known already before the space is taken to have few others. It was
	// chosen by hand.
	mostMisses = 64

	// Which candidate to ask for: one far from the best point, near it, or anywhere.

	// From roamFrom to earlyUntil evaluations, every roamEvery-th point is sought among candidates that differ from the best
	// point in roamFar parameters or more. Small changes of the best point do not show which values go well together, and
	// expected improvement alone stays near the best point until nothing is left there. It gained .007 ± .004 @50 and .001 ± .003
	// @100 on 230 seeds.
	roamFrom, roamEvery, roamFar = 12, 4, 3
	// earlyUntil ends three things: that search far from the best point, the search near it, and the rule that sources do not
	// rank their best points [early]. With no end to the last one, 73 % of searches of convolution A100 from the A4000 had found
	// its optimum after 250 evaluations; with it, 98 % after 300.
	earlyUntil = 150
	// From nearFrom to earlyUntil evaluations, the other points are sought among those that differ from the best point in near
	// parameters or less [near_from]. Nearly all points of a space of many parameters are far from the best one and uncertain,
	// and few of them are good (cf. Eriksson et al., "Scalable global optimization via local Bayesian optimization", 2019). On
	// gemm it gained .005 ± .002 @100; from 40 or 48 evaluations on it gained .003 ± .002.
	nearFrom = 64
	// near was compared with 2 and 4 there: they gained .004 ± .002 and .003 ± .001 @100.
	near = 3
	// This holds where manyFrom to manyTo parameters have a choice [near_least, near_most]. With 7, on convolution, it lost .023
	// ± .007 @100 on the W6600; with 10 and 13 it lost nothing, with 24 and 45 it gained nothing. 9 and 16 are numbers between.
	manyFrom, manyTo = 9, 16
	// leastRight is the least probability of being right with which a point is still asked for: what was learned of failures is
	// never certain. It was chosen by hand.
	leastRight = 1e-3

	// How far to believe earlier runs.

	// From flatFrom observations to earlyUntil, all points in the better quarter of the space, as a source sees it, count as
	// equally good. A source is right about what is bad, but the best points of one device are seldom those of another; where it
	// is wrong about the best, the search would stay among hundreds of them. It took gemm 2080 Ti from the 3090 from .967 to .992
	// @100; when it started at the first fit, convolution A100 from the A4000 was at .752 @50 instead of .88.
	flatFrom = 48
	// That quarter is estimated from flatOf random points, as a source may have measured good points only: with the quartile of
	// what it had measured, gemm was at .952 to .974 @100. The number of points was chosen by hand.
	flatOf = 400
	// sourceWeight is the prior of the sum of the sources' weights: 1 believes them as they are. firmness is how many
	// observations this prior counts for, each with the variance firmVariance: a deviation of a quarter of the quartile's
	// distance, for a source that is hardly in doubt. They were chosen by hand.
	sourceWeight, firmness, firmVariance = 1, 4, 0.25
	// sweeps is how often the weights of the sources are adjusted to each other. It was chosen by hand.
	sweeps = 20
	// mostKept is how many points of a source are used to estimate those that it lacks: half of them the best. It bounds the
	// time, and was chosen by hand.
	mostKept = 512
	// nearestOf is how many near points of a source are averaged for one that it lacks, weighted by the inverse of their squared
	// distances plus nearestGap. They were chosen by hand.
	nearestOf, nearestGap = 3, 1e-3
)
