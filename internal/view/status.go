package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Status is the state of a campaign.
type Status struct {
	engine.Summary
	Status campaign.Status `json:"status"`
	// Reason says why it was paused, stopped or completed.
	Reason string `json:"reason,omitempty"`
	Budget int    `json:"budget"`
	Asked  int    `json:"asked"`
	// Trust is the dual variable of each expert, the weight λ of their belief:
	// no measure of how far they are trusted, which Helps of the summary is.
	Trust []campaign.Trust `json:"trust"`
	// Open are the experiments without an outcome, Questions those without an
	// answer.
	Open      []campaign.Experiment `json:"open"`
	Questions []campaign.Question   `json:"questions"`
	// Expired are the questions that were not answered in time and that can
	// still be answered.
	Expired []campaign.Question `json:"expired"`
	// Excluded are the exclusions that hold.
	Excluded []campaign.Exclusion `json:"excluded"`
	// Model says how far the model can be trusted, Experts how each expert's
	// labels have held against what was measured; a diagnosis says more.
	Model   ModelStatus       `json:"model"`
	Experts []diagnose.Expert `json:"experts"`
	// Backtest is [Backtest], which the caller fills in.
	Backtest string `json:"backtest,omitempty" doc:"Of a campaign whose results are looked up in a table: which row is the best, and whether it was found."`
	// Failure is the cause of the last fit, if it failed.
	Failure string `json:"failure,omitempty"`
	// Events counts the campaign's events.
	Events events.Sequence `json:"events"`

	// Doubtful are the measurements that a person must judge; those whose fate
	// is unknown are among the open ones.
	Doubtful []campaign.Experiment `json:"-"`

	state     *campaign.State
	diagnosis diagnose.Diagnosis
}

// ModelStatus is the verdict on a model, with its reasons.
type ModelStatus struct {
	Verdict  diagnose.Verdict   `json:"verdict"`
	Headline string             `json:"headline"`
	Findings []diagnose.Finding `json:"findings"`
}

// StatusOf returns where a campaign stands, from a reading of it. A model that
// cannot be built is a finding of the diagnosis, not an error.
func StatusOf(
	ctx context.Context, core *engine.Core, read *engine.Reading, d diagnose.Diagnosis,
) (*Status, error) {
	summary, err := read.Summarize(ctx)
	if err != nil {
		view, viewErr := read.View(ctx)
		if viewErr != nil || view.ObjectiveError == nil {
			return nil, err
		}
	}
	state := core.State()
	st := &Status{
		Summary:   summary,
		Status:    state.Status,
		Reason:    state.Reason,
		Budget:    state.Definition.Budget.Experiments,
		Asked:     state.AskedCount(),
		Trust:     append([]campaign.Trust{}, state.Trust...),
		Open:      []campaign.Experiment{},
		Questions: []campaign.Question{},
		Expired:   []campaign.Question{},
		Excluded:  Exclusions(state),
		Model:     ModelStatus{Verdict: d.Verdict, Headline: d.Headline, Findings: d.Findings},
		Experts:   d.Experts,
		Failure:   state.Failure,
		Events:    state.Sequence,
		Doubtful:  Doubtful(state),
		state:     state,
		diagnosis: d,
	}
	for _, x := range state.Experiments {
		if x.Status.Open() {
			st.Open = append(st.Open, x)
		}
	}
	for _, q := range state.Questions {
		switch {
		case q.Status == campaign.Asked:
			st.Questions = append(st.Questions, q)
		case q.Status == campaign.Expired && core.Answerable(&q) == nil:
			st.Expired = append(st.Expired, q)
		}
	}
	return st, nil
}

// Exclusions are the exclusions that hold.
func Exclusions(state *campaign.State) []campaign.Exclusion {
	held := []campaign.Exclusion{}
	for _, r := range state.Exclusions {
		if !r.Lifted {
			held = append(held, r)
		}
	}
	return held
}

// Doubtful returns the measurements in doubt that are not being measured again.
// The repetition may settle the doubt by itself, so that no person is needed
// yet.
func Doubtful(state *campaign.State) (in []campaign.Experiment) {
	for i := range state.Experiments {
		x := &state.Experiments[i]
		if x.Flag != nil && x.Flag.Verdict == events.VerdictSuspect && !beingRepeated(state, x) {
			in = append(in, *x)
		}
	}
	return in
}

// beingRepeated reports whether a repetition of the experiment is under way.
func beingRepeated(state *campaign.State, x *campaign.Experiment) bool {
	return slices.ContainsFunc(state.Experiments, func(y campaign.Experiment) bool {
		return y.Status.Open() && maps.Equal(x.Parameters, y.Parameters)
	})
}

// NeedsPerson says what a person must do before the campaign goes on.
func (st *Status) NeedsPerson(how How) []string {
	needs := []string{}
	// One failure of an instrument often leaves several experiments unknown:
	// those with one cause are settled together.
	type fate struct{ instrument, cause string }
	unknown := make(map[fate][]string)
	for _, x := range st.Open {
		if x.Status == campaign.Unresolved {
			f := fate{x.Instrument, x.Cause}
			unknown[f] = append(unknown[f], x.ID)
		}
	}
	for _, x := range st.Open {
		f := fate{x.Instrument, x.Cause}
		if x.Status != campaign.Unresolved || unknown[f] == nil {
			continue // or it was named with another of the same cause
		}
		ids := events.ExperimentList(unknown[f])
		settle := problem.Remedy{Action: problem.Resolve, Subject: strings.ReplaceAll(ids, " ", "")}
		needs = append(needs, fmt.Sprintf("the fate of %s is unknown (%s): look at %s, then `%s`",
			ids, x.Cause, x.Instrument, how(settle)))
		delete(unknown, f)
	}
	for _, x := range st.Doubtful {
		settle := problem.Remedy{
			Action: problem.Correct, Subject: x.ID, Ways: []string{problem.WayInclude, problem.WayExclude},
		}
		needs = append(needs, fmt.Sprintf("%s is in doubt: %s Settle it with `%s`", x.ID,
			x.Flag.Reason, how(settle)))
	}
	return needs
}
