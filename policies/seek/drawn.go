package seek

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/projections/quantity"
)

const (
	// joint is the number of joint draws that probabilities are shares of.
	joint = 256
	// banded is the number of them that the band of a curve is made from.
	banded = 64
	// leastVariance is the fraction of a quantity's prior variance below which a point's
	// remaining variance is rounding.
	leastVariance = 1e-8
)

const (
	// many is the largest number of compositions drawn together: their covariances take memory
	// by the square, 812 MB at 5,000 of two objectives, and time by the cube.
	many = 500
	// surely is the distance behind another composition, in standard deviations, from which no
	// draw has a composition ahead of it: the probability of that is below 1 in a million.
	surely = 5
	// surelyKept is the probability of keeping the constraints from which on there is a
	// draw without that hardly ever.
	surelyKept = 1 - 1e-4
)

// near returns the compositions that are drawn, in order. Up to many they are all; of more
// those that no earlier one is surely better than in all objectives, and that are not surely
// worse than is of interest: the others change neither the front nor the hypervolume that it
// covered at any time. If that leaves too many, a smaller distance counts as sure.
func (p *Problem) near(s *Standing, distinct [][]int) [][]int {
	if len(distinct) <= many {
		return distinct
	}
	level, sds := p.level(s), make([][]float64, len(distinct))
	predictors := make([]quantity.Predictor, len(p.Models))
	for k, m := range p.Models {
		predictors[k] = m.NewPredictor()
	}
	for i, c := range distinct {
		sds[i] = make([]float64, len(p.Aims))
		for k, a := range p.Aims {
			if _, constant := level[k]; a.Model >= 0 && !constant {
				_, sd := predictors[a.Model].Posterior(s.Measured[c[0]].X)
				sds[i][k] = math.Abs(p.Models[a.Model].Scale().Spread) * sd
			}
		}
	}
	var kept [][]int
	for sigmas := surely; sigmas >= 0; sigmas-- {
		if kept = s.contenders(distinct, sds, float64(sigmas)); len(kept) <= many {
			break
		}
	}
	return kept[:min(len(kept), many)]
}

// contenders are the compositions that no earlier one is better than by so many standard
// deviations of both in each objective, the first of all at least.
func (s *Standing) contenders(distinct [][]int, sds [][]float64, sigmas float64) (kept [][]int) {
	var fence [][]float64 // points that are surely reached
	for i, c := range distinct {
		low, high := slices.Clone(s.Scores[c[0]]), slices.Clone(s.Scores[c[0]])
		for k, sd := range sds[i] {
			low[k], high[k] = low[k]-sigmas*sd, high[k]+sigmas*sd
		}
		behind := func(reached []float64) bool { return pareto.Dominates(reached, high) }
		if len(kept) > 0 && (!pareto.Beyond(high, s.Reference) || slices.ContainsFunc(fence, behind)) {
			continue
		}
		kept = append(kept, c)
		if s.Feasible[c[0]] < surelyKept || slices.ContainsFunc(fence, func(reached []float64) bool { return pareto.Dominates(reached, low) }) {
			continue
		}
		fence = slices.DeleteFunc(fence, func(reached []float64) bool { return pareto.Dominates(low, reached) })
		fence = append(fence, low)
	}
	return kept
}

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

// level sets an objective to one score in all draws.
func (d *drawn) level(k int, score float64) {
	for _, scores := range d.scores {
		for i := range scores {
			scores[i][k] = score
		}
	}
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
	means := pareto.Covering{Reference: s.Reference}
	draws := make([]pareto.Covering, min(banded, len(d.scores)))
	for i := range draws {
		draws[i].Reference = s.Reference
	}
	curve := make([]Covered, len(s.Measured))
	volumes := make([]float64, len(draws))
	for i, m := range s.Measured {
		if at, ok := first[i]; ok {
			if s.Feasible[i] >= ratherFeasible {
				means.Add(s.Scores[i])
			}
			for j := range draws {
				if d.kept[j][at] {
					draws[j].Add(d.scores[j][at])
				}
			}
		}
		for j := range draws {
			volumes[j] = draws[j].Volume
		}
		slices.Sort(volumes)
		curve[i] = Covered{m.Experiment, means.Volume, quantile(volumes, 0.1), quantile(volumes, 0.9)}
	}
	return curve
}

// quantile is that of sorted values, linear between them.
func quantile(sorted []float64, at float64) float64 {
	h := at * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-1)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + float64((h-math.Floor(h))*(sorted[next]-sorted[i]))
}

// together is the number of draws behind [Problem.Together].
const together = 4096

// Jointly is the models' joint prediction for a composition, with a correlation of two
// quantities or without.
type Jointly struct {
	// Feasible is the probability that all judged constraints are kept, 1 without constraints;
	// SD the standard deviation of the objective, if it is computed.
	Feasible, SD float64
}

// Together predicts a point of the unit cube by draws of the quantities' posteriors: with all
// quantities independent of each other, as the models take them, and with errors of two
// quantities that have the correlation r, in their own directions. Both are of the same draws,
// so that their difference is hardly that of chance.
func (p *Problem) Together(x []float64, first, second string, r float64) (independent, correlated Jointly, err error) {
	a, b := slices.Index(p.Quantities, first), slices.Index(p.Quantities, second)
	if a < 0 || b < 0 {
		return independent, correlated, fmt.Errorf("nothing that is judged depends on both %s and %s", first, second)
	}
	normals, err := qmc.Normals(len(p.Models), together, p.def.Seed)
	if err != nil {
		return independent, correlated, err
	}
	if p.problem.Quantities[a].Spread*p.problem.Quantities[b].Spread < 0 {
		r = -r // one of them is negated in its model
	}
	d := jointly{p: p, means: make([]float64, len(p.Models)), sds: make([]float64, len(p.Models))}
	for k, m := range p.Models {
		d.means[k], d.sds[k] = m.Posterior(x)
	}
	d.arguments = make([]float64, len(p.Models)+p.problem.Parameters)
	p.ParametersAt(d.arguments[len(p.Models):], x)
	independent = d.of(normals)
	for _, z := range normals {
		z[b] = float64(r*z[a]) + float64(math.Sqrt(1-r*r)*z[b])
	}
	return independent, d.of(normals), nil
}

// jointly evaluates a problem at draws around means. It is a workspace.
type jointly struct {
	p                     *Problem
	means, sds, arguments []float64
}

// of reads the draws, each of standard normal values of the quantities. Draws in which the
// objective has no finite value do not count for its spread.
func (d *jointly) of(normals [][]float64) (out Jointly) {
	var values []float64
	for _, z := range normals {
		for k, scale := range d.p.problem.Quantities {
			d.arguments[k] = scale.Value(d.means[k] + float64(d.sds[k]*z[k]))
		}
		broken := func(c composite.Function) bool { return !(c.Value(d.arguments) <= 0) }
		if !slices.ContainsFunc(d.p.problem.Constraints, broken) {
			out.Feasible += 1 / float64(len(normals))
		}
		if f := d.p.problem.Objective; f != nil {
			if y := f.Value(d.arguments); finite(y) {
				values = append(values, y)
			}
		}
	}
	if len(values) > 1 {
		out.SD = stat.StdDev(values, nil)
	}
	return out
}
