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

// Resolve settles an experiment whose fate is unknown, or several in one way:
// all of them or none.
type Resolve struct {
	Experiment string            `json:"experiment" doc:"The experiment, or several with the same fate, all or none: e1-e24, or e1,e3-e5; an act of a procedure, a12, or a batch that is given up, b3. An experiment in a procedure stands for the act that serves it and whose fate is unknown: then the same request has rows for all experiments of the act."`
	Resolution events.Resolution `json:"resolution" enum:"measured,failed,infeasible,not-performed,done" doc:"What became of it; an act is done."`
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

// resolves are Resolve requests, each with its own finding.
type resolves []Resolve

func (all resolves) check() error {
	return checkEach(all, "the list is empty: there is nothing to settle")
}

// checkEach validates each row of a request by itself, and refuses a request without rows.
func checkEach[R any, P interface {
	*R
	check() error
}](rows []R, none string) error {
	if len(rows) == 0 {
		return invalid("%s", none)
	}
	var faults problem.RowFaults
	for i := range rows {
		faults.Add(i, P(&rows[i]).check())
	}
	return faults.All()
}

// listed returns the experiments that a request names: one, or a list such as
// "e1-e24".
func listed(s *campaign.State, text string) ([]*campaign.Experiment, error) {
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

// ofEach records the same of several experiments, or nothing.
func ofEach(
	list []*campaign.Experiment, of func(*campaign.Experiment) ([]events.Payload, error),
) (all []events.Payload, err error) {
	for _, x := range list {
		payloads, err := of(x)
		if err != nil {
			return nil, ofSeveral(err, list, "")
		}
		all = append(all, payloads...)
	}
	return all, nil
}

// ofSeveral adds to why a request about several experiments cannot be fulfilled
// which of them it could be about: those with a status.
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

// record is [resolves.record] of one row.
func (r *Resolve) record(c Now, by *Request) ([]events.Payload, error) {
	return resolves{*r}.record(c, by)
}

// record records a person's findings about experiments whose fate is unknown: one, several with
// the same finding, or each with its own, as for a plate with eleven known wells. All is
// recorded in one batch, or nothing; the faults of several rows are a [problem.RowFaults].
func (all resolves) record(c Now, _ *Request) ([]events.Payload, error) {
	var faults problem.RowFaults
	settling := settling{Now: c, all: all, rows: make(map[string]int)}
	for i := range all {
		faults.Add(i, settling.row(&all[i], i+1))
	}
	for _, s := range settling.acts {
		if faults != nil {
			break // what is missing of an act may be in a row with a fault
		}
		payloads, err := settling.settled(s)
		faults.Add(s.row-1, err)
		settling.payloads = append(settling.payloads, payloads...)
	}
	if faults != nil && len(all) == 1 {
		return nil, faults[0].Err
	}
	return settling.payloads, faults.All()
}

// settling collects the events row by row.
type settling struct {
	Now
	all      resolves
	payloads []events.Payload
	rows     map[string]int // by experiment
	acts     []*settledAct  // in the order in which rows name them
	repeated int            // how many experiments were requested again
}

// row settles the experiments of one row, all in one way, or an act, or a batch.
func (c *settling) row(r *Resolve, row int) error {
	if a := c.Act(r.Experiment); a != nil {
		return c.ofAct(a, a.Experiments, r, row)
	}
	if b := c.Batch(r.Experiment); b != nil {
		if len(c.all) > 1 {
			return notPossible("a batch is given up by itself: leave the other rows out").About(b.ID)
		}
		payloads, err := r.scrap(c.Now, b)
		c.payloads = append(c.payloads, payloads...)
		return err
	}
	list, err := listed(c.State, r.Experiment)
	if err != nil {
		return err
	}
	acts, shares, err := c.actsOf(list)
	if err != nil {
		return err
	}
	for _, a := range acts {
		if err := c.ofAct(a, shares[a], r, row); err != nil {
			return err
		}
	}
	if acts != nil {
		return nil
	}
	if len(list) > 1 && (r.hasResult() || r.Actual != nil || r.Resolution == events.ResolvedMeasured) {
		return notPossible("%s have a result each: settle what was measured one by one", r.Experiment)
	}
	if err := named(c.State, r.Quantities, r.Further); err != nil {
		return err
	}
	for _, x := range list {
		if before := c.rows[x.ID]; before > 0 && before != row {
			return conflict(x.ID, "%s is in row %d, too", x.ID, before)
		}
		c.rows[x.ID] = row
		if err := c.one(x, r); err != nil {
			return ofSeveral(err, list, campaign.Unresolved)
		}
	}
	return nil
}

// one settles one experiment.
func (c *settling) one(x *campaign.Experiment, r *Resolve) error {
	if err := r.fits(c.Now, x, c.repeated); err != nil {
		return err
	}
	m, err := r.measurement(c.Now, x)
	if err != nil {
		return err
	}
	// If the instrument overtook an earlier word, the experiment has been requested again
	// already.
	again := repetitionOf(c.State, x)
	repeat := r.Repeat && (again == nil || again.Status != campaign.Requested)
	c.payloads = append(c.payloads, &events.ExperimentResolved{
		Experiment: x.ID, Resolution: r.Resolution, Measurement: m, Repeat: repeat, Reason: r.Reason,
	})
	if r.Resolution == events.ResolvedMeasured {
		c.payloads = append(c.payloads, Elsewhere(c.Now, x, m.Actual)...)
	}
	repeated := ""
	if repeat {
		replicate := x.Replicate
		if r.Resolution == events.ResolvedFailed {
			replicate++ // it was a run of its own
		}
		retry := Retry(c.State, x, replicate)
		retry.Experiment = events.ExperimentID(len(c.Experiments) + 1 + c.repeated)
		repeated = retry.Experiment
		c.payloads, c.repeated = append(c.payloads, retry), c.repeated+1
	}
	c.payloads = append(c.payloads, voidBeforeAnything(c.State, x, r, repeated)...)
	return nil
}

// fits returns an error for an experiment that cannot be settled or repeated; before is the
// number of experiments of the request that are repeated first.
func (r *Resolve) fits(c Now, x *campaign.Experiment, before int) error {
	switch {
	case x.Status != campaign.Unresolved:
		return conflict(x.ID, "%s is %s: only an experiment whose fate is unknown can be resolved", x.ID, x.Status)
	case !r.Repeat:
		return nil
	case r.Resolution == events.ResolvedMeasured:
		return notPossible("%s was measured: there is nothing to repeat", x.ID).About(x.ID)
	case r.Resolution == events.ResolvedInfeasible:
		return notPossible(
			"%s showed that its composition cannot be made or measured: it is not repeated", x.ID,
		).About(x.ID)
	case c.Status.Ended():
		return problem.New(problem.Gone, "the campaign is %s: nothing is repeated", c.Status)
	case r.Resolution == events.ResolvedFailed && c.Left() <= before:
		return notNow(x.ID, "the budget of %s is spent", budgetText(c.State)).
			With(problem.Remedy{Text: fmt.Sprintf("to repeat %s, raise it", x.ID), Action: problem.Amend})
	}
	if err := c.space.Contains(x.Parameters); err != nil {
		return notPossible("%s cannot be repeated: %w", x.ID, err).About(x.ID)
	}
	return nil
}

// reported is the result as it was typed, of an experiment or of an act for it.
func (r *Resolve) reported(x *campaign.Experiment) reported {
	return reported{
		requested: x.Parameters, made: r.Actual, anyway: r.Anyway, value: r.Value, sd: r.SD,
		quantities: slices.Concat(r.Quantities, r.Further), missing: r.Missing,
	}
}

// measurement returns the experiment's measurement, nil if it measured nothing.
func (r *Resolve) measurement(c Now, x *campaign.Experiment) (*events.Measurement, error) {
	said := r.reported(x)
	switch r.Resolution {
	case events.ResolvedMeasured:
		if r.Value == nil && r.Quantities == nil && !c.Definition.Awaits() {
			return nil, notPossible("%s cannot be resolved as measured without a value", x.ID).About(x.ID).
				With(problem.Remedy{
					Text: "give its value", Action: problem.Complete,
					Ways: []string{problem.WayValue},
				})
		}
		return measurement(c, said)
	case events.ResolvedFailed, events.ResolvedInfeasible, events.ResolvedNotPerformed:
		given := r.Resolution == events.ResolvedFailed && r.Quantities != nil && r.Value == nil && r.SD == nil
		if r.hasResult() && !given {
			return nil, notPossible("%s was %s: it has no value", x.ID, r.Resolution).About(x.ID)
		}
		return givenAllTheSame(c, said, given)
	}
	return nil, notPossible("%q is not a resolution: the resolutions are %s", r.Resolution, strings.Join(outcomes, ", "))
}

// budgetText is the budget that is spent: "25 experiments", or "80 h".
func budgetText(s *campaign.State) string {
	if c := s.Cost(); c != nil && c.Left() == 0 {
		return strings.TrimSpace(fmt.Sprintf("%g %s", c.Budget, c.Unit))
	}
	return fmt.Sprintf("%d experiments", s.Definition.Budget.Experiments)
}
