package engine

import (
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Named returns the subject of a dispatch, and the identifier of its command.
func Named(s *campaign.State, step Dispatch) (subject, command string) {
	subject = step.Experiment
	if step.Due != nil {
		subject = events.ActID(len(s.Acts) + 1)
	}
	return subject, CommandID(s, subject)
}

// Dispatched is the event by which a command is handed to an instrument, with what it uses up.
func Dispatched(s *campaign.State, step Dispatch, to instruments.Description, of LabStocks) events.Payload {
	subject, command := Named(s, step)
	if step.Due == nil {
		parts, _ := Drawn(s, s.Experiment(subject), of) // see Short
		return &events.ExperimentDispatched{
			Experiment: subject, Command: command, Instrument: to.Name, Identity: to.Identity, Drawn: parts,
		}
	}
	next := step.Due
	parts, _ := DrawnByAct(s, *next, of) // see nextAct
	return &events.ActDispatched{
		Act: subject, Batch: next.Batch, Stage: next.Stage, Experiments: next.Experiments,
		Command: command, Instrument: to.Name, Identity: to.Identity, Drawn: parts,
	}
}

// DrawnByAct is [Drawn] of the next act.
func DrawnByAct(s *campaign.State, next Due, of LabStocks) ([]events.Drawn, *Shortage) {
	subject := events.ActID(len(s.Acts) + 1)
	return drawn(s, s.Batch(next.Batch).Stage(next.Stage).Draws, subject, next.Experiments, of)
}

// Recovered is a command whose fate its instrument reported to a process that had not sent it.
func Recovered(o campaign.Order, fate instruments.Fate) events.RecoveredCommand {
	experiment, act := subject(o)
	return events.RecoveredCommand{Experiment: experiment, Act: act, Command: o.ID, Fate: string(fate)}
}

// Fits reports whether an instrument can do what the campaign asks of it: all of it, or of a procedure
// the part of its stages.
func Fits(def *definition.Campaign, resource string, is instruments.Description) error {
	if resource == "" {
		return instruments.Compatible(is, *def)
	}
	return instruments.CheckDescription(is)
}
