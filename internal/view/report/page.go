package report

import (
	"context"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/projections/campaign"
)

// pageData is the data of report.html, by section: every field is finished text, a number or a
// figure. An empty slice or an empty text leaves its part out.
type pageData struct {
	Style       template.CSS
	Name        string
	Description string
	Parameters  []definition.Parameter
	Objective   definition.Objective
	headPart
	summaryPart
	duelsPart
	expertsPart
	modelPart
	trustPart
	tablesPart
	notesPart
	auditPart
}

// headPart is the head of the page.
type headPart struct {
	Status     string // one sentence: where the campaign stands, why it ended
	Running    bool   // not ended: the report shows an intermediate state
	World      string // whether results are of the real world: SIMULATED, REAL, …
	WorldClass string // of World, for the style sheet
	Facts      [][2]string
}

// summaryPart is the findings, and the course towards them.
type summaryPart struct {
	Answer   *answer
	Front    *front // instead of an answer, of a trade-off
	Pending  string // instead of an answer
	Backtest string // whether the best row of a table was found
	Numbers  []number
	Warnings []warning

	Convergence  []Figure
	FrontFigures []Figure
	FrontCaption string
	Hypervolume  []Figure
	Controls     []Figure // of reference experiments
}

// duelsPart is of campaigns whose experts compare and in which nothing is measured.
type duelsPart struct {
	Duels     bool        // this campaign is one
	Preferred []preferred // each expert's favorite
	Compared  []Figure    // the course of the comparisons, one figure a parameter
	Kept      []Figure    // candidates left, for rules that eliminate some
	Utility   []Figure    // the fitted utilities, one figure a parameter
	InPairs   bool        // Compared stands in rows of two, else of three
	Anchored  bool        // some expert named compositions before the first question
	Rows      []group[comparisonRow]
}

// expertsPart is the questions to experts, and their outcomes.
type expertsPart struct {
	AnyExperts  bool // experts take part, or did before an amendment
	Choices     []choice
	ChoicesLeft int // how many of Choices, the oldest, have no figures
	Reviews     []Figure
	Questions   []questionRow
	Experts     []Figure
	NoExperts   string // instead of Experts
}

// modelPart is the model's knowledge.
type modelPart struct {
	NoModel        string // why figures of the model are missing
	Heat           []Figure
	HeatCaption    string
	Maps           []Figure // over the plane of Heat
	Ternary        []Figure // over the mixtures of three components
	TernaryCaption string
	Mixture        *Mixture
	Slices         []Figure
	SliceCaption   string
	SlicesInPairs  bool // Slices stands in rows of two, else of three
	Others         []quantitySlices
}

// trustPart is how far the model can be trusted.
type trustPart struct {
	Trust       trustworthiness
	LeaveOneOut []Figure
	Calibration []Figure
	Sensitivity []sensitivity
	Hyper       [][2]string // hyperparameters of the fit, name and value
}

// tablesPart are the experiments and the decisions.
type tablesPart struct {
	Unit          string        // of the objective, in parentheses
	Columns       []view.Column // of Measurements
	Measurements  []group[measurementRow]
	HasMeasured   bool
	Decisions     []group[decisionRow]
	DecisionCount int
	Batches       view.BatchTable // of a procedure: stages are columns
}

// notesPart is the acts and the words of people.
type notesPart struct {
	Notes      []campaign.Note
	Files      []campaign.File // those that count
	Acts       []act
	Exclusions []exclusionRow
	Amendments []amendmentRow
}

// auditPart is the data needed to check the report.
type auditPart struct {
	Audit          []command
	Digest         string // of the folded state; campaignd replay prints the same
	Checkpoint     string // of the log, empty for none
	Events         int
	Position       events.Position // of the last event
	LastTime       string          // of the last event, UTC
	DefinitionText string          // the campaign file as it was given
}

// command is a line for the shell, with its purpose. A reader types it to check the report against
// the store.
type command struct{ Line, Purpose string }

// amendmentRow is one change of the definition after the campaign began.
// Changes are those that the event lists: an audit holds them to the
// definitions.
type amendmentRow struct {
	Time, Actor, Reason string
	Changes             []events.Change
}

// page gathers the data of the template. store is the path that the printed commands name. It fails
// with the context's error, or where a figure cannot be computed.
//
// The context is looked at between the slow parts; the parts themselves look at it where they fit
// models.
func (h *history) page(ctx context.Context, store string) (*pageData, error) {
	s := h.state
	// The diagnosis comes first: warnings, tables and figures all cite it.
	v, err := h.reading.View(ctx)
	if err != nil {
		return nil, err
	}
	if h.diagnosis, err = diagnose.Run(ctx, v); err != nil {
		return nil, err
	}
	digest, err := h.core.Digest()
	if err != nil {
		return nil, err
	}
	d := &pageData{
		Style:       template.CSS(style),
		Name:        s.Name,
		Description: h.def.Description,
		Parameters:  h.def.Parameters,
		Objective:   h.sought,
		headPart:    headOf(h),
		tablesPart:  measurementsOf(h),
		notesPart: notesPart{
			Notes: s.Notes, Files: counting(s.Files), Acts: h.acts, Exclusions: exclusionsOf(h),
		},
		auditPart: auditPart{
			Audit:          auditCommands(h, store),
			Digest:         digest,
			Events:         len(h.timeline.Lines),
			Position:       h.last.Position,
			LastTime:       format.Time(h.last.Time),
			DefinitionText: s.Source,
		},
	}
	if h.sought.Unit != "" {
		d.Unit = "(" + h.sought.Unit + ")"
	}
	for _, a := range h.amendments {
		d.Amendments = append(d.Amendments, amendmentRow{format.Time(a.time), a.actor, a.Reason, a.Changes})
	}
	d.summaryPart = summaryOf(h, store)
	if d.expertsPart, err = expertsOf(h); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !h.measures {
		d.duelsPart, err = duelsOf(ctx, h)
		return d, err
	}
	d.Trust = trustOf(h)
	if h.model == nil {
		d.NoModel = "There is no model of the objective yet: it needs two measurements."
		return d, nil
	}
	if d.modelPart, err = modelOf(ctx, h); err != nil {
		return nil, err
	}
	d.LeaveOneOut, d.Calibration = figuresLeaveOneOut(h), figureCalibration(h)
	d.Sensitivity, d.Hyper = sensitivitiesOf(h), hyperparametersOf(h)
	return d, nil
}

func headOf(h *history) (d headPart) {
	d.Status, d.Running = statusText(h), !h.state.Status.Ended()
	d.World, d.WorldClass = worldOf(h)
	d.Facts = factsOf(h)
	return d
}

// summaryOf writes the summary, and draws the course of a campaign that measures.
func summaryOf(h *history, store string) (d summaryPart) {
	if d.Front = frontOf(h); d.Front == nil {
		d.Answer, d.Pending = answerOf(h)
	}
	d.Numbers, d.Warnings = numbersOf(h), warningsOf(h, store)
	d.Controls = ControlFigures(h.state, h.target)
	t := h.summary.Tradeoff
	switch {
	case !h.measures:
	case h.def.Tradeoff() == nil:
		d.Convergence = figureConvergence(h)
	case t != nil:
		d.FrontFigures, d.FrontCaption = FrontFigures(h.def, t, h.target), FrontCaption(t)
		d.Hypervolume = HypervolumeFigure(t, h.target)
	}
	return d
}

// expertsOf lists the questions to experts, and draws their outcomes where something is measured; a
// campaign of comparisons has figures of its own.
func expertsOf(h *history) (d expertsPart, err error) {
	d.AnyExperts = len(h.def.Experts) > 0 || len(h.state.Questions) > 0
	d.Questions = questionRowsOf(h)
	if d.Choices, d.ChoicesLeft, err = choicesOf(h); err != nil || !h.measures {
		return d, err
	}
	d.Reviews = figureReviews(h)
	d.Experts = slices.Concat(figureLabels(h), figureTrust(h), figureWorth(h), figureWeight(h), figureWidths(h))
	if len(h.def.Experts) == 0 && len(d.Experts) == 0 {
		d.NoExperts = "No expert takes part in this campaign."
	}
	return d, nil
}

func modelOf(ctx context.Context, h *history) (d modelPart, err error) {
	plane, mapped, err := heatOf(h)
	if err != nil {
		return d, err
	}
	if mapped {
		d.Heat, d.HeatCaption = figureHeat(h, plane)
	}
	if ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	if d.Slices, d.SliceCaption, err = figureSlices(h); err != nil {
		return d, err
	}
	d.SlicesInPairs = inPairs(len(d.Slices))
	layers, err := layersOf(h)
	if err != nil {
		return d, err
	}
	if mapped {
		d.Maps = figuresMaps(h, plane, layers)
	}
	if d.Ternary, d.Mixture, d.TernaryCaption, err = figuresTernary(h, layers); err != nil {
		return d, err
	}
	d.Others, err = slicesOfOthers(h)
	return d, err
}

// duelsOf draws a campaign that measures nothing: the comparisons, each expert's favorite, and the
// shape of their utility.
func duelsOf(ctx context.Context, h *history) (d duelsPart, err error) {
	d.Duels = true
	d.Preferred = preferencesOf(h)
	d.Rows = comparisonsOf(h)
	d.Compared, d.Kept = figuresCompared(h), figureKept(h)
	d.InPairs = inPairs(len(d.Compared))
	d.Anchored = slices.ContainsFunc(h.def.Experts,
		func(e definition.Expert) bool { return len(e.Anchors) > 0 })
	d.Utility, err = figuresUtility(ctx, h)
	return d, err
}

// auditCommands are the commands with which a reader can check the report
// against the store, and ask it for more. They are the report's claim to be
// checked: a reader needs the store, this program and nothing else.
func auditCommands(h *history, store string) []command {
	store = quote(store)
	commands := []command{
		{"campaignd audit " + store, "checks that no event was changed, and makes every fit and decision again"},
		{"campaignd replay " + store + " --json", "prints the state of the campaign and the digest below"},
	}
	if n := len(h.decisions); n > 0 {
		commands = append(commands, command{"campaignd explain " + store + " " + h.decisions[n-1].Decision,
			"explains one decision"})
	}
	if !h.measures {
		return append(commands, command{"campaignd export " + store, "writes the comparisons as a table"})
	}
	return append(commands, command{"campaignd predict " + store + " --at points.csv",
		"asks the model at compositions of your own"})
}

// quote writes a path as one word of a shell. Most paths need no quotes, and
// stay easier to read without. Between single quotes a shell interprets nothing,
// so only a single quote itself needs more: the quotes are closed, one is
// written with a backslash, and they are opened again.
func quote(path string) string {
	if strings.ContainsAny(path, " '\"\\$`*?()[]{}<>|&;!#~\t\n") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// Date writes a note's time; the template calls it.
func (d *pageData) Date(t time.Time) string { return format.Time(t) }

// counting are the files that were not withdrawn.
func counting(files []campaign.File) (list []campaign.File) {
	for _, f := range files {
		if !f.Withdrawn {
			list = append(list, f)
		}
	}
	return list
}
