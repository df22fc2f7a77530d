package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// history is all the content of the report, folded from the log in one pass.
//
// The core holds the state of the campaign; the other fields keep the rest: the course, in the
// order of events. It is built by [read] and not changed afterwards, except diagnosis, advise,
// target and triangle, which the caller sets before the page is made.
type history struct {
	core   *engine.Core
	state  *campaign.State // of core
	def    *definition.Campaign
	sought definition.Objective // the quantity that the campaign optimizes
	// measures is false of a campaign of comparisons, in which nothing is measured.
	measures bool
	model    *quantity.Model // nil before the first fit, or where it cannot be rebuilt
	summary  engine.Summary
	models   quantity.Models // of all quantities
	// triangle are the components of a mixture to be drawn against each other. Default: the three
	// that vary most.
	triangle [3]string
	// diagnosis says how far the model and the experts can be trusted.
	diagnosis diagnose.Diagnosis
	// advise writes a finding's next step, with commands or without.
	advise func(next string, remedies []problem.Remedy) string
	// target is the page that figures are drawn for.
	target figure.Page
	// format writes values as precisely as is needed to make a composition again: in ten years only
	// the report may be left.
	format format.Compositions
	places int // decimals of a measured value

	decisions []decision  // all, so that d7 is decisions[6]
	trust     []trustStep // moves of the dual variables, in order
	progress  []progress  // the model's best after fits
	standings []standing  // the experts' favorites, in campaigns of comparisons
	// corrections, by experiment, in order.
	corrections map[string][]view.Line
	amendments  []amendment
	// incidents are failures, and take-overs.
	incidents []view.Line
	acts      []act
	policies  []policySpan
	// ended is when the campaign came to its last end; zero if it was
	// continued since.
	ended time.Time
	// idle is the time it has spent between an end and its continuation.
	idle time.Duration
	// builds are the programs that worked on it, in order, each once.
	builds    []events.Build
	timeline  *view.Timeline
	last      view.Line
	completed string // the detail in campaign.completed
	// simulatedExpert holds the names of experts that were ever simulated.
	simulatedExpert   map[string]bool
	peopleAnswered    bool
	simulated, real   int  // measurements by a simulated and by a real instrument
	dispatchSimulated bool // the last dispatched command said it goes to a simulated instrument
	dispatched        bool
	// reading is the core with the models fitted to its last event.
	reading *engine.Reading
	// modelError says why the model cannot be rebuilt; nil if it can.
	modelError error
	failure    string // cause of the last fit of the objective, if it failed
}

// decision is a decision with its outcome.
type decision struct {
	*events.DecisionMade
	event    events.Event
	question string // the question it asked; empty if it asked none
	// experiment is the first experiment it asked for.
	experiment string
	// spot is the decision's place on an axis of experiments: between the
	// experiments requested before it and the next one.
	spot   float64
	before int // experiments requested before it
	// best is the experiment of the best composition by then, empty without
	// a model.
	best string
	// helps is the worth of the experts' answers by then; read only for decisions that tested an
	// expert's trust.
	helps []policies.Help
}

// trustStep is one move of a dual variable λ: how much an expert's belief
// counts in the choice.
type trustStep struct {
	*events.TrustAdjusted
	decision int // index of the last decision before it; -1 before the first
}

// progress is the model's knowledge after a fit: a point of the convergence curve.
type progress struct {
	experiments int     // number of the last experiment measured by then
	mean, sd    float64 // posterior at the best measured composition
	experiment  string  // that composition's
	// doubtful is set where no composition kept the constraints on outcomes with their
	// confidence: this one most probably did, and the curve has a gap.
	doubtful bool
}

// amendment is a change of the definition, and who made it. The page shows it with its reason, next
// to the changed parts.
type amendment struct {
	*events.CampaignAmended
	actor string
	time  time.Time
}

// read folds a campaign and rebuilds its models. It fails with engine.ErrNoCampaign where the log
// holds no event of the campaign, and with the error of the log or of the context.
func read(ctx context.Context, in Input) (*history, error) {
	h := &history{
		core:            engine.NewCore(in.Registry),
		timeline:        view.NewTimeline(in.Registry.Methods),
		corrections:     map[string][]view.Line{},
		simulatedExpert: map[string]bool{},
	}
	h.state = h.core.State()
	measured := measuredSoFar{}
	// A report shows the course of a campaign, so that it needs every event, and
	// the models after many of them: no snapshot has these.
	each := func(e events.Event, payload events.Payload) error {
		h.take(ctx, e, h.timeline.Take(e, payload), payload)
		h.follow(ctx, payload, &measured)
		return h.stand(ctx, payload)
	}
	if err := h.core.Follow(ctx, in.Log, in.Campaign, events.AnySequence, each); err != nil {
		return nil, err
	}
	if h.state.Status == campaign.Undefined {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoCampaign, in.Campaign)
	}
	h.last = h.timeline.Lines[len(h.timeline.Lines)-1]
	h.def = h.state.Definition
	h.sought = h.def.Sought()
	h.measures = h.def.Measures()
	h.format = format.CompositionsToMake(h.def)
	h.places = h.decimals()
	// Decisions get their spots only now: how many share the step between two
	// experiments is known when both are.
	h.place()

	// A model that cannot be built is a warning of the report, not its end.
	reading, err := h.core.Read(ctx)
	if err != nil {
		return nil, err
	}
	h.reading = reading
	v, err := h.reading.View(ctx)
	if err != nil {
		return nil, err
	}
	h.model, h.modelError = v.Objective(), v.ObjectiveError()
	h.models = v.Models
	h.summary = h.core.Counts()
	if h.modelError != nil {
		h.summary.NoModel = h.modelError.Error()
	} else {
		if in.Shown.Of(h.core.Revision()) {
			in.Shown.Fill(&h.summary)
		} else if h.summary, err = h.reading.Summarize(ctx); err != nil {
			return nil, err
		}
		if h.model != nil && len(h.model.Observations) > 0 {
			h.note(v, measured.last)
		}
	}
	return h, nil
}

// take notes the content of an event. The core has applied the event already, so h.state is the
// state after it.
func (h *history) take(
	ctx context.Context, e events.Event, line view.Line, payload events.Payload,
) {
	h.act(e, line, payload)
	switch p := payload.(type) {
	case *events.CampaignDefined:
		h.build(p.Build)
		h.follows()
	case *events.CampaignStopped:
		h.ended = e.Time
	case *events.CampaignAmended:
		h.follows()
		h.amendments = append(h.amendments, amendment{p, by(e), e.Time})
	case *events.CampaignCompleted:
		h.completed, h.ended = p.Detail, e.Time
	case *events.RecoveryDone:
		h.build(p.Build)
		if h.ended.IsZero() || len(p.Commands) > 0 {
			h.incidents = append(h.incidents, line)
		} else { // it had come to an end, and was continued after a change
			h.idle += e.Time.Sub(h.ended)
			h.ended = time.Time{}
		}
	case *events.ModelFitted:
		if p.Model == events.ModelObjective {
			h.failure = ""
		}
	case *events.ModelFitFailed:
		if p.Model == events.ModelObjective {
			h.failure = p.Cause
		}
		h.incidents = append(h.incidents, line)
	case *events.InstrumentStalled, *events.ExperimentUnresolved, *events.ExperimentResolved:
		h.incidents = append(h.incidents, line)
	case *events.DecisionMade:
		d := decision{DecisionMade: p, event: e, before: len(h.state.Experiments)}
		if n := len(h.progress); n > 0 {
			d.best = h.progress[n-1].experiment
		}
		if slices.ContainsFunc(p.Tests, func(t events.Test) bool { return strings.HasPrefix(t.Name, "trust: ") }) {
			// An error is the context's, which the loop that reads on notices.
			d.helps, _ = engine.Helps(ctx, h.core.At(engine.World{}))
		}
		h.decisions = append(h.decisions, d)
	case *events.TrustAdjusted:
		h.trust = append(h.trust, trustStep{p, len(h.decisions) - 1})
	case *events.QuestionAnswered:
		h.answered(p.Expert, e.Simulated)
	case *events.ExperimentDispatched:
		h.dispatched, h.dispatchSimulated = true, e.Simulated
	case *events.ExperimentMeasured:
		if e.Simulated {
			h.simulated++
		} else {
			h.real++
		}
	case *events.MeasurementCorrected, *events.ExperimentCorrected:
		h.corrections[line.Subject] = append(h.corrections[line.Subject], line)
	}
}

// policySpan is a policy, and the number of experiments requested before it
// came into force.
type policySpan struct {
	text   string
	before int
}

// follows notes the policy that the definition names now; amendments that leave
// it as it is add nothing. The place is counted in experiments, since that is
// the axis of the figures.
func (h *history) follows() {
	text := policyText(*h.state.Definition)
	if n := len(h.policies); n > 0 && h.policies[n-1].text == text {
		return
	}
	h.policies = append(h.policies, policySpan{text, len(h.state.Experiments)})
}

// by names the acting person or program, and the account that reported it where that has another
// name. It is the actor as it is recorded, with its kind: a report is evidence.
func by(e events.Event) string {
	if account := e.ToldBy(); account != "" {
		return e.Actor + ", reported by " + account
	}
	return e.Actor
}

// answered notes who answered: a simulated expert or a person. A campaign whose
// answers are partly simulated must not pass for a real one.
func (h *history) answered(expert string, simulated bool) {
	for _, e := range h.state.Definition.Experts {
		simulated = simulated || e.Name == expert && !e.Person
	}
	if simulated {
		h.simulatedExpert[expert] = true
	} else {
		h.peopleAnswered = true
	}
}

// build notes a program that worked on the campaign, once. The order is that of
// their first event.
func (h *history) build(b events.Build) {
	if b != (events.Build{}) && !slices.Contains(h.builds, b) {
		h.builds = append(h.builds, b)
	}
}

// decision returns the decision of an identifier, or nil. A caller may change
// it, since it points into h.decisions.
func (h *history) decision(id string) *decision {
	if h.state.HasDecision(id) {
		if n := events.DecisionNumber(id); n <= len(h.decisions) {
			return &h.decisions[n-1]
		}
	}
	return nil
}

// class returns how an experiment is drawn. Failure, exclusion and a constraint on outcomes
// that it breaks outrank its origin: a reader must not take such a point for a result.
func (h *history) class(x *campaign.Experiment) class {
	switch {
	case x.Status == campaign.Failed:
		return classFailed
	case x.Excluded:
		return classExcluded
	case h.state.Breaks(x):
		return classBreaks
	}
	if d := h.decision(x.Decision); d != nil {
		if d.Rule == policies.RulePinpointed {
			return classAided
		}
		return classOf(x.Origin, d.Chosen)
	}
	return classOf(x.Origin, "")
}

// measuredSoFar counts while the log is read.
type measuredSoFar struct {
	n, last   int // measurements, and the number of the last experiment measured
	evaluated int // n of the last point of the progress
}

// everyFit is the number of measurements up to which the progress has a point
// for every fit; from there on it has one for every tenth more, because a fit's
// posterior costs the cube of its measurements.
const everyFit = 100

// follow evaluates the model where a fit has just been recorded, and adds a
// point to the progress. A model that cannot be rebuilt adds none: that is a
// warning of the report.
func (h *history) follow(ctx context.Context, payload events.Payload, m *measuredSoFar) {
	note := func(experiment string) {
		m.n, m.last = m.n+1, max(m.last, events.ExperimentNumber(experiment))
	}
	switch p := payload.(type) {
	case *events.ExperimentMeasured:
		note(p.Experiment)
	case *events.ExperimentFailed:
		if p.Measurement != nil {
			note(p.Experiment)
		}
	case *events.ExperimentResolved:
		if p.Measurement != nil {
			note(p.Experiment)
		}
	case *events.ExperimentCorrected:
		if p.Measurement != nil {
			note(p.Experiment)
		}
	case *events.ModelFitted:
		switch {
		case p.Model == events.ModelObjective && (m.n <= everyFit || m.n*10 >= m.evaluated*11):
		case p.Model == events.ModelQuantity && m.n == m.evaluated: // the objective's fit came first
		default:
			return
		}
		v := policies.View{Campaign: h.state.Searched(), Space: h.core.Space()}
		var err error
		// An error is the context's, which the loop that reads on notices.
		v.Models, err = h.core.Quantities().Models(ctx)
		if err != nil || v.Objective() == nil || len(v.Objective().Observations) == 0 {
			return
		}
		m.evaluated = m.n
		h.note(v, m.last)
	}
}

// note adds a point to the progress, in place of one at the same experiment. It is the best by the
// model then, as the campaign's summary states it; of a trade-off, and of an expert's preference,
// the best posterior mean of the first quantity.
func (h *history) note(v policies.View, experiments int) {
	var point progress
	if v.Campaign.Definition.Single() {
		best, err := seek.BestOf(v.Campaign, v.Space, v.Models)
		if err != nil || best == nil {
			return // a quantity has no model yet, or nothing was measured at the target
		}
		point = progress{
			mean: best.Value.Mean, sd: best.Value.SD, doubtful: !best.Confident,
			experiment: v.Objective().Observations[best.Index].Experiment,
		}
	} else {
		i, mean := v.Objective().Best()
		if i < 0 {
			return
		}
		point = progress{
			mean: mean, sd: v.Objective().PredictAt(v.Objective().X[i]).SD,
			experiment: v.Objective().Observations[i].Experiment,
		}
	}
	point.experiments = experiments
	if n := len(h.progress); n > 0 && h.progress[n-1].experiments == experiments {
		h.progress[n-1] = point
		return
	}
	h.progress = append(h.progress, point)
}

// place gives every decision its experiment or question, and its spot on the axis of experiments:
// the decisions between two experiments share the step between them evenly, the last of them falls
// on the experiment.
func (h *history) place() {
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		if d := h.decision(x.Decision); d != nil && d.experiment == "" {
			d.experiment = x.ID
		}
	}
	for i := range h.state.Questions {
		if d := h.decision(h.state.Questions[i].Decision); d != nil {
			d.question = h.state.Questions[i].ID
		}
	}
	for from := 0; from < len(h.decisions); {
		to := from
		for to < len(h.decisions) && h.decisions[to].before == h.decisions[from].before {
			to++
		}
		for k := from; k < to; k++ {
			h.decisions[k].spot = float64(h.decisions[from].before) + float64(k-from+1)/float64(to-from)
		}
		from = to
	}
}
