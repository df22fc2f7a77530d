// Package turn says where a campaign stands. A turn is all that leads to one
// experiment of the policy: decisions that ask, and the one that runs it.
// Experiments that people run on their own, that are repeated or that did not
// take place make no turns. The fold of the campaign keeps them
// (projections/campaign).
package turn

import (
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Questions returns the questions of the turn under way.
func Questions(s *campaign.State) []campaign.Question { return s.QuestionsIn(s.Turns + 1) }

// Last returns the latest question of a turn, or nil.
func Last(questions []campaign.Question) *campaign.Question {
	if len(questions) == 0 {
		return nil
	}
	return &questions[len(questions)-1]
}

// Expert returns the index of the expert of this turn: the experts of a definition take turns.
// It panics without experts.
func Expert(s *campaign.State, def *definition.Campaign) int {
	return s.Turns % len(def.Experts)
}

// Experiments counts the experiments so far. One that did not take place does not count: later
// decisions must not depend on whether it was tried once or twice.
func Experiments(s *campaign.State) (n int) {
	for i := range s.Experiments {
		if !s.Experiments[i].Status.CalledOff() {
			n++
		}
	}
	return n
}

// QuestionsSpent reports whether the expert of this turn is not to be asked: no question is
// left of the budget of questions, or none of the expert's time, or they have not answered an
// earlier one yet. Questions that the campaign itself withdrew count against no budget.
func QuestionsSpent(s *campaign.State, def *definition.Campaign) bool {
	if labelsSpent(s, def) || len(def.Experts) == 0 {
		return labelsSpent(s, def)
	}
	e := &def.Experts[Expert(s, def)]
	return TimeSpent(s, e) || Asked(s, e.Name) != nil
}

// WhyNotAsked gives the reason that the expert of this turn is not asked, if QuestionsSpent
// holds: "the budget of questions is spent", "ada is still to answer q7".
func WhyNotAsked(s *campaign.State, def *definition.Campaign) string {
	if labelsSpent(s, def) || len(def.Experts) == 0 {
		return "the budget of questions is spent"
	}
	e := &def.Experts[Expert(s, def)]
	if q := Asked(s, e.Name); q != nil && !TimeSpent(s, e) {
		return e.Name + " is still to answer " + q.ID
	}
	return "the time of " + e.Name + " is spent"
}

// Asked returns an expert's question that waits for an answer, or nil. Decisions go on while a
// question waits if the definition's [definition.Expert.Meanwhile] says so.
func Asked(s *campaign.State, expert string) *campaign.Question {
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Expert == expert && q.Status == campaign.Asked {
			return q
		}
	}
	return nil
}

// TimeTaken returns the share of an expert's time that a campaign has used, as
// [definition.Expert.Time] counts it. It follows from recorded events, and from no clock.
func TimeTaken(s *campaign.State, e *definition.Expert) (taken time.Duration) {
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Expert == e.Name && !q.Volunteered &&
			(q.Status == campaign.Answered || q.Status == campaign.Asked) {
			taken += q.Scale.Time(max(1, len(q.Options)), time.Duration(e.AnswerTakes))
		}
	}
	return taken
}

// TimeSpent reports whether less is left of an expert's time than judging one
// composition takes.
func TimeSpent(s *campaign.State, e *definition.Expert) bool {
	return e.Time > 0 && TimeTaken(s, e)+time.Duration(e.AnswerTakes) > time.Duration(e.Time)
}

func labelsSpent(s *campaign.State, def *definition.Campaign) bool {
	limit := def.Budget.Labels
	if limit == nil {
		return false
	}
	asked := s.AskedCount()
	for i := range s.Questions {
		if s.Questions[i].Moot {
			asked--
		}
	}
	return asked >= *limit
}

// AskedBefore returns the expert's latest question about a composition, or nil.
func AskedBefore(
	s *campaign.State, sp *space.Space, expert string, point definition.Point,
) *campaign.Question {
	key, err := sp.Key(point)
	if err != nil {
		return nil
	}
	for i := len(s.Questions) - 1; i >= 0; i-- {
		q := &s.Questions[i]
		if q.Expert != expert {
			continue
		}
		if other, err := sp.Key(q.Composition()); err == nil && other == key {
			return q
		}
	}
	return nil
}
