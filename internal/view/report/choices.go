package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/policies"
)

// choice is one decision in which an expert chose between candidates: the candidates, the answer,
// and its outcome. It is a block of the page under "Experts". Campaigns that only compare have
// none: their answers lead to no experiment that could be looked at afterwards.
type choice struct {
	ID, Expert, Question string // ID is the decision's
	Answer               string // empty while the question is open
	Experiment, Measured string // the result of the answer; empty as long as it led to nothing
	Review               string // how the choice looked once it was measured
	Options              []choiceOption
	// Rows compare the candidates, in the order of Options.
	Rows []view.CandidateRow
	// Shares are the Shapley values of the parameters, a table for each quantity; nil where none were
	// recorded, or where the choice is too old to be drawn.
	Shares        []ShareTable
	SharesCaption string
	// Plane is the model over the two parameters that count most.
	Plane        []Figure
	PlaneCaption string
}

// choiceOption heads a column of the comparison.
type choiceOption struct {
	Name   string // "A unaided"
	Chosen bool
}

// drawnChoices is the number of choices, the newest, that are drawn: each is
// some twenty kilobytes. A page of all choices of a long campaign would be tens
// of megabytes; the older ones keep their table.
const drawnChoices = 30

// choicesOf returns the choices between candidates that are measured, newest
// last; left is how many of them have no figures. The error is that of a figure
// which cannot be drawn.
func choicesOf(h *history) (all []choice, left int, err error) {
	if !h.measures {
		return nil, 0, nil // the table of comparisons says it
	}
	var asked []int
	for i := range h.decisions {
		if h.decisions[i].Form == events.FormComparison {
			asked = append(asked, i)
		}
	}
	left = max(len(asked)-drawnChoices, 0)
	for k, i := range asked {
		c, err := choiceOf(h, i, k >= left)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, c)
	}
	return all, left, nil
}

// choiceOf gathers the data of the i-th decision, with figures or without.
//
// The decision's own record is enough for all of it: no model is evaluated here, so that the
// figures show the knowledge of the decision and not today's.
func choiceOf(h *history, i int, figures bool) (choice, error) {
	d := &h.decisions[i]
	c := choice{ID: d.Decision, Expert: d.Expert, Question: d.question}
	var letters map[string]string
	winner := ""
	candidates := slices.Clone(d.Candidates)
	if q := h.state.Question(d.question); q != nil {
		letters = view.Letters(q)
		c.Answer = h.answerText(q)
		if w := q.Winner(); w != nil {
			winner = w.Candidate
		}
		if r := h.review(q.ID); r != nil {
			c.Review = "right with probability " + format.Fixed(r.Probability, 2)
		}
		// The expert saw the options in a random order, named A, B, …; the
		// columns follow that order and not the log's.
		slices.SortStableFunc(candidates, func(a, b events.Candidate) int {
			return strings.Compare(letters[a.Name], letters[b.Name])
		})
	}
	c.Experiment, c.Measured = ledTo(h, i)
	for _, o := range candidates {
		name := strings.TrimSpace(letters[o.Name] + " " + o.Name)
		c.Options = append(c.Options, choiceOption{name, o.Name == winner})
	}
	// A copy: the decision belongs to the history, whose order the other tables
	// use.
	ordered := *d.DecisionMade
	ordered.Candidates = candidates // as the expert saw them
	for _, row := range view.CandidateTable(h.def, &ordered) {
		for k := range row.Cells {
			row.Cells[k] = figure.Typeset(row.Cells[k])
		}
		c.Rows = append(c.Rows, row)
	}
	if !figures || d.Attributions == nil {
		return c, nil
	}
	if shares := view.Shares(h.def, d.DecisionMade); shares != nil {
		slices.SortStableFunc(shares, func(a, b view.Share) int {
			return strings.Compare(letters[a.Candidate], letters[b.Candidate])
		})
		c.Shares, c.SharesCaption = SharesIn(h.sought, letters, shares, h.target), sharesCaption(shares)
	}
	if p := d.Attributions.Plane; p != nil {
		var err error
		if c.Plane, c.PlaneCaption, err = figurePlane(h, d, p, candidates, letters); err != nil {
			return c, err
		}
	}
	return c, nil
}

// ledTo is the experiment that the answer to the i-th decision led to, and its measured value; both
// are empty as long as it led to none. The next decision that asks for an experiment acts on the
// answer, so that one is it. Where the campaign went on without an answer, one that came later has
// led to nothing.
func ledTo(h *history, i int) (experiment, measured string) {
	for j := i + 1; j < len(h.decisions); j++ {
		id := h.decisions[j].experiment
		if id == "" {
			continue
		}
		q := h.state.Question(h.decisions[i].question)
		if h.decisions[j].Rule == policies.RuleNoAnswer && q != nil && q.Winner() != nil {
			return "", ""
		}
		x := h.state.Experiment(id)
		value, ok := h.state.Value(x)
		if !ok {
			return id, ""
		}
		return id, format.WithUnit(h.value(value.Value), value.Unit)
	}
	return "", ""
}

// sharesCaption explains the bars of Shapley values. Where the values and the base add up to the
// model's own prediction, it is shorter. Decisions of version 2 of the policies attributed the
// values of the measured compositions alone; logs hold them, so their text stays.
func sharesCaption(shares []view.Share) string {
	if view.AddUp(shares) {
		return "Shapley values: what each parameter adds to what the model says of either candidate," +
			" from what it says on average of the measured compositions, the base" +
			" (after Adachi et al. 2024, §3.3)."
	}
	return "Shapley values: what each parameter adds to what the measured compositions tell of either" +
		" candidate (Adachi et al. 2024, Prop. 4). The last row is the model's own" +
		" statement, which where nothing was measured nearby falls back to what it expects of any" +
		" composition, and is less sure."
}

// optionColor is that of the k-th candidate: A, B, … Options and experts share
// the palette: in a figure of options experts are not drawn.
func optionColor(k int) figure.Color { return expertColors[k%len(expertColors)] }

// letterOf is the letter under which the expert saw a candidate, or its name.
func letterOf(letters map[string]string, candidate string) string {
	if l := letters[candidate]; l != "" {
		return l
	}
	return candidate
}

// figurePlane draws the plane of the two strongest parameters with the
// candidates and the best measured composition: the posterior mean and its
// standard deviation, and a caption for both. It draws nothing where the plane
// is degenerate.
func figurePlane(
	h *history, d *decision, p *events.Plane, candidates []events.Candidate, letters map[string]string,
) ([]Figure, string, error) {
	n := len(p.Xs)
	if n < 2 || len(p.Ys) != n || p.Xs[0] == p.Xs[n-1] || p.Ys[0] == p.Ys[n-1] {
		return nil, "", nil
	}
	// The decision recorded the model on this grid with all other parameters held. It does not
	// record which part is feasible: the whole plane is drawn.
	grid := heat{
		n:        n,
		mean:     p.Mean,
		sd:       p.SD,
		inside:   func(u, v float64) bool { return true },
		excluded: func(u, v float64) bool { return false },
	}
	// The plane names its parameters; the definition may have others in between.
	units := make(map[string]string)
	for _, par := range h.def.Parameters {
		units[par.Name] = par.Unit
	}
	figures := figuresOver(h, grid, d.Decision, func() *figure.Chart {
		c := h.target.Chart(380, 280, format.Heading(p.X, units[p.X]), format.Heading(p.Y, units[p.Y]))
		c.X.Min, c.X.Max = p.Xs[0], p.Xs[n-1]
		c.Y.Min, c.Y.Max = p.Ys[0], p.Ys[n-1]
		c.X.Tick.Marker, c.Y.Tick.Marker = figure.Ticks{Want: 5}, figure.Ticks{Want: 5}
		return c
	}, func(c *figure.Chart) {
		mark := func(point definition.Point, style plot.GlyphStyle, text, href string) {
			x, okX := point[p.X].Float()
			y, okY := point[p.Y].Float()
			if !okX || !okY {
				return
			}
			// A candidate outside the plane is drawn at its edge rather than
			// not at all.
			x, y = min(max(x, c.X.Min), c.X.Max), min(max(y, c.Y.Min), c.Y.Max)
			c.Points(plot.XYs{{X: x, Y: y}}, style)
			c.Spot(x, y, text, href)
		}
		if x := h.state.Experiment(d.best); x != nil {
			mark(x.Parameters, figure.Star, h.spotText(x), x.ID)
		}
		for k, o := range candidates {
			text := strings.TrimSpace(letters[o.Name]+" "+o.Name) + "\n" + h.format.LineWithUnits(o.Parameters)
			mark(o.Parameters, figure.Filled(optionColor(k), 4.6, 0), text, d.Decision)
		}
	})
	var names []string
	for k, o := range candidates {
		color, _ := h.target.Palette.Word(optionColor(k))
		names = append(names, letterOf(letters, o.Name)+" "+color)
	}
	// Colors are named in the caption, since figure.Page may show them in
	// another palette than the report's own.
	caption := fmt.Sprintf("The two parameters that count most, the others as in %s (%s); "+
		"star: best by the model until then. The marks show only these two parameters of each.",
		letterOf(letters, p.Candidate), strings.Join(names, ", "))
	return figures, caption, nil
}
