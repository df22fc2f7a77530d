package engine

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// results are those of many experiments in one batch, all or none. What is recorded
// is what as many requests for one result each would, in their order: each is
// judged by a copy of the core that holds those before it.
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
		if err := after.imagine(r.Actor, p); err != nil {
			return nil, err
		}
		payloads = append(payloads, p...)
	}
	return payloads, faults.All()
}

// imagine folds what is about to be recorded in the batch of a person's request,
// so that what follows in the batch is judged as after it. The core must be a
// copy of the caller.
func (c *Core) imagine(actor string, payloads []events.Payload) error {
	batch, err := NewBatch(c.State(), c.last.Add(time.Microsecond), Envelope{Actor: actor}, payloads...)
	if err == nil {
		batch, err = events.Assign(c.State().Name, c.State().Sequence, batch)
	}
	if err != nil {
		return err
	}
	for _, e := range batch {
		if err := c.Apply(e); err != nil {
			return err
		}
	}
	return nil
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

// tellRow records the result that a row of a table brings of an experiment that
// waits for it, and folds it. What would ask for another experiment is no result.
func tellRow(after *Core, row Tell, actor string) ([]events.Payload, error) {
	switch {
	case row.Again != "":
		return nil, notPossible("a row of a table brings a result, or why there will be none").About(row.Experiment)
	case !toMeasure(after.State(), row.Experiment):
		return nil, conflict(row.Experiment, "%s is there twice", row.Experiment)
	}
	payloads, err := tell(after.At(World{}), row, events.OriginPerson, 0)
	if err != nil {
		return nil, err
	}
	return payloads, after.imagine(actor, payloads)
}
