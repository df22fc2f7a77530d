package console

import (
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// frontPart is a page's view of the front of a trade-off.
type frontPart struct {
	view.FrontWords
	// Suggested is the experiment of the compromise, with its expected outcome; empty without a
	// compromise. Satisfied is how far it goes from the worst to the best in each objective.
	Suggested string
	Expected  []view.Row
	Satisfied string
	// Head and Rows are the table.
	Head    []string
	Rows    []frontRow
	Caption string
	Figures []report.Figure
}

// frontRow is a composition of the front in the table.
type frontRow struct {
	Experiment, Name string
	Marks            []string // the objectives in which it is best
	Suggested        bool
	Cells            []string
	Line             string
}

// frontOf writes and draws a front for a page of the campaign; nil for none.
func frontOf(def *definition.Campaign, f *seek.Front, target figure.Page) *frontPart {
	if f == nil {
		return nil
	}
	p := &frontPart{FrontWords: view.WordsOf(f), Caption: report.FrontCaption(f)}
	p.Grown, p.Constant = view.Sentence(p.Grown), view.Stop(p.Constant)
	if c := f.Compromise; c != nil {
		p.Suggested, p.Satisfied = c.Experiment, view.Sentence(view.Reaches(f))
		if m := f.Member(c.Experiment); m != nil {
			p.Expected = believed(m)
		}
	}
	write := format.CompositionsOf(def)
	for i, cells := range view.FrontTable(f, f.Members) {
		if i == 0 {
			p.Head = cells[1:]
			continue
		}
		m := &f.Members[i-1]
		row := frontRow{
			Experiment: m.Experiment, Name: cells[0], Cells: cells[1:], Line: write.Line(m.Parameters),
			Suggested: m.Experiment == p.Suggested,
		}
		for _, o := range f.Objectives {
			if o.Best == m.Experiment {
				row.Marks = append(row.Marks, "best "+o.Quantity)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	p.Figures = append(report.FrontFigures(def, f, target), report.HypervolumeFigure(f, target)...)
	return p
}

// believed are the quantities of a composition, as they are expected.
func believed(m *seek.Member) (rows []view.Row) {
	for _, q := range m.Quantities {
		text := format.Quantity(q.Mean, q.Unit)
		if q.SD > 0 {
			text = format.PlusMinus(q.Mean, q.SD, q.Unit)
		}
		rows = append(rows, view.Row{Name: q.Quantity, Text: figure.Typeset(text)})
	}
	return rows
}

// drawingsFor are drawings in classes of the stylesheet, whose marks lead to the
// pages of a campaign.
func drawingsFor(campaign string) figure.Page {
	return figure.Page{Palette: figure.Classes, Link: func(id string) string { return subjectPath(campaign, id) }}
}

// valueFor is the value of one of those objectives that an experiment gave.
func valueFor(s *campaign.State, x *campaign.Experiment, o definition.Objective) (definition.Quantity, bool) {
	if s.Definition.Tradeoff() != nil {
		return s.Quantity(x, o.Name)
	}
	return s.Value(x)
}

// countedOf are its values that count, in the order of experiments.
func countedOf(s *campaign.State, o definition.Objective) (values []float64) {
	if s.Definition.Tradeoff() == nil {
		return measuredValues(s)
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if value, ok := s.Quantity(x, o.Name); ok && x.Counts(o.Name) {
			values = append(values, value.Value)
		}
	}
	return values
}

// quantityOutcome is a declared quantity of an experiment: its value, or why it is missing, and the
// prediction when the experiment was chosen.
type quantityOutcome struct {
	Name, Measured, Expected string
	Missing                  bool
}

// several writes an experiment's values of a campaign's quantities, with the prediction of each;
// nothing where the campaign declares none.
func (p *experimentPage) several(s *campaign.State, log *view.Timeline) {
	def := s.Definition
	p.Tradeoff = def.Tradeoff() != nil
	if !def.Several() {
		return
	}
	made, _ := log.Decision(p.Decision)
	for _, q := range append(def.Declared(), followed(def)...) {
		o := quantityOutcome{Name: q.Name}
		o.Measured, o.Missing = p.gave(s, &q)
		for _, e := range made.Outcomes {
			if e.Quantity == q.Name && e.SD > 0 {
				o.Expected = format.PlusMinus(e.Mean, e.SD, e.Unit)
			}
		}
		p.Quantities = append(p.Quantities, o)
	}
	if made.Feasible == nil {
		return
	}
	for _, k := range made.Feasible.Constraints {
		p.Required = append(p.Required, view.Row{Name: view.Compared(k.Require),
			Text: "expected to be kept with probability " + format.Fixed(k.Probability, 2)})
	}
}

// followed are the quantities that follow from the parameters.
func followed(def *definition.Campaign) (all []definition.QuantityDef) {
	for _, q := range def.Quantities {
		if q.From != "" {
			all = append(all, q)
		}
	}
	return all
}

// gave writes the experiment's value of a quantity, or why that is missing.
func (p *experimentPage) gave(s *campaign.State, q *definition.QuantityDef) (text string, missing bool) {
	if value, ok := s.Quantity(&p.Experiment, q.Name); ok {
		text = format.Result(value)
		if value.SD != nil {
			text = format.PlusMinus(value.Value, *value.SD, value.Unit)
		}
		if !p.Counts(q.Name) && !p.Excluded {
			text += ", left out of the models"
		}
		return text, false
	}
	if p.Measurement == nil {
		return "", false
	}
	for _, m := range p.Measurement.Missing {
		if m.Name == q.Name {
			return "missing: " + m.Reason, true
		}
	}
	if view.Awaits(s, &p.Experiment, q.Name) {
		return "still to come", true
	}
	return "missing", true
}
