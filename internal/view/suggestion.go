package view

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Suggestion is a campaign's request to people who run its experiments themselves.
type Suggestion struct {
	Campaign string `json:"campaign"`
	// Experiment is the one to run next; nil for now.
	Experiment *SuggestedExperiment `json:"experiment"`
	// Further are the others that may be run at the same time, where the
	// campaign allows several under way.
	Further []SuggestedExperiment `json:"further"`
	// Questions are open to people.
	Questions []campaign.Question `json:"questions"`
	// WaitingFor says why there is no experiment.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Remedies are what a person can do about it.
	Remedies []problem.Remedy `json:"remedies,omitempty"`
	// Stopped says why the campaign ended; empty while it has not.
	Stopped string `json:"stopped"`

	definition *definition.Campaign
}

// SuggestedExperiment is an experiment to be run, and why. A person sees the
// reason before they do the work, and the prediction before they know the
// result.
type SuggestedExperiment struct {
	ID         string           `json:"id"`
	Parameters definition.Point `json:"parameters"`
	Replicate  int              `json:"replicate"`
	// Already are the experiments that have measured this composition.
	Already    []string           `json:"measured_already,omitempty"`
	Decision   string             `json:"decision,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	Prediction *events.Prediction `json:"prediction,omitempty"`
	// Outcomes are the predictions of the quantities, where the decision depends on
	// several.
	Outcomes []events.QuantityPrediction `json:"outcomes,omitempty"`
}

// Suggest returns the engine's suggestion in a campaign, with the reasons that its log has for it.
// It reads the log once for each experiment that a decision asked for.
func Suggest(
	ctx context.Context, core *engine.Core, log events.Log, suggested engine.Suggestion,
) (*Suggestion, error) {
	state := core.State()
	s := &Suggestion{
		Campaign:   state.Name,
		Further:    []SuggestedExperiment{},
		Questions:  append([]campaign.Question{}, suggested.Questions...),
		WaitingFor: suggested.WaitingFor,
		Remedies:   suggested.Remedies,
		Stopped:    core.Counts().Stopped,
		definition: state.Definition,
	}
	for i, x := range suggested.Experiments {
		experiment, err := suggestedExperiment(ctx, core, log, x)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.Experiment = &experiment
		} else {
			s.Further = append(s.Further, experiment)
		}
	}
	return s, nil
}

// Of returns a suggestion as read, with the definition of its campaign. One that came over the API
// has no definition, without which it cannot be written.
func (s *Suggestion) Of(def *definition.Campaign) *Suggestion {
	s.definition = def
	return s
}

// suggestedExperiment returns an experiment with the reason of its decision, if
// it has one. An experiment of the initial design has none.
func suggestedExperiment(
	ctx context.Context, core *engine.Core, log events.Log, x campaign.Experiment,
) (SuggestedExperiment, error) {
	s := SuggestedExperiment{
		ID: x.ID, Parameters: x.Parameters,
		Replicate: x.Replicate,
		Already:   engine.MeasuredAs(core.At(engine.World{}), &x),
		Decision:  x.Decision,
	}
	if x.Reference() {
		s.Reason = "It is a reference experiment: its value goes to the control chart."
	}
	if x.Decision == "" {
		return s, nil
	}
	decision, _, err := findDecision(ctx, log, core.State().Name, x.Decision, 0)
	if err != nil || decision == nil {
		return s, err
	}
	s.Reason = decision.Reason
	if chosen := decision.Candidate(decision.Chosen); chosen != nil {
		s.Prediction, s.Outcomes = chosen.Prediction, chosen.Outcomes
	}
	return s, nil
}

// Showing holds the choices for writing a suggestion.
type Showing struct {
	// Question writes a question as its expert sees it.
	Question func(humans.Question) (title string, body []string)
	// Clause adds the remedies to a message.
	Clause func(message string, remedies []problem.Remedy) string
	// How says how a remedy is done.
	How How
	// Now is the time from which times are counted.
	Now time.Time
}

// Write writes the suggestion for the person who runs the experiments.
//
// Questions come first: an answer may decide which experiment is next. The last
// line is the command that brings the result, with the experiment's own
// identifier where there is only one.
func (s *Suggestion) Write(w io.Writer, by Showing) error {
	p := &page{w: w}
	for i := range s.Questions {
		q := &s.Questions[i]
		title, body := by.Question(Question(s.definition, q))
		p.line("%s  %s", q.ID, title)
		for _, line := range body {
			p.line("  %s", line)
		}
		p.line("Answer%s: %s", Until(q.Expires, by.Now), by.How(AnswerTo(s.definition, q)))
		p.raw("")
	}
	if s.Experiment == nil {
		p.line("No experiment to suggest: waiting for %s.", by.Clause(s.WaitingFor, s.Remedies))
		return p.err
	}
	s.writeExperiment(p, "Measure", s.Experiment)
	for i := range s.Further {
		p.raw("")
		s.writeExperiment(p, "At the same time, measure", &s.Further[i])
	}
	p.raw("")
	if len(s.Further) > 0 {
		p.line("Then tell each, in any order: %s",
			by.How(engine.TellOf(s.definition, "", "EXPERIMENT")))
		return p.err
	}
	p.line("Then tell: %s", by.How(engine.TellOf(s.definition, "", s.Experiment.ID)))
	switch {
	case s.definition.Names():
		p.line("In place of one of them, give --missing NAME=WHY.")
		s.writeLater(p)
	case s.definition.Several():
		p.line("VALUE is the %s; the others are given with --quantity NAME=VALUE, or --missing NAME=WHY.",
			s.definition.Sought().Name)
	}
	return p.err
}

// later reports whether a quantity comes after its experiment.
func later(def *definition.Campaign, name string) bool {
	q := def.Quantity(name)
	return q != nil && q.Later()
}

// writeLater says which quantities are reported once they are there.
func (s *Suggestion) writeLater(p *page) {
	names := slices.DeleteFunc(s.definition.DeclaredNames(), func(name string) bool { return !later(s.definition, name) })
	if len(names) > 0 {
		p.line("Tell %s in the same way, once known.", format.List(names...))
	}
}

// Seeks names a campaign's objectives: "maximize yield", "trade off: maximize yield, minimize
// price".
func Seeks(def *definition.Campaign) string {
	if over := def.Preferred(); over != nil {
		return "what is preferred of " + format.List(over...)
	}
	objectives := def.Objectives()
	parts := make([]string, len(objectives))
	for k, o := range objectives {
		parts[k] = o.Goal + " " + o.Name
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "trade off: " + strings.Join(parts, ", ")
}

// AlreadyText names the experiments that have measured a composition before: "measured
// already, as e2"; "" for none.
func AlreadyText(already []string) string {
	if len(already) == 0 {
		return ""
	}
	return "measured already, as " + format.List(already...)
}

// writeExperiment writes the composition to measure, and why. Values have all the digits that are
// needed to make the composition, which the rounded ones of a list have not.
func (s *Suggestion) writeExperiment(p *page, measure string, x *SuggestedExperiment) {
	p.line("%s %s as %s:", measure, format.List(s.definition.DeclaredNames()...), x.ID)
	width := 0
	for _, par := range s.definition.Parameters {
		width = max(width, len(par.Name))
	}
	write := format.CompositionsToMake(s.definition)
	for i, par := range s.definition.Parameters {
		if value, ok := write.Value(i, x.Parameters); ok {
			p.line("  %-*s  %s", width, par.Name, format.WithUnit(value, par.Unit))
		}
	}
	if x.Outcomes != nil {
		p.line("  predicted %s", strings.Join(Expects(x.Outcomes), ", "))
	} else if x.Prediction != nil {
		predicted := format.PlusMinus(x.Prediction.Mean, x.Prediction.SD, x.Prediction.Unit)
		p.line("  predicted %s", predicted)
	}
	if x.Replicate > 1 {
		p.line("  replicate %d of this composition", x.Replicate)
	}
	if text := AlreadyText(x.Already); text != "" {
		p.line("  %s", text)
	}
	if x.Reason != "" {
		p.line("  %s", x.Reason)
	}
}
