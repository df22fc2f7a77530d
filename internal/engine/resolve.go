package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Resolve settles an experiment whose fate is unknown, or several in one way:
// all of them or none.
type Resolve struct {
	Experiment string            `json:"experiment" doc:"The experiment, or several of which the same is said, all or none: e1-e24, or e1,e3-e5."`
	Resolution events.Resolution `json:"resolution" enum:"measured,failed,infeasible,not-performed" doc:"What became of it."`
	// Value, SD, Actual and Further are of the measurement.
	Value   *float64              `json:"value,omitempty" doc:"The result, where it was measured."`
	SD      *float64              `json:"sd,omitempty"`
	Actual  definition.Point      `json:"actual,omitempty"`
	Further []definition.Quantity `json:"further,omitempty"`
	// Quantities and Missing are as in [Tell].
	Quantities []definition.Quantity `json:"quantities,omitempty"`
	Missing    []events.Missing      `json:"missing,omitempty"`
	Repeat     bool                  `json:"repeat,omitempty" doc:"Ask for the same again."`
	Reason     string                `json:"reason,omitempty"`
	Voided     events.Voided         `json:"voided,omitempty" enum:"power" doc:"Why the command cannot begin any more, where the instrument is not to be asked: the device was without power."`
	// Anyway takes a composition that the campaign could not ask for.
	Anyway bool `json:"anyway,omitempty"`
}

// check finds faults of the request that no state of a campaign mends.
func (r *Resolve) check() error {
	if err := CheckComposition("actual", r.Actual); err != nil {
		return err
	}
	return checkVoided(r.Voided)
}

// checkResolves checks each of a list.
func checkResolves(rows []Resolve) error {
	if len(rows) == 0 {
		return invalid("the list is empty: there is nothing to settle")
	}
	var faults problem.RowFaults
	for i := range rows {
		if err := rows[i].check(); err != nil {
			faults = append(faults, problem.RowFault{Row: i + 1, Err: err})
		}
	}
	if faults != nil {
		return faults
	}
	return nil
}

// listed returns the experiments that a request names: one, or a list such as
// "e1-e24".
func (c *Core) listed(text string) ([]*campaign.Experiment, error) {
	s := c.State()
	if x := s.Experiment(text); x != nil {
		return []*campaign.Experiment{x}, nil
	}
	if !strings.ContainsAny(text, "-,") {
		return nil, noExperiment(text)
	}
	ids, err := events.ParseExperimentList(text, len(s.Experiments))
	if err != nil {
		return nil, notFound(text, "%w", err)
	}
	var list []*campaign.Experiment
	for _, id := range ids {
		list = append(list, s.Experiment(id))
	}
	return list, nil
}

// ofSeveral adds to why a request about several experiments cannot be fulfilled
// which of them it could be about.
func ofSeveral(err error, list []*campaign.Experiment, status campaign.ExperimentStatus) error {
	if len(list) == 1 {
		return err
	}
	var fit []string
	for _, x := range list {
		if x.Status == status {
			fit = append(fit, x.ID)
		}
	}
	if len(fit) == 0 || len(fit) == len(list) {
		return fmt.Errorf("nothing was recorded of any of them: %w", err)
	}
	return fmt.Errorf("nothing was recorded of any of them (%s are %s): %w",
		events.ExperimentList(fit), status, err)
}

// hasResult reports whether it gives a part of a result.
func (r *Resolve) hasResult() bool {
	return r.Value != nil || r.SD != nil || len(r.Further)+len(r.Quantities)+len(r.Missing) > 0
}

// resolve records what a person found out about experiments whose fate is
// unknown: of one, of several the same, or of each something else, as of a plate
// of which eleven wells are known. All is recorded in one batch, or nothing; what
// is wrong with several is a [problem.RowFaults].
func (c *Core) resolve(all []Resolve) ([]events.Payload, error) {
	var payloads []events.Payload
	var faults problem.RowFaults
	settled := make(map[string]int) // the row of an experiment
	repeated := 0
	for i := range all {
		p, err := c.resolveListed(&all[i], i+1, settled, &repeated)
		if err != nil {
			faults = append(faults, problem.RowFault{Row: i + 1, Err: err})
		}
		payloads = append(payloads, p...)
	}
	switch {
	case faults == nil:
		return payloads, nil
	case len(all) == 1:
		return nil, faults[0].Err
	}
	return nil, faults
}

// resolveListed settles the experiments of one row, all in one way. settled are
// those of the rows before, repeated is how many were requested again so far.
func (c *Core) resolveListed(
	r *Resolve, row int, settled map[string]int, repeated *int,
) ([]events.Payload, error) {
	list, err := c.listed(r.Experiment)
	if err != nil {
		return nil, err
	}
	if len(list) > 1 && (r.hasResult() || r.Actual != nil || r.Resolution == events.ResolvedMeasured) {
		return nil, notPossible("%s have a result each: settle what was measured one by one", r.Experiment)
	}
	if err := c.named(r.Quantities, r.Further); err != nil {
		return nil, err
	}
	var payloads []events.Payload
	for _, x := range list {
		if before := settled[x.ID]; before > 0 && before != row {
			return nil, conflict(x.ID, "%s is in row %d, too", x.ID, before)
		}
		settled[x.ID] = row
		resolved, err := c.resolveOne(x, r, *repeated)
		if err != nil {
			return nil, ofSeveral(err, list, campaign.Unresolved)
		}
		for _, p := range resolved {
			if _, again := p.(*events.ExperimentRequested); again {
				*repeated++
			}
		}
		payloads = append(payloads, resolved...)
	}
	return payloads, nil
}

// resolveOne settles one experiment; so many others of the request are repeated
// before it.
func (c *Core) resolveOne(x *campaign.Experiment, r *Resolve, before int) ([]events.Payload, error) {
	s := c.State()
	switch {
	case x.Status != campaign.Unresolved:
		return nil, conflict(
			x.ID, "%s is %s: only an experiment whose fate is unknown can be resolved", x.ID,
			x.Status,
		)
	case r.Repeat && r.Resolution == events.ResolvedMeasured:
		return nil, notPossible("%s was measured: there is nothing to repeat", x.ID).About(x.ID)
	case r.Repeat && r.Resolution == events.ResolvedInfeasible:
		return nil, notPossible(
			"%s showed that its composition cannot be made or measured: it is not repeated", x.ID,
		).About(x.ID)
	case r.Repeat && s.Status.Ended():
		return nil, problem.New(problem.Gone, "the campaign is %s: nothing is repeated", s.Status)
	case r.Repeat && r.Resolution == events.ResolvedFailed &&
		s.Left() <= before:
		return nil, notNow(x.ID, "the budget of %s is spent", budgetText(s)).
			With(problem.Remedy{Text: fmt.Sprintf("to repeat %s, raise it", x.ID), Action: problem.Amend})
	}
	if r.Repeat {
		if err := c.space.Contains(x.Parameters); err != nil {
			return nil, notPossible("%s cannot be repeated: %w", x.ID, err).About(x.ID)
		}
	}
	// It is requested again already where the instrument overtook a word of before.
	again := repetitionOf(s, x)
	repeat := r.Repeat && (again == nil || again.Status != campaign.Requested)
	payload := &events.ExperimentResolved{
		Experiment: x.ID, Resolution: r.Resolution, Repeat: repeat, Reason: r.Reason,
	}
	switch r.Resolution {
	case events.ResolvedMeasured:
		if r.Value == nil && r.Quantities == nil && !c.State().Definition.Awaits() {
			return nil, notPossible("%s cannot be resolved as measured without a value", x.ID).About(x.ID).
				With(problem.Remedy{
					Text: "give its value", Action: problem.Complete,
					Ways: []string{problem.WayValue},
				})
		}
		m, err := c.measurement(reported{
			requested: x.Parameters, made: r.Actual, anyway: r.Anyway, value: r.Value, sd: r.SD,
			quantities: slices.Concat(r.Quantities, r.Further), missing: r.Missing,
		})
		if err != nil {
			return nil, err
		}
		payload.Measurement = m
	case events.ResolvedFailed, events.ResolvedInfeasible, events.ResolvedNotPerformed:
		given := r.Resolution == events.ResolvedFailed && r.Quantities != nil && r.Value == nil && r.SD == nil
		if r.hasResult() && !given {
			return nil, notPossible("%s was %s: it has no value", x.ID, r.Resolution).About(x.ID)
		}
		var err error
		payload.Measurement, err = c.givenAllTheSame(reported{
			requested: x.Parameters, made: r.Actual, anyway: r.Anyway,
			quantities: slices.Concat(r.Quantities, r.Further), missing: r.Missing,
		}, given)
		if err != nil {
			return nil, err
		}
	default:
		return nil, notPossible(
			"%q is not a resolution: the resolutions are %s", r.Resolution,
			strings.Join(outcomes, ", "),
		)
	}
	payloads := []events.Payload{payload}
	if r.Resolution == events.ResolvedMeasured {
		payloads = append(payloads, c.Elsewhere(x, payload.Measurement.Actual)...)
	}
	repeated := ""
	if repeat {
		replicate := x.Replicate
		if r.Resolution == events.ResolvedFailed {
			replicate++ // it was a run of its own
		}
		retry := c.Retry(x, replicate)
		retry.Experiment = events.ExperimentID(len(s.Experiments) + 1 + before)
		repeated = retry.Experiment
		payloads = append(payloads, retry)
	}
	return append(payloads, c.voidBeforeAnything(x, r, repeated)...), nil
}

// budgetText is the budget that is spent: "25 experiments", or "80 h".
func budgetText(s *campaign.State) string {
	if c := s.Cost(); c != nil && c.Left() == 0 {
		return strings.TrimSpace(fmt.Sprintf("%g %s", c.Budget, c.Unit))
	}
	return fmt.Sprintf("%d experiments", s.Definition.Budget.Experiments)
}
