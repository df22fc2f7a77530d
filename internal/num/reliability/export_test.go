package reliability

// LeaveOneOut returns the mean log density of each anchor under all others,
// LOO(h) of Sinaga et al. 2026, Eq. S17 (there written with its sign reversed),
// and its derivative in h. With n anchors the density of the others has 1/(n−1)
// in front.
//
// It needs two anchors at least and panics with fewer, and panics where h is
// not positive. An anchor so far from all others that its density underflows
// keeps a finite logarithm.
func LeaveOneOut(anchors [][]float64, h float64) (value, slope float64) {
	if len(anchors) < 2 || !(h > 0) {
		panic("reliability: leave-one-out needs two anchors and a positive bandwidth")
	}
	return newLeaveOneOut(anchors).at(h)
}
