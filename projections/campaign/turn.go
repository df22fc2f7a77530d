package campaign

import "github.com/campaignd/campaignd/events"

// A turn is all that leads to one experiment of the policy: decisions that ask,
// and the one that runs it. Turns count from 1. Experiments that people run on
// their own, and answers that no decision asked for, are in no turn; what
// repeats an experiment is in the turn of that one.

// turnOf returns the turn of an experiment that is requested now, 0 where it is
// in none. The first experiment of a decision ends the turn under way.
// Replicates of one decision are in one turn: the second finds the first from
// the newest back.
func (s *State) turnOf(p *events.ExperimentRequested) int {
	if p.Origin != events.OriginPolicy || p.Decision == "" {
		return 0
	}
	for i := len(s.Experiments) - 1; i >= 0; i-- {
		if x := &s.Experiments[i]; x.Turn > 0 && x.Decision == p.Decision {
			return x.Turn
		}
	}
	return s.Turns + 1
}

// QuestionsIn returns the questions that were asked in a turn, in their order.
// The turn under way is s.Turns+1.
func (s *State) QuestionsIn(turn int) []Question {
	var asked []Question
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Turn > 0 && q.Turn == turn {
			asked = append(asked, *q)
		}
	}
	return asked
}

// RanIn returns the first experiment of a turn, nil where the turn is not over.
func (s *State) RanIn(turn int) *Experiment {
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Turn > 0 && x.Turn == turn {
			return x
		}
	}
	return nil
}

// FirstOfTurn returns the first decision of the turn that a decision is in: the
// one after the last decision before it that ended a turn.
func (s *State) FirstOfTurn(decision string) string {
	first := 1
	for i := range s.Experiments {
		n := events.DecisionNumber(s.Experiments[i].Decision)
		if s.Experiments[i].Turn > 0 && n < events.DecisionNumber(decision) {
			first = max(first, n+1)
		}
	}
	return events.DecisionID(first)
}

// DecidedSince reports whether a decision was made after the one that asked a
// question.
func (s *State) DecidedSince(q *Question) bool {
	return events.DecisionNumber(q.Decision) < s.Decisions
}
