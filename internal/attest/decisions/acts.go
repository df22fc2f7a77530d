package decisions

import (
	"reflect"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// checkFollows makes the engine's record of a batch and its experiments again: it follows from the
// acts before, and from the clock where a stage was missed.
func checkFollows(a *auditor, in *identified) {
	for _, now := range []engine.Step{a.next(a.now), a.next(a.event.Time)} {
		record, ok := now.(engine.Record)
		if !ok || a.compare(record.Payloads[0], in.payload, a.running == a.build) != "" {
			continue
		}
		a.expect(in.subject(), a.running == a.build, record.Payloads[1:]...)
		return
	}
	a.uncalled(in.subject(), "nothing before it calls for it")
}

// checkRemade makes the engine's record again of an act whose fate is unknown, and which is made again.
func checkRemade(a *auditor, in *identified) {
	if remake := engine.Remake(a.core.State()); !reflect.DeepEqual(remake, in.payload) {
		a.mismatch(in.subject(), "nothing before it calls for it")
	}
}

// resourceOf is the campaign's name of the instrument that an act is handed to.
func resourceOf(a *auditor, p *events.ActDispatched) string {
	b := a.core.State().Batch(p.Batch)
	if b == nil || b.Stage(p.Stage) == nil {
		return "" // the projections refuse it
	}
	return b.Stage(p.Stage).On
}

// checkActDispatched checks an act against the procedure: that it could begin, by the log, and what it
// uses up. Who went first is not checked: it depends on what was free.
func checkActDispatched(a *auditor, _ *identified, p *events.ActDispatched) {
	resource := resourceOf(a, p)
	if resource == "" {
		return
	}
	next := engine.Due{Batch: p.Batch, Stage: p.Stage, Resource: resource, Experiments: p.Experiments}
	c := a.core.At(engine.World{Now: a.event.Time})
	if slices.ContainsFunc(p.Experiments, func(id string) bool { return c.Experiment(id) == nil }) {
		return
	}
	if problem := engine.NotDue(c, next); problem != "" {
		a.mismatch(p.Act, "%s", problem)
	}
	drawn, short := engine.DrawnByAct(c.State, next, givenTo(p.Act, p.Drawn))
	if short != nil || !reflect.DeepEqual(drawn, p.Drawn) {
		a.mismatch(p.Act, "it draws %v from the stocks, and by the definition %v", p.Drawn, drawn)
	}
	a.checkHanded(resource, p.Act, p.Command, p.Instrument, p.Identity)
}

// checkAct checks that an event about an act is of the instrument that was handed it.
func checkAct[P events.Payload](a *auditor, in *identified, p P) {
	if in.o.Command != nil && in.about.Instrument != in.o.Instrument {
		a.mismatch(p.Subject(), "it names the instrument %q; it is about one of %q", in.about.Instrument, in.o.Instrument)
	}
}

// checkActEnded checks what an act gave against its stage.
func checkActEnded(a *auditor, in *identified, p *events.ActEnded) {
	checkAct(a, in, p)
	act := a.core.State().Act(p.Act)
	if act == nil {
		return // the projections refuse it
	}
	if (p.Status == events.ActDone) != (p.Cause == "") || p.Status != events.ActDone && p.Gave != nil {
		a.mismatch(p.Act, "it is %s, with the cause %q, and gave %d results", p.Status, p.Cause, len(p.Gave))
	}
	if in.author == byInstrument && reflect.DeepEqual(engine.Remake(a.core.State()), in.payload) {
		a.mismatch(p.Act, "its actor is %q, and the engine ends an act that is made again", a.event.Actor)
	}
	checkGave(a, act, p.Status, p.Gave, events.ActFailed, events.ActInfeasible)
}

// checkGave checks what an act is said to have given: by a stage that measures, its quantities, and by
// any other nothing but the composition. otherwise are the outcomes of an experiment for which it is not done.
func checkGave(
	a *auditor, act *campaign.Act, status events.ActStatus, gave []events.Given, otherwise ...events.ActStatus,
) {
	switch status {
	case events.ActDone, events.ActFailed, events.ActInfeasible, events.ActDeferred, events.ActCancelled:
	default:
		a.mismatch(act.ID, "%q is not an outcome of an act", status)
	}
	stage := a.core.State().Batch(act.Batch).Stage(act.Stage)
	def := a.core.State().Definition.Giving(stage.Gives)
	for _, g := range gave {
		switch {
		case g.Status == "" && g.Cause != "", g.Status != "" && g.Measurement != nil,
			g.Status != "" && !slices.Contains(otherwise, g.Status),
			g.Status == "" && g.Measurement == nil:
			a.mismatch(act.ID, "for %s it says %q, with the cause %q", g.Experiment, g.Status, g.Cause)
		case g.Measurement == nil:
		case len(stage.Gives) == 0:
			only := events.Measurement{Actual: g.Measurement.Actual}
			if !reflect.DeepEqual(only, *g.Measurement) {
				a.mismatch(act.ID, "%s measures nothing, and gave something for %s", stage.Name, g.Experiment)
			}
		default:
			if err := instruments.Check(*def, *g.Measurement); err != nil {
				a.mismatch(act.ID, "for %s: %v", g.Experiment, err)
			}
		}
	}
	if status != events.ActDone || len(stage.Gives) == 0 {
		return
	}
	for _, x := range act.Experiments {
		if g := events.Of(gave, x); g.Status == events.ActDone && g.Measurement == nil {
			a.mismatch(act.ID, "%s is to measure something, and gave nothing for %s", stage.Name, x)
		}
	}
}

// checkActUnresolved checks an act that was given up against the silence of its instrument.
func checkActUnresolved(a *auditor, in *identified, p *events.ActUnresolved) {
	checkAct(a, in, p)
	_, recovery := a.batch.opening.(*events.RecoveryDone)
	if !recovery && in.author == byEngine {
		checkGivenUp(a, p.Act)
	}
}

// checkActResolved checks a person's word on an act.
func checkActResolved(a *auditor, in *identified, p *events.ActResolved) {
	act := a.core.State().Act(p.Act)
	if act == nil {
		return // the projections refuse it
	}
	byHand := a.core.State().Definition.At(act.Resource).ByHand
	if act.Command.Fate != campaign.Unknown && !byHand {
		a.mismatch(p.Act, "a person says what became of it, and its instrument was at work on it")
	}
	checkGave(a, act, p.Status, p.Gave, events.ActFailed, events.ActInfeasible, events.ActDeferred)
	if !byHand && !act.Command.AtRest() && !tookForAtRest(&act.Command) {
		a.batch.owed = append(a.batch.owed, p.Act)
	}
}

// checkBatchEnded checks that a person, and nobody else, scraps a batch.
func checkBatchEnded(a *auditor, in *identified, p *events.BatchEnded) {
	if p.Scrapped != (in.author == byPerson) || !p.Scrapped && p.Reason != "" {
		a.mismatch(p.Batch, "it is said to be scrapped: %v, by %q", p.Scrapped, a.event.Actor)
	}
}
