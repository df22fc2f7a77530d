package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Correct says that an experiment ended otherwise than the record has it, or
// that its outcome is to be left out of the models. What it does not name
// stays.
type Correct struct {
	Experiment string `json:"experiment" doc:"The experiment, or several that were not performed: e1-e24, or e1,e3-e5."`
	// Outcome is, where it is empty, as the record says, or measured where
	// there is a Value.
	Outcome events.Resolution `json:"outcome,omitempty" enum:"measured,failed,infeasible,not-performed" doc:"How it really ended."`
	// Value, SD, Actual and Further are of the measurement.
	Value   *float64              `json:"value,omitempty"`
	SD      *float64              `json:"sd,omitempty"`
	Actual  definition.Point      `json:"actual,omitempty"`
	Further []definition.Quantity `json:"further,omitempty"`
	// Quantities are the declared ones that are corrected, each by itself.
	Quantities []definition.Quantity `json:"quantities,omitempty" doc:"Declared quantities whose values are corrected; the others stay."`
	// LeaveOut takes single quantities out of the models, until a correction
	// gives them a value.
	LeaveOut []string `json:"leave_out,omitempty" doc:"Declared quantities whose values are to be left out of the models."`
	// What Exclude leaves out stays out until a correction without it.
	Exclude bool   `json:"exclude,omitempty" doc:"Leave the outcome out of the models."`
	Reason  string `json:"reason" minLength:"1" doc:"Why, for the record."`
	// Anyway takes a composition that cannot be suggested for what was made.
	Anyway bool `json:"anyway,omitempty"`
}

// check returns an error that names the missing part.
func (r *Correct) check() error {
	if strings.TrimSpace(r.Reason) == "" {
		return invalid("a correction needs a reason").About(r.Experiment).With(giveReason)
	}
	return CheckComposition("actual", r.Actual)
}

// changesMeasurement reports whether a part of a measurement is to change.
func (r *Correct) changesMeasurement() bool {
	return r.Value != nil || r.SD != nil || r.Actual != nil || r.Further != nil ||
		r.Quantities != nil || r.LeaveOut != nil
}

// given reports whether it names the quantities that an experiment gave, and nothing
// else that is of a result.
func (r *Correct) given() bool {
	return r.Quantities != nil && r.Value == nil && r.SD == nil && r.LeaveOut == nil
}

// hasValue reports whether it gives a value from which something is learned.
func (r *Correct) hasValue() bool { return r.Value != nil || r.Quantities != nil }

// record records a person's correction of an experiment's outcome: every
// outcome can become every other, and back.
func (r *Correct) record(c Now, _ *Request) ([]events.Payload, error) {
	list, err := listed(c.State, r.Experiment)
	if err != nil {
		return nil, err
	}
	if len(list) > 1 && (r.Outcome != events.ResolvedNotPerformed || r.Exclude || r.changesMeasurement()) {
		return nil, notPossible("several experiments at once can be said not to have been performed, and nothing else")
	}
	if err := named(c.State, r.Quantities, r.Further); err != nil {
		return nil, err
	}
	return ofEach(list, func(x *campaign.Experiment) ([]events.Payload, error) { return r.of(c, x) })
}

// of corrects one experiment.
func (r *Correct) of(c Now, x *campaign.Experiment) ([]events.Payload, error) {
	switch {
	case x.Status == campaign.Requested && r.Outcome == events.ResolvedNotPerformed && !r.Exclude &&
		!r.changesMeasurement():
		return []events.Payload{&events.ExperimentCancelled{Experiment: x.ID, Reason: r.Reason}}, nil
	case x.Status.Open():
		return nil, tooEarly(c.State, x)
	case x.Reference() && (r.Outcome == "" || r.Outcome == x.Status.Outcome()) && !r.changesMeasurement():
		return nil, conflict(x.ID, "%s is a reference experiment, and in no model: it can be neither included nor excluded", x.ID).With(
			problem.Remedy{Text: "give the right value, or say how it really ended", Action: problem.Complete,
				Ways: []string{problem.WayValue, string(events.ResolvedFailed)}})
	}
	was, outcome := x.Status.Outcome(), r.Outcome
	if outcome == "" {
		outcome = was
		if r.hasValue() {
			outcome = events.ResolvedMeasured
		}
	}
	if was == events.ResolvedMeasured && outcome == was {
		return r.measurement(c, x)
	}
	if err := r.contradicts(x, outcome); err != nil {
		return nil, err
	}
	payload := &events.ExperimentCorrected{
		Experiment: x.ID, Supersedes: x.Source, Was: was, Outcome: outcome, Excluded: r.Exclude,
		Reason: r.Reason,
	}
	var err error
	switch outcome {
	case events.ResolvedFailed:
		payload.Measurement, err = r.stillGiven(c, x)
	case events.ResolvedMeasured:
		if payload.Measurement, err = r.measuredAfterAll(c, x); err == nil {
			return append([]events.Payload{payload}, Elsewhere(c, x, payload.Measurement.Actual)...), nil
		}
	}
	return []events.Payload{payload}, err
}

// tooEarly refuses to correct an experiment that has no outcome yet.
func tooEarly(s *campaign.State, x *campaign.Experiment) error {
	switch x.Status {
	case campaign.Unresolved:
		return notNow(x.ID, "the fate of %s is not known yet", x.ID).With(settle(x.ID))
	case campaign.Requested:
		return notNow(x.ID, "%s has not been performed yet", x.ID).With(
			TellOf(s.Definition, "tell its outcome", x.ID),
			problem.Remedy{
				Text:    "call it off",
				Action:  problem.Correct,
				Subject: x.ID,
				Ways:    []string{string(events.ResolvedNotPerformed)},
			},
		)
	}
	return notNow(x.ID, "%s is still under way with %s: there is no outcome to correct yet",
		x.ID, x.Command.Instrument)
}

// contradicts returns the error of a correction to an outcome that the experiment cannot have.
func (r *Correct) contradicts(x *campaign.Experiment, outcome events.Resolution) error {
	switch {
	case !slices.Contains(outcomes, string(outcome)):
		return notPossible("%q is not an outcome: the outcomes are %s", outcome, strings.Join(outcomes, ", "))
	case outcome != events.ResolvedMeasured && r.changesMeasurement() &&
		!(outcome == events.ResolvedFailed && r.given()):
		return notPossible("an experiment that was %s has no result: one of the two is wrong", outcome).
			About(x.ID).With(sayMeasured(x))
	case outcome == events.ResolvedNotPerformed && r.Exclude:
		return notPossible("what did not take place teaches nothing: there is nothing to exclude").About(x.ID)
	case outcome == events.ResolvedNotPerformed && x.Status.Outcome() == outcome:
		return conflict(x.ID, "nothing changes: %s did not take place, as the record says", x.ID)
	case r.Outcome == "" && !r.hasValue() && r.Exclude == x.Excluded:
		return conflict(x.ID, "nothing changes").With(problem.Remedy{
			Text: fmt.Sprintf("say how %s really ended, or leave it out", x.ID), Action: problem.Complete,
			Ways: slices.Concat([]string{problem.WayValue}, outcomes[1:], []string{problem.WayExclude}),
		})
	}
	return nil
}

// measuredAfterAll is the measurement of an experiment that had ended otherwise.
func (r *Correct) measuredAfterAll(c Now, x *campaign.Experiment) (*events.Measurement, error) {
	base := x.Measurement // what it gave before it failed
	if base == nil {
		base = x.Retracted
	}
	m, err := r.corrected(c, x, base)
	if err == nil && c.Definition.Several() {
		// The retracted values may be from before a quantity was declared.
		return checked(c, *m, nil, r.Anyway)
	}
	return m, err
}

// stillGiven returns the values of an experiment that a correction declares failed: the
// quantities named now and, if it had failed before, those recorded then.
func (r *Correct) stillGiven(c Now, x *campaign.Experiment) (*events.Measurement, error) {
	if x.Status == campaign.Failed && x.Measurement != nil {
		if !r.given() && r.Exclude != x.Excluded {
			return nil, nil // nothing but that is said
		}
		m, err := r.corrected(c, x, x.Measurement)
		if err != nil {
			return nil, err
		}
		return checked(c, *m, nil, r.Anyway) // it may be from before a quantity was declared
	}
	stands := x.Parameters
	if x.Measurement != nil {
		stands = x.Measurement.Actual
	}
	return givenAllTheSame(c, reported{
		requested: stands, made: r.Actual, anyway: r.Anyway, quantities: slices.Concat(r.Quantities, r.Further),
	}, r.given())
}

// measurement corrects or excludes a measurement that stays one.
func (r *Correct) measurement(c Now, x *campaign.Experiment) ([]events.Payload, error) {
	switch {
	case r.hasValue() && r.Exclude:
		return nil, notPossible("an excluded measurement needs no new value").About(x.ID)
	case !r.changesMeasurement() && r.Exclude == x.Excluded && !x.InDoubt():
		return nil, conflict(x.ID, "nothing changes").With(problem.Remedy{
			Text:   "give a new value or the composition that was really made, or leave it out",
			Action: problem.Complete,
			Ways:   []string{problem.WayValue, problem.WayActual, problem.WayExclude},
		})
	}
	m, err := r.corrected(c, x, x.Measurement)
	if err != nil {
		return nil, err
	}
	payload := &events.MeasurementCorrected{
		Experiment: x.ID, Corrects: x.Source, Actual: r.Actual, Excluded: r.Exclude, Reason: r.Reason,
	}
	if c.Definition.Several() {
		payload.Values, payload.Further = r.changes(c.State, x, m)
	} else {
		payload.Old, payload.Further = x.Measurement.Objective, r.Further
		if !r.Exclude {
			payload.New = &m.Objective
		}
	}
	payloads := []events.Payload{payload}
	if r.Actual != nil {
		payloads = append(payloads, Elsewhere(c, x, r.Actual)...)
	}
	return payloads, nil
}

// corrected returns a measurement with a correction applied. base is the measurement to
// correct, nil if nothing was ever measured.
func (r *Correct) corrected(c Now, x *campaign.Experiment, base *events.Measurement) (*events.Measurement, error) {
	if base == nil {
		base = &events.Measurement{Actual: x.Parameters}
		if !r.hasValue() && !c.Definition.Awaits() {
			return nil, conflict(x.ID, "%s never had a result", x.ID).With(sayMeasured(x))
		}
	}
	m := *base
	if !r.changesMeasurement() {
		return &m, nil // it was checked when it came
	}
	if r.Actual != nil {
		m.Actual = r.Actual
	}
	declared, further, err := r.values(c.State, m)
	if err != nil {
		return nil, err
	}
	for _, value := range declared {
		m = campaign.With(c.Definition, m, value)
	}
	m.Further = campaign.Merge(m.Further, further)
	checked, err := checked(c, m, r.Actual, r.Anyway)
	if err != nil {
		return nil, err
	}
	m.Objective = checked.Objective
	m.Quantities, m.Missing = checked.Quantities, checked.Missing
	m.Further = checked.Further
	return &m, nil
}

// values returns the values that a correction of a measurement names, those that the campaign
// models apart from further ones. A unit or standard deviation that they leave out stays as it
// was.
func (r *Correct) values(
	s *campaign.State, m events.Measurement,
) (declared, further []definition.Quantity, err error) {
	def := s.Definition
	if (r.Value != nil || r.SD != nil) && def.Sought().Computed() {
		_, err := unnamed(s, 0, "", nil)
		return nil, nil, err
	}
	if r.Value != nil || r.SD != nil {
		value := def.Sought().Quantity(0, nil)
		if stands, ok := m.Of(value.Name); ok {
			value.Value, value.SD = stands.Value, stands.SD
		}
		if r.Value != nil {
			value.Value = *r.Value
		}
		if r.SD != nil {
			value.SD = r.SD
		}
		declared = append(declared, value)
	}
	if !def.Several() {
		return declared, slices.Concat(r.Quantities, r.Further), nil
	}
	for _, value := range slices.Concat(r.Quantities, r.Further) {
		q := def.Quantity(value.Name)
		if q == nil {
			further = append(further, value)
			continue
		}
		definition.Default(&value.Unit, q.Unit)
		declared = append(declared, value)
	}
	for _, name := range r.LeaveOut {
		if _, ok := m.Of(name); !ok || def.Quantity(name) == nil {
			return nil, nil, notPossible("there is no value of %q to be left out", name)
		}
	}
	return declared, further, nil
}

// changes lists the old and new value of each quantity that a correction names, in the order of
// the definition. m is the corrected measurement.
func (r *Correct) changes(
	s *campaign.State, x *campaign.Experiment, m *events.Measurement,
) (values []events.QuantityCorrected, further []definition.Quantity) {
	declared, further, _ := r.values(s, *x.Measurement) // m was made from them
	for _, q := range s.Definition.Declared() {
		named := slices.ContainsFunc(declared, func(v definition.Quantity) bool { return v.Name == q.Name })
		out := slices.Contains(r.LeaveOut, q.Name)
		if !named && !out {
			continue
		}
		value := events.QuantityCorrected{Name: q.Name, Excluded: out}
		if old, ok := x.Measurement.Of(q.Name); ok {
			value.Old = &old
		}
		if named {
			is, _ := m.Of(q.Name)
			value.New = &is
		}
		values = append(values, value)
	}
	return values, further
}
