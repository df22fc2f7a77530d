package events

import "fmt"

// Attributions explain a choice between candidates to an expert (Adachi et al.
// 2024, §3.3).
type Attributions struct {
	// Shapley holds the Shapley values of each quantity at each candidate.
	Shapley []Shapley `json:"shapley,omitempty"`
	// Plane is the objective over the two strongest parameters.
	Plane *Plane `json:"plane,omitempty"`
}

// fault says which lists of attributions are not as long as those that they go with.
func (a *Attributions) fault() error {
	for i, s := range a.Shapley {
		if len(s.Values) != len(s.Parameters) || len(s.Parameters) != len(a.Shapley[0].Parameters) {
			return fmt.Errorf("attribution %d has %d values of %d parameters",
				i+1, len(s.Values), len(s.Parameters))
		}
	}
	if a.Plane == nil {
		return nil
	}
	return a.Plane.fault()
}

// Quantities whose Shapley values are given, in standardized units of a
// maximized objective.
const (
	QuantityMean = "mean" // posterior mean
	QuantitySD   = "sd"   // posterior standard deviation
	QuantityUCB  = "ucb"  // upper confidence bound
)

// Shapley attributes a quantity at a candidate to the parameters. Base is the model's average
// prediction over the measured compositions; Base and the sum of Values add up to its prediction
// for the candidate.
type Shapley struct {
	Candidate string `json:"candidate"`
	// Quantity is one of the Quantity constants.
	Quantity string  `json:"quantity"`
	Base     float64 `json:"base"`
	// Parameters and Values go together; a parameter that takes several axes of
	// the encoded space has their sum.
	Parameters []string  `json:"parameters"`
	Values     []float64 `json:"values"`
}

// Plane is the objective's posterior over two parameters, the others as in the
// candidate that is named.
type Plane struct {
	Candidate string `json:"candidate"`
	X         string `json:"x"`
	Y         string `json:"y"`
	// Xs and Ys are the grid, in the parameters' units.
	Xs []float64 `json:"xs"`
	Ys []float64 `json:"ys"`
	// Mean and SD hold a row for each of Ys, in the campaign's unit.
	Mean [][]float64 `json:"mean"`
	SD   [][]float64 `json:"sd"`
}

// fault describes why a plane is not a grid.
func (p *Plane) fault() error {
	for _, rows := range [][][]float64{p.Mean, p.SD} {
		if len(p.Ys) < 2 || len(rows) != len(p.Ys) {
			return fmt.Errorf("its plane has %d rows, at %d values of %s", len(rows), len(p.Ys), p.Y)
		}
		for _, row := range rows {
			if len(p.Xs) < 2 || len(row) != len(p.Xs) {
				return fmt.Errorf("its plane has a row of %d values, at %d of %s", len(row), len(p.Xs), p.X)
			}
		}
	}
	return nil
}

// ChoiceReview says, once the chosen composition has been measured, how
// probable it is that the choice was right (Adachi et al. 2024, Eq. 101).
type ChoiceReview struct {
	Question   string `json:"question"`
	Expert     string `json:"expert"`
	Experiment string `json:"experiment"`
	// Probability that the chosen composition is better than the other.
	Probability float64 `json:"probability"`
}
