package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Status is the state of a campaign, with the diagnosis.
type Status struct {
	Campaign
	Diagnosis diagnose.Diagnosis
	// Expired are the questions that were not answered in time and that can
	// still be answered.
	Expired []campaign.Question
	// Excluded are the exclusions that hold.
	Excluded []campaign.Exclusion
	// Backtest is [Backtest].
	Backtest string
}

// StatusOf returns the status of a campaign, with a model that is fitted as the
// next decision would fit it. One that cannot be built is a finding of the
// diagnosis, not an error. best is as in [Backtest].
func StatusOf(
	ctx context.Context, core *engine.Core, best *instruments.Foregone,
) (*Status, error) {
	read, err := core.Read(ctx)
	if err != nil {
		return nil, err
	}
	v, err := read.View(ctx)
	if err != nil {
		return nil, err
	}
	summary, err := read.Summarize(ctx)
	if err != nil && v.ObjectiveError() == nil {
		return nil, err
	}
	st := &Status{
		Campaign: Summarized(core, summary),
		Expired:  []campaign.Question{},
		Excluded: Exclusions(core.State()),
		Backtest: Backtest(core, best),
	}
	for _, q := range core.State().Questions {
		if q.Status == campaign.Expired && engine.Answerable(core.State(), &q) == nil {
			st.Expired = append(st.Expired, q)
		}
	}
	st.Diagnosis, err = diagnose.Run(ctx, v)
	return st, err
}

// StatusDocument is a status as `status --json` and the API give it.
type StatusDocument struct {
	engine.Summary
	Status campaign.Status `json:"status"`
	// Reason says why it was paused, stopped or completed.
	Reason string `json:"reason,omitempty"`
	// Budget is that of experiments, 0 where nothing is measured.
	Budget int `json:"budget"`
	Asked  int `json:"asked"`
	// Trust is the dual variable of each expert, the weight λ of their belief:
	// no measure of how far they are trusted, which Helps of the summary is.
	Trust []campaign.Trust `json:"trust"`
	// Open are the experiments without an outcome, Questions those without an
	// answer.
	Open []campaign.Experiment `json:"open"`
	// Batches are those under way, Acts those that are open or being called off, in campaigns with a
	// procedure.
	Batches []BatchStatus  `json:"batches,omitempty"`
	Acts    []campaign.Act `json:"acts,omitempty"`
	// CalledOff are those that are being called off: their instrument has not
	// answered yet that it never begins them any more.
	CalledOff []campaign.Experiment `json:"called_off,omitempty"`
	// Securing are the devices that were ordered to their safe states, and have not said that they are there.
	Securing  []campaign.Safety   `json:"securing,omitempty"`
	Questions []campaign.Question `json:"questions"`
	// Awaited are the quantities that experiments which have ended are still to
	// give.
	Awaited []campaign.Awaited `json:"awaited,omitempty"`
	// Stocks are what experiments use up, in the order of their names.
	Stocks   []StockStatus        `json:"stocks,omitempty"`
	Expired  []campaign.Question  `json:"expired"`
	Excluded []campaign.Exclusion `json:"excluded"`
	// Model says how far the model can be trusted, Experts how each expert's
	// labels have held against what was measured; a diagnosis says more.
	Model    ModelStatus       `json:"model"`
	Experts  []diagnose.Expert `json:"experts"`
	Backtest string            `json:"backtest,omitempty" doc:"Of a campaign whose results are looked up in a table: which row is the best, and whether it was found."`
	// Failure is the cause of the last fit, if it failed.
	Failure string `json:"failure,omitempty"`
	// Events counts the campaign's events.
	Events events.Sequence `json:"events"`
}

// ModelStatus is the verdict on a model, with its reasons. It is that of
// [diagnose.Run], as every other page and command has it.
type ModelStatus struct {
	Verdict  diagnose.Verdict   `json:"verdict"`
	Headline string             `json:"headline"`
	Findings []diagnose.Finding `json:"findings"`
}

// Document returns the status as a document. The campaign's lists are never
// null, so that a program may go through them without asking.
func (st *Status) Document() *StatusDocument {
	d := &st.Diagnosis
	return &StatusDocument{
		Summary:   st.Summary,
		Status:    st.Status,
		Reason:    st.Reason,
		Budget:    st.Definition.Budget.Experiments,
		Asked:     st.Asked,
		Trust:     append([]campaign.Trust{}, st.Trust...),
		Open:      append([]campaign.Experiment{}, st.UnderWay...),
		Batches:   st.Batches,
		Acts:      st.Acts,
		CalledOff: st.CalledOff,
		Securing:  st.Securing,
		Questions: append([]campaign.Question{}, st.Questions...),
		Awaited:   st.Awaited,
		Stocks:    StockStatuses(st.Stocks),
		Expired:   st.Expired,
		Excluded:  st.Excluded,
		Model:     ModelStatus{d.Verdict, d.Headline, d.Findings},
		Experts:   d.Experts,
		Backtest:  st.Backtest,
		Failure:   st.Failure,
		Events:    st.Sequence,
	}
}

// Exclusions are the exclusions that hold. One that was lifted stays in the
// state, since its number is not given again.
func Exclusions(state *campaign.State) []campaign.Exclusion {
	held := []campaign.Exclusion{}
	for _, r := range state.Exclusions {
		if !r.Lifted {
			held = append(held, r)
		}
	}
	return held
}

// doubtful returns the measurements in doubt that are not being measured again.
// The repetition may settle the doubt by itself, so that no person is needed
// yet.
func doubtful(state *campaign.State) (in []campaign.Experiment) {
	for i := range state.Experiments {
		x := &state.Experiments[i]
		if x.Flag != nil && x.Flag.Verdict == events.VerdictSuspect && !beingRepeated(state, x) {
			in = append(in, *x)
		}
	}
	return in
}

// beingRepeated reports whether a repetition of the experiment is under way.
// Any open experiment at the same composition is one, also one that a person
// asked for.
func beingRepeated(state *campaign.State, x *campaign.Experiment) bool {
	return slices.ContainsFunc(state.Experiments, func(y campaign.Experiment) bool {
		return y.Status.Open() && !y.Reference() && maps.Equal(x.Parameters, y.Parameters)
	})
}

// NeedsPerson lists a person's tasks before the campaign goes on.
//
// A device that is to be safe comes first. Acts follow: one whose fate is unknown holds its batch, which may
// stand in an oven. A stock that does not suffice comes next: it is refilled while the rest is looked into.
// Fates that are unknown follow: they hold the campaign up, and a device may be at work. The order is that of
// the experiments, so that the text stays the same from one call to the next. driven says whether a process
// drives the campaign.
func (c *Campaign) NeedsPerson(how How, driven bool) []string {
	needs := append([]string{}, c.Unsafe()...)
	needs = append(append(needs, c.actsNeed(how)...), c.short(how)...)
	needs = append(needs, c.drifted(how)...)
	needs = append(needs, c.calledOff(how, driven)...)
	needs = append(needs, c.contradicted(how)...)
	// One failure of an instrument often leaves several experiments unknown:
	// those with one cause are settled together.
	type fate struct{ instrument, cause string }
	unknown := make(map[fate][]string)
	for _, x := range c.UnderWay {
		if x.Status == campaign.Unresolved && !x.Command.BeingCalledOff() {
			f := fate{x.Command.Instrument, x.Cause}
			unknown[f] = append(unknown[f], x.ID)
		}
	}
	for _, x := range c.UnderWay {
		f := fate{x.Command.Instrument, x.Cause}
		if x.Status != campaign.Unresolved || unknown[f] == nil {
			continue // or it was named with another of the same cause
		}
		ids := events.ExperimentList(unknown[f])
		settle := problem.Remedy{Action: problem.Resolve, Subject: strings.ReplaceAll(ids, " ", "")}
		needs = append(needs, fmt.Sprintf("the fate of %s is unknown (%s): look at %s, then `%s`",
			ids, x.Cause, x.Command.Instrument, how(settle)))
		delete(unknown, f)
	}
	for _, x := range c.Doubtful {
		settle := problem.Remedy{
			Action: problem.Correct, Subject: x.ID, Ways: []string{problem.WayInclude, problem.WayExclude},
		}
		needs = append(needs, fmt.Sprintf("%s is in doubt: %s Settle it with `%s`", x.ID,
			x.Flag.Reason, how(settle)))
	}
	return needs
}

// Unsafe says which devices were ordered to their safe states, and have not said that they are there.
func (c *Campaign) Unsafe() (needs []string) {
	for _, d := range c.Securing {
		needs = append(needs, d.Instrument+" is ordered to its safe state, and has not said that it is there: see to it by hand")
	}
	return needs
}

// drifted says which reference experiments are outside their limits, and which are not measured.
func (c *Campaign) drifted(how How) (needs []string) {
	for _, d := range c.Drifts {
		note := problem.Remedy{Action: problem.Note, Subject: d.Experiment}
		needs = append(needs, fmt.Sprintf("%s: the instrument may have drifted; look at it, and write what you found with `%s`",
			c.DriftText(d), how(note)))
	}
	return append(needs, c.Unmeasured...)
}

// DriftText says that a reference experiment is outside its limits.
func (c *Campaign) DriftText(d campaign.Drift) string {
	return fmt.Sprintf("%s, a reference experiment (%s), is %s, outside the limits of its control chart (%s to %s)", d.Experiment,
		d.Name(c.Definition), format.Quantity(d.Value, d.Unit), format.Short(d.Limits.Lower), format.Short(d.Limits.Upper))
}

// InLab are those of the remedies for what a run waits for that are done in the lab.
func InLab(remedies []problem.Remedy) []problem.Remedy {
	return slices.DeleteFunc(slices.Clone(remedies), func(r problem.Remedy) bool {
		return r.Action != problem.CountLab && r.Action != problem.Service
	})
}

// Task takes from the words for a wait that it is for a person.
func Task(waitingFor string) string { return strings.TrimPrefix(waitingFor, toPerson) }

// toPerson begins the words for a wait for a person.
const toPerson = "a person: "

// NeedsInLab lists the tasks of a person in the lab that a run waits for: the log of the campaign does not
// have them.
func NeedsInLab(waitingFor string, remedies []problem.Remedy, how How) (needs []string) {
	for _, r := range InLab(remedies) {
		needs = append(needs, fmt.Sprintf("%s; %s with `%s`", Task(waitingFor), r.Text, how(r)))
	}
	return needs
}

// short says for which stock the next experiment waits, and how it is refilled.
func (c *Campaign) short(how How) []string {
	if c.Short == nil {
		return nil
	}
	remedy := c.Short.Remedy()
	return []string{fmt.Sprintf("%s; %s with `%s`", c.Short, remedy.Text, how(remedy))}
}

// calledOff says which commands are being called off without an answer. An
// instrument that works on one is given a moment: where it has not
// answered by then, its fate counts as unknown.
func (c *Campaign) calledOff(how How, driven bool) []string {
	var needs []string
	of := make(map[string][]string)
	var named []string
	for _, o := range c.CallingOff() {
		if driven && o.UnderWay() {
			continue
		}
		instrument := instrumentOf(o)
		if of[instrument] == nil {
			named = append(named, instrument)
		}
		of[instrument] = append(of[instrument], o.Subject)
	}
	for _, instrument := range named {
		list := events.SubjectList(of[instrument])
		if events.ActNumber(of[instrument][0]) > 0 {
			list = of[instrument][0] // acts are ordered about one by one
		}
		off := problem.Remedy{
			Action: problem.Cancel, Subject: strings.ReplaceAll(list, " ", ""),
			Ways: []string{problem.WayEndProgram, problem.WayPower},
		}
		text := fmt.Sprintf("%s, and %s has not answered: look at it, and stop it by its own stop; "+
			"what it has not read yet is off with `%s`", BeingCalledOff(of[instrument]), instrument, how(off))
		if !driven {
			text = fmt.Sprintf("%s, and %s does not know of it, since no process drives the campaign: "+
				"use its own stop, and `%s`", BeingCalledOff(of[instrument]), instrument, how(problem.Remedy{Action: problem.Run}))
		}
		needs = append(needs, text)
	}
	return needs
}

// contradicted lists the experiments, or acts, about which an instrument contradicts a person.
func (c *Campaign) contradicted(how How) []string {
	o := c.Contradicted
	if o == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s was settled as %s, and %s has answered otherwise since: look at the device, "+
		"and at `%s`, before anything more is sent", o.Subject, o.Outcome, instrumentOf(*o),
		how(problem.Remedy{Action: problem.Explain, Subject: o.Subject}))}
}
