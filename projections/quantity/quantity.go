// Package quantity is the projection of the measured quantities of a campaign: the
// observations of each, and the Gaussian process that follows from them and from the
// fitted hyperparameters (Xu et al. 2024, §3.1).
package quantity

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Observation is one measurement the model learns from, in the user's units.
type Observation struct {
	// Experiment is the experiment's identifier.
	Experiment string `json:"experiment"`
	// Point is the composition that was really made.
	Point definition.Point `json:"point"`
	// Value of the objective, and its standard deviation where the instrument
	// knows it.
	Value float64  `json:"value"`
	SD    *float64 `json:"sd,omitempty"`
	// Excluded keeps the observation out of the model.
	Excluded bool `json:"excluded,omitempty"`
	// Suspect is set while it is in doubt.
	Suspect bool `json:"suspect,omitempty"`
	// Since is the revision that brought it.
	Since int `json:"since,omitempty"`
	// Judged is set once a repetition or a person has settled what it is worth.
	Judged bool `json:"judged,omitempty"`
	// Failed is set if the experiment gave the value and failed: the model learns from it, but
	// it is not a result.
	Failed bool `json:"failed,omitempty"`
}

type state struct {
	Definition *definition.Campaign `json:"definition,omitempty"`
	// Quantity is the declared quantity that is modelled; empty for what the
	// campaign seeks.
	Quantity string `json:"quantity,omitempty"`
	// Observations in the order of the experiments' requests.
	Observations []Observation `json:"observations,omitempty"`
	// Revision counts the changes of the observations.
	Revision int `json:"revision"`
	// FitRevision is the Revision the fit, or the failed fit, has seen.
	FitRevision int                  `json:"fit_revision"`
	Fit         *events.ObjectiveFit `json:"fit,omitempty"`
	// Judged is the latest judgment of observations, nil before the first.
	Judged *judged `json:"judged,omitempty"`
}

// judged holds the predictions of observations, made from the observations and the fit of one
// version.
type judged struct {
	Version  [2]int            `json:"version"`
	Expected []events.Expected `json:"expected,omitempty"`
}

// Projection folds measurements, corrections and fits of one quantity: of the objective, or of
// another declared one.
type Projection struct {
	state state
	space *space.Space // follows from state.Definition
	// fidelity follows from it too; nil where all experiments tell the same.
	fidelity *space.Fidelity
	model    *Model // cache; nil where it must be built
	// outside are the experiments that are compared with no other, astray those of
	// them that decisions learn from. They follow from the campaign's state: see
	// compare.
	outside, astray []string
}

// New returns the projection of the objective in a campaign without events.
func New() *Projection { return new(Projection) }

// Of returns the projection of a declared quantity, by name, under a definition.
// Its model is as that of an objective that is minimized: standardized values
// are not negated.
func Of(quantity string, def *definition.Campaign) (*Projection, error) {
	p := &Projection{state: state{Quantity: quantity, Definition: def}}
	return p, p.open(def)
}

// Quantity is the name of the declared quantity; empty for the objective.
func (p *Projection) Quantity() string { return p.state.Quantity }

// Name implements projections.Projection.
func (p *Projection) Name() string {
	if p.state.Quantity != "" {
		return "quantity " + p.state.Quantity
	}
	return "objective"
}

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) { return json.Marshal(&p.state) }

// Restore implements projections.Projection.
func (p *Projection) Restore(snapshot []byte) error {
	*p = Projection{}
	if err := json.Unmarshal(snapshot, &p.state); err != nil {
		return fmt.Errorf("restore objective: %w", err)
	}
	if p.state.Definition == nil {
		return nil
	}
	return p.open(p.state.Definition)
}

// Clone returns a projection with the same state, which each of the two changes
// from then on without the other. They have one model for as long as neither
// changes: it is immutable.
func (p *Projection) Clone() *Projection {
	own := *p
	own.state.Observations = slices.Clone(p.state.Observations)
	return &own
}

// Apply implements projections.Projection.
func (p *Projection) Apply(e events.Event, payload events.Payload) (err error) {
	s := &p.state
	switch d := payload.(type) {
	case *events.CampaignDefined:
		s.Definition = &d.Definition
		err = p.open(&d.Definition)
	case *events.CampaignAmended:
		// The unit cube may have changed: lengthscales of the old one say
		// nothing.
		s.Definition, s.Fit = &d.Definition, nil
		s.Revision++
		err = p.open(&d.Definition)
	case *events.ExperimentMeasured, *events.ExperimentResolved, *events.MeasurementCorrected,
		*events.ExperimentCorrected:
		if s.Definition.Several() {
			return nil // see [Set]
		}
		p.measure(d)
	case *events.MeasurementFlagged:
		if d.Verdict == events.VerdictElsewhere || d.Verdict == events.VerdictSame {
			return nil // it says nothing against the value
		}
		p.flag(d)
	case *events.MeasurementsJudged:
		s.Judged = &judged{p.Version(), d.Expected}
		return nil // models are as they were
	case *events.ModelFitted:
		if !p.isOf(d.Model, d.Quantity) {
			return nil
		}
		s.Fit, s.FitRevision = d.Objective, s.Revision
	case *events.ModelFitFailed:
		if !p.isOf(d.Model, d.Quantity) {
			return nil
		}
		s.FitRevision = s.Revision
	default:
		return nil
	}
	p.model = nil
	return err
}

// Fits is the model that events of its fits name.
func (p *Projection) Fits() events.ModelName {
	if p.state.Quantity != "" {
		return events.ModelName{Model: events.ModelQuantity, Quantity: p.state.Quantity}
	}
	return events.ModelName{Model: events.ModelObjective}
}

// isOf reports whether a fit of a model, and of a quantity, is the projection's.
func (p *Projection) isOf(model, quantity string) bool {
	return p.Fits() == events.ModelName{Model: model, Quantity: quantity}
}

// measure folds measurements and corrections in a campaign that declares no quantities.
func (p *Projection) measure(payload events.Payload) {
	switch d := payload.(type) {
	case *events.ExperimentMeasured:
		p.observe(d.Experiment, &d.Measurement)
	case *events.ExperimentResolved:
		if d.Measurement != nil {
			p.observe(d.Experiment, d.Measurement)
		}
	case *events.MeasurementCorrected:
		p.correct(d)
	case *events.ExperimentCorrected:
		p.correctOutcome(d)
	}
}

// read updates the observation of an experiment from the campaign's state, if the campaign
// declares its quantities: there may be a value, none, or one after all, and a quantity
// declared later may have been reported before. decided is set if a person decided whether it
// counts. It is called after the state has folded an event about the experiment.
func (p *Projection) read(s *campaign.State, x *campaign.Experiment, decided bool) {
	value, ok := s.Given(x)
	counts := s.Counts(x)
	if p.state.Quantity != "" {
		value, ok = s.Quantity(x, p.state.Quantity)
		counts = x.Counts(p.state.Quantity)
	}
	had := p.Of(x.ID)
	switch {
	case !ok && had == nil:
		return
	case !ok:
		p.state.Observations = slices.DeleteFunc(p.state.Observations,
			func(o Observation) bool { return o.Experiment == x.ID })
		p.state.Revision++
		p.model = nil
		return
	}
	is := Observation{
		Experiment: x.ID, Point: x.Measurement.Actual, Value: value.Value, SD: value.SD,
		Excluded: !counts, Failed: x.Status == campaign.Failed,
	}
	is.Judged = decided || is.Failed // it is not asked for again
	if had != nil {
		is.Since = had.Since
		is.Judged = is.Judged || had.Judged
		is.Suspect = had.Suspect && !decided
		if reflect.DeepEqual(is, *had) {
			return
		}
	}
	p.state.Revision++
	if had != nil && (is.Value != had.Value || !maps.Equal(is.Point, had.Point)) || had == nil {
		is.Since = p.state.Revision
	}
	p.model = nil
	if had != nil {
		*had = is
		return
	}
	p.state.Observations = projections.InOrder(p.state.Observations, is,
		func(o Observation) int { return events.ExperimentNumber(o.Experiment) })
}

// compare updates, from the campaign's state, which observations are compared. It is called
// after the state has folded an event.
func (p *Projection) compare(s *campaign.State) {
	if !slices.Equal(s.Outside, p.outside) || !slices.Equal(s.Astray, p.astray) {
		p.outside = s.Outside
		p.astray = s.Astray
		p.model = nil
	}
}

// isOutside reports whether an observation is compared with no other.
func (p *Projection) isOutside(o Observation) bool {
	return p != nil && slices.Contains(p.outside, o.Experiment)
}

// observe adds a measurement.
func (p *Projection) observe(experiment string, m *events.Measurement) {
	s := &p.state
	s.Revision++
	s.Observations = projections.InOrder(s.Observations,
		Observation{
			Experiment: experiment, Point: m.Actual, Value: m.Objective.Value, SD: m.Objective.SD,
			Since: s.Revision,
		},
		func(o Observation) int { return events.ExperimentNumber(o.Experiment) })
}

func (p *Projection) correct(d *events.MeasurementCorrected) {
	s := &p.state
	i := slices.IndexFunc(s.Observations, func(o Observation) bool { return o.Experiment == d.Experiment })
	if i < 0 {
		return // the campaign projection refuses a correction of what was not measured
	}
	o := &s.Observations[i]
	// a person's word is the last
	o.Excluded = d.Excluded
	o.Suspect = false
	o.Judged = true
	if d.New != nil {
		o.Value, o.SD = d.New.Value, d.New.SD
	}
	if d.Actual != nil {
		o.Point = d.Actual
	}
	s.Revision++
}

// correctOutcome takes an observation away or adds one, where the outcome was
// or is a measurement.
func (p *Projection) correctOutcome(d *events.ExperimentCorrected) {
	s := &p.state
	n := len(s.Observations)
	s.Observations = slices.DeleteFunc(s.Observations,
		func(o Observation) bool { return o.Experiment == d.Experiment })
	if d.Measurement != nil {
		p.observe(d.Experiment, d.Measurement)
		o := p.Of(d.Experiment)
		o.Excluded, o.Judged = d.Excluded, true // a person's word is the last
	} else if len(s.Observations) < n {
		s.Revision++
	}
}

// included returns the observations the model learns from. Without a result among them there
// are none: a prediction could be compared with nothing.
func (p *Projection) included() []Observation {
	n := p.Observed()
	if n == 0 {
		return nil
	}
	kept := make([]Observation, 0, n)
	for i := range p.state.Observations {
		if o := &p.state.Observations[i]; p.includes(o) {
			kept = append(kept, *o)
		}
	}
	return kept
}

// includes reports whether an observation is one of those that the model learns from.
func (p *Projection) includes(o *Observation) bool { return !o.Excluded && !p.withheld(o) }

// refitEvery is the number of observations up to which each change calls for a
// fit; with n observations ⌈n/refitEvery⌉ changes do. Hyperparameters learned
// from many observations hardly move with one more, while a fit costs O(n³).
const refitEvery = 200

// LeastObservations is the number of observations that a fit needs.
const LeastObservations = 2

// Stale reports whether there are enough observations to fit, and enough of
// them have changed since the last fit. In between, the model holds every
// observation under the last fit's hyperparameters.
func (p *Projection) Stale() bool {
	n := p.Observed()
	if n < LeastObservations {
		return false
	}
	changes := p.state.Revision - p.state.FitRevision
	return changes*refitEvery >= n || changes > 0 && p.state.Fit == nil
}

// Observed counts the observations that the model learns from. It is asked after each
// event, and so copies none.
func (p *Projection) Observed() (n int) {
	result := false
	for i := range p.state.Observations {
		if o := &p.state.Observations[i]; p.includes(o) {
			n++
			result = result || !o.Failed
		}
	}
	if !result {
		return 0
	}
	return n
}

// Revision counts the changes of the observations.
func (p *Projection) Revision() int { return p.state.Revision }

// Version changes with everything that the model depends on.
func (p *Projection) Version() [2]int { return [2]int{p.state.Revision, p.state.FitRevision} }

// Scale returns the standard deviation of the observations that the last fit
// saw, in the user's unit; ok is false before the first fit.
func (p *Projection) Scale() (scale float64, ok bool) {
	if p.state.Fit == nil {
		return 0, false
	}
	return p.state.Fit.Scale, true
}

// Failed reports whether the last fit of the present observations failed, and no earlier fit
// exists.
func (p *Projection) Failed() bool {
	return p.state.Fit == nil && p.state.Revision > 0 && p.state.FitRevision == p.state.Revision
}

// Fitted reports whether there is a fit.
func (p *Projection) Fitted() bool { return p.state.Fit != nil }

var _ projections.Projection = (*Projection)(nil)
