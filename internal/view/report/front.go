package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/policies/seek"
)

// ratherFeasible is the probability below which a composition is drawn as
// infeasible: it is then no part of the front.
const ratherFeasible = 0.5

// FrontFigures draws every two objectives of a trade-off against each other, for
// any page. It computes nothing.
func FrontFigures(def *definition.Campaign, f *seek.Front, target figure.Page) (figures []Figure) {
	write := format.CompositionsOf(def)
	for i := range f.Objectives {
		for j := i + 1; j < len(f.Objectives); j++ {
			p := pairOf(def, f, write, j, i) // the first one upwards
			x, y := f.Objectives[j].Quantity, f.Objectives[i].Quantity
			figures = append(figures, Figure{
				ID:     fmt.Sprintf("front-%d", len(figures)+1),
				Title:  sentenceOf(y) + " against " + x,
				SVG:    target.Pair(p, sentenceOf(y)+" against "+x+". "+frontWords(f, i, j)),
				Legend: p.Legend(target),
			})
		}
	}
	return figures
}

// sentenceOf begins a sentence with a word.
func sentenceOf(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// FrontCaption explains those figures.
func FrontCaption(f *seek.Front) string {
	caption := "Each mark is a composition that was measured, where the models expect it. " +
		"The arrow in the corner points to what is better. Green: what no other composition beats in everything, " +
		"with one standard deviation to each side"
	if len(f.Objectives) > 2 {
		caption += "; a line joins those that are not beaten in the two quantities that are drawn"
	}
	caption += ". What the line encloses is covered by the front."
	if f.Behind > 0 {
		caption += fmt.Sprintf(" %d more are clearly behind it.", f.Behind)
	}
	return caption
}

// frontWords describe the front, for readers who do not see it.
func frontWords(f *seek.Front, i, j int) string {
	const most = 12
	var texts []string
	for k := range f.Members {
		m := &f.Members[k]
		if len(texts) == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(f.Members)-most))
			break
		}
		texts = append(texts, fmt.Sprintf("%s with %s and %s", m.Experiment, expectedText(m, i), expectedText(m, j)))
	}
	if texts == nil {
		return "Nothing is on the front yet."
	}
	return "On the front: " + strings.Join(texts, "; ") + "."
}

// expectedText is the prediction of the k-th objective of a composition.
func expectedText(m *seek.Member, k int) string {
	q := m.Quantities[k]
	return figure.Typeset(format.Quantity(q.Mean, q.Unit))
}

// pairOf are two objectives against each other, by their numbers.
func pairOf(def *definition.Campaign, f *seek.Front, write format.Compositions, x, y int) (p figure.Pair) {
	p.X, p.Y = aimOf(def, &f.Objectives[x]), aimOf(def, &f.Objectives[y])
	add := func(m *seek.Member, kind figure.Kind) {
		p.Tried = append(p.Tried, figure.Tried{
			X: m.Quantities[x].Mean, Y: m.Quantities[y].Mean, SDX: m.Quantities[x].SD, SDY: m.Quantities[y].SD,
			Kind: kind, ID: m.Experiment, Text: memberText(m, write),
			Suggested: f.Compromise != nil && f.Compromise.Experiment == m.Experiment,
		})
	}
	for k := range f.Others {
		add(&f.Others[k], kindOf(&f.Others[k], figure.Beaten))
	}
	for k := range f.Members {
		add(&f.Members[k], kindOf(&f.Members[k], figure.Perhaps))
	}
	for _, e := range f.Expected {
		p.Expected = append(p.Expected, plot.XY{
			X: predicted(e.Quantities, p.X.Name), Y: predicted(e.Quantities, p.Y.Name),
		})
	}
	return p
}

// kindOf is how a composition is drawn: one that is infeasible, one that holds a
// part of the hypervolume alone, or otherwise.
func kindOf(m *seek.Member, otherwise figure.Kind) figure.Kind {
	switch {
	case m.Feasible != nil && m.Feasible.Probability < ratherFeasible:
		return figure.Infeasible
	case m.Share > 0:
		return figure.OnFront
	}
	return otherwise
}

// predicted is the predicted mean of a quantity; NaN without a prediction.
func predicted(all []events.QuantityPrediction, name string) float64 {
	for _, q := range all {
		if q.Quantity == name {
			return q.Mean
		}
	}
	return math.NaN()
}

// aimOf is an objective as an axis, with the bounds that constraints set to it
// alone.
func aimOf(def *definition.Campaign, t *seek.Traded) figure.Aim {
	a := figure.Aim{Name: t.Quantity, Unit: t.Unit, Log: t.Log, Less: t.Goal == definition.Minimize}
	for _, c := range def.ConstraintsOnOutcomes {
		relation, err := formula.RelationOf(c.Require)
		if err != nil {
			continue
		}
		name, bound, ok := relation.Bound()
		if !ok || name != t.Quantity {
			continue
		}
		text := view.Compared(c.Require)
		if !math.IsInf(bound.Upper, 0) {
			a.Bounds = append(a.Bounds, figure.Bound{At: bound.Upper, Above: true, Text: text})
		}
		if !math.IsInf(bound.Lower, 0) {
			a.Bounds = append(a.Bounds, figure.Bound{At: bound.Lower, Text: text})
		}
	}
	bounded := func(b figure.Bound) bool { return b.At == t.Reference }
	if t.Given && !slices.ContainsFunc(a.Bounds, bounded) { // a bound in the objective's direction is drawn as one
		a.Worst = &t.Reference
	}
	return a
}

// memberText is the tooltip of a composition.
func memberText(m *seek.Member, write format.Compositions) string {
	text := m.Experiment
	if m.OnFront > 0 {
		text += ", on the front with probability " + format.Fixed(m.OnFront, 2)
	}
	if m.Feasible != nil {
		text += ", feasible with probability " + format.Fixed(m.Feasible.Probability, 2)
	}
	for _, q := range m.Quantities {
		text += "\n" + q.Quantity + " "
		if q.SD > 0 {
			text += figure.Typeset(format.PlusMinus(q.Mean, q.SD, q.Unit))
		} else {
			text += figure.Typeset(format.Quantity(q.Mean, q.Unit))
		}
		if q.Measured != nil {
			text += ", measured " + figure.Typeset(format.Short(*q.Measured))
		}
	}
	return text + "\n" + write.LineWithUnits(m.Parameters)
}

// HypervolumeID is the identifier of the figure that [HypervolumeFigure] draws.
const HypervolumeID = "hypervolume"

// HypervolumeFigure draws how much the front has covered after each experiment, in percent of its
// present hypervolume, for any page; empty where it covers nothing. It computes nothing.
func HypervolumeFigure(t *seek.Front, target figure.Page) []Figure {
	if len(t.Curve) == 0 || !(t.Hypervolume > 0) {
		return nil
	}
	percent := func(v float64) float64 { return 100 * v / t.Hypervolume }
	c := target.Chart(330, 290, "experiment, in order of request", "covered by the front (% of today)")
	var at, means, lower, upper []float64
	for _, covered := range t.Curve {
		x := float64(events.ExperimentNumber(covered.Experiment))
		mean := percent(covered.Hypervolume)
		low := percent(covered.Lower)
		high := percent(covered.Upper)
		at = append(at, x)
		means = append(means, mean)
		lower = append(lower, low)
		upper = append(upper, high)
		c.Spot(x, mean, fmt.Sprintf("after %s: %s %%, with probability 0.8 between %s and %s %%", covered.Experiment,
			format.Fixed(mean, 0), format.Fixed(low, 0), format.Fixed(high, 0)), covered.Experiment)
	}
	figure.Limits(&c.Y, 0.05, slices.Concat([]float64{0, 100}, lower, upper)...)
	c.X.Min, c.X.Max = 0.5, max(at[len(at)-1]+0.5, 3.5)
	c.X.Tick.Marker = figure.Ticks{Want: 6, Whole: true}
	c.Band(at, lower, upper, figure.Faded(figure.Green, 0.16))
	c.Line(xys(at, means), figure.Green, 2)
	c.Discs(xys(at, means), figure.Green, crowded(2.6, len(at)))
	return []Figure{{
		ID: HypervolumeID, Title: "How far the front has come",
		SVG: c.SVG(fmt.Sprintf("How much the front covers after each experiment, in percent of today: %s %% after %s, 100 %% after %s",
			format.Fixed(means[0], 0), t.Curve[0].Experiment, t.Curve[len(t.Curve)-1].Experiment)),
		Caption: "What was measured covers so much (the hypervolume of its posterior means), by today's models and against " +
			"today's reference. Band: where it is with a probability of 80 %. Where the line stays level, nothing better was found.",
	}}
}
