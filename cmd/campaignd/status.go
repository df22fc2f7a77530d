package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// status is what `status --json` prints.
type status struct {
	engine.Summary
	Status campaign.Status `json:"status"`
	// Reason says why it was paused, stopped or completed.
	Reason string `json:"reason,omitempty"`
	Budget int    `json:"budget"`
	Asked  int    `json:"asked"`
	// Trust is the dual variable of each expert, the weight λ of their belief: no
	// measure of how far they are trusted, which Helps of the summary is.
	Trust []campaign.Trust `json:"trust"`
	// Open are the experiments without an outcome, Questions those without an
	// answer.
	Open      []campaign.Experiment `json:"open"`
	Questions []campaign.Question   `json:"questions"`
	// Expired are the questions that nobody has answered and that still can be.
	Expired []campaign.Question `json:"expired"`
	// Refused are the refusals that hold.
	Refused []campaign.Refusal `json:"refused"`
	// Model says how far the model can be trusted, Experts how each expert's
	// labels have held against what was measured; `campaignd diagnose` says more.
	Model   modelStatus       `json:"model"`
	Experts []diagnose.Expert `json:"experts"`
	// NeedsPerson says what a person must do before the campaign goes on.
	NeedsPerson []string `json:"needs_person"`
	// Failure is the cause of the last fit, if it failed.
	Failure string `json:"failure,omitempty"`
	// Run is the process that runs the campaign, if there is one.
	Run   *control.Status `json:"run"`
	Store string          `json:"store"`
	// Events counts the campaign's events.
	Events events.Sequence `json:"events"`
}

// modelStatus is the verdict on a model, with its reasons.
type modelStatus struct {
	Verdict  diagnose.Verdict   `json:"verdict"`
	Headline string             `json:"headline"`
	Findings []diagnose.Finding `json:"findings"`
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [TARGET]",
		Short: "Say how a campaign stands and what it waits for",
		Example: `  campaignd status
  campaignd status examples/electrolyte.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.close()
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			return a.status(cmd.Context(), core, s, t)
		},
	}
}

func (a *app) status(ctx context.Context, core *engine.Core, s *session, t target) error {
	state, view := core.State(), core.View()
	summary, err := core.Summarize()
	if err != nil && view.ObjectiveError == nil { // a model that cannot be built is a finding, not the end
		return err
	}
	diagnosis, err := diagnose.Of(ctx, view, shellArg(t.store))
	if err != nil {
		return err
	}
	st := status{
		Summary: summary, Status: state.Status, Reason: state.Reason, Budget: state.Definition.Budget.Experiments, Asked: state.AskedCount(),
		Trust: append([]campaign.Trust{}, state.Trust...), Open: []campaign.Experiment{}, Questions: []campaign.Question{}, Expired: []campaign.Question{}, NeedsPerson: []string{},
		Refused: refusalsInStatus(state), Failure: state.Failure, Store: t.store, Events: state.Sequence, Experts: diagnosis.Experts,
		Model: modelStatus{Verdict: diagnosis.Verdict, Headline: diagnosis.Headline, Findings: diagnosis.Findings},
	}
	for _, x := range state.Experiments {
		if x.Status.Open() {
			st.Open = append(st.Open, x)
		}
		if x.Status == campaign.Unresolved {
			st.NeedsPerson = append(st.NeedsPerson, fmt.Sprintf("nobody knows what became of %s (%s): look at %s, then `campaignd resolve %s`", x.ID, x.Cause, x.Instrument, x.ID))
		}
	}
	st.NeedsPerson = append(st.NeedsPerson, doubtsInStatus(state)...)
	for _, q := range state.Questions {
		if q.Status == campaign.Asked {
			st.Questions = append(st.Questions, q)
		}
		if core.Answerable(&q) == nil && q.Status == campaign.Expired {
			st.Expired = append(st.Expired, q)
		}
	}
	if s.owner != nil {
		if owner := s.owner.Status(); owner.Campaign == state.Name {
			st.Run = &owner
		}
	}
	if a.json {
		return a.printJSON(st)
	}

	row := func(what, format string, args ...any) { a.printf("  %-12s %s\n", what, fmt.Sprintf(format, args...)) }
	how := endedBecause(state)
	if st.Run == nil && state.Status == campaign.Running {
		how = "not at its end"
	}
	a.printf("Campaign %s: %s\n\n", state.Name, how)
	switch {
	case st.Run != nil && st.Run.WaitingFor != "":
		row("run", "by process %d since %s, waiting for %s", st.Run.PID, clock(st.Run.Since), st.Run.WaitingFor)
	case st.Run != nil && st.Run.Computing != "":
		row("run", "by process %d since %s, %s", st.Run.PID, clock(st.Run.Since), computingInWords(st.Run.Computing, st.Run.ComputingSince))
	case st.Run != nil:
		row("run", "by process %d since %s", st.Run.PID, clock(st.Run.Since))
	case !state.Status.Ended():
		row("run", "by nobody; go on with `campaignd run %s`", t)
	}
	if state.Definition.Parallel > 1 && !state.Status.Ended() && !state.Definition.Policy.Duel.Set() {
		row("at once", "up to %s", format.Count(state.Definition.Parallel, "experiment"))
	}
	for _, line := range append(effort(state, summary), foundSoFar(state, summary)...) {
		row(line[0], "%s", line[1])
	}
	if st.Asked > 0 {
		row("asked", "%s", format.Count(st.Asked, "question"))
	}
	if diagnosis.Fit != nil || diagnosis.Verdict.Troubled() {
		row("model", "%s", modelInStatus(diagnosis, t))
	}
	for _, x := range diagnosis.Experts {
		for _, pairs := range []*diagnose.Agreement{x.Labels, x.Choices} {
			if pairs != nil {
				row("expert", "%s: %s, right in %s", x.Name, x.Reading, pairsInWords(pairs))
			}
		}
	}
	for _, line := range trustInWords(summary.Helps, state.Trust) {
		row("trust", "%s", line)
	}
	for _, x := range st.Open {
		stalled := ""
		if x.Stalled {
			stalled = ", silent for longer than it should be"
		}
		row("under way", "%s is %s%s (%s)", x.ID, x.Status, stalled, format.CompositionsOf(state.Definition).Line(x.Parameters))
	}
	for _, q := range st.Questions {
		for i, line := range questionInStatus(state.Definition, &q, t) {
			what := "asked"
			if i > 0 {
				what = ""
			}
			row(what, "%s", line)
		}
	}
	for _, line := range expiredInStatus(state.Definition, st.Expired, t) {
		row("unanswered", "%s", line)
	}
	for _, n := range st.Refused {
		row("refused", "%s: %s (%s; `campaignd allow %s` takes it back)", n.ID, format.CompositionsOf(state.Definition).Region(n.Region), n.Reason, n.ID)
	}
	if state.Failure != "" {
		row("failed fit", "%s", state.Failure)
	}
	for _, what := range st.NeedsPerson {
		row("NEEDS YOU", "%s", what)
	}
	row("store", "%s, %s", t.store, format.Count(int(state.Sequence), "event"))
	return nil
}

// modelInStatus says in a line how far the model can be trusted.
func modelInStatus(d diagnose.Diagnosis, t target) string {
	line := string(d.Verdict)
	for _, f := range d.Findings {
		if f.Level == d.Verdict {
			line += ": " + f.Title
			break
		}
	}
	if check := d.LeaveOneOut; d.Verdict == diagnose.Good && check != nil && check.R2 != nil {
		line += ": leave-one-out R² " + figures(*check.R2)
	}
	if d.Verdict.Troubled() {
		line += fmt.Sprintf("; `campaignd diagnose %s` says what to do", t)
	}
	return line
}

// questionInStatus says what an open question asks, and how it is answered.
func questionInStatus(def *events.Definition, q *campaign.Question, t target) []string {
	ask := func(what string) string { return fmt.Sprintf("%s to %s%s%s", q.ID, q.Expert, what, expires(q.Expires)) }
	var lines []string
	switch q.Form {
	case campaign.Comparison:
		lines = append(lines, ask(": which is better?"))
		for i, o := range q.Options {
			lines = append(lines, humans.OptionName(i)+"  "+format.CompositionsOf(def).Line(o.Parameters))
		}
	case campaign.Pinpoint:
		lines = append(lines, ask(": what to measure next?"))
		if q.Suggestion != nil {
			lines = append(lines, "the campaign would take "+format.CompositionsOf(def).Line(q.Suggestion.Parameters))
		}
	default:
		lines = append(lines, ask(" ("+format.CompositionsOf(def).Line(q.Parameters)+")"))
	}
	return append(lines, tellAnswer(def, q, t))
}

// expiredInStatus says, expert by expert, which questions they may still answer
// and how the latest of them is answered.
func expiredInStatus(def *events.Definition, expired []campaign.Question, t target) (lines []string) {
	for _, e := range def.Experts {
		var ids []string
		var latest *campaign.Question
		for i := range expired {
			if expired[i].Expert == e.Name {
				ids, latest = append(ids, expired[i].ID), &expired[i]
			}
		}
		if latest == nil {
			continue
		}
		if n := len(ids) - fewIDs; n > 0 {
			ids = append([]string{fmt.Sprintf("%d before", n)}, ids[n:]...)
		}
		text := strings.Join(ids[:len(ids)-1], ", ")
		if text != "" {
			text += " and "
		}
		lines = append(lines, fmt.Sprintf("%s%s to %s; an answer still counts: %s", text, ids[len(ids)-1], e.Name, tellAnswer(def, latest, t)))
	}
	return lines
}

// fewIDs is how many identifiers a line lists.
const fewIDs = 5

func clock(t time.Time) string {
	local := t.Local()
	if local.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return local.Format(time.TimeOnly)
	}
	return local.Format("2006-01-02 15:04")
}

func expires(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", until " + clock(at)
}
