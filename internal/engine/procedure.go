package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// nextProcedure takes batches of experiments through the stages of the procedure.
//
// It stands before the end of a campaign: a batch that is under way then goes on, since what stands in
// an oven has to come out. While the campaign is paused nothing is handed out; what has ended is
// recorded nevertheless.
func nextProcedure(c Now) (Step, error) {
	for i := range c.Batches {
		if b := &c.Batches[i]; !b.Over {
			if payloads := ended(c, b); payloads != nil {
				return record(payloads...)
			}
		}
	}
	if step := nextVacate(c); step != nil {
		return step, nil
	}
	if c.Status == campaign.Paused {
		return nil, nil
	}
	if payload := nextBatch(c); payload != nil {
		return record(payload)
	}
	for i := range c.Batches {
		b := &c.Batches[i]
		if b.Over || unresolved(c.State, b) {
			continue
		}
		for _, next := range due(c, b, c.Now) {
			if step := nextAct(c, next); step != nil {
				return step, nil
			}
		}
	}
	return nil, nil
}

// nextBatch plans a batch: one that is full, or one with enough experiments that has waited for others
// long enough.
func nextBatch(c Now) events.Payload {
	waiting := waitingForBatch(c.State)
	size := c.Definition.Batch.Size()
	switch {
	case waiting == nil || c.Status.Ended() || withheld(c) != nil:
		return nil
	case len(waiting) >= size:
		return planned(c.State, waiting[:size])
	}
	if until := batchUntil(c.State, waiting); !until.IsZero() && !c.Now.Before(until) {
		return planned(c.State, waiting)
	}
	return nil
}

// batchUntil is when a batch is planned that is not full; zero where it goes on waiting for others.
func batchUntil(s *campaign.State, waiting []string) time.Time {
	batch := s.Definition.Batch
	if batch.AtLeast == 0 || len(waiting) < batch.AtLeast {
		return time.Time{}
	}
	last := s.Experiment(waiting[len(waiting)-1])
	return last.RequestedAt.Add(time.Duration(batch.Within))
}

// lastBatch plans a batch that is not full where nothing else is under way and nothing more can be
// requested before its results are known; nil elsewhere.
func lastBatch(c Now) Step {
	waiting := waitingForBatch(c.State)
	if waiting == nil || openBatch(c.State) != nil {
		return nil
	}
	return Record{[]events.Payload{planned(c.State, waiting)}}
}

// waitingForBatch lists the experiments that are to go through the procedure and are in no batch yet.
func waitingForBatch(s *campaign.State) (ids []string) {
	if len(s.Definition.Procedure) == 0 {
		return nil
	}
	for x := range among(s, campaign.Requested) {
		ids = append(ids, x.ID)
	}
	return ids
}

// planned is the event that plans the next batch.
func planned(s *campaign.State, experiments []string) events.Payload {
	return &events.BatchPlanned{Batch: events.BatchID(len(s.Batches) + 1), Experiments: experiments}
}

// openBatch returns the first batch that is under way, or nil.
func openBatch(s *campaign.State) *campaign.Batch {
	for i := range s.Batches {
		if b := &s.Batches[i]; !b.Over {
			return b
		}
	}
	return nil
}

// ended returns the known facts about a batch that are not recorded yet: an experiment that is measured, or
// cannot be any more, and the end of the batch.
func ended(c Now, b *campaign.Batch) (payloads []events.Payload) {
	open := false
	for _, id := range b.Experiments {
		x := c.Experiment(id)
		if !x.Status.Open() {
			continue
		}
		if outcome := outcome(c, b, x); outcome != nil {
			payloads = append(payloads, WithFollowUps(c, outcome)...)
			if follows := len(payloads) > 1; follows {
				return payloads // the next one is judged by what these change
			}
			continue
		}
		open = true
	}
	if open || payloads != nil || c.UnderWay(b) || len(b.Places) > 0 || !isCleaned(c.State, b) {
		return payloads
	}
	return []events.Payload{&events.BatchEnded{Batch: b.ID}}
}

// isCleaned reports whether all stages were performed that always are.
func isCleaned(s *campaign.State, b *campaign.Batch) bool {
	for i := range b.Procedure {
		stage := &b.Procedure[i]
		if !stage.Always {
			continue
		}
		for _, x := range b.Experiments {
			if how, _ := s.Progress(b, stage, x); how != campaign.StageDone && how != campaign.StageFailed {
				return false
			}
		}
	}
	return true
}

// outcome returns the outcome of an open experiment of a batch as it follows from its acts; nil while
// it is open.
func outcome(c Now, b *campaign.Batch, x *campaign.Experiment) events.Payload {
	all := true
	for i := range b.Procedure {
		stage := &b.Procedure[i]
		if stage.Always {
			continue
		}
		how, act := c.Progress(b, stage, x.ID)
		switch how {
		case campaign.StageFailed:
			said := act.For(x.ID)
			cause := fmt.Sprintf("%s (%s): %s", stage.Name, act.ID, said.Cause)
			if said.Status == events.ActInfeasible {
				return &events.ExperimentInfeasible{
					Experiment: x.ID, Instrument: act.Command.Instrument, Cause: cause,
				}
			}
			return &events.ExperimentFailed{Experiment: x.ID, Instrument: act.Command.Instrument, Cause: cause}
		case campaign.StageAhead:
			if late := missed(c, b, stage, x.ID); late != "" {
				return &events.ExperimentFailed{Experiment: x.ID, Cause: late}
			}
		}
		all = all && how == campaign.StageDone
	}
	if !all {
		return nil
	}
	return measuredBy(c.State, b, x)
}

// missed says that a stage did not begin for an experiment while it could, or "".
func missed(c Now, b *campaign.Batch, stage *definition.Stage, experiment string) string {
	for _, edge := range stage.After {
		until := windowEnd(c, b, edge, experiment)
		if !until.IsZero() && c.Now.After(until) {
			return fmt.Sprintf("%s did not begin within %s of the end of %s",
				stage.Name, time.Duration(edge.Until), edge.Stage)
		}
	}
	return ""
}

// windowEnd is when it is too late to begin a stage after another; zero where it never is, or where
// that one has not ended.
func windowEnd(c Now, b *campaign.Batch, edge definition.Edge, experiment string) time.Time {
	if edge.Until == 0 {
		return time.Time{}
	}
	how, before := c.Progress(b, b.Stage(edge.Stage), experiment)
	if how != campaign.StageDone {
		return time.Time{}
	}
	return before.EndedAt.Add(time.Duration(edge.Until))
}

// measuredBy is the measurement of an experiment whose stages are all done: the quantities that each
// gave, in the order of the definition. The composition that was made is that of the first act that
// named one.
func measuredBy(s *campaign.State, b *campaign.Batch, x *campaign.Experiment) *events.ExperimentMeasured {
	whole := events.Measurement{}
	instrument := ""
	for a := range s.ActsOf(b) {
		if !a.Serves(x.ID) || a.Open() {
			continue
		}
		given := a.For(x.ID)
		gave := given.Measurement
		if given.Status != events.ActDone || gave == nil {
			continue
		}
		if whole.Actual == nil {
			whole.Actual = gave.Actual
		}
		if gave.All() != nil {
			definition.Default(&instrument, a.Command.Instrument)
			definition.Default(&whole.Identity, gave.Identity)
		}
		if whole.Began.IsZero() {
			whole.Began = gave.Began
		}
		if gave.Ended.After(whole.Ended) {
			whole.Ended = gave.Ended
		}
		if gave.Objective != (definition.Quantity{}) {
			whole.Objective = gave.Objective
		}
		whole.Quantities = append(whole.Quantities, gave.Quantities...)
		whole.Missing = append(whole.Missing, gave.Missing...)
		whole.Further = append(whole.Further, gave.Further...)
		whole.Unread = append(whole.Unread, gave.Unread...)
	}
	if whole.Actual == nil {
		whole.Actual = x.Parameters
	}
	declared := s.Definition.Declared()
	place := func(name string) int {
		return slices.IndexFunc(declared, func(q definition.QuantityDef) bool { return q.Name == name })
	}
	slices.SortStableFunc(whole.Quantities, func(a, b definition.Quantity) int { return place(a.Name) - place(b.Name) })
	slices.SortStableFunc(whole.Missing, func(a, b events.Missing) int { return place(a.Name) - place(b.Name) })
	return &events.ExperimentMeasured{
		Experiment: x.ID, Instrument: instrument, Requested: x.Parameters, Measurement: whole,
	}
}

// unresolved reports whether the fate of an act of the batch is unknown, or whether one that was
// called off may still begin: until it is known, nothing more is done with the batch.
func unresolved(s *campaign.State, b *campaign.Batch) bool {
	for a := range s.ActsOf(b) {
		if holds(&a.Command) {
			return true
		}
	}
	return false
}

// holds reports whether a command keeps its instrument from others until a person, or the answer to its
// call-off, says what became of it.
func holds(c *campaign.Command) bool { return c.Fate == campaign.Unknown || c.BeingCalledOff() }

// Due is an act that may be handed to its instrument: a stage of a batch for experiments.
type Due struct {
	Batch, Stage, Resource string
	Experiments            []string
}

// due lists the acts of a batch that may begin at a time, in the order of the procedure.
func due(c Now, b *campaign.Batch, at time.Time) (all []Due) {
	for i := range b.Procedure {
		stage := &b.Procedure[i]
		var ahead []string
		for _, id := range b.Experiments {
			if how, _ := c.Progress(b, stage, id); how == campaign.StageAhead {
				ahead = append(ahead, id)
			}
		}
		units := [][]string{ahead}
		if !stage.Together {
			units = slices.Collect(slices.Chunk(ahead, 1))
		}
		for _, unit := range units {
			if len(unit) > 0 && c.Early(b, stage, unit, at) == "" {
				all = append(all, Due{b.ID, stage.Name, stage.On, unit})
			}
		}
	}
	return all
}

// nextAct hands an act to its instrument; nil while that is not possible. An act whose fate is unknown
// holds its own instrument, and no other.
func nextAct(c Now, next Due) Step {
	r := c.Resources[next.Resource]
	working := 0
	for o := range c.Orders() {
		if o.Resource != next.Resource || !o.AtWork() {
			continue
		}
		if holds(o.Command) {
			return nil
		}
		working++
	}
	b := c.Batch(next.Batch)
	stage := b.Stage(next.Stage)
	place := labPlace(c, b, stage)
	subject := events.ActID(len(c.Acts) + 1)
	_, short := drawn(c.State, stage.Draws, subject, next.Experiments, c.LabStocks)
	if short != nil || actRests(c, next.Resource).After(c.Now) || r.Lost != "" || r.Service.Withheld(c.Now) != "" {
		return nil
	}
	switch {
	case r.Describing:
		return nil
	case r.Undescribed:
		return Describe{Resource: next.Resource}
	case working >= r.Capacity:
		return nil
	case place != "" && occupied(c, place) != "":
		return nil
	case place != "":
		return Occupy{place, b.ID}
	case r.Ticket.Place == Unqueued:
		return Queue{Resource: next.Resource, Subject: subject}
	case r.Ticket.Place == Waiting:
		return nil
	}
	if step := take(c, stage.Draws, subject, next.Experiments); step != nil {
		return step
	}
	return Dispatch{Due: &next}
}

// actRow returns the acts of an instrument that gave nothing, one after the other, last: in the order
// of their ends, since the campaign was resumed. An act that showed that its composition cannot be made
// is a sign of a working instrument.
func actRow(c Now, resource string) (row []*campaign.Act) {
	for i := range c.Acts {
		a := &c.Acts[i]
		if a.Resource != resource || a.Open() || !a.EndedAt.After(c.ResumedOn) || a.Command.CallOff != nil {
			continue
		}
		row = append(row, a)
	}
	slices.SortStableFunc(row, func(a, b *campaign.Act) int { return a.EndedAt.Compare(b.EndedAt) })
	first := len(row)
	for first > 0 && (row[first-1].Status == events.ActFailed || row[first-1].Status == events.ActDeferred) {
		first--
	}
	return row[first:]
}

// actRests returns until when an instrument is left alone that has put acts off, or failed, as
// [restsUntil] does for experiments; zero where it need not be.
func actRests(c Now, resource string) time.Time {
	row := actRow(c, resource)
	if len(row) == 0 {
		return time.Time{}
	}
	return restFrom(c, len(row), row[0].Status == events.ActDeferred, row[len(row)-1].EndedAt, resource)
}

// mostPutOff is how many acts in a row an instrument may put off where no time passes between them.
const mostPutOff = 50

// nextActBreak is the circuit breaker of acts: it pauses a campaign one of whose instruments has given
// nothing several times in a row, or has put everything off for long.
func nextActBreak(c Now) (Step, error) {
	if len(c.Acts) == 0 || c.Status != campaign.Running {
		return nil, nil
	}
	for _, resource := range c.Definition.Resources() {
		row := actRow(c, resource)
		tried := 0
		for _, a := range row {
			if a.Status == events.ActFailed {
				tried++
			}
		}
		if len(row) < failuresInARow {
			continue
		}
		last := row[len(row)-1]
		long := last.EndedAt.Sub(row[0].EndedAt)
		if tried >= failuresInARow || long >= patience || len(row) >= mostPutOff {
			return record(&events.CampaignPaused{Reason: fmt.Sprintf(
				"the last %d acts at %s gave nothing, %s (%s) for this reason: %s; see to it",
				len(row), resource, last.ID, last.Stage, last.Cause)})
		}
	}
	return nil, nil
}

// actDeadline returns when a batch has to be looked at again though nothing has arrived: a stage may
// begin, or it is too late for one; an instrument has rested; a batch waits no longer for others. Zero
// means never.
func actDeadline(c Now) (first time.Time) {
	add := func(t time.Time) {
		if t.After(c.Now) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if waiting := waitingForBatch(c.State); waiting != nil {
		add(batchUntil(c.State, waiting))
	}
	for _, p := range c.LabPlaces {
		add(p.From) // the earliest of them, in whichever order
	}
	for i := range c.Batches {
		b := &c.Batches[i]
		if b.Over {
			continue
		}
		for j := range b.Procedure {
			stage := &b.Procedure[j]
			for _, id := range b.Experiments {
				if how, _ := c.Progress(b, stage, id); how != campaign.StageAhead {
					continue
				}
				for _, edge := range stage.After {
					if how, before := c.Progress(b, b.Stage(edge.Stage), id); how == campaign.StageDone {
						add(before.EndedAt.Add(time.Duration(edge.From)))
					}
					if until := windowEnd(c, b, edge, id); !until.IsZero() {
						add(until.Add(time.Microsecond)) // which is still in time
					}
				}
			}
			add(actRests(c, stage.On))
		}
	}
	return first
}

// waitForWork is the wait of a campaign with experiments under way.
func waitForWork(c Now) Wait {
	wait := Wait{For: waitingForInstrument(c), Until: Deadline(c)}
	if len(c.Definition.Procedure) == 0 {
		return wait
	}
	var words []string
	for i := range c.Batches {
		b := &c.Batches[i]
		if b.Over {
			continue
		}
		text, remedies := Awaited(c, b)
		words = append(words, text)
		wait.Remedies = append(wait.Remedies, remedies...)
	}
	if words != nil {
		wait.For = strings.Join(words, "; ")
	}
	return wait
}

// Awaited says what a batch under way waits for, by the log alone: a person first. What a run knows of
// its instruments besides is in its [Wait].
func Awaited(c Now, b *campaign.Batch) (text string, remedies []problem.Remedy) {
	var at []string
	for a := range c.ActsOf(b) {
		switch {
		case Remade(c.State, a):
			at = append(at, fmt.Sprintf("%s to be called off, and made again", a.ID))
		case a.Command.Fate == campaign.Unknown:
			return fmt.Sprintf("a person: the fate of %s (%s of %s) is unknown", a.ID, a.Stage, b.ID),
				[]problem.Remedy{settle(a.ID)}
		case a.Open():
			at = append(at, fmt.Sprintf("%s for %s of %s (%s)", a.Resource, a.Stage, b.ID, a.ID))
		}
	}
	if at != nil {
		return strings.Join(at, ", "), nil
	}
	if open := slices.ContainsFunc(b.Experiments, func(id string) bool { return c.Experiment(id).Status.Open() }); !open &&
		len(b.Places) > 0 {
		return fmt.Sprintf("a person: take %s out of %s, and say that it is scrapped", b.ID, strings.Join(b.Places, ", ")),
			[]problem.Remedy{{Text: "say that it was taken out", Action: problem.Resolve, Subject: b.ID}}
	}
	if all := due(c, b, c.Now); len(all) > 0 {
		return awaitedFor(c, b, all[0])
	}
	if at := actDeadline(c); !at.IsZero() {
		return fmt.Sprintf("%s, which goes on at %s", b.ID, format.Time(at.In(c.Now.Location()))), nil
	}
	return fmt.Sprintf("a place for %s", b.ID), nil
}

// awaitedFor says what an act waits for that may begin.
func awaitedFor(c Now, b *campaign.Batch, next Due) (text string, remedies []problem.Remedy) {
	if s := c.Resources[next.Resource].Service; s.Withheld(c.Now) != "" {
		return s.wait(c.Now)
	}
	stage := b.Stage(next.Stage)
	subject := events.ActID(len(c.Acts) + 1)
	if _, short := drawn(c.State, stage.Draws, subject, next.Experiments, c.LabStocks); short != nil && short.Fault {
		return "the lab's stocks: " + short.String(), nil
	} else if short != nil {
		return "a person: " + short.String(), []problem.Remedy{short.Remedy()}
	}
	if rests := actRests(c, next.Resource); rests.After(c.Now) {
		return fmt.Sprintf("%s, which is tried again at %s for %s of %s",
			next.Resource, rests.In(c.Now.Location()).Format(time.TimeOnly), next.Stage, b.ID), nil
	}
	if place := labPlace(c, b, stage); place != "" {
		if why := occupied(c, place); why != "" {
			return fmt.Sprintf("%s, for %s of %s", why, next.Stage, b.ID), nil
		}
	}
	return fmt.Sprintf("its turn at %s for %s of %s", next.Resource, next.Stage, b.ID), nil
}
