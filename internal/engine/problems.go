package engine

import (
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Why a request cannot be fulfilled. The messages name the obstacle; the remedies say what a
// person can do, and the interface turns them into commands or buttons.

// notPossible is the error of a request that no state of this campaign allows.
func notPossible(format string, args ...any) *problem.Error {
	return problem.New(problem.NotPossible, format, args...)
}

// notFound is the error of a request about something that there is not.
func notFound(subject, format string, args ...any) *problem.Error {
	return problem.New(problem.NotFound, format, args...).About(subject)
}

// conflict is the error of a request that contradicts the record, or repeats it.
func conflict(subject, format string, args ...any) *problem.Error {
	return problem.New(problem.Conflict, format, args...).About(subject)
}

// notNow is the error of a request that something else has to come before.
func notNow(subject, format string, args ...any) *problem.Error {
	return problem.New(problem.NotNow, format, args...).About(subject)
}

// noExperiment is notFound for the commonest subject.
func noExperiment(id string) *problem.Error {
	return notFound(id, "there is no experiment %s", id)
}

// reasonOf is an error in words, empty for none.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// asProblem returns an error about a question as a problem, with its remedies if they are known
// already. Without it an error of a contract, which knows no questions, would reach the person
// without its subject.
func asProblem(q *campaign.Question, err error) *problem.Error {
	var known *problem.Error
	if errors.As(err, &known) {
		return known
	}
	return notPossible("%w", err).About(q.ID)
}

// outcomes are the ways in which an experiment can have ended, in the order in which messages
// name them.
var outcomes = []string{
	string(events.ResolvedMeasured), string(events.ResolvedFailed),
	string(events.ResolvedInfeasible), string(events.ResolvedNotPerformed),
}

var (
	giveReason = problem.Remedy{Text: "say why", Action: problem.Complete, Ways: []string{problem.WayReason}}
	takeOver   = problem.Remedy{Text: "take its measurements over into a new one", Action: problem.TakeOver}
)

// settle returns the remedy for an experiment whose fate is unknown.
func settle(id string) problem.Remedy {
	return problem.Remedy{Text: "settle it", Action: problem.Resolve, Subject: id, Ways: outcomes}
}

// change returns the remedy for an experiment that has a result.
func change(id string) problem.Remedy {
	return problem.Remedy{Text: "change it", Action: problem.Correct, Subject: id}
}

// sayMeasured returns the remedy for an experiment that lacks the result it should have.
func sayMeasured(x *campaign.Experiment) problem.Remedy {
	return problem.Remedy{
		Text:   fmt.Sprintf("if %s was measured, give its value", x.ID),
		Action: problem.Complete, Ways: []string{problem.WayValue},
	}
}
