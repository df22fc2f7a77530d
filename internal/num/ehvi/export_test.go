package ehvi

// Log returns ln EHVI for the means and the standard deviations, positive, of
// the m objectives. It is finite, and −Inf without a slope where the front
// leaves nothing within the limits.
func (c *Closed) Log(mean, sd []float64) float64 {
	return c.log(&c.region, c.limits, mean, sd, false) + sumLog(sd)
}
