package view

import (
	"cmp"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// In this file are the events of batches and acts.

// actName names an act with its stage: "a12 (measure of e7)", "a13 (load of b3)"; without its
// dispatch the identifier alone.
func (s *Story) actName(id string) string {
	d := s.acts[id]
	if d == nil {
		return id
	}
	return fmt.Sprintf("%s (%s of %s)", id, d.Stage, ActOf(d.Batch, d.Experiments))
}

// ActOf names the only experiment of an act, or its batch.
func ActOf(batch string, experiments []string) string {
	if len(experiments) == 1 {
		return experiments[0]
	}
	return batch
}

// called names the subject of an event about a command: an act by its stage too.
func (s *Story) called(subject string) string {
	if events.ActNumber(subject) > 0 {
		return s.actName(subject)
	}
	return subject
}

// resource is the campaign's name of the instrument of an act; where it is not known, the driver's.
func (s *Story) resource(act, instrument string) string {
	if d := s.acts[act]; d != nil && s.def != nil {
		for i := range s.def.Procedure {
			if stage := &s.def.Procedure[i]; stage.Name == d.Stage {
				return cmp.Or(stage.On, instrument)
			}
		}
	}
	return instrument
}

func batchPlanned(_ events.Event, p *events.BatchPlanned) Entry {
	return Entry{Text: fmt.Sprintf("%s is %s", p.Batch, events.ExperimentList(p.Experiments))}
}

// The intent is recorded first, hence “goes”.
func (s *Story) actDispatched(_ events.Event, p *events.ActDispatched) Entry {
	text := fmt.Sprintf("%s goes to %s", s.actName(p.Act), s.resource(p.Act, p.Instrument))
	if len(p.Drawn) > 0 {
		text += ", with " + format.Drawn(p.Drawn)
	}
	return Entry{Text: text}
}

func (s *Story) actAccepted(_ events.Event, p *events.ActAccepted) Entry {
	return Entry{Text: s.actName(p.Act) + " has started"}
}

// A done act of one experiment is routine: the experiment has a line.
func (s *Story) actEnded(_ events.Event, p *events.ActEnded) Entry {
	text := fmt.Sprintf("%s %s at %s", s.actName(p.Act), actOutcome(p.Status), s.resource(p.Act, p.Instrument))
	if p.Status == events.ActDeferred {
		text += ", and is to be tried again"
	}
	entry := Entry{Text: text + failedIn(p.Gave), Reason: p.Cause}
	d := s.acts[p.Act]
	entry.Routine = d != nil && len(d.Experiments) == 1 && p.Status == events.ActDone
	return entry
}

// actOutcome says how an act ended.
func actOutcome(status events.ActStatus) string {
	switch status {
	case events.ActDone:
		return "is done"
	case events.ActInfeasible:
		return "cannot be done"
	case events.ActDeferred:
		return "did not take place"
	case events.ActCancelled:
		return "was called off"
	}
	return string(status)
}

// failedIn lists the experiments for which an act is not done: ", but not for e9 (a bubble)".
func failedIn(gave []events.Given) string {
	var failed []string
	for _, g := range gave {
		if g.Status != "" && g.Status != events.ActDone {
			failed = append(failed, fmt.Sprintf("%s (%s)", g.Experiment, cmp.Or(g.Cause, string(g.Status))))
		}
	}
	if failed == nil {
		return ""
	}
	return ", but not for " + format.List(failed...)
}

func (s *Story) actUnresolved(_ events.Event, p *events.ActUnresolved) Entry {
	return fateUnknown(s.actName(p.Act), p.Act, p.Cause)
}

// fateUnknown is the entry about a command whose fate a person has to tell.
func fateUnknown(name, subject, cause string) Entry {
	return Entry{
		Text: "the fate of " + name + " is UNKNOWN", Reason: cause,
		Remedy: &problem.Remedy{Text: "settle it", Action: problem.Resolve, Subject: subject},
	}
}

func (s *Story) actResolved(e events.Event, p *events.ActResolved) Entry {
	text := fmt.Sprintf("settled %s: %s", s.actName(p.Act), resolvedAs(p.Status))
	if len(p.Gave) == 1 {
		text += s.given(p.Gave[0].Measurement)
	}
	return Entry{Who: doer(e), Text: text, Reason: p.Reason}
}

// resolvedAs is a resolution of an act as its command writes it.
func resolvedAs(status events.ActStatus) string {
	if status == events.ActDeferred {
		return string(events.ResolvedNotPerformed)
	}
	return string(status)
}

// The end that follows from the acts is routine; a person's word is not.
func batchEnded(e events.Event, p *events.BatchEnded) Entry {
	if p.Scrapped {
		return Entry{Who: doer(e), Text: "took " + p.Batch + " out of the procedure", Reason: p.Reason}
	}
	return Entry{Text: p.Batch + " is through", Reason: p.Reason, Routine: true}
}

// remember keeps what an act is, for the events that name it later.
func (s *Story) remember(p *events.ActDispatched) {
	if s.acts == nil {
		s.acts = make(map[string]*events.ActDispatched)
	}
	s.acts[p.Act] = p
}

// settledBefore is the remedy for a late answer on an experiment; an act has no correction.
func settledBefore(p *events.InstrumentAnswered) *problem.Remedy {
	if p.Act != "" {
		return &problem.Remedy{Text: "see what happened", Action: problem.Explain, Subject: p.Act}
	}
	return &problem.Remedy{
		Text: "if that is how it ended, say so", Action: problem.Correct, Subject: p.Experiment,
	}
}
