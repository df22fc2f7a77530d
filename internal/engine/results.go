package engine

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// results are those of many experiments in one batch, all or none. The events are those that as
// many single requests would give, in their order: each row is judged by a copy of the core
// that holds the rows before it.
type results []Tell

func (rows results) check() error { return checkEach(rows, "there is nothing to take over") }

func (rows results) record(c Now, r *Request) ([]events.Payload, error) {
	after := c.core.Clone()
	var payloads []events.Payload
	var faults problem.RowFaults
	first := make(map[string]int) // the row of an experiment
	for i, row := range rows {
		if before := first[row.Experiment]; before > 0 {
			faults.Add(i, conflict(row.Experiment, "%s is in row %d, too", row.Experiment, before))
			continue
		}
		p, err := row.record(after.At(World{}), r)
		if err != nil {
			faults.Add(i, err)
			continue
		}
		if row.Experiment != "" {
			first[row.Experiment] = i + 1
		}
		if err := after.imagine(after.last.Add(time.Microsecond), r.Actor, p...); err != nil {
			return nil, err
		}
		payloads = append(payloads, p...)
	}
	return payloads, faults.All()
}

// toMeasure reports whether an experiment of a table's row waits for the result
// that the row brings: the row of a run sheet that was filled in.
func toMeasure(s *campaign.State, experiment string) bool {
	x := s.Experiment(experiment)
	return x != nil && ByHand(s, x)
}

// ByHand reports whether an experiment waits for a person to measure it: its
// campaign is measured by hand, or it has not been sent to its instrument.
func ByHand(s *campaign.State, x *campaign.Experiment) bool {
	return x.Status.Open() && x.Status != campaign.Unresolved &&
		(s.Definition.ByHand() || x.Status == campaign.Requested)
}

// tellRow records the result that a table row gives for an experiment that waits for it, and
// folds it. A row that would request another experiment is not a result.
func tellRow(after *Core, row Tell, r *Request) ([]events.Payload, error) {
	switch {
	case row.Again != "":
		return nil, notPossible("a row of a table brings a result, or why there will be none").About(row.Experiment)
	case !toMeasure(after.State(), row.Experiment):
		return nil, conflict(row.Experiment, "%s is there twice", row.Experiment)
	}
	payloads, err := row.record(after.At(World{}), r)
	if err != nil {
		return nil, err
	}
	return payloads, after.imagine(after.last.Add(time.Microsecond), r.Actor, payloads...)
}
