package engine

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
)

// Best is the measured composition with the best posterior mean.
type Best struct {
	Parameters definition.Point `json:"parameters"`
	// Value is the posterior mean there, in Unit; before the first fit it is
	// the best measured value.
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Experiment is the experiment that measured it, with these further quantities.
	Experiment string                `json:"experiment"`
	Further    []definition.Quantity `json:"further,omitempty"`
}

// Summary is a campaign in a few numbers.
type Summary struct {
	Campaign string `json:"campaign"`
	// Experiments counts those run, Labels those given; both include the
	// initial ones, and neither what was imported.
	Experiments int   `json:"experiments"`
	Labels      int   `json:"labels"`
	Best        *Best `json:"best"`
	// Comparisons counts the comparisons that were answered. Preferred is what
	// each expert prefers, in a campaign without measurements; Best is then nil.
	Comparisons int             `json:"comparisons,omitempty"`
	Preferred   []policies.Best `json:"preferred,omitempty"`
	// Helps is what each expert's labels have shown, where the policy reads labels.
	Helps []policies.Help `json:"helps,omitempty"`
	// Stopped says why the campaign ended; empty while it has not.
	Stopped string `json:"stopped"`
}

// Summarize returns the campaign's summary. While the campaign is run, the best
// composition is that of the last look: see [Runner.Standing].
func (c *Core) Summarize() (Summary, error) { return c.summarize(context.Background()) }

func (c *Core) summarize(ctx context.Context) (Summary, error) {
	s := c.State()
	summary := Summary{Campaign: s.Name, Experiments: s.Spent(), Labels: s.Labels(), Comparisons: s.Comparisons()}
	if s.Status.Ended() {
		summary.Stopped = s.Reason
		if s.Status == campaign.Stopped {
			summary.Stopped = "stopped by a person"
		}
	}
	if last := c.standing; last != nil && (c.apart || last.seen == c.seen()) {
		summary.Best, summary.Preferred, summary.Helps = last.best, last.preferred, last.helps
		return summary, nil
	}
	switch duel := !s.Definition.Measures(); {
	case c.apart && duel:
	case c.apart:
		summary.Best = c.bestMeasured()
	case duel:
		if p, ok := c.policy.(policies.Preferrer); ok {
			preferred, err := p.Preferred(ctx, c.View())
			summary.Preferred = preferred
			return summary, err
		}
	default:
		best, err := c.best(ctx)
		summary.Best, summary.Helps = best, c.Helps()
		return summary, err
	}
	return summary, nil
}

// Helps returns what each expert's labels have shown so far (see [policies.Helper]).
func (c *Core) Helps() []policies.Help {
	helper, ok := c.policy.(policies.Helper)
	model, err := c.objective.Model()
	if err != nil || !ok {
		return nil
	}
	answers := c.answers()
	if h := &c.helps; h.model != model || h.answers != answers || h.definedBy != c.definedBy {
		*h = helps{model, answers, c.definedBy, helper.Helps(policies.View{Campaign: c.State(), Space: c.space, Objective: model})}
	}
	return c.helps.all
}

// answers counts the changes of what experts have answered.
func (c *Core) answers() (n int) {
	for _, expert := range c.State().Definition.Experts {
		n += c.belief.Revision(expert.Name)
	}
	return n
}

// helps remembers what the labels have shown, and what that followed from: many
// labels take a while to weigh.
type helps struct {
	model     *objective.Model
	answers   int
	definedBy string
	all       []policies.Help
}

func (c *Core) best(ctx context.Context) (*Best, error) {
	s := c.State()
	model, err := c.objective.Model()
	if err != nil {
		return nil, err
	}
	if model != nil && len(model.Observations) > 0 {
		i, mean, err := model.BestContext(ctx)
		if err != nil {
			return nil, err
		}
		o := model.Observations[i]
		best := &Best{Parameters: o.Point, Value: mean, Unit: s.Definition.Objective.Unit, Experiment: o.Experiment}
		if x := s.Experiment(o.Experiment); x != nil && x.Measurement != nil {
			best.Further = x.Measurement.Further
		}
		return best, nil
	}
	return c.bestMeasured(), nil
}

// bestMeasured is the composition with the best measured value, nil where there is none.
func (c *Core) bestMeasured() (best *Best) {
	s := c.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil || x.Excluded {
			continue
		}
		value := x.Measurement.Objective.Value
		if best == nil || better(value, best.Value, s.Definition.Objective.Goal) {
			best = &Best{Parameters: x.Measurement.Actual, Value: value, Unit: s.Definition.Objective.Unit, Experiment: x.ID, Further: x.Measurement.Further}
		}
	}
	return best
}

func better(a, b float64, goal string) bool {
	if goal == definition.Maximize {
		return a > b
	}
	return a < b
}
