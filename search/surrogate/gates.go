package surrogate

// This table has the numbers by which the strategy decides what to do: which model to believe, when to trust it, and where to look.
// Each says what it was chosen by. The figures are of searches of measured spaces, as docs/design/search-auto.md describes them: "@50"
// is the optimum over the best cost after 50 evaluations, in the mean over seeds and spaces, and "±" a standard error. What was chosen
// by hand was not compared with another number. The default of a constant that users may set has the name of the constant in
// brackets.
const (
	// When is how much asked?

	// smallBatch is asked at once up to smallUntil evaluations, middlingBatch up to middlingUntil, and then largeBatch [batch].
	// Batches of 1 and of 2 from 64 evaluations on brought +.005 ± .006 and +.003 ± .006 @100 on convolution; the numbers
	// of evaluations were chosen by hand.
	smallBatch, smallUntil       = 2, 64
	middlingBatch, middlingUntil = 4, 512
	largeBatch                   = 8

	// The first points.

	// initialPoints is how many are asked before the model [initial]. 8 initial points, the most aligned of 8 each, were at .670 @25 of
	// convolution on the A100, and 4 of them at .663; 6 is a number between.
	initialPoints = 6
	// spreadOver is how many points the farthest is chosen from, to begin with. It was chosen by hand; points that were not spread at
	// all were at .828 @25 in place of .849.
	spreadOver = 6
	// alignedOf is how many random points the most aligned is chosen from: alignment matters to many kernels, and no model can know
	// that it does before it has seen both kinds. With climbing and mostTwos as they are, 16 brought +.022 ± .007 @25, 12 +.002 ± .007 and 8 +.011 ± .007.
	alignedOf = 16
	// mostTwos is how many factors of two count there: 8 in place of 6 brought +.012 ± .009 @25.
	mostTwos = 8
	// featureTwos is how many count as a feature of the model: with 8 of them 84 % of searches found the optimum of convolution on the
	// A100, with 6 it was 94 %, as blocks of 16 and 32 come too close together on a longer scale.
	featureTwos = 6

	// What the model believes before it has seen anything.

	// additive is the share of the kernel that is a sum of functions of one parameter. 60 % was at .863, .928 and .969 @25, @50 and
	// @100 beside .864, .918 and .973; 20 % and 80 % did not differ from a half beyond chance.
	additive = 0.5
	// Lengths are near 1.3 times the range of a parameter: weights around e⁻⁰·⁵. Around e⁰·³ it was .741 @25 in place of .757.
	weightMean, weightSpread = -0.5, 1.5
	// Those of two-valued parameters are longer, since a switch matters less often than a size: around e⁻² it was .757 @25 in place of
	// .742, and with other first points .788 in place of .771.
	switchMean, switchSpread = -2, 2
	// There is little noise: around e⁻⁸ it was .854 @25 in place of .849 around e⁻⁶.
	noiseMean, noiseSpread = -8, 1.5
	// The logarithms of all hyper-parameters are bounded, by hand: beyond that a parameter counts for nothing, or decides alone.
	leastLog, mostWeight, mostNoise = -10, 6, 0
	// listedDomain is the largest domain whose features are kept in a table. It bounds memory, and was chosen by hand.
	listedDomain = 1 << 12

	// When and how well the hyper-parameters are learned.

	// sampleCount is how many samples of them there are while little is known [samples]: .845, .917 and .981 @25, @50 and @100 in place
	// of .834, .923 and .973 with the most probable ones alone.
	sampleCount = 8
	// sampledUntil is the number of observations up to which they are sampled [sampled_until]: up to 100 it brought
	// +.001 ± .008 @100 on convolution, and cost 6.5 ms an evaluation more.
	sampledUntil = 64
	// sliceWidth is how wide a slice is at first: about as wide as the posterior where little is known. It was chosen by hand.
	sliceWidth = 3
	// fitMost is how many observations they are learned from. It bounds the time of a fit, and was chosen by hand.
	fitMost = 112
	// A fit takes firstSteps, and laterSteps where one came before and laterFrom observations are known: what was found then is near.
	// They were chosen by hand.
	firstSteps, laterSteps, laterFrom = 20, 10, 32
	// The next fit is after refitTenths tenths more observations, and refitLeast at least: a fit at each 8 brought +.004 ± .005 @100 on
	// convolution and −.003 ± .003 on gemm.
	refitTenths, refitLeast = 3, 2
	// Steps of Rprop begin at stepFirst, grow and shrink by these factors, and stay within these bounds. They were chosen by hand.
	stepFirst, stepUp, stepDown, stepMost, stepLeast = 0.4, 1.3, 0.5, 1.5, 1e-3

	// observedMost is how many points the process observes at once [most]. It bounds the time, and was chosen by hand.
	observedMost = 200

	// The pool of candidates.

	// poolSize is how many candidates there are [pool]: 3,000 brought +.006 ± .005 @100 on convolution for 5.5 ms an evaluation more.
	poolSize = 1000
	// narrowFrom is the number of observations from which on the pool is half as large, and the processes are made anew before they
	// grow: what is promising is known to be near the best points by then. With a faster kernel it took the time from 2.1 to 1.3 ms an
	// evaluation at 1,000; the number was chosen by hand.
	narrowFrom = 512
	// stream is the share of the pool that gives way at each batch: to random points, or, where they are sought, to mutants of the best
	// one first. It was chosen by hand.
	stream = 0.1
	// recall is how many of the best points of the sources come into the pool with each fit, as a share of its size at the beginning,
	// until they prove to be the least promising: in a large space, random points and neighbours seldom are what a source knows to be
	// good. Dedispersion W6600 from the MI250X was at .995 @100 with 400 points, and at .990 with 64.
	recall = 0.4
	// elites is how many of the best points have their neighbours in the pool. It was chosen by hand.
	elites = 4
	// climbed is how many of the most promising candidates have as well, up to climbUntil evaluations, so that the pool climbs from
	// batch to batch. With mostTwos as it is, it was +.016 ± .006 @50 beside +.007 ± .008 without; 4 in place of 2 made no difference that was
	// clear of the noise.
	climbed = 2
	// climbUntil is where that ends: later random points serve better, as climbing was at −.003 ± .003 @100 on 80 seeds of convolution.
	climbUntil = 64
	// mostNeighbours and mostAhead bound how many neighbours of an observation and of a candidate come into the pool. They were chosen
	// by hand.
	mostNeighbours, mostAhead = 100, 40
	// mutants is how many points not far from the best one are drawn for the pool at each batch, where such are sought. It was chosen by
	// hand.
	mutants = 100
	// mostMisses is how many random points in a row are in the pool or asked before the space has, as good as certainly, few others. It
	// was chosen by hand.
	mostMisses = 64

	// Which candidate is asked: far from the best point, near it, or anywhere.

	// From roamFrom to earlyUntil evaluations, every roamEvery-th point is sought among candidates that differ from the best point in
	// roamFar parameters or more: what goes with what is not seen by changing the best point a little, and expected improvement alone
	// stays near it until nothing is left there. It brought +.007 ± .004 @50 and +.001 ± .003 @100 on 230 seeds.
	roamFrom, roamEvery, roamFar = 12, 4, 3
	// earlyUntil is where that ends, and what is sought near the best point, and that sources do not rank their best [early]. Without
	// an end to the last of these, convolution A100 from the A4000 had its optimum after 250 evaluations in 73 % of searches; with it
	// in 98 % after 300.
	earlyUntil = 150
	// From nearFrom evaluations on, until earlyUntil, the others are sought among those that differ from the best point in near
	// parameters or less [near_from]: nearly all points of a space of many parameters are far from the best one and uncertain, and few of
	// them are good (cf. Eriksson et al., "Scalable global optimization via local Bayesian optimization", 2019). On gemm it brought
	// +.005 ± .002 @100; from 40 or 48 evaluations on it was +.003 ± .002.
	nearFrom = 64
	// near was compared with 2 and 4 there: +.004 ± .002 and +.003 ± .001 @100.
	near = 3
	// That is so where from manyFrom to manyTo parameters have a choice [near_least, near_most]. With 7, on convolution, it lost
	// .023 ± .007 @100 on the W6600; with 10 and 13 it lost nothing, with 24 and 45 it brought nothing. 9 and 16 are numbers between.
	manyFrom, manyTo = 9, 16
	// leastRight is how unlikely a point may be to be right and still be asked, as a probability: what was learned of failures is never
	// certain. It was chosen by hand.
	leastRight = 1e-3

	// How far earlier runs are believed.

	// From flatFrom observations on, until earlyUntil, all that a source believes to be in the better quarter of the space counts as
	// equally good: a source is right about what is bad, but the best points of one device are seldom those of another, and where it is
	// wrong of the best the search would stay among hundreds of them. It took gemm 2080 Ti from the 3090 from .967 to .992 @100; from the
	// first fit on, convolution A100 from the A4000 was at .752 @50 in place of .88.
	flatFrom = 48
	// The quarter is that of flatOf random points, as a source may have measured good ones only: with the quartile of what it measured,
	// gemm had .952 to .974 @100. How many was chosen by hand.
	flatOf = 400
	// sourceWeight is the prior of the sum of the sources' weights: they are believed as they are. firmness is how many observations it
	// counts for, each by firmVariance: a deviation of a quarter of the quartile's distance is what a source says without much doubt.
	// They were chosen by hand.
	sourceWeight, firmness, firmVariance = 1, 4, 0.25
	// sweeps is how often the weights of the sources are adjusted to each other. It was chosen by hand.
	sweeps = 20
	// mostKept is how many points of a source stand for those that it lacks: half of them the best. It bounds the time, and was chosen
	// by hand.
	mostKept = 512
	// nearestOf is how many near points of a source stand for one that it lacks, by the inverse of their squared distances and
	// nearestGap. They were chosen by hand.
	nearestOf, nearestGap = 3, 1e-3
)
