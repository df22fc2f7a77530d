package coexbo

import "math"

// Window is the rectangle of a drawing over two parameters, in the unit cube.
type Window struct {
	Dims  [2]int     `json:"dims"` // the parameters on the axes
	Lower [2]float64 `json:"lower"`
	Upper [2]float64 `json:"upper"`
}

// NewWindow returns the rectangle that shows the given points, usually both
// candidates and the best measured one, in the plane of parameters i and j:
// their bounding box made twice as wide around its center, at least a tenth of
// the cube wide, and cut off at the cube (Adachi et al. 2024, Appendix F).
// shapley.Strongest says which parameters.
func NewWindow(i, j int, points ...[]float64) Window {
	w := Window{Dims: [2]int{i, j}}
	for k, dim := range w.Dims {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, x := range points {
			lo, hi = min(lo, x[dim]), max(hi, x[dim])
		}
		center, half := (lo+hi)/2, max(hi-lo, 0.05)
		w.Lower[k], w.Upper[k] = max(center-half, 0), min(center+half, 1)
	}
	return w
}
