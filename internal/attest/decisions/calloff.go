package decisions

import (
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A call-off is valid if the log shows each step: a person's order, an answer to it, and nothing
// sent to the device in between. No log can show whether the instrument truly answered.

// joinsCancellation: a person calls several commands off, or all with the
// campaign, or what they have just settled.
func joinsCancellation(b *batch, in *identified) bool {
	if in.author != byPerson || in.event.Actor != b.first.Actor {
		return false
	}
	reason, _ := notPerformed(in.payload)
	switch first := b.opening.(type) {
	case *events.CampaignPaused:
		return first.Reason == reason
	case *events.CampaignStopped:
		return first.Reason == reason
	case *events.ExperimentResolved, *events.ActResolved:
		return b.settled(in) == in.o.Subject && b.resolved.reason == reason
	}
	before, calledOff := notPerformed(b.opening)
	return calledOff && before == reason
}

// joinsHeard: see endsCallOff.
func joinsHeard(b *batch, in *identified, _ *events.InstrumentAnswered) bool {
	return endsCallOff(b, in)
}

// endsCallOff: the instrument reported how a command ended after it was called off. Its unsolicited
// messages at the same instant have a span of their own.
func endsCallOff(b *batch, in *identified) bool {
	first, ok := b.opening.(*events.CancellationAnswered)
	return ok && first.Subject() == in.payload.Subject() && in.event.Actor == b.first.Actor &&
		in.event.Trace == b.first.Trace
}

// settlement is a person's word on the fate of a command, by its subject.
type settlement struct{ subject, reason string }

// settled returns the last subject that the present batch has settled; "" for none.
func (b *batch) settled(in *identified) string {
	if in.event.Cause != b.first.ID {
		return ""
	}
	return b.resolved.subject
}

// checkOwed checks that a finished batch has called off the commands that a person has settled in
// it: otherwise an experiment reported as not performed could still begin.
func checkOwed(a *auditor) {
	for _, experiment := range a.batch.owed {
		a.ruled(experiment, "a person settled it, and its command was not called off")
	}
	a.batch.owed = nil
}

// tookForAtRest reports whether earlier programs called a command off no more, since it was, though its device
// had said that it was at work on it.
func tookForAtRest(c *campaign.Command) bool {
	return c.Void() && c.CallOff.Fate == string(instruments.FateRunning)
}

// pays notes that the command of an experiment was called off.
func (b *batch) pays(experiment string) {
	b.owed = slices.DeleteFunc(b.owed, func(owed string) bool { return owed == experiment })
}

// checkCalled checks that the command and the instrument in an order or an answer are those of the
// experiment. An order names no instrument, and a person does not.
func checkCalled(a *auditor, in *identified) {
	instrument := in.o.Instrument
	if _, order := in.payload.(*events.CancellationOrdered); order || in.author == byPerson {
		instrument = ""
	}
	if in.about.Command != in.o.ID || in.about.Instrument != instrument {
		a.mismatch(in.subject(), "its command is %q of the instrument %q; that of %s is %q of %q",
			in.about.Command, in.about.Instrument, in.subject(), in.o.ID, instrument)
	}
	if in.author == byInstrument && in.name != instrument {
		a.mismatch(in.subject(), "its actor is %q, and %q was called", a.event.Actor, instrument)
	}
}

// checkOrdered checks that an order to call a command off refers to one that may still begin.
func checkOrdered(a *auditor, in *identified, p *events.CancellationOrdered) {
	o := in.o
	if o.Command == nil {
		return // the projections refuse it
	}
	a.batch.pays(p.Subject())
	checkCalled(a, in)
	if o.AtRest() {
		a.mismatch(p.Subject(), "its command is called off, which was at rest")
	}
	if !o.AtWork() && a.batch.settled(in) != p.Subject() {
		a.mismatch(p.Subject(), "its command is called off, and it was %s", o.Outcome)
	}
	repeated := ""
	if request, ok := in.last.(*events.ExperimentRequested); ok && a.batch.settled(in) == p.Subject() {
		repeated = request.Experiment
	}
	if p.Repeat != repeated {
		a.mismatch(p.Subject(), "it says that %q repeats it; it was %q", p.Repeat, repeated)
	}
	if p.EndProgram && p.Repeat != "" {
		a.mismatch(p.Subject(), "the program is ended at the word that settles it")
	}
}

// checkVoid checks the author of the statement that a command cannot begin any more, and its
// reason.
func checkVoid(a *auditor, in *identified, p *events.CancellationAnswered) {
	o := in.o
	if o.Command == nil {
		return // the projections refuse it
	}
	a.batch.pays(p.Subject())
	checkCalled(a, in)
	says := map[events.Voided]author{
		events.VoidedByInstrument: byInstrument, events.VoidedByProgram: byEngine, events.VoidedByPower: byPerson,
	}
	switch {
	case says[p.By]&in.author == 0:
		a.mismatch(p.Subject(), "it was called off by %q, which %q does not say", p.By, a.event.Actor)
	case p.By == events.VoidedByProgram && !o.CallOff.EndProgram:
		a.mismatch(p.Subject(), "the program was ended, and no person ordered that")
	case p.By == events.VoidedByPower && !o.AtWork() && a.batch.settled(in) != p.Subject():
		a.mismatch(p.Subject(), "its command could not begin any more")
	case p.By != events.VoidedByPower && p.Reason != "":
		a.mismatch(p.Subject(), "it gives a reason, and no person said it")
	}
	if p.Again && !engine.AskedAgain(o, instruments.Fate(p.Fate)) { // earlier programs never asked again
		a.mismatch(p.Subject(), "a person is to look again, and had not said that it was not performed")
	}
	underWay := o.UnderWay()
	switch instruments.Fate(p.Fate) {
	case "":
		if in.author != byPerson && !underWay && !a.core.State().Definition.At(o.Resource).ByHand {
			a.mismatch(p.Subject(), "it does not say what became of it")
		}
	case instruments.FateUnknown, instruments.FateNotStarted, instruments.FateRunning, instruments.FateFinished:
		if in.author == byPerson || underWay {
			a.mismatch(p.Subject(), "its fate was asked, and its outcome was awaited")
		}
	default:
		a.mismatch(p.Subject(), "%q is not a fate of a command", p.Fate)
	}
}

// checkHeard checks that a late statement of an instrument could not be recorded in another way.
func checkHeard(a *auditor, in *identified, p *events.InstrumentAnswered) {
	o := in.o
	switch {
	case o.Command == nil: // the projections refuse it
	case p.Answer == string(campaign.Started):
		if o.UnderWay() || p.Text != "" {
			a.mismatch(p.Subject(), "its start was confirmed, and that was not too late")
		}
	case o.Open && o.CallOff != nil && o.CallOff.Overtaken && endsCallOff(&a.batch, in):
		a.remark(p.Subject(), "its outcome is said to have come too late, and it had just been taken up again: "+
			"an earlier program wrote so")
	case o.Open:
		a.mismatch(p.Subject(), "its outcome is said to have come too late, and it was open")
	case p.Text == "":
		a.mismatch(p.Subject(), "it does not say how it ended")
	case !known[instruments.Status(p.Answer)] && p.Answer != string(events.ActDone):
		a.mismatch(p.Subject(), "%q is not an answer of an instrument", p.Answer)
	}
}

// askedAbout returns the running commands that a recovery has to list, in their order, if it lists
// any. A called-off command can be running again: since the others were asked about, or by an
// earlier statement of the instrument, when it alone is asked about and the others are awaited.
func (a *auditor) askedAbout(listed map[string]bool) (all []string) {
	s := a.core.State()
	again := len(listed) > 0
	for id := range listed {
		o := s.Order(id)
		again = again && o.Command != nil && o.Void()
	}
	for o := range s.Orders() {
		if o.UnderWay() && (listed[o.Subject] || !o.Void() && !again) {
			all = append(all, o.Subject)
		}
	}
	return all
}

// known are the outcomes that settle a command.
var known = map[instruments.Status]bool{
	instruments.Measured: true, instruments.Failed: true, instruments.Infeasible: true,
	instruments.Deferred: true, instruments.Cancelled: true,
}
