package gp

// Several makes values of several independent quantities at the same points, from
// independent standard normal ones. It is a workspace: one goroutine uses it at a
// time.
type Several struct {
	// Values are those of each quantity at all points, in the order in which these
	// were given. Those of a quantity without a joint posterior are the caller's
	// to set; Fill leaves them alone.
	Values [][]float64
	// Dims is how many normal values they are made from.
	Dims int

	draws  []*Draws
	places [][]int     // which of the normal values each quantity takes
	own    [][]float64 // the normal values that each quantity took last
}

// NewSeveral factors the quantities' joint posteriors, nil where one has none, at
// the given points: indices of all of them. Tolerances are those of
// [Joint.Draws]. Normal values go to the points in their order, and at each to all
// quantities: so the leading dimensions of a quasi-random sequence, which are its
// best, go to the points that come first.
func NewSeveral(joints []*Joint, points []int, tolerances []float64) *Several {
	s := &Several{
		Values: make([][]float64, len(joints)), draws: make([]*Draws, len(joints)),
		places: make([][]int, len(joints)), own: make([][]float64, len(joints)),
	}
	for q, joint := range joints {
		s.Values[q] = make([]float64, len(points))
		if joint != nil {
			s.draws[q] = joint.Draws(points, tolerances[q])
			s.own[q] = make([]float64, len(s.draws[q].Free))
		}
	}
	for _, i := range points {
		for q, d := range s.draws {
			if d == nil {
				continue
			}
			if at := len(s.places[q]); at < len(d.Free) && d.Free[at] == i {
				s.places[q] = append(s.places[q], s.Dims)
				s.Dims++
			}
		}
	}
	return s
}

// Free are the points at which a quantity takes a normal value: see
// [Draws.Free]. There are none of a quantity without a joint posterior.
func (s *Several) Free(quantity int) []int {
	if s.draws[quantity] == nil {
		return nil
	}
	return s.draws[quantity].Free
}

// Fill sets Values to those that standard normal ones make, Dims of them.
func (s *Several) Fill(z []float64) {
	for q, d := range s.draws {
		if d == nil {
			continue
		}
		for i, at := range s.places[q] {
			s.own[q][i] = z[at]
		}
		d.Fill(s.Values[q], s.own[q])
	}
}

// AtFree returns the values of a quantity at its free points that the last Fill
// made.
func (s *Several) AtFree(quantity int) []float64 {
	return s.draws[quantity].AtFree(s.own[quantity])
}
