package next

import (
	"slices"

	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Effort of the noisy expected hypervolume improvement (docs/results-journal.md). With four
// objectives the cells beyond a front are many.
const (
	fronts    = 64 // possible ones
	ofFour    = 32
	screening = 16 // with which starts are compared where there are four objectives
	searches  = 12
	nearFront = 12 // compositions near which searches begin
)

// Name implements [Rule].
func (LogNEHVI) Name() string { return LogNEHVIName }

// Gist implements [Brief].
func (LogNEHVI) Gist() string { return "hypervolume improvement" }

// Logarithm implements [Logarithmic].
func (LogNEHVI) Logarithm() {}

// Rationale implements [Rule].
func (LogNEHVI) Rationale() string {
	return "the greatest expected improvement of the front's hypervolume, as uncertain as the front is"
}

// Acquisition implements [Rule]. One quantity has no front.
func (LogNEHVI) Acquisition(m *quantity.Model, seed uint64) (Acquisition, error) {
	return LogNEI{}.Acquisition(m, seed)
}

// Composes implements [Composer].
func (LogNEHVI) Composes(p *seek.Problem, _ *quantity.Model) bool { return p.Aims != nil }

// Compose implements [Composer]: −log of the noisy expected hypervolume improvement (package
// ehvi; Daulton et al. 2021, Eq. 4, in closed form; in logarithms as Ament et al. 2023) and of
// the probability that constraints on outcomes are kept.
func (LogNEHVI) Compose(s Several) (Composed, error) {
	m, pending := s.Objective.Expected()
	all := slices.Concat(pending, s.Awaited)
	var underWay [][]float64 // those at a lower fidelity can be on no front
	for i, compared := range comparable(m, all) {
		if compared {
			underWay = append(underWay, all[i])
		}
	}
	members := fronts
	four := len(s.Problem.Aims) > 3
	if four {
		members = ofFour
	}
	improvement, err := s.Problem.Improvement(s.Standing, underWay, members, s.Seed)
	if err != nil {
		return Composed{}, err
	}
	out := Composed{
		Starts: nearTheFront(s), Searches: searches, Members: improvement.Members(), Acquisition: negative(improvement),
	}
	if four && improvement.Members() > screening {
		few, err := improvement.First(screening)
		if err != nil {
			return Composed{}, err
		}
		out.Screen = negative(few)
	}
	return out, nil
}

// negative is −log of an improvement.
func negative(improvement *seek.Improvement) Acquisition {
	return func(x, grad []float64) float64 {
		value := improvement.Log(x, grad)
		for j := range grad {
			grad[j] = -grad[j]
		}
		return -value
	}
}

// nearTheFront are points at several distances from compositions of the front, and
// where none is beyond the reference from those that no other one is better than.
func nearTheFront(s Several) [][]float64 {
	front := s.Standing.Front
	if len(front) == 0 {
		front = pareto.NonDominated(s.Standing.Scores)
	}
	points := make([][]float64, min(len(front), nearFront))
	for i := range points {
		points[i] = s.Standing.Measured[front[i*len(front)/len(points)]].X
	}
	return around(points, s.Problem.Lengthscales(), s.Seed)
}
