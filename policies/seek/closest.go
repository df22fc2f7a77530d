package seek

import (
	"math"
	"slices"
)

// indistinct is the probability of keeping the constraints below which compositions are not
// distinguished by it: people are shown 0.00. Such a probability is greater where less is
// known. Of 16 experiments whose impurity was to be at most 1, one with 3.32 was 24 standard
// deviations off, and one with 3.00, better known, 25.
const indistinct = 0.005

// closeness measures how nearly a composition keeps the constraints.
type closeness struct {
	probability float64
	// against is −ln of it: it distinguishes those whose probability is 0.
	against float64
	// violation is the expected violation of the constraints: the sum of the excesses that the
	// models expect, each in its standard deviations over the measured compositions.
	violation float64
}

// closer reports whether a composition comes closer than another: by the
// probability, and where that is next to none by the violation.
func (a closeness) closer(b closeness) bool {
	switch {
	case max(a.probability, b.probability) >= indistinct:
		return a.against < b.against
	case a.violation != b.violation:
		return a.violation < b.violation
	}
	return a.against < b.against
}

// closenesses are those of some points of the unit cube.
func (p *Problem) closenesses(points [][]float64) ([]closeness, error) {
	against, err := p.NegLogFeasible()
	if err != nil {
		return nil, err
	}
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	all := make([]closeness, len(points))
	excesses := make([][]float64, len(p.problem.Constraints)) // of each constraint at the points
	arguments := make([]float64, len(p.Quantities)+p.problem.Parameters)
	for i, x := range points {
		all[i].against = against(x, nil)
		all[i].probability = math.Exp(-all[i].against)
		w.set(x, false)
		for k := range p.Models {
			arguments[k] = p.problem.Quantities[k].Value(w.at.Means[k][0])
		}
		copy(arguments[len(p.Quantities):], w.at.Parameters)
		for c, constraint := range p.problem.Constraints {
			excesses[c] = append(excesses[c], constraint.Value(arguments))
		}
	}
	for _, excess := range excesses {
		sd := deviation(excess)
		for i, e := range excess {
			if !(e <= 0) { // what has no value breaks it by all there is
				all[i].violation += e / sd
			}
			if math.IsNaN(all[i].violation) {
				all[i].violation = math.Inf(1)
			}
		}
	}
	return all, nil
}

// deviation is the standard deviation of the finite ones of some numbers, 1 where
// they do not differ.
func deviation(numbers []float64) float64 {
	kept := slices.DeleteFunc(slices.Clone(numbers), func(x float64) bool { return !finite(x) })
	sum, squares := 0.0, 0.0
	for _, x := range kept {
		sum += x
	}
	mean := sum / float64(len(kept))
	for _, x := range kept {
		squares += float64((x - mean) * (x - mean))
	}
	if sd := math.Sqrt(squares / float64(len(kept))); sd > leastSpread*math.Abs(mean) {
		return sd
	}
	return 1
}
