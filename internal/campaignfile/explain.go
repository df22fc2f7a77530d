package campaignfile

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/space"
)

// Explain says in words what a completed definition means: what is varied and
// within what, what is sought, how the campaign begins, how it goes on, and when
// it ends. It estimates nothing.
func Explain(def events.Definition) string {
	var b strings.Builder
	effort := format.Count(def.Budget.Experiments, "experiment")
	if def.Policy.Duel.Set() {
		effort = format.Count(def.Budget.Comparisons, "comparison")
	}
	fmt.Fprintf(&b, "Campaign %s: %s %s with at most %s.\n", def.Name, def.Objective.Goal, format.Heading(def.Objective.Name, def.Objective.Unit), effort)
	if def.Description != "" {
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(def.Description))
	}
	explainSpace(&b, def)

	b.WriteString("\nHow it goes\n")
	line := func(what, how string) { fmt.Fprintf(&b, "  %-12s %s\n", what, how) }
	if def.Policy.Duel.Set() {
		line("begins", initialText(def))
		line("compares", duelText(def.Policy.Duel))
		if usesUtility(def.Policy) {
			line("utility", utilityText(def))
		}
	} else {
		line("objective", objectiveText(def))
		line("begins", initialText(def))
		line("next", nextText(def.Policy.Next, def.Objective.Goal))
		line("trust", trustText(def.Policy))
		line("handover", handoverText(def.Policy))
		line("measured by", instrumentText(def))
	}
	if def.Parallel > 1 && !def.Policy.Duel.Set() {
		line("at once", "up to "+format.Count(def.Parallel, "experiment")+" under way at the same time")
	}
	for _, e := range def.Experts {
		line("expert", expertText(def, e))
	}
	line("ends", endText(def))
	line("seed", fmt.Sprintf("%d; the same seed makes the same decisions from the same results", def.Seed))
	return b.String()
}

func explainSpace(b *strings.Builder, def events.Definition) {
	b.WriteString("\nWhat is varied\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, p := range def.Parameters {
		cells := []string{"  " + p.Name, rangeText(p)}
		if step := def.Instrument.Steps[p.Name]; step > 0 {
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
	s, err := space.New(def)
	if err != nil {
		b.WriteString("\n")
		return
	}
	if list, ok := s.Finite(); ok {
		can := "can be measured"
		if def.Policy.Duel.Set() {
			can = "can be compared"
		}
		fmt.Fprintf(b, ", %s %s", format.Count(len(list), "composition"), can)
	} else if def.Instrument.Table != nil {
		b.WriteString(", only the rows of the table can be measured")
	}
	b.WriteString("\n")
}

func rangeText(p events.Parameter) string {
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

func constraintText(def events.Definition, c events.Constraint) string {
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

func regionText(def events.Definition, r events.Region) string {
	var parts []string
	for _, p := range def.Parameters {
		side, ok := r.Where[p.Name]
		switch {
		case !ok:
		case side.Is != "":
			parts = append(parts, p.Name+" "+side.Is)
		case side.Min != nil && side.Max != nil:
			parts = append(parts, fmt.Sprintf("%s from %s to %s", p.Name, format.Setting(*side.Min), format.SettingIn(*side.Max, p.Unit)))
		case side.Min != nil:
			parts = append(parts, fmt.Sprintf("%s ≥ %s", p.Name, format.SettingIn(*side.Min, p.Unit)))
		case side.Max != nil:
			parts = append(parts, fmt.Sprintf("%s ≤ %s", p.Name, format.SettingIn(*side.Max, p.Unit)))
		}
	}
	return strings.Join(parts, " with ")
}

// equalityRank is the number of independent equalities: Gaussian elimination
// with pivots, each row scaled to its greatest coefficient.
func equalityRank(def events.Definition) int {
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

func objectiveText(def events.Definition) string {
	o := def.Objective
	text := "measurement noise is inferred from the results"
	if o.Noise != nil {
		text = "one measurement has a known standard deviation of " + format.SettingIn(*o.Noise, o.Unit)
	}
	switch {
	case o.Min != nil && o.Max != nil:
		text += fmt.Sprintf("; a result outside %s to %s is refused", format.Setting(*o.Min), format.SettingIn(*o.Max, o.Unit))
	case o.Min != nil:
		text += "; a result below " + format.SettingIn(*o.Min, o.Unit) + " is refused"
	case o.Max != nil:
		text += "; a result above " + format.SettingIn(*o.Max, o.Unit) + " is refused"
	}
	if def.Replicates > 1 {
		text += fmt.Sprintf("; each composition is measured %d times", def.Replicates)
	}
	return text
}

func initialText(def events.Definition) string {
	in := def.Initial
	n := 0
	if in.Experiments != nil {
		n = *in.Experiments
	}
	text := map[string]string{
		events.DesignSobol:  "spread evenly over the space",
		events.DesignRandom: "at random",
		events.DesignPoints: "as given",
	}[in.Design]
	text = format.Count(n, "experiment") + " " + text
	if n == 0 {
		text = "no initial experiments"
	}
	if n == 0 && def.Policy.Duel.Set() {
		text = "at once"
	}
	if in.Comparisons != nil && *in.Comparisons > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s; %s from each expert", text, format.Count(*in.Comparisons, "comparison")), "at once; ")
	}
	if in.Labels != nil && *in.Labels > 0 {
		how := "at random compositions"
		if in.Balanced != nil && *in.Balanced {
			how = "as many accepted as rejected"
		}
		text += fmt.Sprintf("; %s from each expert, %s", format.Count(*in.Labels, "label"), how)
	}
	return text
}

func optional(x *float64) string {
	if x == nil {
		return "?"
	}
	return format.Setting(*x)
}

func instrumentText(def events.Definition) string {
	in := def.Instrument
	var text string
	switch {
	case in.Simulated != nil:
		text = "a simulation of " + in.Simulated.Task
		if in.Simulated.Noise > 0 {
			text += fmt.Sprintf(" with noise of standard deviation %s", format.SettingIn(in.Simulated.Noise, def.Objective.Unit))
		}
		if in.Simulated.FailureRate > 0 {
			text += fmt.Sprintf("; %s%% of the experiments fail", format.Setting(100*in.Simulated.FailureRate))
		}
		if in.Simulated.OutlierRate > 0 {
			text += fmt.Sprintf("; %s%% of the results are silently wrong", format.Setting(100*in.Simulated.OutlierRate))
		}
	case in.Table != nil:
		text = "the table " + in.Table.File
	case in.Manual != nil:
		return "a person who enters each value"
	case in.Process != nil:
		text = "the program " + strings.Join(in.Process.Command, " ")
	default:
		return "?"
	}
	if in.Process != nil {
		text += fmt.Sprintf("; reported as stalled after %s of silence, given up after %s", duration(in.StallAfter), duration(in.GiveUpAfter))
	}
	return text
}

func expertText(def events.Definition, e events.Expert) string {
	text := e.Name + ", asked in the terminal"
	switch s := e.Simulated; {
	case s != nil:
		text = fmt.Sprintf("%s, simulated with accuracy %s", e.Name, optional(s.Accuracy))
		switch {
		case s.Anchored:
			text += "; compares the objective itself, with less noise near their anchors"
		case s.ChoiceNoise != nil:
			text += fmt.Sprintf("; compares the objective itself, each side with noise of standard deviation %s", format.SettingIn(*s.ChoiceNoise, def.Objective.Unit))
		}
		if s.UnsureRate > 0 {
			text += fmt.Sprintf("; cannot tell in %s%% of the questions", format.Setting(100*s.UnsureRate))
		}
	case e.AnswerWithin > 0:
		text += "; the campaign goes on without an answer after " + duration(e.AnswerWithin)
		if e.AnswerWithin == events.DefaultAnswerWithin {
			text += ", and waits for it where experiments are only suggested"
		}
	}
	if b := e.Belief; b != nil {
		var parts []string
		for _, p := range def.Parameters {
			mean, ok := b.Mean[p.Name]
			switch sd, spread := b.SD[p.Name]; {
			case ok && spread:
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s ± %s %s", p.Name, mean, format.Setting(sd), p.Unit)))
			case ok:
				parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Name, mean, p.Unit)))
			}
		}
		text += "; expects the best at " + strings.Join(parts, ", ")
	}
	if len(e.Anchors) > 0 {
		text += fmt.Sprintf("; trusts their judgement at %s", format.Count(len(e.Anchors), "anchor"))
	}
	return text
}

func endText(def events.Definition) string {
	ends := []string{"after " + format.Count(def.Budget.Experiments, "experiment")}
	if def.Policy.Duel.Set() {
		ends = []string{"after " + format.Count(def.Budget.Comparisons, "comparison")}
	}
	if def.Budget.Time > 0 {
		ends = append(ends, "after "+duration(def.Budget.Time))
	}
	if def.Stop.Target != nil {
		better := map[string]string{events.Maximize: "at least", events.Minimize: "at most"}[def.Objective.Goal]
		ends = append(ends, fmt.Sprintf("once the best composition is expected to have %s %s", better, format.SettingIn(*def.Stop.Target, def.Objective.Unit)))
	}
	if def.Stop.Window > 0 {
		ends = append(ends, fmt.Sprintf("once %d experiments have improved the best by less than %s of the interquartile range", def.Stop.Window, optional(def.Stop.Improvement)))
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

// duration writes a time without zero parts: 10m, not 10m0s.
func duration(d events.Duration) string {
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
