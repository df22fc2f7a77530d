package acquisition

// LogFeasible adds ln P(all constraints are kept), of values that are independent
// of each other, to value and its gradient to dst, unless dst is nil: what makes
// an acquisition of the objective one under constraints.
func LogFeasible(dst []float64, value float64, constraints []Constraint) float64 {
	for _, c := range constraints {
		log, byMean, bySD := LogProbability(c.Mean, c.SD, c.Bounds)
		value += log
		if dst == nil {
			continue
		}
		if len(c.DMean) != len(dst) || len(c.DSD) != len(dst) {
			panic("acquisition: gradients of different lengths")
		}
		for j := range dst {
			dst[j] += byMean*c.DMean[j] + bySD*c.DSD[j]
		}
	}
	return value
}
