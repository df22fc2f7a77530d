package acquisition

import "math"

// Cooling returns α, how much the cost of an experiment counts in its choice: the share of the
// budget that is left (Lee et al. 2020, §4). At first cheap experiments come first, at the end cost
// does not matter. Without a budget, total ≤ 0, it is ½.
func Cooling(spent, total float64) float64 {
	if !(total > 0) {
		return 0.5
	}
	return math.Min(math.Max(1-spent/total, 0), 1)
}

// leastCost is the smallest cost that counts, as a share of the median: what costs
// next to nothing is not worth any experiment.
const leastCost = 1e-3

// LogCost returns the logarithm of a cost and its derivative, where median is
// that of the costs so far. Costs below a thousandth of it count as that.
func LogCost(cost, median float64) (value, slope float64) {
	if least := leastCost * median; !(cost > least) {
		return math.Log(least), 0
	}
	return math.Log(cost), 1 / cost
}

// ExpectedLogCost returns ln E[c] of a cost c whose logarithm is N(mean, sd²), and
// its gradient: mean + sd²/2.
func ExpectedLogCost(dst []float64, mean, sd float64, dMean, dSD []float64) float64 {
	chain(dst, dMean, dSD, 1, sd)
	return mean + sd*sd/2
}

// LogPerCost returns the logarithm of an acquisition less α times that of its
// cost, and its gradient (cost cooling: Lee et al. 2020). With α = 1 it is the
// improvement per cost, with α = 0 the improvement.
func LogPerCost(dst []float64, log, logCost, alpha float64, dLog, dLogCost []float64) float64 {
	chain(dst, dLog, dLogCost, 1, -alpha)
	return log - alpha*logCost
}
