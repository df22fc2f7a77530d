package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// StatusText names the state of a campaign in a few words: "completed (budget)".
func (c *Campaign) StatusText() string {
	if why := c.Why(); why != "" {
		return fmt.Sprintf("%s (%s)", c.Status, why)
	}
	return string(c.Status)
}

// Why is the reason for which a campaign has ended or is paused; "" for none,
// and while it runs.
func (c *Campaign) Why() string {
	if c.Status.Ended() || c.Status == campaign.Paused {
		return c.Reason
	}
	return ""
}

// Found are a campaign's findings: the best composition by the model and the best measured one, or,
// where nothing is measured, each expert's favorite. The best by the model comes first: the best
// measured value is best partly by luck of its noise. Where both are one experiment its composition
// is written once.
//
// Experiments that would lead and lie outside the space are named behind it.
func (c *Campaign) Found() []Row {
	rows := c.found()
	if c.Tradeoff == nil { // of a front it stands around it
		rows = append(rows, c.outsideRows()...)
	}
	return rows
}

func (c *Campaign) found() []Row {
	write := format.CompositionsOf(c.Definition)
	if !c.Definition.Measures() {
		return preferred(write, c.Preferred)
	}
	if c.Definition.Tradeoff() != nil {
		return c.foundFront()
	}
	if c.Definition.Preferred() != nil {
		return c.foundPreferred()
	}
	measured, byModel := c.BestMeasured, c.BestByModel
	if measured == nil {
		return []Row{{"best", c.noValue()}}
	}
	name := c.Definition.Sought().Name + " "
	add := func(rows []Row, point definition.Point, further []definition.Quantity) []Row {
		rows = append(rows, Row{"", write.LineWithUnits(point)})
		if further := quantities(further); len(further) > 0 {
			rows = append(rows, Row{"", "further " + strings.Join(further, ", ")})
		}
		return rows
	}
	both := Row{"", strings.Join(append([]string{"measured: " + name + Measured(measured) + ", in " + measured.Experiment},
		MeasuredSays(measured)...), "; ")}
	switch {
	case byModel == nil:
		return add([]Row{{"best", "by the model: " + c.NoModel}, both}, measured.Parameters,
			measured.Further)
	case byModel.Experiment == measured.Experiment:
		return add(append(c.rowsByModel(name, byModel), both), measured.Parameters, measured.Further)
	}
	rows := add(c.rowsByModel(name, byModel), byModel.Parameters, byModel.Further)
	return add(append(rows, both), measured.Parameters, measured.Further)
}

// noValue says that no measurement has a value of the objective, and which values are missing.
func (c *Campaign) noValue() string {
	if text := c.NoneWithin(); text != "" {
		return text
	}
	v := c.Valueless
	if v == nil {
		return "nothing was measured"
	}
	var lacks []string
	for _, m := range v.Missing {
		if m.Sought {
			lacks = append(lacks, fmt.Sprintf("%s is missing in %d", m.Quantity, len(m.Experiments)))
		}
	}
	if n := len(v.NotFinite); n > 0 {
		lacks = append(lacks, fmt.Sprintf("it is not finite in %d", n))
	}
	text := fmt.Sprintf("%s measured, none with a value of %s", format.Count(v.Measured, "experiment"), c.Definition.Sought().Name)
	if lacks != nil {
		text += ": " + strings.Join(lacks, ", ")
	}
	return text
}

// byNoModel says why the models have found nothing yet, and which quantities not one
// measured experiment has.
func (c *Campaign) byNoModel() string {
	text := "by the models: " + c.NoModel
	if c.Valueless == nil {
		return text
	}
	var names []string
	for _, m := range c.Valueless.Nowhere() {
		names = append(names, m.Quantity)
	}
	if names != nil {
		text += fmt.Sprintf("; %s: missing in all of %s", format.List(names...), format.Count(c.Valueless.Measured, "measured experiment"))
	}
	return text
}

// rowsByModel are the rows of the best composition by the model.
func (c *Campaign) rowsByModel(name string, best *engine.ModelBest) (rows []Row) {
	if best.Doubtful {
		rows = append(rows, Row{"", closest(c.Definition, best)})
	}
	text := "by the model: " + name + ByModel(best)
	if r := best.Interval; r != nil {
		text += fmt.Sprintf(" (90 %%: %s to %s)", format.Short(r.Lower), format.Short(r.Upper))
	}
	text += ", in " + best.Experiment
	if best.Feasible != nil && !best.Doubtful {
		text += fmt.Sprintf("; feasible with probability %.2f", best.Feasible.Probability)
	}
	rows = append(rows, Row{"", text})
	rows[0].Name = "best"
	if behind := behind(c.Definition, best); behind != "" {
		rows = append(rows, Row{"", behind})
	}
	return rows
}

// ModelSays are lines on the quantities behind the best value by the model, and on the constraints;
// nil for a single quantity.
func ModelSays(def *definition.Campaign, best *engine.ModelBest) (lines []string) {
	switch {
	case best.Doubtful:
		lines = append(lines, closest(def, best))
	case best.Feasible != nil:
		lines = append(lines, fmt.Sprintf("feasible with probability %.2f", best.Feasible.Probability))
	}
	if behind := behind(def, best); behind != "" {
		lines = append(lines, behind)
	}
	return lines
}

// closest says that nothing that was measured keeps the constraints with their
// confidence.
func closest(def *definition.Campaign, best *engine.ModelBest) string {
	return fmt.Sprintf("nothing measured is feasible with probability %s; %s comes closest (%.2f)",
		confidence(def), best.Experiment, best.Feasible.Probability)
}

// behind writes the predictions of the quantities besides the objective.
func behind(def *definition.Campaign, best *engine.ModelBest) string {
	sought := def.Sought().Name // a formula's name does not stand for a quantity
	return strings.Join(Expects(slices.DeleteFunc(slices.Clone(best.Quantities), func(q events.QuantityPrediction) bool {
		return q.Quantity == sought
	})), ", ")
}

// Expects writes the predictions of quantities.
func Expects(quantities []events.QuantityPrediction) []string {
	parts := make([]string, len(quantities))
	for i, q := range quantities {
		parts[i] = q.Quantity + " " + Expected(q)
	}
	return parts
}

// Expected is the prediction of a quantity, with its standard deviation unless it is known exactly.
func Expected(q events.QuantityPrediction) string {
	if q.SD == 0 {
		return format.Quantity(q.Mean, q.Unit)
	}
	return format.PlusMinus(q.Mean, q.SD, q.Unit)
}

// confidence is the probability from which on a composition counts as feasible: the least of the
// constraints' own, which no constraint falls short of.
func confidence(def *definition.Campaign) string {
	least := 1.0
	for _, c := range def.ConstraintsOnOutcomes {
		own := definition.DefaultConfidence
		if c.Confidence != nil {
			own = *c.Confidence
		}
		least = min(least, own)
	}
	return format.Setting(least)
}

// MeasuredSays warns that the best measured value does not keep the constraints, or that this is
// not known; empty where it does.
func MeasuredSays(best *engine.Best) []string {
	switch best.Keeps {
	case campaign.KeepsNot:
		return []string{"it does not keep the constraints, and nothing measured does"}
	case campaign.KeepsUnknown:
		return []string{"whether it keeps the constraints is not known, for a quantity is missing; nothing measured is known to keep them"}
	}
	return nil
}

// ByModel writes the posterior at the composition that is best by the model.
func ByModel(best *engine.ModelBest) string { return format.PlusMinus(best.Mean, best.SD, best.Unit) }

// Measured writes the best measured value.
func Measured(best *engine.Best) string { return format.Quantity(best.Value, best.Unit) }

func preferred(write format.Compositions, bests []policies.Best) []Row {
	if len(bests) == 0 {
		return []Row{{"preferred", "nothing was compared"}}
	}
	rows := make([]Row, len(bests))
	for i, best := range bests {
		rows[i] = rowf("preferred", "by %s: %s", best.Expert, write.LineWithUnits(best.Parameters))
	}
	return rows
}

// Effort lists the costs of a campaign: experiments, and the answers of its experts, each form of
// them that was used or that the policy asks for. A campaign without experts and labels has a
// single row.
func (c *Campaign) Effort() []Row {
	def := c.Definition
	if !def.Measures() {
		text := fmt.Sprintf("%d of %d", c.Done, c.Budget)
		if n := c.Unanswered; n > 0 {
			text += fmt.Sprintf(", %d of them unanswered", n)
		}
		return append([]Row{{"comparisons", text}}, c.timeRows()...)
	}
	rows := []Row{rowf("experiments", "%d of %d", c.Experiments, c.Budget)}
	if cost := c.Cost; cost != nil {
		rows = append(rows, Row{"cost", format.SpentOf(cost.Spent, cost.Budget, cost.Unit)})
	}
	if text := c.WaysText(); text != "" {
		rows = append(rows, Row{"fidelity", text})
	}
	if len(def.Experts) == 0 && c.Labels == 0 {
		return rows
	}
	if c.Labels > 0 || AsksForLabels(def) {
		rows = append(rows, rowf("labels", "%d", c.Labels))
	}
	if all := c.Comparisons; all > 0 {
		rows = append(rows, rowf("comparisons", "%d%s", all, initially(c.AtFirst, all)))
	}
	if n := c.Named; n > 0 {
		rows = append(rows, rowf("named", "%s by experts", format.Count(n, "composition")))
	}
	if n := c.Estimated; n > 0 {
		rows = append(rows, rowf("estimates", "of %s", format.Count(n, "composition")))
	}
	return append(rows, c.timeRows()...)
}

// WaysText says how many experiments were made in each way, and their costs; "" for a single way.
func (c *Campaign) WaysText() string {
	parts := make([]string, len(c.Ways))
	for i, w := range c.Ways {
		parts[i] = fmt.Sprintf("%d %s", w.Experiments, w.Name)
		if c.Cost != nil {
			parts[i] += " (" + format.Quantity(w.Cost, c.Cost.Unit) + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// timeRows say how much of their time experts have been asked for, where it is
// limited.
func (c *Campaign) timeRows() (rows []Row) {
	for _, e := range c.Definition.Experts {
		if e.Time > 0 {
			rows = append(rows, rowf("time", "%s of %s's %s, as counted", c.Taken[e.Name], e.Name, e.Time))
		}
	}
	return rows
}

// AsksForLabels reports whether a campaign's policy asks its experts to accept
// or reject.
func AsksForLabels(def *definition.Campaign) bool {
	return belief.Reads(def.Policy.Trust, belief.FeedbackLabel)
}

// initially says how many answers were given before the first decision.
func initially(n, all int) string {
	switch n {
	case 0:
		return ""
	case all:
		return ", all at first"
	}
	return fmt.Sprintf(", %d of them at first", n)
}

// TrustIn says how far each expert is trusted: how probably their labels help and with which weight
// their belief enters a choice, or the worth of their answers of each kind as measurements.
func TrustIn(helps []policies.Help, weights []campaign.Trust) (lines []string) {
	for i, h := range helps {
		line := fmt.Sprintf("%s helps with probability %.2f", h.Expert, h.Helps)
		if h.Kind != "" {
			several := slices.ContainsFunc(
				helps,
				func(o policies.Help) bool {
					return o.Expert == h.Expert && o.Quantity == h.Quantity && o.Kind != h.Kind
				},
			)
			line = worthText(h, several)
		}
		if h.Labels == 0 {
			line = h.Expert + " has judged nothing yet"
		}
		w := slices.IndexFunc(weights, func(t campaign.Trust) bool { return t.Expert == helps[i].Expert })
		if w >= 0 {
			line += fmt.Sprintf(" (belief counts %.2f, weight λ)", weights[w].Lambda)
		}
		lines = append(lines, line)
	}
	if helps == nil { // beliefs from other answers than labels
		for _, t := range weights {
			lines = append(lines, fmt.Sprintf(
				"%s's belief counts %.2f in a choice (its weight λ; at 0 it does not count)",
				t.Expert, t.Lambda))
		}
	}
	return lines
}

// worthText says what an expert's answers of a kind are worth, each against one measurement and
// where nothing is known yet, and in which direction they are taken. The kind is named where the
// expert has given several, and the quantity where single quantities are estimated. The three
// readings, from which the likeliest is given: the answers are guesses, mislead, or help.
// Misleading answers are turned over, and are then worth something too.
func worthText(h policies.Help, several bool) string {
	word := h.Expert + "'s word"
	if h.Quantity != "" {
		word += " on " + h.Quantity
	}
	if several {
		word += " in " + h.Kind
	}
	worth := fmt.Sprintf("worth %s of a measurement", format.Significant(h.Worth, 2))
	switch guesses := 1 - h.Helps - h.Misleads; {
	case guesses > h.Helps && guesses > h.Misleads:
		return fmt.Sprintf("%s is %s: %s that it says nothing about measurements", word, worth,
			sure(guesses))
	case h.Misleads > h.Helps:
		return fmt.Sprintf(
			"%s is turned over, and then %s: %s that it goes against the measurements",
			word,
			worth,
			sure(h.Misleads),
		)
	}
	return fmt.Sprintf("%s is %s: %s that it goes with the measurements", word, worth, sure(h.Helps))
}

// sure writes a probability that a model computed, which is never quite 1.
func sure(p float64) string {
	if p > 0.99 {
		return "over 99 %"
	}
	return format.Percent(p)
}

// Result describes the end of a campaign: its findings, and its costs. undecided says why an
// expert's preference cannot be called the best.
func (c *Campaign) Result(undecided map[string]string) []Row {
	rows := c.Found()
	for _, best := range c.Preferred {
		if text := undecided[best.Expert]; text != "" {
			rows = append(rows, Row{"", "but for " + best.Expert + " " + text})
		}
	}
	rows = append(rows, c.Effort()...)
	for _, line := range c.TrustLines() {
		rows = append(rows, Row{"trust", line})
	}
	return rows
}

// TrustLines are those of [TrustIn].
func (c *Campaign) TrustLines() []string { return TrustIn(c.Helps, c.Trust) }
