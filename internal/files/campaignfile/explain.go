package campaignfile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/space"
)

// Explain puts the meaning of a completed definition into words: the parameters and their
// limits, the objective, how the campaign begins, how it goes on, and when it ends. It makes no
// estimates. Each rule, driver and channel contributes its own words.
//
// It is for a person who wants to know whether the file says what they mean; a program reads
// the definition. An unreadable part is "?", since a faulty definition can be explained too.
// The number of compositions is left out once ctx is done.
func Explain(ctx context.Context, reg registry.Registry, def definition.Campaign) string {
	var b strings.Builder
	sought := def.Sought()
	fmt.Fprintf(&b, "Campaign %s: %s with at most %s.\n", def.Name, soughtText(&def), effortText(&def))
	if def.Description != "" {
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(def.Description))
	}
	explainSpace(ctx, reg, &b, def)
	explainProcedure(&b, &def)

	b.WriteString("\nHow it goes\n")
	line := func(what, how string) { fmt.Fprintf(&b, "  %-12s %s\n", what, how) }
	if !def.Measures() {
		line("begins", initialText(def))
		line("compares", ruleText(reg, def, policies.Duel))
		if modelsUtility(def) {
			line("utility", utilityText(def))
		}
	} else {
		line("objective", objectiveText(def))
		for i := range def.Quantities {
			if q := &def.Quantities[i]; q.Name != sought.Name || !def.Single() {
				line("quantity", quantityText(q))
			}
		}
		for _, c := range def.ConstraintsOnOutcomes {
			line("feasible", requirementText(&def, c))
		}
		if text := laterText(&def); text != "" {
			line("meanwhile", text)
		}
		line("begins", initialText(def))
		line("next", ruleText(reg, def, policies.Next))
		line("trust", ruleText(reg, def, policies.Trust))
		line("handover", ruleText(reg, def, policies.Handover))
		for _, resource := range def.Resources() {
			if resource == "" {
				line("measured by", instrumentText(reg, def))
			} else {
				line("instrument", resource+", "+instrumentText(reg, *def.For(resource)))
			}
		}
		for _, text := range stocksText(&def) {
			line("uses up", text)
		}
		for _, text := range referencesText(&def) {
			line("reference", text)
		}
		if def.Parallel > 1 {
			line("at once", "up to "+format.Count(def.Parallel, "experiment")+" under way at the same time")
		}
	}
	for _, e := range def.Experts {
		line("expert", expertText(reg, def, e))
	}
	if def.Fidelity.Target != nil {
		line("fidelity", fidelityText(&def))
	}
	if !def.Cost.IsZero() {
		line("costs", costText(reg, &def))
	}
	line("ends", endText(def))
	line("seed", fmt.Sprintf("%d; the same seed makes the same decisions from the same results", def.Seed))
	return b.String()
}

// explainSpace lists parameters, constraints and excluded regions, and counts the remaining
// degrees of freedom, or compositions. Degrees of freedom are those of the numbers and
// categories together, less the independent equalities.
func explainSpace(ctx context.Context, reg registry.Registry, b *strings.Builder, def definition.Campaign) {
	b.WriteString("\nWhat is varied\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, p := range def.Parameters {
		cells := []string{"  " + p.Name, rangeText(p)}
		if step := def.Steps()[p.Name]; step > 0 {
			cells[1] += " in steps of " + format.Setting(step)
		}
		if p.Description != "" {
			cells = append(cells, p.Description)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	table.Flush() // a strings.Builder does not fail

	for _, c := range def.Constraints {
		fmt.Fprintf(b, "  where %s", constraintText(def, c))
		if c.Name != "" {
			fmt.Fprintf(b, " (%s)", c.Name)
		}
		b.WriteByte('\n')
	}
	for _, r := range def.Excluded {
		fmt.Fprintf(b, "  never %s", regionText(def, r))
		if r.Name != "" {
			fmt.Fprintf(b, " (%s)", r.Name)
		}
		b.WriteByte('\n')
	}
	n := len(def.Parameters) - equalityRank(def)
	fmt.Fprintf(b, "  %s", format.Count(n, "degree")+" of freedom")
	s, err := space.NewContext(ctx, def)
	if err != nil {
		b.WriteString("\n")
		return
	}
	if list, ok := s.Finite(); ok {
		can := "can be measured"
		if !def.Measures() {
			can = "can be compared"
		}
		fmt.Fprintf(b, ", %s %s", format.Count(len(list), "composition"), can)
	} else if driver, _ := reg.DriverOf(&def); driver.Listed {
		b.WriteString(", only the rows of the table can be measured")
	}
	b.WriteString("\n")
}

// rangeText gives a parameter's possible values, with the unit.
func rangeText(p definition.Parameter) string {
	switch {
	case p.Categories != nil:
		names := make([]string, len(p.Categories))
		for i, c := range p.Categories {
			names[i] = c.Name
		}
		text := strings.Join(names, ", ")
		if len(p.Categories[0].Descriptors) > 0 {
			text += " (by " + strings.Join(sortedKeys(p.Categories[0].Descriptors), ", ") + ")"
		}
		return text
	case p.Values != nil:
		return format.WithUnit(format.Settings(p.Values), p.Unit)
	case p.Min != nil && p.Max != nil:
		return format.Setting(*p.Min) + " to " + format.SettingIn(*p.Max, p.Unit)
	}
	return "?"
}

// constraintText writes a constraint as a sum, in the order of the parameters:
// "ec + 2 dmc ≤ 0.8".
//
// A coefficient of 1 is left out, and a negative one is a difference: so a
// person would write it.
func constraintText(def definition.Campaign, c definition.Constraint) string {
	var b strings.Builder
	for _, p := range def.Parameters {
		coefficient, ok := c.Terms[p.Name]
		if !ok {
			continue
		}
		switch {
		case b.Len() > 0 && coefficient < 0:
			b.WriteString(" - ")
		case b.Len() > 0:
			b.WriteString(" + ")
		case coefficient < 0:
			b.WriteString("-")
		}
		if math.Abs(coefficient) != 1 {
			b.WriteString(format.Setting(math.Abs(coefficient)) + " ")
		}
		b.WriteString(p.Name)
	}
	switch {
	case c.Equals != nil:
		return b.String() + " = " + format.Setting(*c.Equals)
	case c.AtMost != nil:
		return b.String() + " ≤ " + format.Setting(*c.AtMost)
	case c.AtLeast != nil:
		return b.String() + " ≥ " + format.Setting(*c.AtLeast)
	}
	return b.String()
}

// regionText writes an excluded region: "ec from 0.1 to 0.2 with solvent PC".
// Parameters come in the order of the definition, not of the map.
func regionText(def definition.Campaign, r definition.Region) string {
	var parts []string
	for _, p := range def.Parameters {
		side, ok := r.Where[p.Name]
		switch {
		case !ok:
		case side.Is != "":
			parts = append(parts, p.Name+" "+side.Is)
		case side.Min != nil && side.Max != nil:
			parts = append(parts, fmt.Sprintf("%s from %s to %s",
				p.Name, format.Setting(*side.Min), format.SettingIn(*side.Max, p.Unit)))
		case side.Min != nil:
			parts = append(parts, fmt.Sprintf("%s ≥ %s", p.Name, format.SettingIn(*side.Min, p.Unit)))
		case side.Max != nil:
			parts = append(parts, fmt.Sprintf("%s ≤ %s", p.Name, format.SettingIn(*side.Max, p.Unit)))
		}
	}
	return strings.Join(parts, " with ")
}

// equalityRank is the number of independent equalities, by Gaussian elimination
// with partial pivoting on rows that are scaled to a greatest coefficient of 1.
//
// Scaling makes one tolerance fit sums of any size. A pivot below 1e-9 counts as
// zero.
func equalityRank(def definition.Campaign) int {
	var rows [][]float64
	for _, c := range def.Constraints {
		if c.Equals == nil {
			continue
		}
		row := make([]float64, len(def.Parameters))
		greatest := 0.0
		for i, p := range def.Parameters {
			row[i] = c.Terms[p.Name]
			greatest = max(greatest, math.Abs(row[i]))
		}
		for i := range row {
			row[i] /= greatest
		}
		rows = append(rows, row)
	}
	rank := 0
	for column := range def.Parameters {
		pivot := rank
		for i := rank; i < len(rows); i++ {
			if math.Abs(rows[i][column]) > math.Abs(rows[pivot][column]) {
				pivot = i
			}
		}
		if pivot >= len(rows) || math.Abs(rows[pivot][column]) < 1e-9 {
			continue
		}
		rows[rank], rows[pivot] = rows[pivot], rows[rank]
		for i := rank + 1; i < len(rows); i++ {
			factor := rows[i][column] / rows[rank][column]
			for j := range rows[i] {
				rows[i][j] -= factor * rows[rank][j]
			}
		}
		rank++
	}
	return rank
}

// quantityText describes a declared quantity, its use, and the time of its arrival.
func quantityText(q *definition.QuantityDef) string {
	text := q.Name
	if q.Unit != "" {
		text += " (" + q.Unit + ")"
	}
	return text + ": " + treatmentText(q) + arrivalText(q)
}

// arrivalText describes the arrival of a quantity after its experiment has ended; "" if it does
// not arrive later.
func arrivalText(q *definition.QuantityDef) string {
	switch {
	case q == nil || !q.Later():
		return ""
	case q.AnswerWithin > 0:
		return "; arrives later, within " + q.AnswerWithin.Days() + ", else it is missing"
	}
	return "; arrives later, however long that takes"
}

// laterText describes the campaign while quantities are still to arrive; "" if all come with
// the results.
func laterText(def *definition.Campaign) string {
	var names []string
	for _, q := range def.Quantities {
		if q.Later() {
			names = append(names, q.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "experiments go on while " + andList(names) + " of others are still to arrive; " +
		"once the budget is spent, the campaign ends when they are there or missing"
}

// treatmentText describes the use of a declared quantity.
func treatmentText(q *definition.QuantityDef) (text string) {
	switch {
	case q.From != "":
		return q.From + ", exactly; never measured"
	case q.Record:
		return "recorded, and not modelled"
	case q.Scale == definition.ScaleLog:
		text = "modelled by its logarithm"
	default:
		text = "modelled"
	}
	switch {
	case q.RelativeNoise != nil:
		text += ", with a known standard deviation of " + format.Share(*q.RelativeNoise) + " of each value"
	case q.Noise != nil:
		text += ", with a known standard deviation of " + format.SettingIn(*q.Noise, q.Unit)
	}
	switch {
	case q.Min != nil && q.Max != nil:
		text += fmt.Sprintf("; outside %s to %s", format.Setting(*q.Min), format.SettingIn(*q.Max, q.Unit))
	case q.Min != nil:
		text += "; below " + format.SettingIn(*q.Min, q.Unit)
	case q.Max != nil:
		text += "; above " + format.SettingIn(*q.Max, q.Unit)
	default:
		return text
	}
	return text + " it counts as missing"
}

// objectiveText describes the measurements: noise, plausible results, repetitions.
func objectiveText(def definition.Campaign) string {
	o := def.Sought()
	if text := severalText(def, o); text != "" {
		return text
	}
	text := "measurement noise is inferred from the results"
	switch {
	case o.RelativeNoise != nil:
		text = "one measurement has a known standard deviation of " + format.Share(*o.RelativeNoise) + " of its value"
	case o.Noise != nil:
		text = "one measurement has a known standard deviation of " + format.SettingIn(*o.Noise, o.Unit)
	}
	fate := "refused"
	if def.Several() {
		fate = "missing"
	}
	switch {
	case o.Min != nil && o.Max != nil:
		text += fmt.Sprintf("; a result outside %s to %s is %s",
			format.Setting(*o.Min), format.SettingIn(*o.Max, o.Unit), fate)
	case o.Min != nil:
		text += fmt.Sprintf("; a result below %s is %s", format.SettingIn(*o.Min, o.Unit), fate)
	case o.Max != nil:
		text += fmt.Sprintf("; a result above %s is %s", format.SettingIn(*o.Max, o.Unit), fate)
	}
	text += arrivalText(def.Quantity(o.Name))
	if def.Replicates > 1 {
		text += fmt.Sprintf("; each composition is measured %d times", def.Replicates)
	}
	return text
}

// initialText describes the beginning of a campaign. Pointers may be nil if the definition was
// not completed. The experiments come first, then the questions to each expert, then the wait
// for the answers.
func initialText(def definition.Campaign) string {
	in := def.Initial
	n := number(in.Experiments)
	text := map[string]string{
		definition.DesignSobol:    "spread evenly over the space",
		definition.DesignCovering: "spread evenly over the space, each category at least once",
		definition.DesignRandom:   "at random",
		definition.DesignPoints:   "as given",
	}[in.Design]
	text = format.Count(n, "experiment") + " " + text
	if n == 0 {
		text = "no initial experiments"
	}
	if n == 0 && !def.Measures() {
		text = "at once"
	}
	if n := number(in.Comparisons); n > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s; %s from each expert", text, format.Count(n, "comparison")), "at once; ")
	}
	if number(in.Labels) > 0 {
		how := "at random compositions"
		if in.Balanced != nil && *in.Balanced {
			how = "as many accepted as rejected"
		}
		text += fmt.Sprintf("; %s from each expert, %s", format.Count(*in.Labels, "label"), how)
	}
	if in.Estimates != nil && *in.Estimates > 0 {
		how := "in the objective's unit"
		if slices.ContainsFunc(def.Experts, func(e definition.Expert) bool { return len(e.Quantities) > 0 }) {
			how = "each in its unit"
		}
		if in.Marks {
			how = fmt.Sprintf("in marks from 1 to %d, the best", events.Marks)
		}
		text += fmt.Sprintf("; from each expert, in one sitting, what they expect of %d compositions, %s", *in.Estimates, how)
	}
	return text + waitText(def)
}

// number is a setting that may be missing; 0 where it is.
func number(setting *int) int {
	if setting == nil {
		return 0
	}
	return *setting
}

// waitText describes how long the campaign waits for people's initial answers, and what
// follows; empty if it does not wait for people.
//
// Its cases are those of Core.Expiry of the engine: no wait, a deadline for each
// answer, one for all.
func waitText(def definition.Campaign) string {
	in := def.Initial
	asked := number(in.Labels) + number(in.Comparisons) + number(in.Estimates)
	if in.Wait == nil || asked == 0 || !def.Measures() {
		return ""
	}
	var names []string
	hurried, hasty := 0, false
	for _, e := range def.Experts {
		if e.Asked() {
			names = append(names, e.Name)
		}
		if e.Asked() && e.AnswerWithin > 0 {
			hurried++
			hasty = hasty || e.AnswerWithin == definition.DefaultAnswerWithin
		}
	}
	if names == nil {
		return ""
	}
	who := strings.Join(names, " and ")
	switch {
	case *in.Wait == 0:
		return fmt.Sprintf("; what %s is asked at first is not waited for (wait: 0s)", who)
	case hurried == len(names):
		text := fmt.Sprintf("; the campaign waits for %s to answer, each answer as long as answer_within says and %s at most",
			who, in.Wait)
		if hasty {
			text += " (without limit where experiments are only suggested)"
		}
		return text + "; then it goes on without the rest"
	}
	return fmt.Sprintf("; the campaign waits up to %s for %s to answer all of it; then it goes on without the rest", in.Wait, who)
}

// instrumentText is the driver's words for its settings. [Validate] names unreadable settings,
// so that they are not named here a second time.
func instrumentText(reg registry.Registry, def definition.Campaign) string {
	settings, err := reg.InstrumentSettings(&def)
	if err != nil {
		return "?"
	}
	return settings.Words(&def)
}

// expertText describes how an expert is asked, for how long, and the belief stated beforehand.
// Settings that are absent are not mentioned: most experts have a line of a few words.
func expertText(reg registry.Registry, def definition.Campaign, e definition.Expert) string {
	text := e.Name
	if settings, err := reg.ExpertSettings(e); err == nil {
		text += ", " + settings.Words(&def)
	}
	if len(e.Quantities) > 0 {
		text += "; estimates " + andList(e.Quantities)
	}
	if e.Asked() && e.AnswerWithin > 0 {
		text += "; the campaign goes on without an answer after " + e.AnswerWithin.String()
		if e.AnswerWithin == definition.DefaultAnswerWithin {
			if n := def.Initial.Estimates; n != nil && *n > 0 {
				text += " for each composition"
			}
			text += ", and waits for it where experiments are only suggested"
		}
	}
	if e.Asked() && e.Meanwhile != nil && *e.Meanwhile > 0 {
		text += fmt.Sprintf("; while they are asked the campaign goes on by itself for %s",
			format.Count(*e.Meanwhile, "experiment"))
	}
	if e.Time > 0 {
		text += fmt.Sprintf("; asked for %s of their time at most, %s for each composition they judge", e.Time, e.AnswerTakes)
	}
	if b := e.Belief; b != nil {
		var parts []string
		for _, p := range def.Parameters {
			mean, ok := b.Mean[p.Name]
			switch sd, spread := b.SD[p.Name]; {
			case ok && spread:
				parts = append(parts,
					strings.TrimSpace(fmt.Sprintf("%s %s ± %s %s", p.Name, mean, format.Setting(sd), p.Unit)))
			case ok:
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Name, mean, p.Unit)))
			}
		}
		text += "; expects the best at " + strings.Join(parts, ", ")
	}
	if len(e.Anchors) > 0 {
		text += fmt.Sprintf("; trusts their judgment at %s", format.Count(len(e.Anchors), "anchor"))
	}
	return text
}

// shareText writes a share in per cent: "0.1 %".
func shareText(share *float64) string {
	if share == nil {
		return "?"
	}
	return format.Share(*share)
}

// effortText counts the experiments, or the comparisons, that a campaign may take.
func effortText(def *definition.Campaign) string {
	if !def.Measures() {
		return format.Count(def.Budget.Comparisons, "comparison")
	}
	return format.Count(def.Budget.Experiments, "experiment")
}

// endText says when a campaign ends, and when its experts are asked no more.
// The budget comes first, since every campaign has one.
func endText(def definition.Campaign) string {
	ends := []string{"after " + effortText(&def)}
	if def.Budget.Cost > 0 {
		ends = append(ends, "once no experiment can be chosen that costs no more than is left of "+
			format.SettingIn(def.Budget.Cost, def.Cost.Unit))
	}
	if def.Budget.Time > 0 {
		ends = append(ends, "after "+def.Budget.Time.String())
	}
	if def.Stop.Target != nil {
		sought := def.Sought()
		ends = append(ends, fmt.Sprintf("once the best composition is expected to have %s %s",
			sought.Pick("at least", "at most"), format.SettingIn(*def.Stop.Target, sought.Unit)))
	}
	if def.Stop.Reach != nil {
		ends = append(ends, fmt.Sprintf("once a measured composition has %s with probability %s or more",
			andList(def.Stop.Reach), format.Setting(definition.DefaultConfidence)))
	}
	if def.Stop.Window > 0 {
		ends = append(ends,
			fmt.Sprintf("once %d experiments have improved the best by less than %s of the interquartile range",
				def.Stop.Window, format.Optional(def.Stop.Improvement)))
	}
	if growth := def.Stop.Hypervolume; growth.Window > 0 {
		ends = append(ends, fmt.Sprintf("once %d experiments have increased the hypervolume of the front by less than %s",
			growth.Window, shareText(growth.Improvement)))
	}
	if def.Stop.Gain != nil {
		ends = append(ends, fmt.Sprintf("once %d experiments in a row were each expected to increase the hypervolume by less than %s",
			definition.GainTurns, shareText(def.Stop.Gain)))
	}
	text := strings.Join(ends, ", or ")
	if len(ends) > 1 {
		text += ", whichever comes first"
	}
	if def.Budget.Labels != nil {
		text += fmt.Sprintf("; no one is asked after %s", format.Count(*def.Budget.Labels, "label"))
	}
	return text
}
