package ehvi

import (
	"fmt"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pareto"
)

// leastVariance, relative to the prior's, is that of a value which others
// determine.
const leastVariance = 1e-8

// sample makes values of all quantities at some of the points tried.
type sample struct {
	*builder
	*gp.Several
	chosen []int
}

// sample factors the quantities' covariances at the chosen points.
func (b *builder) sample(chosen []int) *sample {
	tolerances := make([]float64, len(b.models))
	for q, model := range b.models {
		if model != nil {
			tolerances[q] = leastVariance * model.OutputScale()
		}
	}
	s := &sample{builder: b, Several: gp.NewSeveral(b.joints, chosen, tolerances), chosen: chosen}
	for q, model := range b.models {
		if model != nil {
			continue
		}
		for p, i := range chosen {
			s.Values[q][p] = b.Objectives[q].Known(b.points[i], nil)
		}
	}
	return s
}

// draw makes values from independent standard normal ones. It returns the points
// that count there, and of each the values of the objectives, all to be
// maximized.
func (s *sample) draw(z []float64) (counting []int, objectives [][]float64) {
	s.Fill(z)
	m := len(s.Objectives)
	row := make([]float64, len(s.models))
	room := make([]float64, m*len(s.chosen))
	for p, i := range s.chosen {
		for q, values := range s.Values {
			row[q] = values[p]
		}
		point := room[p*m : p*m+m]
		within := true
		for k, o := range s.Objectives {
			point[k] = o.sign() * row[k]
			within = within && !(s.limits[k].Bounded && point[k] > s.limits[k].At)
		}
		if within && pareto.Beyond(point, s.reference) &&
			(s.Feasible == nil || s.Feasible(s.points[i], row)) {
			counting = append(counting, i)
			objectives = append(objectives, point)
		}
	}
	return counting, objectives
}

// suppose makes a member of each row of standard normal values, with posteriors
// conditioned on its values at so many of the points.
func (s *sample) suppose(normals [][]float64, conditioned int) (*Noisy, error) {
	free := make([]int, len(s.models)) // at how many of these points each quantity is
	for q := range free {
		free[q] = s.free(q, conditioned)
	}
	fronts := make([][][]float64, len(normals))
	supposed := make([][][]float64, len(s.models)) // of each the members' values there
	for i, z := range normals {
		_, fronts[i] = s.draw(z)
		for q, n := range free {
			if n > 0 {
				supposed[q] = append(supposed[q], s.AtFree(q)[:n])
			}
		}
	}
	n := &Noisy{members: NewMembers(fronts, s.reference, s.limits)}
	for _, i := range s.chosen {
		n.points = append(n.points, s.points[i])
	}
	for q, model := range s.models {
		if model != nil {
			n.dim = model.Dim()
		}
		if free[q] > 0 {
			var points [][]float64
			for _, i := range s.Free(q)[:free[q]] {
				points = append(points, s.points[i])
			}
			var err error
			if model, err = model.Given(points, supposed[q], 0); err != nil {
				return nil, fmt.Errorf("the model of quantity %d given what has been tried: %w", q, err)
			}
		}
		if q >= len(s.Objectives) {
			n.further = append(n.further, model)
			continue
		}
		n.objectives = append(n.objectives, objective{Objective: s.Objectives[q], given: model})
	}
	n.prepare()
	return n, nil
}

// free returns at how many of the first points a quantity is free.
func (s *sample) free(q, points int) (n int) {
	free := s.Free(q)
	for _, i := range s.chosen[:points] {
		if n < len(free) && free[n] == i {
			n++
		}
	}
	return n
}
