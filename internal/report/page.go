package report

import (
	"context"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// pageData is what report.html shows: every field is finished text, a number or
// a figure. A nil pointer, an empty slice or an empty text leaves its section
// out.
type pageData struct {
	// The head of the page.

	Style       template.CSS
	Name        string
	Description string
	Status      string // one sentence: where the campaign stands, why it ended
	Running     bool   // not ended: what follows is an intermediate state
	World       string // whether results are of the real world: SIMULATED, REAL, …
	WorldClass  string // of World, for the style sheet
	Facts       [][2]string

	// Campaigns whose experts compare and in which nothing is measured.

	Duels     bool        // this campaign is one
	Preferred []preferred // what each expert prefers to everything else
	Compared  []Figure    // the course of the comparisons, one figure a parameter
	Kept      *Figure     // candidates left, for rules that eliminate some
	Utility   []Figure    // the fitted utilities, one figure a parameter
	InPairs   bool        // Compared stands in rows of two, else of three
	Anchored  bool        // some expert named compositions before the first question
	Rows      []comparisonGroup

	// What experts were asked in campaigns that measure.

	Choices     []choice
	ChoicesLeft int // how many of Choices, the oldest, have no figures
	Reviews     *Figure
	Questions   []questionRow

	// The summary.

	Answer   *answer
	Front    *front // instead of an answer, of a trade-off
	Pending  string // instead of an answer
	Numbers  []number
	Warnings []warning

	// Several quantities.

	FrontFigures   []Figure
	FrontCaption   string
	Hypervolume    *Figure
	Ternary        []Figure // over the mixtures of three components
	Maps           []Figure // over the plane of Heat
	TernaryCaption string
	Mixture        *Mixture
	Others         []quantitySlices

	// The figures, and how far they can be trusted.

	Convergence  *Figure
	Experts      []Figure
	NoExperts    string // instead of Experts
	Heat         []Figure
	HeatCaption  string
	Slices       []Figure
	SliceCaption string
	Trust        trustworthiness
	LeaveOneOut  []Figure
	Calibration  *Figure

	SlicesInPairs bool // Slices stands in rows of two, else of three
	Sensitivity   []sensitivity
	Hyper         [][2]string // hyperparameters of the fit, name and value
	NoModel       string      // why there are no figures of the model

	// The tables.

	Parameters    []definition.Parameter
	Objective     definition.Objective
	Unit          string // of the objective, in parentheses
	Measurements  []measurementGroup
	HasMeasured   bool
	Decisions     []decisionGroup
	DecisionCount int
	Notes         []campaign.Note
	Files         []campaign.File // those that count
	Acts          []act
	Exclusions    []exclusionRow
	AnyExperts    bool // experts take part, or did before an amendment
	Amendments    []amendmentRow

	// What is needed to check the report.

	Audit          []command
	Digest         string // of the folded state; campaignd replay prints the same
	Backtest       string // whether the best row of a table was found
	Checkpoint     string // of the log, empty for none
	Events         int
	Position       events.Position // of the last event
	LastTime       string          // of the last event, UTC
	DefinitionText string          // the campaign file as it was given
}

// command is a line for the shell, with what it is good for. It is what a
// reader types to check the report against the store.
type command struct{ Line, Purpose string }

// amendmentRow is one change of the definition after the campaign began.
// Changes are those that the event lists: an audit holds them to the
// definitions.
type amendmentRow struct {
	Time, Actor, Reason string
	Changes             []events.Change
}

// page gathers what the template shows. store is the path that the printed
// commands name. It fails with the context's error, or where a figure cannot be
// computed.
//
// The context is looked at between the slow parts; the parts themselves look at
// it where they fit models.
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
		Style:          template.CSS(style),
		Name:           s.Name,
		Description:    h.def.Description,
		Parameters:     h.def.Parameters,
		Objective:      h.sought,
		Measurements:   h.measurements(),
		HasMeasured:    len(s.Experiments) > 0,
		Decisions:      h.decisionTable(),
		DecisionCount:  len(h.decisions),
		Notes:          s.Notes,
		Files:          counting(s.Files),
		Acts:           h.acts,
		Exclusions:     h.exclusions(),
		AnyExperts:     len(h.def.Experts) > 0 || len(s.Questions) > 0,
		Warnings:       h.warnings(store),
		Digest:         digest,
		Events:         len(h.timeline.Lines),
		Position:       h.last.Position,
		LastTime:       format.Time(h.last.Time),
		DefinitionText: s.Source,
	}
	if h.sought.Unit != "" {
		d.Unit = "(" + h.sought.Unit + ")"
	}
	d.Status, d.Running = h.statusText(), !s.Status.Ended()
	d.World, d.WorldClass = h.world()
	d.Facts = h.facts()
	if d.Front = h.front(); d.Front == nil {
		d.Answer, d.Pending = h.answer()
	}
	d.Numbers = h.numbers()
	d.Questions = h.questionRows()
	if d.Choices, d.ChoicesLeft, err = h.choices(); err != nil {
		return nil, err
	}
	d.Audit = h.auditCommands(store)
	for _, a := range h.amendments {
		d.Amendments = append(d.Amendments, amendmentRow{format.Time(a.time), a.actor, a.Reason, a.Changes})
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return d, h.figures(ctx, d)
}

// figures draws everything that has data. Figures of the model are left out
// while there is none; a campaign of comparisons has figures of its own.
//
// Each figure says itself whether there is anything to draw. The order of this
// function is not that of the page, which the template decides.
func (h *history) figures(ctx context.Context, d *pageData) (err error) {
	if d.Duels = !h.def.Measures(); d.Duels {
		return h.figuresOfDuels(ctx, d)
	}
	if f, ok := h.figureReviews(); ok {
		d.Reviews = &f
	}
	h.figuresOfFront(d)
	if f, ok := h.figureConvergence(); ok && h.def.Tradeoff() == nil {
		d.Convergence = &f
	}
	for _, draw := range []func() (Figure, bool){h.figureLabels, h.figureTrust, h.figureWorth,
		h.figureWeight, h.figureWidths} {
		if f, ok := draw(); ok {
			d.Experts = append(d.Experts, f)
		}
	}
	if len(h.def.Experts) == 0 && len(d.Experts) == 0 {
		d.NoExperts = "No expert takes part in this campaign."
	}
	d.Trust = h.trustworthiness()
	if h.model == nil {
		d.NoModel = "There is no model of the objective yet: it needs two measurements."
		return nil
	}
	plane, mapped, err := h.heat()
	if err != nil {
		return err
	}
	if mapped {
		d.Heat, d.HeatCaption = h.figureHeat(plane)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if d.Slices, d.SliceCaption, err = h.figureSlices(); err != nil {
		return err
	}
	d.SlicesInPairs = inPairs(len(d.Slices))
	layers, err := h.layers()
	if err != nil {
		return err
	}
	if mapped {
		d.Maps = h.figuresMaps(plane, layers)
	}
	if d.Ternary, d.Mixture, d.TernaryCaption, err = h.figuresTernary(layers); err != nil {
		return err
	}
	if d.Others, err = h.slicesOfOthers(); err != nil {
		return err
	}
	d.LeaveOneOut = h.figuresLeaveOneOut()
	if f, ok := h.figureCalibration(); ok {
		d.Calibration = &f
	}
	d.Sensitivity, d.Hyper = h.sensitivities(), h.hyperparameters()
	return nil
}

// figuresOfFront draws what is known of the front of a trade-off.
func (h *history) figuresOfFront(d *pageData) {
	t := h.summary.Tradeoff
	if t == nil {
		return
	}
	d.FrontFigures, d.FrontCaption = FrontFigures(h.def, t, h.target), FrontCaption(t)
	if f, ok := HypervolumeFigure(t, h.target); ok {
		d.Hypervolume = &f
	}
}

// figuresOfDuels draws a campaign that measures nothing: what was compared,
// what each expert prefers, and what their utility looks like.
func (h *history) figuresOfDuels(ctx context.Context, d *pageData) (err error) {
	d.Preferred, d.Rows = h.preferences(), h.comparisons()
	d.Compared = h.figuresCompared()
	d.InPairs = inPairs(len(d.Compared))
	d.Anchored = slices.ContainsFunc(h.def.Experts,
		func(e definition.Expert) bool { return len(e.Anchors) > 0 })
	if f, ok := h.figureKept(); ok {
		d.Kept = &f
	}
	d.Utility, err = h.figuresUtility(ctx)
	return err
}

// auditCommands are the commands with which a reader can check the report
// against the store, and ask it for more. They are the report's claim to be
// checked: a reader needs the store, this program and nothing else.
func (h *history) auditCommands(store string) []command {
	store = quote(store)
	commands := []command{
		{"campaignd audit " + store, "checks that no event was changed, and makes every fit and decision again"},
		{"campaignd replay " + store + " --json", "prints the state of the campaign and the digest below"},
	}
	if n := len(h.decisions); n > 0 {
		commands = append(commands, command{"campaignd explain " + store + " " + h.decisions[n-1].Decision,
			"explains one decision"})
	}
	if !h.def.Measures() {
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
