package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// cell is a parameter's value; Asked is set where the requested value differs. The value as made
// comes first, since that one was measured.
type cell struct{ Value, Asked string }

// measurementRow is one experiment, with or without a measurement. All texts
// are finished; values are in the objective's unit.
type measurementRow struct {
	ID         string
	Symbol     template.HTML
	Best       string // in which way it is the best
	Cells      []cell // as made, by parameter
	Value      string
	Note       string // instead of a value: failed, running, …
	Prediction string // before it was measured, mean ± sd; empty without a model
	Residual   string // measured minus predicted
	// Surprise is set where the residual is more than two standard deviations,
	// those of the prediction and of the measurement's noise together.
	Surprise bool
	Why      string // why it was chosen
	Decision string
	Time     string
	Marks    []string // corrected, excluded, …
	Further  string   // quantities measured along with it, and those that are missing
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
func measurementsOf(h *history) []group[measurementRow] {
	var symbols [classes]template.HTML
	for k := range classes {
		symbols[k] = h.symbol(k)
	}
	rows := make([]measurementRow, len(h.state.Experiments))
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		rows[i] = measurementRowOf(h, x)
		rows[i].Best = h.bestAs(x.ID)
		rows[i].Symbol = symbols[h.class(x)]
	}
	return folded(rows, unfolded, func(r *measurementRow) string { return r.ID })
}

// measurementRowOf writes a row of the table, except its symbol and the mark of the best.
//
// A row without a measurement shows the requested composition and why it has no value; residual and
// surprise are about the prediction that the decision recorded, not about today's model.
func measurementRowOf(h *history, x *campaign.Experiment) measurementRow {
	row := measurementRow{ID: x.ID, Decision: x.Decision, Why: h.why(x), Time: format.Time(x.EndedAt)}
	m := x.Measurement
	asked := h.format.Values(x.Parameters, none)
	made := asked
	if m != nil {
		made = h.format.Values(m.Actual, none)
	}
	for i, p := range h.def.Parameters {
		c := cell{Value: made[i]}
		if v := x.Parameters[p.Name]; m != nil && differs(v, m.Actual[p.Name]) {
			// A difference below the written precision would show twice the
			// same number: then both are written in full.
			if c.Asked = asked[i]; c.Asked == c.Value {
				c.Value, c.Asked = m.Actual[p.Name].String(), v.String()
			}
		}
		row.Cells = append(row.Cells, c)
	}
	prediction, noise := h.prediction(x)
	if prediction != nil {
		mean, sd := format.MeanSD(prediction.Mean, prediction.SD)
		row.Prediction = mean + " ± " + sd
	}
	if x.Status != campaign.Measured {
		row.Note = string(x.Status)
		if x.Cause != "" {
			row.Note += ": " + x.Cause
		}
	}
	if m == nil {
		row.Marks = h.marks(x)
		row.Dim = x.Status == campaign.Cancelled || x.Excluded
		return row
	}
	measured, ok := h.state.Given(x)
	if ok {
		row.Value = format.Fixed(measured.Value, h.places)
	}
	if measured.SD != nil {
		row.Value += " ± " + format.Significant(*measured.SD, 2)
	}
	if ok && prediction != nil {
		residual := measured.Value - prediction.Mean
		row.Residual = format.Fixed(residual, h.places)
		if residual > 0 {
			row.Residual = "+" + row.Residual
		}
		// The noise of the measurement and the doubt of the model are
		// independent: their variances add.
		if sd := math.Hypot(prediction.SD, noise); sd > 0 {
			row.Surprise = math.Abs(residual) > 2*sd
		}
	}
	var further []string
	for _, q := range m.All() {
		if q.Name == h.sought.Name {
			continue
		}
		text := strings.TrimSpace(q.Name + " " + format.Significant(q.Value, 4) + " " + q.Unit)
		if !x.Counts(q.Name) && !x.Excluded {
			text += " (left out of the models)"
		}
		further = append(further, text)
	}
	for _, missing := range m.Missing {
		further = append(further, fmt.Sprintf("no %s: %s", missing.Name, missing.Reason))
	}
	row.Further = strings.Join(further, ", ")
	row.Marks = h.marks(x)
	row.Dim = x.Excluded
	return row
}

// marks are the corrections of an experiment, and whether another composition than the requested
// one was made. The engine's flags that begin or settle a doubt are left out: an overturned
// measurement is drawn as excluded.
func (h *history) marks(x *campaign.Experiment) (marks []string) {
	if x.Flag != nil {
		switch x.Flag.Verdict {
		case events.VerdictElsewhere, events.VerdictKept, events.VerdictSame:
			marks = append(marks, x.Flag.Reason)
		}
	}
	for _, c := range h.corrections[x.ID] {
		marks = append(marks, correctionText(c))
	}
	return marks
}

// correctionText describes a correction in a sentence: the changes, who made it, when and why.
//
// A correction of a measurement without a new value, composition or quantity can only lift an
// exclusion.
func correctionText(c correction) string {
	by := func(what, reason string) string {
		return fmt.Sprintf("%s by %s, %s: %s", what, c.actor, format.Time(c.time), reason)
	}
	if o := c.outcome; o != nil {
		switch {
		case o.Was != o.Outcome:
			what := fmt.Sprintf("corrected from %s to %s", o.Was, o.Outcome)
			if o.Excluded {
				what += ", and excluded"
			}
			return by(what, o.Reason)
		case o.Excluded:
			return by("excluded from the model", o.Reason)
		}
		return by("corrected, counted", o.Reason)
	}
	var what []string
	if c.New != nil && c.New.Value != c.Old.Value {
		what = append(what, fmt.Sprintf("corrected from %s to %s",
			format.Significant(c.Old.Value, 6), format.Significant(c.New.Value, 6)))
	}
	if c.Actual != nil {
		what = append(what, "composition corrected")
	}
	corrected := slices.Clone(c.Further)
	for _, v := range c.Values {
		if v.New != nil {
			corrected = append(corrected, *v.New)
		}
		if v.Excluded {
			what = append(what, v.Name+" left out of the models")
		}
	}
	for _, q := range corrected {
		what = append(what, fmt.Sprintf("%s corrected to %s",
			q.Name, strings.TrimSpace(format.Significant(q.Value, 6)+" "+q.Unit)))
	}
	if c.Excluded {
		what = append(what, "excluded from the model")
	}
	if what == nil {
		what = []string{"put back into the model"}
	}
	return by(strings.Join(what, ", "), c.Reason)
}

// differs reports whether two values of a parameter are not the same, beyond
// the rounding of a number that was written and read again. The bound is
// relative, with a floor for values near 0, as instruments report in more
// digits than they were asked in.
func differs(a, b definition.Value) bool {
	x, numeric := a.Float()
	y, also := b.Float()
	if !numeric || !also {
		return a.Name() != b.Name() || numeric != also
	}
	return math.Abs(x-y) > 1e-9*max(math.Abs(x), math.Abs(y), 1e-6)
}

// why says why an experiment was chosen: its decision's reason, or its origin where no decision
// chose it. A replicate has the decision of the first run. The decision recorded it at the time: it
// is not an explanation found afterwards.
func (h *history) why(x *campaign.Experiment) string {
	text := ""
	switch x.Origin {
	case events.OriginInitial:
		text = fmt.Sprintf("Initial design (%s).", h.def.Initial.Design)
	case events.OriginPerson:
		text = "Run by a person."
	case events.OriginImport:
		text = "Measured elsewhere, and brought."
	}
	if d := h.decision(x.Decision); d != nil {
		text = d.Reason
	}
	if x.Replicate > 1 {
		text = fmt.Sprintf("Replicate %d. %s", x.Replicate, text)
	}
	return strings.TrimSpace(text)
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
		mean, sd := format.MeanSD(c.Prediction.Mean, c.Prediction.SD)
		r.Prediction = mean + " ± " + sd
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
		mean, sd := format.MeanSD(c.Score.Mean, c.Score.SD)
		r.Score = mean + " ± " + sd
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
