// Package turn says where a campaign stands. A turn is all that leads to one
// experiment of the policy: decisions that ask, and the one that runs it.
// Experiments that people run on their own, that are repeated or that did not take
// place make no turns.
package turn

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Questions returns the questions asked since the last decision that ran an
// experiment.
func Questions(s *campaign.State) []campaign.Question {
	return QuestionsBefore(s, s.Decisions+1)
}

// QuestionsBefore returns the questions of the turn that a decision ends, which is
// given by its number.
func QuestionsBefore(s *campaign.State, decision int) []campaign.Question {
	last := lastRun(s, decision)
	number := func(i int) int { return projections.Number(s.Questions[i].Decision) }
	end := len(s.Questions)
	for end > 0 && number(end-1) >= decision {
		end--
	}
	begin := end
	for begin > 0 && number(begin-1) > last {
		begin--
	}
	return s.Questions[begin:end]
}

// lastRun is the number of the latest decision before a given one that ran an experiment,
// 0 where there is none.
func lastRun(s *campaign.State, before int) (last int) {
	for i := range s.Experiments {
		if n := projections.Number(s.Experiments[i].Decision); n < before {
			last = max(last, n)
		}
	}
	return last
}

// Last returns the latest question of a turn, nil where there is none.
func Last(questions []campaign.Question) *campaign.Question {
	if len(questions) == 0 {
		return nil
	}
	return &questions[len(questions)-1]
}

// Chosen counts the turns that are over: decisions that ran an experiment.
func Chosen(s *campaign.State) int {
	ran := make(map[string]bool)
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Origin == events.OriginPolicy && x.Decision != "" {
			ran[x.Decision] = true
		}
	}
	return len(ran)
}

// Expert returns the index of the expert of this turn: the experts of a definition
// take turns. It panics where there are none.
func Expert(s *campaign.State, def *definition.Campaign) int {
	return Chosen(s) % len(def.Experts)
}

// Experiments counts the experiments so far. One that did not take place does not
// count: what is decided after it must not depend on whether it was tried once or twice.
func Experiments(s *campaign.State) (n int) {
	for i := range s.Experiments {
		if !s.Experiments[i].Status.CalledOff() {
			n++
		}
	}
	return n
}

// RanAfter returns the experiment of the first decision after a given one that
// ran any, nil where there is none yet.
func RanAfter(s *campaign.State, decision int) (ran *campaign.Experiment) {
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if n := projections.Number(x.Decision); n > decision && (ran == nil || n < projections.Number(ran.Decision)) {
			ran = x
		}
	}
	return ran
}

// QuestionsSpent reports whether no question is left of the budget of questions, as a
// version of the policies counts them.
func QuestionsSpent(s *campaign.State, def *definition.Campaign, version int) bool {
	limit := def.Budget.Labels
	if limit == nil {
		return false
	}
	asked := s.AskedCount()
	for i := range s.Questions {
		if policies.Uncounted(&s.Questions[i], version) {
			asked--
		}
	}
	return asked >= *limit
}

// AskedBefore returns the expert's latest question about a composition, or nil.
func AskedBefore(s *campaign.State, sp *space.Space, expert string, point definition.Point) *campaign.Question {
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
