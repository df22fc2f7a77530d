package view

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Progress is where a running campaign stands, for displays that are updated at
// each event.
type Progress struct {
	Campaign string
	Status   campaign.Status
	Done     int // experiments that have an outcome; comparisons made, where nothing is measured
	Open     int // experiments under way
	Budget   int // counted like Done
	Labels   int
	Asked    int // questions that decisions asked
	// Compared counts the comparisons that were answered, Named the
	// compositions that experts named, Estimated the numbers and marks that
	// they gave.
	Compared, Named, Estimated int
	// Questions are the open questions, by their identifiers.
	Questions map[string]campaign.Question
	engine.Bests
	Preferred  []policies.Best // instead of the bests, where nothing is measured
	Definition *definition.Campaign
	Trust      []campaign.Trust
	Helps      []policies.Help
	Failure    string // cause of the last fit, if it failed
	WaitingFor string
	// Computing is what is being computed, if that takes long.
	Computing engine.Computation
	// Backtest is [IsBacktest].
	Backtest   bool
	Began      time.Time
	Unresolved []string
	Values     []float64 // what was measured, in order
	// Review looks back at the last choice whose composition was measured.
	Review *events.ChoiceReview
}

// ProgressOf returns where a campaign stands, with what the models said last
// (shown). It computes no model, since the loop of a campaign calls it;
// waitingFor says what the campaign waits for.
func ProgressOf(core *engine.Core, shown Shown, waitingFor string) Progress {
	s := core.State()
	def := s.Definition
	p := Progress{
		Campaign: s.Name, Status: s.Status, Definition: def,
		Budget:     def.Budget.Experiments,
		Labels:     s.Labels(),
		Asked:      s.AskedCount(),
		Compared:   s.Comparisons(),
		Named:      Named(s),
		Estimated:  Estimated(s),
		Questions:  openQuestions(s),
		Trust:      append([]campaign.Trust(nil), s.Trust...),
		Failure:    s.Failure,
		WaitingFor: waitingFor,
		Began:      s.DefinedAt,
		Backtest:   IsBacktest(core),
	}
	if !def.Measures() {
		p.Budget = def.Budget.Comparisons
		p.Done = Compared(s)
	}
	for i := range s.Experiments {
		p.count(&s.Experiments[i])
	}
	for _, value := range s.Results() {
		p.Values = append(p.Values, value.Value)
	}
	summary := core.Counts()
	shown.Fill(&summary)
	p.Bests = summary.Bests
	p.Preferred = summary.Preferred
	p.Helps = summary.Helps
	return p
}

// openQuestions are the questions that wait for an answer, by their
// identifiers.
func openQuestions(s *campaign.State) map[string]campaign.Question {
	open := make(map[string]campaign.Question)
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked {
			open[q.ID] = *q
		}
	}
	return open
}

// count counts an experiment.
func (p *Progress) count(x *campaign.Experiment) {
	switch {
	case x.Origin == events.OriginImport || x.Status.CalledOff():
	case x.Status.Open():
		p.Open++
	default:
		p.Done++
	}
	if x.Status == campaign.Unresolved {
		p.Unresolved = append(p.Unresolved, x.ID)
	}
}

// BudgetText writes what the campaign may spend: "25 experiments".
func (p *Progress) BudgetText() string {
	if !p.Definition.Measures() {
		return format.Count(p.Budget, "comparison")
	}
	return format.Count(p.Budget, "experiment")
}

// Computing says what is being computed, and since when.
func Computing(what string, since, now time.Time) string {
	return what + " since " + Clock(since, now)
}
