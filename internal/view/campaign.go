package view

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Campaign is where a campaign stands after an event, as data: what lists,
// displays and the API show of it without its folded state. A part that follows
// from models is that of [Shown]. What it points to belongs to others, who do
// not change it.
type Campaign struct {
	// Summary is the campaign in a few numbers.
	engine.Summary
	// Instance is as in [events.CampaignDefined].
	Instance string
	Status   campaign.Status
	// Sequence is that of the last event.
	Sequence events.Sequence
	// Revision is what the models follow from.
	Revision   engine.Revision
	Definition *definition.Campaign
	Began      time.Time

	Done   int // experiments that have an outcome; comparisons made, where nothing is measured
	Open   int // experiments under way
	Budget int // as Done counts
	Asked  int
	// Named counts the compositions that experts named, Estimated the numbers
	// and marks that they gave.
	Named     int
	Estimated int
	// Questions are the open questions, by their identifiers.
	Questions map[string]campaign.Question
	// Contested is set where an answer does not count that someone gave.
	Contested bool
	// Answered is when a person answered last, zero for never.
	Answered time.Time
	Trust    []campaign.Trust
	Failure  string
	// Backtest is [IsBacktest].
	Backtest bool
	// UnderWay are the experiments without an outcome, imported ones included;
	// Unresolved are those of them whose fate is unknown, Doubtful the
	// measurements that a person must judge.
	UnderWay   []campaign.Experiment
	Unresolved []string
	Doubtful   []campaign.Experiment
	Values     []float64 // what was measured, in order

	// WaitingFor says what a run waits for, Computing what it has been
	// computing for a while.
	WaitingFor string
	Computing  engine.Computation
	// Review looks back at the last choice whose composition was measured,
	// where that is followed.
	Review *events.ChoiceReview
}

// CampaignOf returns where a campaign stands, with the models of shown: nothing
// is worked out, for the loop of a campaign asks this. waitingFor says what it
// waits for. Lists are copied, so that the result can leave the goroutine of the
// campaign's loop; what their elements point to is shared, as is the definition,
// which an amendment replaces.
func CampaignOf(core *engine.Core, shown Shown, waitingFor string) Campaign {
	s := core.State()
	def := s.Definition
	c := Campaign{
		Summary:    core.Counts(),
		Instance:   s.Instance,
		Status:     s.Status,
		Sequence:   s.Sequence,
		Revision:   core.Revision(),
		Definition: def,
		Began:      s.DefinedAt,
		Budget:     def.Budget.Experiments,
		Asked:      s.AskedCount(),
		Named:      Named(s),
		Estimated:  Estimated(s),
		Trust:      append([]campaign.Trust(nil), s.Trust...),
		Failure:    s.Failure,
		Backtest:   IsBacktest(core),
		Doubtful:   Doubtful(s),
		WaitingFor: waitingFor,
	}
	shown.Fill(&c.Summary)
	if !def.Measures() {
		c.Budget = def.Budget.Comparisons
		c.Done = Compared(s)
	}
	for i := range s.Experiments {
		c.count(&s.Experiments[i])
	}
	for _, value := range s.Results() {
		c.Values = append(c.Values, value.Value)
	}
	c.asked(s)
	return c
}

// count counts an experiment. Imported experiments and those that were called
// off cost the budget nothing.
func (c *Campaign) count(x *campaign.Experiment) {
	if x.Status.Open() {
		c.UnderWay = append(c.UnderWay, *x)
	}
	if x.Status == campaign.Unresolved {
		c.Unresolved = append(c.Unresolved, x.ID)
	}
	switch {
	case x.Origin == events.OriginImport || x.Status.CalledOff():
	case x.Status.Open():
		c.Open++
	default:
		c.Done++
	}
}

// asked takes in the questions. It gathers the open ones, whether an answer was
// contested, and when a person answered last. Answers of experts that are
// programs, and initial answers, are no sign of a person at work.
func (c *Campaign) asked(s *campaign.State) {
	people := make(map[string]bool)
	for _, e := range s.Definition.Experts {
		people[e.Name] = e.Person
	}
	c.Questions = make(map[string]campaign.Question)
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Status == campaign.Asked {
			c.Questions[q.ID] = *q
		}
		if len(q.Aside) > 0 {
			c.Contested = true
		}
		if AnsweredByPerson(q, people) && q.AnsweredAt.After(c.Answered) {
			c.Answered = q.AnsweredAt
		}
	}
}

// Waiting returns the open questions in their order.
func (c *Campaign) Waiting() []campaign.Question {
	return slices.SortedFunc(maps.Values(c.Questions), func(a, b campaign.Question) int {
		return cmp.Compare(events.QuestionNumber(a.ID), events.QuestionNumber(b.ID))
	})
}

// AnsweredByPerson reports whether a question was put to one of the people, and
// answered.
func AnsweredByPerson(q *campaign.Question, people map[string]bool) bool {
	return q.Status == campaign.Answered && !q.Volunteered && people[q.Expert]
}

// BudgetText writes what the campaign may spend: "25 experiments".
func (c *Campaign) BudgetText() string {
	if !c.Definition.Measures() {
		return format.Count(c.Budget, "comparison")
	}
	return format.Count(c.Budget, "experiment")
}

// Computing writes what is being computed, and since when.
func Computing(what string, since, now time.Time) string {
	return what + " since " + Clock(since, now)
}
