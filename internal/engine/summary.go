package engine

import (
	"context"
	"hash/fnv"

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

// Standing returns the campaign's summary as far as it is known without working anything
// out: with the best composition of the last look (see [Runner.Standing]), before the
// first the best that was measured.
func (c *Core) Standing() Summary {
	summary := c.counts()
	switch last := c.display.standing; {
	case last != nil:
		summary.Best = last.best
		summary.Preferred = last.preferred
		summary.Helps = last.helps
	case c.State().Definition.Measures():
		summary.Best = c.bestMeasured()
	}
	return summary
}

// Summarize returns the campaign's summary. While the campaign is run, it is [Core.Standing].
func (c *Core) Summarize(ctx context.Context) (Summary, error) {
	if d := c.display; d.apart || d.standing != nil && d.standing.seen == c.seen() {
		return c.Standing(), nil
	}
	summary := c.counts()
	var err error
	if c.State().Definition.Measures() {
		if summary.Best, err = c.best(ctx); err != nil {
			return summary, err
		}
		summary.Helps, err = c.Helps(ctx)
		return summary, err
	}
	p, ok := c.policy.(policies.Preferrer)
	if !ok {
		return summary, nil
	}
	view, err := c.View(ctx)
	if err != nil {
		return summary, err
	}
	summary.Preferred, err = p.Preferred(ctx, view)
	return summary, err
}

// counts is the summary without what follows from models.
func (c *Core) counts() Summary {
	s := c.State()
	summary := Summary{
		Campaign: s.Name, Experiments: s.Spent(), Labels: s.Labels(), Comparisons: s.Comparisons(),
	}
	if s.Status.Ended() {
		summary.Stopped = s.Reason
		if s.Status == campaign.Stopped {
			summary.Stopped = "stopped by a person"
		}
	}
	return summary
}

// Helps returns what each expert's labels have shown so far (see [policies.Helper]);
// nothing where the model cannot be used. The only error is that of a cancelled context.
func (c *Core) Helps(ctx context.Context) ([]policies.Help, error) {
	helper, ok := c.policy.(policies.Helper)
	model, err := c.objective.Model(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || !ok {
		return nil, nil
	}
	answers := c.answers()
	if h := &c.display.helps; h.model != model || h.answers != answers || h.definedBy != c.definedBy {
		*h = helps{
			model, answers, c.definedBy,
			helper.Helps(policies.View{Campaign: c.State(), Space: c.space, Objective: model}),
		}
	}
	return c.display.helps.all, nil
}

// Informed returns the model of the objective with the experts' answers in it (see [policies.Informer]); nil where the policy
// has none, or nothing was answered.
func (c *Core) Informed(ctx context.Context, v policies.View) (*objective.Model, error) {
	if informer, ok := c.policy.(policies.Informer); ok {
		return informer.Informed(ctx, v)
	}
	return nil, nil
}

// answers tells apart what experts have answered, of every form: it is a digest of the events that the answers which
// count came from.
func (c *Core) answers() uint64 {
	h := fnv.New64a()
	for i := range c.State().Questions {
		h.Write([]byte(c.State().Questions[i].Source + " "))
	}
	return h.Sum64()
}

// helps remembers what the labels have shown, and what that followed from: many
// labels take a while to weigh.
type helps struct {
	model     *objective.Model
	answers   uint64
	definedBy string
	all       []policies.Help
}

func (c *Core) best(ctx context.Context) (*Best, error) {
	s := c.State()
	model, err := c.objective.Model(ctx)
	if err != nil {
		return nil, err
	}
	if model != nil && len(model.Observations) > 0 {
		i, mean := model.Best()
		o := model.Observations[i]
		best := &Best{
			Parameters: o.Point, Value: mean, Unit: s.Definition.Objective.Unit,
			Experiment: o.Experiment,
		}
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
			best = &Best{
				Parameters: x.Measurement.Actual, Value: value, Unit: s.Definition.Objective.Unit,
				Experiment: x.ID, Further: x.Measurement.Further,
			}
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
