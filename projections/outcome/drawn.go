package outcome

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/num/qmc"
)

const (
	// joint is the number of joint draws that probabilities are shares of.
	joint = 256
	// banded is how many of them the band of a curve is made from.
	banded = 64
	// leastVariance is the part of a quantity's prior variance below which what is
	// left of a point's is rounding.
	leastVariance = 1e-8
)

// drawn are joint draws of the objectives at some compositions: of each draw the
// scores, and whether the constraints are kept.
type drawn struct {
	scores [][][]float64
	kept   [][]bool
}

// drawAt draws all quantities at the compositions together, each by its own
// posterior, with one sequence for all times.
func (p *Problem) drawAt(s *Standing, distinct [][]int) (*drawn, error) {
	points, all := make([][]float64, len(distinct)), make([]int, len(distinct))
	for i, c := range distinct {
		points[i], all[i] = s.Measured[c[0]].X, i
	}
	joints, tolerances := make([]*gp.Joint, len(p.Models)), make([]float64, len(p.Models))
	for k, m := range p.Models {
		known := m.Conditioned()
		joints[k], tolerances[k] = known.Joint(points), leastVariance*known.OutputScale()
	}
	draws := gp.NewSeveral(joints, all, tolerances)
	normals, err := qmc.Normals(draws.Dims, joint, p.def.Seed)
	if err != nil {
		return nil, err
	}
	out := &drawn{}
	arguments := make([][]float64, len(points))
	for i, x := range points {
		arguments[i] = make([]float64, len(p.Quantities)+p.problem.Parameters)
		p.ParametersAt(arguments[i][len(p.Quantities):], x)
	}
	for _, z := range normals {
		draws.Fill(z)
		scores, kept := make([][]float64, len(points)), make([]bool, len(points))
		for i, c := range distinct {
			scores[i] = slices.Clone(s.Scores[c[0]]) // what follows from the parameters stays
			for k, a := range p.Aims {
				if a.Model >= 0 {
					scale := p.Models[a.Model].Scale()
					scores[i][k] = -a.Sign() * (scale.Center + float64(scale.Spread*draws.Values[a.Model][i]))
				}
			}
			for k, scale := range p.problem.Quantities {
				arguments[i][k] = scale.Value(draws.Values[k][i])
			}
			kept[i] = true
			for _, c := range p.problem.Constraints {
				kept[i] = kept[i] && c.Value(arguments[i]) <= 0
			}
		}
		out.scores, out.kept = append(out.scores, scores), append(out.kept, kept)
	}
	return out, nil
}

// onFront returns the share of draws in which each composition is on the front and
// feasible.
func (d *drawn) onFront(reference []float64) []float64 {
	probability := make([]float64, len(d.kept[0]))
	for s, scores := range d.scores {
		var which []int
		var points [][]float64
		for i, score := range scores {
			if d.kept[s][i] && pareto.Beyond(score, reference) {
				which, points = append(which, i), append(points, score)
			}
		}
		for _, i := range pareto.NonDominated(points) {
			probability[which[i]] += 1 / float64(len(d.scores))
		}
	}
	return probability
}

// curve is the hypervolume after each experiment.
func (s *Standing) curve(distinct [][]int, d *drawn) []Covered {
	first := make(map[int]int, len(distinct)) // the composition that an experiment was the first of
	for i, c := range distinct {
		first[c[0]] = i
	}
	means := covering{reference: s.Reference}
	draws := make([]covering, min(banded, len(d.scores)))
	for i := range draws {
		draws[i].reference = s.Reference
	}
	curve := make([]Covered, len(s.Measured))
	volumes := make([]float64, len(draws))
	for i, m := range s.Measured {
		if at, ok := first[i]; ok {
			if s.Feasible[i] >= ratherFeasible {
				means.add(s.Scores[i])
			}
			for j := range draws {
				if d.kept[j][at] {
					draws[j].add(d.scores[j][at])
				}
			}
		}
		for j := range draws {
			volumes[j] = draws[j].volume
		}
		slices.Sort(volumes)
		curve[i] = Covered{m.Experiment, means.volume, quantile(volumes, 0.1), quantile(volumes, 0.9)}
	}
	return curve
}

// covering is what points cover beyond a reference, as they are added.
type covering struct {
	reference []float64
	front     [][]float64
	volume    float64
}

func (c *covering) add(point []float64) {
	if slices.ContainsFunc(c.front, func(f []float64) bool { return pareto.Dominates(f, point) }) {
		return // most points are: it is seen at once
	}
	gain := pareto.Improvement(point, c.front, c.reference)
	if gain == 0 {
		return
	}
	c.volume += gain
	c.front = slices.DeleteFunc(c.front, func(f []float64) bool { return pareto.Dominates(point, f) })
	c.front = append(c.front, point)
}

// quantile is that of sorted values, linear between them.
func quantile(sorted []float64, at float64) float64 {
	h := at * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-1)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + float64((h-math.Floor(h))*(sorted[next]-sorted[i]))
}
