package report

import (
	"context"
	"fmt"
)

// Believed is the model's belief about the best composition, after so many experiments: its
// posterior mean and standard deviation, without noise.
type Believed struct {
	Experiments int     `json:"experiments"`
	Mean        float64 `json:"mean"`
	SD          float64 `json:"sd"`
	// Experiment is the one that measured that composition.
	Experiment string `json:"experiment"`
	// Doubtful is set where no measured composition kept the constraints on outcomes with
	// their confidence then: this is the one that most probably did, and no best.
	Doubtful bool `json:"doubtful,omitempty"`
}

// BestBelieved returns the best composition by the model after each fit, as the figure
// of the course has it. It builds the model of every fit, which takes seconds for
// hundreds of experiments. It reads Registry, Log and Campaign of the input alone.
func BestBelieved(ctx context.Context, in Input) ([]Believed, error) {
	h, err := read(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("the best by the model: %w", err)
	}
	all := []Believed{}
	for _, p := range h.progress {
		all = append(all, Believed{p.experiments, p.mean, p.sd, p.experiment, p.doubtful})
	}
	return all, nil
}
