package engine

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Best is the composition with the best measured value, noise included.
type Best struct {
	Parameters definition.Point `json:"parameters"`
	// Value is the measured value, in Unit, and SD its standard deviation where
	// the instrument knows it.
	Value float64  `json:"value"`
	SD    *float64 `json:"sd,omitempty"`
	Unit  string   `json:"unit"`
	// Experiment is the experiment that measured it, with these further
	// quantities.
	Experiment string                `json:"experiment"`
	Further    []definition.Quantity `json:"further,omitempty"`
	// Keeps says whether the measured values keep the constraints on outcomes:
	// where those of no experiment do, this is the best of those of which it is
	// not known, and without any of all. Absent where there are none.
	Keeps campaign.Keeps `json:"keeps,omitempty"`
}

// ModelBest is the measured composition with the best posterior mean, of those
// that keep the constraints on outcomes with their confidence.
type ModelBest struct {
	Parameters definition.Point `json:"parameters"`
	// Mean and SD are the posterior there, without noise, in Unit; Measured is
	// what was measured.
	Mean     float64 `json:"mean"`
	SD       float64 `json:"sd"`
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	// Experiment is the experiment that measured it, with these further
	// quantities.
	Experiment string                `json:"experiment"`
	Further    []definition.Quantity `json:"further,omitempty"`
	// Quantities are the predictions of each, where several are sought or
	// constrained; Interval is the central 90 % of an objective that is computed
	// from them.
	Quantities []events.QuantityPrediction `json:"quantities,omitempty"`
	Interval   *events.Interval            `json:"interval,omitempty"`
	// Feasible is how probably the constraints are kept. Doubtful is set where no
	// measured composition keeps them with their confidence: this is the one that
	// most probably does.
	Feasible *events.Feasible `json:"feasible,omitempty"`
	Doubtful bool             `json:"doubtful,omitempty"`
}

// Bests are the two best compositions of a campaign that measures. They are often different
// ones: the best measured value has its noise in its favor, and the model holds it against all
// the others. A trade-off has a front instead of them.
type Bests struct {
	BestMeasured *Best       `json:"best_measured"`
	BestByModel  *ModelBest  `json:"best_by_model"`
	Tradeoff     *seek.Front `json:"tradeoff,omitempty"`
	// Ranking are the measured outcomes, in the order in which the expert is expected to
	// prefer it, where that is sought.
	Ranking []Liked `json:"ranking,omitempty"`
	// Outside are measured compositions that the campaign could not ask for as it is
	// now, and that would lead if it could: see [Outside].
	Outside []Outside `json:"outside,omitempty"`
	// NoModel says why there is no best by the model, or no front; empty where there
	// is one, or where nothing is measured.
	NoModel string `json:"no_model,omitempty"`
}

// Leading returns the experiment and the composition to go by: those that are
// best by the model, without one those with the best measured value, and none
// where nothing was measured. Of a trade-off they are those of the compromise, of a
// preference those that are preferred.
func (b Bests) Leading() (experiment string, composition definition.Point) {
	switch {
	case b.Tradeoff != nil && b.Tradeoff.Compromise != nil:
		return b.Tradeoff.Compromise.Experiment, b.Tradeoff.Compromise.Parameters
	case len(b.Ranking) > 0:
		return b.Ranking[0].Experiment, b.Ranking[0].Parameters
	case b.BestByModel != nil:
		return b.BestByModel.Experiment, b.BestByModel.Parameters
	case b.BestMeasured != nil:
		return b.BestMeasured.Experiment, b.BestMeasured.Parameters
	}
	return "", nil
}

// BeingWorkedOut is the reason for a missing best by the model that will be there in a moment,
// once the model has the latest measurements.
const BeingWorkedOut = "is being worked out"

// Summary is a campaign in a few numbers.
type Summary struct {
	Campaign string `json:"campaign"`
	// Experiments counts those run, Labels those given; both include the
	// initial ones, and neither what was imported.
	Experiments int `json:"experiments"`
	Labels      int `json:"labels"`
	// Cost is the cost of the experiments; nil where the campaign does not say what one costs.
	Cost *campaign.Cost `json:"cost,omitempty"`
	// Ways are how many of them were made in each way to measure, where some are cheaper
	// than others.
	Ways []campaign.Way `json:"ways,omitempty"`
	Bests
	// Comparisons counts the comparisons that were answered. Preferred is what
	// each expert prefers, in a campaign without measurements, which has no
	// Bests.
	Comparisons int             `json:"comparisons,omitempty"`
	Preferred   []policies.Best `json:"preferred,omitempty"`
	// Helps is the evidence of each expert's labels, where the policy reads
	// labels.
	Helps []policies.Help `json:"helps,omitempty"`
	// Stopped says why the campaign ended; empty while it has not.
	Stopped string `json:"stopped"`
}

// Revision distinguishes the data of a summary's models: equal revisions of one campaign give
// equal models.
type Revision struct {
	Quantities  uint64
	Comparisons int
	Answers     uint64
	Preferences int
	DefinedBy   string
}

// Revision identifies the data that the summary's models depend on now. It is cheap enough to
// be called after every event: the loop compares it before it has a summary computed.
func (c *Core) Revision() Revision {
	s := c.State()
	return Revision{c.quantities.Version(), s.Comparisons(), answers(c.State()), c.preference.Fits(), s.DefinedBy}
}

// ReadsModel reports whether decisions read the model of the objective, so that it is fitted as
// the campaign goes. Otherwise it is fitted once, for the result, and whenever someone looks.
func (c *Core) ReadsModel() bool { return c.policy.Needs().Objective }

// Summarize is [Reading.Summarize] where nothing else is read.
func (c *Core) Summarize(ctx context.Context) (Summary, error) {
	read, err := c.Read(ctx)
	if err != nil {
		return c.Counts(), err
	}
	return read.Summarize(ctx)
}

// Summarize returns the campaign's summary.
//
// With an error the summary still has the counts.
func (r *Reading) Summarize(ctx context.Context) (Summary, error) {
	c := r.core
	summary := c.Counts()
	if c.State().Definition.Measures() {
		if err := r.byModel(ctx, &summary.Bests); err != nil {
			return summary, err
		}
		var err error
		summary.Helps, err = Helps(ctx, c.At(World{}))
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

// Counts is the summary without the parts that need models: it computes nothing.
func (c *Core) Counts() Summary {
	s := c.State()
	summary := Summary{
		Campaign: s.Name, Experiments: s.Spent(), Labels: s.Labels(), Comparisons: s.Comparisons(),
		Cost: s.Cost(), Ways: s.Ways(),
	}
	if s.Definition.Measures() {
		summary.BestMeasured = bestMeasured(s)
		summary.Outside = outsideOf(c.State(), summary.BestMeasured)
		summary.NoModel = noModel(c.At(World{}))
	}
	if s.Status.Ended() {
		summary.Stopped = s.Reason
		if s.Status == campaign.Stopped {
			summary.Stopped = "stopped by a person"
		}
	}
	return summary
}

// Helps returns the evidence from each expert's labels so far (see [policies.Helper]); none if
// the model cannot be used. The only error is that of a cancelled context. It needs the model,
// so that Counts leaves it out.
func Helps(ctx context.Context, c Now) ([]policies.Help, error) {
	helper, ok := c.policy.(policies.Helper)
	if !ok {
		return nil, context.Cause(ctx)
	}
	models, err := c.quantities.Models(ctx)
	view := policies.View{Campaign: c.Searched(), Space: c.space, Models: models}
	if err != nil || view.ObjectiveError() != nil {
		return nil, err
	}
	return helper.Helps(view), nil
}

// Informed returns the model of the objective with the experts' answers in it
// (see [policies.Informer]); nil where the policy has none, or nothing was
// answered.
func Informed(ctx context.Context, c Now, v policies.View) (*quantity.Model, error) {
	if informer, ok := c.policy.(policies.Informer); ok {
		return informer.Informed(ctx, v)
	}
	return nil, nil
}

// answers distinguishes states of the experts' answers, of every form: it is a digest of the
// events that gave the answers that count. Sources change when an answer is given or
// superseded, which a count would not see.
func answers(s *campaign.State) uint64 {
	h := fnv.New64a()
	for i := range s.Questions {
		h.Write([]byte(s.Questions[i].Source + " "))
	}
	return h.Sum64()
}

// noModel says why the objective has no model: its data are missing, or the fit is still to be
// computed.
func noModel(c Now) string {
	n := c.objective.Observed()
	switch {
	case n == 0:
		return fmt.Sprintf("it needs %d measurements", LeastMeasured)
	case n < LeastMeasured:
		return fmt.Sprintf("it needs %d measurements: %d more", LeastMeasured, LeastMeasured-n)
	case c.objective.Failed():
		return "the fit failed: " + c.Failure
	}
	return BeingWorkedOut
}

// byModel fills in the best composition by the models, or the front, or the reason for its
// absence.
func (r *Reading) byModel(ctx context.Context, bests *Bests) error {
	c := r.core
	view := policies.View{Campaign: c.State().Searched(), Space: c.space}
	var err error
	if view.Models, err = c.quantities.Models(ctx); err != nil {
		return err
	}
	if err := view.ObjectiveError(); err != nil {
		return err
	}
	if view.Objective() == nil {
		if r.unfit != nil {
			bests.NoModel = "the fit failed: " + r.unfit.Error()
		}
		return nil
	}
	switch def := view.Campaign.Definition; {
	case def.Tradeoff() != nil:
		bests.Tradeoff, err = front(ctx, view)
	case def.Preferred() != nil:
		bests.Ranking, err = ranking(ctx, c.At(World{}), view)
	default:
		bests.BestByModel, err = bestByModel(view)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // an objective has no model yet
		bests.NoModel = err.Error()
	default:
		bests.NoModel = ""
	}
	return nil
}

// bestByModel is the best composition by the models.
func bestByModel(v policies.View) (*ModelBest, error) {
	found, err := seek.BestOf(v.Campaign, v.Space, v.Models)
	if err != nil || found == nil {
		return nil, err
	}
	o := v.Objective().Observations[found.Index]
	best := &ModelBest{
		Parameters: o.Point, Mean: found.Value.Mean, SD: found.Value.SD,
		Unit: v.Campaign.Definition.Sought().Unit, Measured: o.Value, Experiment: o.Experiment,
		Quantities: found.Outlook.Quantities, Interval: found.Outlook.Interval,
		Feasible: found.Outlook.Feasible, Doubtful: !found.Confident,
	}
	if x := v.Campaign.Experiment(o.Experiment); x != nil && x.Measurement != nil {
		best.Further = x.Measurement.Further
	}
	return best, nil
}

// sought returns the campaign's current objective.
func sought(s *campaign.State) definition.Objective { return s.Definition.Sought() }

// bestMeasured returns the composition with the best measured value, among those that keep the
// constraints on outcomes if some do; nil without measurements, and without a single objective.
func bestMeasured(s *campaign.State) *Best {
	sought := sought(s)
	if !s.Definition.Single() {
		return nil
	}
	var best *Best
	for x, value := range s.Compared() {
		judged := campaign.Judged{Value: value.Value, Keeps: s.Keeps(x)}
		if best == nil || judged.Before(campaign.Judged{Value: best.Value, Keeps: best.Keeps}, sought) {
			best = &Best{
				Parameters: x.Measurement.Actual, Value: value.Value, SD: value.SD, Unit: sought.Unit,
				Experiment: x.ID, Further: x.Measurement.Further, Keeps: judged.Keeps,
			}
		}
	}
	return best
}
