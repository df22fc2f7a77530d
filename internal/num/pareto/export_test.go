package pareto

// Len returns the number of cells. Without ties there are n + 1 for a front of
// n points with two objectives, 2n + 1 with three, and of the order of n² with
// four.
func (c *Cells) Len() int { return len(c.Lower) / len(c.Corners) }
