package whatif

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Words describe the imagined change: "from d4, with coexbo, without eve".
func (q Question) Words() string {
	words := "from " + q.Decision
	if q.Method != "" {
		words += ", with " + q.Method
	}
	for _, part := range q.Sought.words() {
		words += ", " + part
	}
	if q.Without != "" {
		words += ", without " + q.Without
	}
	if q.same() {
		words += ", with nothing otherwise"
	}
	return words
}

// Caveats state the answer's meaning and its limits: a sentence or a few each. They belong to
// the answer: it must not be shown without them.
func (a *Answer) Caveats() []string {
	list := []string{fmt.Sprintf("Up to %s, that is to event %d of the campaign, everything is real. There the definition is changed as an "+
		"amendment would change it, in memory alone: the campaign’s log, its instrument and its experts have not been touched.", a.From, a.At)}
	if a.From != a.Decision {
		list[0] += fmt.Sprintf(" %s took up what was asked in %s, where its turn began.", a.Decision, a.From)
	}
	if a.Without != "" {
		list[0] += fmt.Sprintf(" What %s had answered before counts no more; what they had excluded stays excluded.", a.Without)
	}
	real := 0
	for _, x := range a.Imagined {
		if x.From == FromLog {
			real++
		}
	}
	taken := ""
	if len(a.Imagined) > 0 {
		taken = fmt.Sprintf(" (%d of %d)", real, len(a.Imagined))
	}
	switch a.StandIn {
	case FromModel:
		list = append(list, fmt.Sprintf("The lab has not measured what follows. Where it really measured a composition, that result counts%s. Elsewhere the mean of "+
			"the campaign’s own model as of now stands in, fitted to %s, without noise. That model knows what was measured since, is a guess where "+
			"nothing was, and never fails: what follows is no evidence of what the lab would have found.",
			taken, format.Count(a.Fitted, "measurement")))
	case FromSimulator:
		list = append(list, fmt.Sprintf("The campaign’s instrument is a simulation, and has been asked again where the log holds no result of a composition; "+
			"where it holds one, that counts%s.", taken))
	default:
		why := "the campaign’s model has not been fitted yet"
		if !a.Changed.Measures() {
			why = "here experts’ comparisons are the objective, and they cannot be imagined"
		}
		list = append(list, "Only what would have been suggested is known: nothing can stand in for the lab, since "+why+".")
	}
	if asked := a.Repeated + a.Unanswered; len(a.Recorded) > 0 && asked > 0 {
		list = append(list, fmt.Sprintf("Nobody has been asked. Of %s to %s, the log answers %d, since the same was really asked about the same "+
			"compositions; for the others “can’t tell” stands.", format.Count(asked, "question"),
			format.List(a.Recorded...), a.Repeated))
	}
	return append(list, "One course is not a comparison of policies: chance plays its part in both. The command campaignd simulate compares policies over many courses.")
}

// Best is the best result among experiments; nil without one, and for a trade-off. Which
// results count, and which comes first, is as in [campaign.Judged].
func Best(def *definition.Campaign, lists ...[]Experiment) (best *Experiment) {
	if !def.Single() {
		return nil
	}
	var first campaign.Judged
	for _, list := range lists {
		for i := range list {
			judged := list[i].Judged(def)
			if !math.IsNaN(judged.Value) && (best == nil || judged.Before(first, def.Sought())) {
				best, first = &list[i], judged
			}
		}
	}
	return best
}

// Bests are the best results after the number of experiments for which both courses have
// outcomes. It compares the knowledge that both could have by then, so that a longer course has
// no advantage.
func (a *Answer) Bests() (experiments int, real, imagined *Experiment) {
	ended := a.RealOutcomes()
	n := min(len(ended), len(a.Imagined))
	return len(a.Before) + n, Best(a.Definition, a.Before, ended[:n]),
		Best(a.Definition, a.Before, a.Imagined[:n])
}

// RealOutcomes are the real experiments since that have an outcome.
func (a *Answer) RealOutcomes() []Experiment {
	return slices.DeleteFunc(slices.Clone(a.Real), func(x Experiment) bool { return x.Status.Open() })
}

// Result describes the outcome of an experiment.
func (x Experiment) Result(unit string) string {
	if len(x.Quantities) > 0 {
		list := make([]string, len(x.Quantities))
		for i, q := range x.Quantities {
			list[i] = q.Name + " " + format.Quantity(q.Value, q.Unit)
		}
		return strings.Join(list, ", ")
	}
	if x.Value != nil {
		return format.Quantity(*x.Value, unit)
	}
	return string(x.Status)
}

// Source says where an imagined result comes from.
func (x Experiment) Source() string {
	switch {
	case x.From == FromLog && x.Was != "":
		return "measured, as " + x.Was
	case x.From == FromSimulator:
		return "the simulation"
	case x.From == FromModel:
		return "the model’s mean"
	case x.Status == campaign.Failed || x.Status == campaign.Infeasible:
		return "as it was"
	}
	return ""
}

// Write writes the answer for a terminal.
func (a *Answer) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n\n", a.Campaign, a.Words())
	write := format.CompositionsOf(a.Definition)
	tell := func(head string, what string, reason string, next *Experiment) {
		fmt.Fprintf(&b, "%s: %s\n  %s\n", head, what, reason)
		if next != nil {
			fmt.Fprintf(&b, "  next experiment: %s\n", write.LineWithUnits(next.Parameters))
		}
	}
	tell("Decided in "+a.From, view.ActionText(a.Decided), a.Decided.Reason, a.ReallyNext)
	if a.Suggested != nil {
		tell("Suggested instead", view.ActionText(a.Suggested), a.Suggested.Reason, a.Next)
	} else {
		fmt.Fprintf(&b, "Nothing would have been suggested: the campaign would have ended (%s).\n", a.Ended)
	}
	for i, c := range a.Changes {
		if i == 0 {
			b.WriteString("\nOtherwise, as an amendment would have it:\n")
		}
		fmt.Fprintf(&b, "  %s\n", plaintext.Line(view.Change(a.Changed, c)))
	}
	if len(a.Imagined) > 0 {
		b.WriteString("\nHow it would have gone on, with what stands in for the lab:\n")
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		a.writeCourse(t, write)
		if err := t.Flush(); err != nil {
			return err
		}
		if a.Ended != "" {
			fmt.Fprintf(&b, "  and then it would have ended: %s\n", a.Ended)
		}
		for _, v := range a.Verdicts() {
			fmt.Fprintf(&b, "\n%s:\n  %s\n", v.Head, strings.Join(v.Lines, "\n  "))
		}
		if n, real, imagined := a.Bests(); a.Judged == nil && real != nil && imagined != nil {
			fmt.Fprintf(&b, "\nBest after %s: really %s (%s), imagined %s (%s)\n",
				format.Count(n, "experiment"),
				real.Result(a.Definition.Sought().Unit), real.ID, imagined.Result(a.Definition.Sought().Unit), imagined.ID)
		}
	}
	b.WriteString("\n")
	for _, c := range a.Caveats() {
		b.WriteString(c + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCourse writes the imagined experiments in columns: with one result, or with
// all quantities below their names and units.
func (a *Answer) writeCourse(t *tabwriter.Writer, write format.Compositions) {
	if a.Judged == nil {
		unit := a.Definition.Sought().Unit
		for _, x := range a.Imagined {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n",
				x.ID, write.Line(x.Parameters), x.Result(unit), x.Source())
		}
		return
	}
	columns := a.Columns()
	fmt.Fprintf(t, "  \t\t%s\tfrom\n", strings.Join(columns, "\t"))
	for _, x := range a.Imagined {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n",
			x.ID, write.Line(x.Parameters), strings.Join(a.Cells(x), "\t"), x.Source())
	}
}

// Columns are the headings for imagined experiments with several quantities: each quantity with
// its unit, and whether the constraints are kept.
func (a *Answer) Columns() (columns []string) {
	for _, q := range a.quantities() {
		columns = append(columns, format.Heading(q.Name, q.Unit))
	}
	today, imagined := a.constrained()
	switch {
	case today && imagined:
		columns = append(columns, "keeps today’s constraints", "keeps the imagined ones")
	case imagined:
		columns = append(columns, "keeps the imagined constraints")
	case today:
		columns = append(columns, "keeps the constraints")
	}
	return columns
}

// Cells are an experiment's cells in these columns: a dash for a missing value.
func (a *Answer) Cells(x Experiment) (cells []string) {
	for _, q := range a.quantities() {
		cells = append(cells, "–")
		for _, given := range x.Quantities {
			if given.Name == q.Name {
				cells[len(cells)-1] = format.Short(given.Value)
			}
		}
	}
	today, imagined := a.constrained()
	if today {
		cells = append(cells, cmp.Or(string(x.Keeps), "–"))
	}
	if imagined {
		cells = append(cells, cmp.Or(string(x.KeepsImagined), "–"))
	}
	return cells
}

// quantities are those that any experiment has, in the order of the definition.
func (a *Answer) quantities() (all []definition.Quantity) {
	for _, x := range slices.Concat(a.Before, a.Real, a.Imagined) {
		for _, q := range x.Quantities {
			is := func(other definition.Quantity) bool { return other.Name == q.Name }
			if !slices.ContainsFunc(all, is) {
				all = append(all, q)
			}
		}
	}
	return all
}

// constrained reports whether there are constraints on outcomes today, and others
// that are imagined.
func (a *Answer) constrained() (today, imagined bool) {
	for _, x := range slices.Concat(a.Before, a.Real, a.Imagined) {
		today, imagined = today || x.Keeps != "", imagined || x.KeepsImagined != ""
	}
	return today, imagined
}

// Verdict is a comparison of both courses in words: its standard, and a line for each thing
// that is compared.
type Verdict struct {
	Head  string
	Lines []string
}

// Verdicts put [Answer.Judged] into words.
func (a *Answer) Verdicts() (all []Verdict) {
	for _, j := range a.Judged {
		v := Verdict{Head: "By what the campaign seeks and requires today"}
		if j.By == ByImagined {
			v.Head = "By what is imagined that it seeks and requires"
		}
		v.Head += ", after " + format.Count(j.Experiments, "experiment") + " of each course"
		v.Lines = append(j.covered(), "really "+j.Really.found(j.what),
			"imagined "+j.Imagined.found(j.what))
		if j.Really.Keep != nil && j.Imagined.Keep != nil {
			v.Lines = append(v.Lines, fmt.Sprintf("the constraints are kept by %d of them really, and by %d as imagined",
				*j.Really.Keep, *j.Imagined.Keep))
		}
		all = append(all, v)
	}
	return all
}

// covered compares the hypervolumes of the fronts, in a line.
func (j *Judged) covered() []string {
	if j.Really.Hypervolume == nil || j.Imagined.Hypervolume == nil {
		return nil
	}
	var beyond []string
	for _, q := range j.Reference {
		beyond = append(beyond, q.Name+" "+format.SettingIn(q.Value, q.Unit))
	}
	line := fmt.Sprintf("hypervolume beyond %s: really %s, imagined %s", strings.Join(beyond, ", "),
		format.Short(*j.Really.Hypervolume), format.Short(*j.Imagined.Hypervolume))
	switch d := j.Difference; {
	case d == nil:
	case *d == 0:
		line += ", the same"
	case *d < 0:
		line += fmt.Sprintf(", %.1f %% less", -100**d)
	default:
		line += fmt.Sprintf(", %.1f %% more", 100**d)
	}
	return []string{line}
}

// found describes a course's finding, with its name.
func (c *Course) found(what string) string {
	if c.Found == nil {
		if c.NoModel != "" {
			return "nothing can be said: " + c.NoModel
		}
		return "nothing was found"
	}
	var values []string
	for _, q := range c.Found.Quantities {
		values = append(values, q.Name+" "+format.Result(q))
	}
	line := what + " " + c.Found.ID + ": " + strings.Join(values, ", ")
	if source := c.Found.Source(); source != "" {
		line += " (" + source + ")"
	}
	return line
}
