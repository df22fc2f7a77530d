package report

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// measurementRow is one experiment, with or without a measurement. All texts are finished.
type measurementRow struct {
	ID       string
	Symbol   template.HTML
	Best     string      // in which way it is the best
	Cells    []view.Cell // by column; that of the objective says why a value is missing
	Why      string      // why it was chosen
	Decision string
	Marks    []string // corrected, excluded, …
	Dim      bool     // drawn faintly: it does not count
}

// group is a segment of a long table; only the newest one is open at first.
type group[R any] struct {
	Title string
	Open  bool
	Rows  []R
}

// none stands in a cell for a missing value: an empty one would look like a fault of the page.
const none = "–"

// A table of more than unfolded rows is folded into segments of segment rows,
// so that a campaign of thousands of experiments stays a page that a browser
// can lay out.
const (
	unfolded = 120
	segment  = 100
)

// mostBatches is how many batches a report lists: the latest.
const mostBatches = 200

// folded cuts a table that is longer than most rows into segments; one that is shorter is a
// single segment without a title. id is a row's name.
func folded[R any](rows []R, most int, id func(*R) string) (groups []group[R]) {
	if len(rows) <= most {
		return []group[R]{{Open: true, Rows: rows}}
	}
	for part := range slices.Chunk(rows, segment) {
		title := fmt.Sprintf("%s to %s", id(&part[0]), id(&part[len(part)-1]))
		groups = append(groups, group[R]{Title: title, Rows: part})
	}
	groups[len(groups)-1].Open = true
	return groups
}

// measurementsOf returns the table of all experiments, folded where it is long.
// Symbols are drawn once for each class: each is a small SVG, and a table may
// have thousands of rows.
//
// A row without a measurement shows the requested composition and why it has no value.
func measurementsOf(h *history) tablesPart {
	var symbols [classes]template.HTML
	for k := range classes {
		symbols[k] = h.symbol(k)
	}
	fixed := func(v float64) string { return format.Fixed(v, h.places) }
	table := view.ExperimentsFor(h.state, view.InReport, h.timeline, h.format, fixed)
	sought := slices.IndexFunc(table.Columns, func(c view.Column) bool { return c.Sought })
	rows := make([]measurementRow, len(h.state.Experiments))
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		rows[i] = measurementRow{
			ID: x.ID, Symbol: symbols[h.class(x)], Best: view.BestAs(h.summary.Bests, x.ID), Cells: table.Cells(x),
			Why: h.timeline.Why(h.state, x), Decision: x.Decision, Marks: h.marks(x),
			Dim: x.Status == campaign.Cancelled || x.Excluded,
		}
		if x.Replicate > 1 {
			rows[i].Why = fmt.Sprintf("Replicate %d. %s", x.Replicate, rows[i].Why)
		}
		if x.Status != campaign.Measured {
			note := string(x.Status)
			if x.Cause != "" {
				note += ": " + x.Cause
			}
			rows[i].Cells[sought] = view.Cell{Text: note, Class: "note"}
		}
	}
	return tablesPart{
		Columns:      table.Columns,
		Measurements: folded(rows, unfolded, func(r *measurementRow) string { return r.ID }),
		HasMeasured:  len(rows) > 0, Decisions: decisionTable(h), DecisionCount: len(h.decisions),
		Batches: view.BatchesIn(h.core, mostBatches),
	}
}

// marks are the corrections of an experiment, and whether another composition than the requested
// one was made. The engine's flags that begin or settle a doubt are left out: an overturned
// measurement is drawn as excluded.
func (h *history) marks(x *campaign.Experiment) (marks []string) {
	if x.Flag != nil {
		switch x.Flag.Verdict {
		case events.VerdictElsewhere, events.VerdictKept, events.VerdictSame,
			events.VerdictDrift:
			marks = append(marks, x.Flag.Reason)
		}
	}
	for _, l := range h.corrections[x.ID] {
		marks = append(marks, format.Time(l.Time)+": "+l.Words())
	}
	return marks
}

// decisionRow is one decision with all that it weighed. Experiment and Question are the ones it
// asked for, and at most one of them is set.
type decisionRow struct {
	ID, Time, Action, Rule, Reason string
	Experiment, Question, Answer   string
	Candidates                     []candidateRow
	Tests                          []testRow
	Facts                          [][2]string
}

// candidateRow is one candidate of a decision, with the models' predictions in the objective's
// unit. Cells are its parameters; values that a method does not compute are empty.
type candidateRow struct {
	Name                            string
	Chosen                          bool
	Cells                           []string
	Prediction, Bounds, Acquisition string
	Belief, Score                   string
}

// testRow is one question that a decision put to its models: the comparison, and whether it held.
type testRow struct {
	Name, Compared, Answer string
	Holds                  bool
}

// decisionTable returns all decisions, folded where they are many.
func decisionTable(h *history) []group[decisionRow] {
	rows := make([]decisionRow, len(h.decisions))
	for i := range h.decisions {
		rows[i] = decisionRowOf(h, &h.decisions[i])
	}
	return folded(rows, unfolded, func(r *decisionRow) string { return r.ID })
}

// decisionRowOf writes a decision with its candidates, tests and facts.
func decisionRowOf(h *history, d *decision) decisionRow {
	row := decisionRow{
		ID:         d.Decision,
		Time:       format.Time(d.event.Time),
		Action:     actionText(d.DecisionMade),
		Rule:       d.Rule,
		Reason:     d.Reason,
		Experiment: d.experiment,
		Question:   d.question,
	}
	if q := h.state.Question(d.question); q != nil {
		row.Answer = h.answerText(q)
		if q.Comment != "" {
			row.Answer += fmt.Sprintf(" (“%s”)", q.Comment)
		}
	}
	for _, c := range d.Candidates {
		row.Candidates = append(row.Candidates, candidateRowOf(h, d, c))
	}
	for _, t := range d.Tests {
		question, answer := view.TestWords(t)
		row.Tests = append(row.Tests, testRow{t.Name, question, answer, t.Holds})
	}
	row.Facts = decisionFacts(h, d)
	return row
}

func candidateRowOf(h *history, d *decision, c events.Candidate) candidateRow {
	r := candidateRow{Name: c.Name, Chosen: c.Name == d.Chosen, Cells: h.format.Values(c.Parameters, none)}
	if c.Prediction != nil {
		r.Prediction = format.PlusMinus(c.Prediction.Mean, c.Prediction.SD, "")
	}
	if c.Optimistic != nil && c.Pessimistic != nil {
		r.Bounds = format.Significant(*c.Pessimistic, 4) + " … " + format.Significant(*c.Optimistic, 4)
	}
	if c.Acquisition != nil {
		r.Acquisition = format.Significant(*c.Acquisition, 4)
	}
	if c.Belief != nil {
		r.Belief = format.Significant(c.Belief.Lower, 3) + " … " + format.Significant(c.Belief.Upper, 3)
	}
	if c.Score != nil {
		r.Score = format.PlusMinus(c.Score.Mean, c.Score.SD, "")
	}
	return r
}

// decisionFacts lists the data needed to make the decision again: the events it saw, its seed, the
// policy, the fitted models and the program.
//
// It stands on the page for a reader who has the page alone.
func decisionFacts(h *history, d *decision) [][2]string {
	facts := [][2]string{
		{"made from", fmt.Sprintf("events up to %d", d.At)},
		{"seed", fmt.Sprint(d.Seed)},
		{"policy", view.Policy(d.Policy)},
	}
	for _, r := range view.Models(h.def, d.DecisionMade) {
		if r.Name == "" { // it goes on with the row above
			facts[len(facts)-1][1] += ", " + r.Text
			continue
		}
		facts = append(facts, [2]string{r.Name, r.Text})
	}
	if d.Lambda != nil {
		facts = append(facts, [2]string{"the belief counts afterwards (weight λ)", format.Short(*d.Lambda)})
	}
	if d.Build != (events.Build{}) {
		facts = append(facts, [2]string{"build", view.Build(d.Build)})
	}
	return facts
}
