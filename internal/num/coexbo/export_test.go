package coexbo

// Explain returns the numbers behind α(x). Without a prior, or with one that
// scores all points alike, PriorSD and Share are 0 and mean and standard
// deviation those of the objective.
func (a *Acquisition) Explain(x []float64) Parts { return a.eval(x, nil) }
