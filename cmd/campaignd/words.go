package main

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/campaignd/campaignd/policies/trust"
)

// said turns an answer into a verb.
func said(answer string) string {
	switch answer {
	case events.AnswerAccept:
		return "accepted"
	case events.AnswerReject:
		return "rejected"
	case events.AnswerUnsure:
		return "cannot tell about"
	}
	return answer
}

// narrator tells events in plain words. It follows the definition, which says
// how compositions are written.
type narrator struct {
	def *events.Definition
	// examples counts the initial answers of an expert that were not told yet:
	// labels, of which so many were accepted, or comparisons.
	examples, accepted int
	compared           bool
	expert             string
	// reviewed is the last question whose choice was looked back at.
	reviewed string
	// named is the composition that an expert named last, until it is decided upon.
	named *events.PinpointGiven
}

// tell returns what an event says in plain words, a line each, and nothing for
// one that a person need not read.
func (n *narrator) tell(e events.Event, payload events.Payload) []string {
	lines := n.lines(e, payload)
	for i := range lines { // what others wrote cannot pass for a line of ours
		lines[i] = plaintext.Line(lines[i])
	}
	return lines
}

func (n *narrator) lines(e events.Event, payload events.Payload) (lines []string) {
	line, routine := n.one(e, payload)
	if account := e.ToldBy(); account != "" {
		line += fmt.Sprintf(" [account %s]", account)
	}
	expert, accepted, compared := "", false, false // of an initial answer
	switch p := payload.(type) {
	case *events.LabelGiven:
		if p.Volunteered {
			expert, accepted = p.Expert, p.Answer == events.AnswerAccept
		}
	case *events.ComparisonGiven:
		if p.Volunteered {
			expert, compared = p.Expert, true
		}
	}
	if n.examples > 0 && (expert != n.expert || compared != n.compared) {
		what := fmt.Sprintf("%s: %d accepted, %d rejected", format.Count(n.examples, "initial label"), n.accepted, n.examples-n.accepted)
		if n.compared {
			what = format.Count(n.examples, "initial comparison")
		}
		lines = append(lines, fmt.Sprintf("%s gave %s", n.expert, what))
		n.examples, n.accepted = 0, 0
	}
	if expert != "" { // told together, once the last one is there
		n.expert, n.compared = expert, compared
		n.examples++
		if accepted {
			n.accepted++
		}
		return lines
	}
	if !routine {
		lines = append(lines, line)
	}
	if d, ok := payload.(*events.DecisionMade); ok && d.Review != nil && d.Review.Question != n.reviewed {
		n.reviewed = d.Review.Question // decisions repeat it until there is a newer one
		lines = append(lines, reviewInWords(d.Review))
	}
	switch p := payload.(type) {
	case *events.PinpointGiven:
		n.named = p
	case *events.DecisionMade:
		if n.named != nil && p.Action == events.ActionRun {
			lines = append(lines, notTaken(n.named, p)...)
			n.named = nil
		}
	}
	return lines
}

// notTaken says why a composition that an expert named is not the one that is
// measured; nothing where it is, or where none was named.
func notTaken(named *events.PinpointGiven, d *events.DecisionMade) []string {
	if named.Parameters == nil {
		return nil
	}
	for _, c := range d.Candidates {
		if c.Name == d.Chosen && maps.Equal(c.Parameters, named.Parameters) {
			return nil
		}
	}
	why := strings.TrimSuffix(d.Reason, ".")
	for i := len(d.Tests) - 1; i >= 0; i-- { // in the order of trust.NoHarm
		t := d.Tests[i]
		switch name, harm := strings.CutPrefix(t.Name, trust.NoHarmPrefix); {
		case !harm || t.Holds:
		case strings.HasPrefix(name, "optimistic"):
			why = "the model expects less of it, even at its best, than it is sure to find elsewhere"
		default:
			why = "the model knows that place so well already that a measurement would teach little"
		}
	}
	return []string{fmt.Sprintf("%s's composition (%s) is not measured next: %s (campaignd explain %s)", named.Expert, named.Question, why, d.Decision)}
}

// one says in a line what happened; routine is true for what is of interest
// only to who looks closer.
func (n *narrator) one(e events.Event, payload events.Payload) (line string, routine bool) {
	because := func(reason string) string {
		if reason == "" {
			return ""
		}
		return ": " + reason
	}
	switch p := payload.(type) {
	case *events.CampaignDefined:
		n.def = &p.Definition
		budget := format.Count(p.Definition.Budget.Experiments, "experiment")
		if p.Definition.Policy.Duel.Set() {
			budget = format.Count(p.Definition.Budget.Comparisons, "comparison")
		}
		return fmt.Sprintf("campaign %s begins: %s %s, at most %s", p.Definition.Name, p.Definition.Objective.Goal, p.Definition.Objective.Name, budget), false
	case *events.CampaignAmended:
		n.def = &p.Definition
		changes := make([]string, len(p.Changes))
		for i, c := range p.Changes {
			changes[i] = changeInWords(n.def, c)
		}
		return fmt.Sprintf("%s amended the campaign: %s", events.ActorName(e.Actor), strings.Join(changes, "; ")), false
	case *events.CampaignPaused:
		return fmt.Sprintf("%s paused the campaign%s", events.ActorName(e.Actor), because(p.Reason)), false
	case *events.CampaignResumed:
		return fmt.Sprintf("%s resumed the campaign%s", events.ActorName(e.Actor), because(p.Reason)), false
	case *events.CampaignStopped:
		return fmt.Sprintf("%s stopped the campaign%s", events.ActorName(e.Actor), because(p.Reason)), false
	case *events.CampaignCompleted:
		if p.Detail != "" {
			return "the campaign is complete: " + p.Detail, false
		}
		return "the campaign is complete: " + p.Reason, false
	case *events.RecoveryDone:
		if p.Epoch != "" {
			return fmt.Sprintf("taken up from an older copy of the store, or one from elsewhere; commands carry the word %s from here on", p.Epoch), false
		}
		if len(p.Commands) == 0 {
			return "taken up again; nothing was under way", false
		}
		fates := make([]string, len(p.Commands))
		for i, c := range p.Commands {
			fates[i] = fmt.Sprintf("%s is %s", c.Experiment, c.Fate)
		}
		return "taken up again; the instrument says: " + strings.Join(fates, ", "), false
	case *events.AnchorsDeclared:
		if p.Instead {
			return fmt.Sprintf("%s declared %s instead of those before%s", p.Expert, format.Count(len(p.Points), "anchor"), because(p.Reason)), false
		}
		return fmt.Sprintf("%s declared %s", p.Expert, format.Count(len(p.Points), "anchor")), false
	case *events.NoteAdded:
		about := ""
		if p.About != "" {
			about = " on " + p.About
		}
		return fmt.Sprintf("%s notes%s: %s", events.ActorName(e.Actor), about, p.Text), false
	case *events.LabelRequested:
		return fmt.Sprintf("%s asks %s about (%s)", p.Question, p.Expert, format.CompositionsOf(n.def).Line(p.Parameters)), true
	case *events.LabelGiven:
		if p.Volunteered {
			return "", true // counted by tell
		}
		line := fmt.Sprintf("%s %s %s", p.Expert, said(p.Answer), p.Question)
		if len(p.Parameters) > 0 {
			line += fmt.Sprintf(" (%s)", format.CompositionsOf(n.def).Line(p.Parameters))
		}
		return line + toldBy(e, p.Expert) + because(p.Comment), false
	case *events.LabelSuperseded:
		return fmt.Sprintf("%s now %s %s%s%s", p.Expert, said(p.Answer), p.Question, toldBy(e, p.Expert), because(p.Reason)), false
	case *events.LabelExpired:
		return fmt.Sprintf("nobody answered %s in time; the campaign goes on without", p.Question), false
	case *events.LabelWithdrawn:
		return fmt.Sprintf("%s is no longer asked: %s", p.Question, p.Reason), false
	case *events.ComparisonRequested:
		points := make([]events.Point, len(p.Options))
		for i := range p.Options {
			points[i] = p.Options[i].Parameters
		}
		ask := "to compare"
		if len(points) > 2 {
			ask = "to rank"
		}
		return fmt.Sprintf("%s asks %s %s %s", p.Question, p.Expert, ask, n.options(points, nil, ", ", " and ")), true
	case *events.ComparisonGiven:
		line := fmt.Sprintf("%s %s in %s", p.Expert, n.placed(p.Options, p.Order), p.Question)
		return line + toldBy(e, p.Expert) + because(p.Comment), p.Volunteered
	case *events.ComparisonSuperseded:
		return fmt.Sprintf("%s now %s in %s%s%s", p.Expert, n.placed(p.Options, p.Order), p.Question, toldBy(e, p.Expert), because(p.Reason)), false
	case *events.PinpointRequested:
		return fmt.Sprintf("%s asks %s what to measure next", p.Question, p.Expert), true
	case *events.PinpointGiven:
		if p.Parameters == nil {
			return fmt.Sprintf("%s has no suggestion for %s%s%s", p.Expert, p.Question, toldBy(e, p.Expert), because(p.Comment)), false
		}
		return fmt.Sprintf("%s wants (%s) measured (%s)%s%s", p.Expert, format.CompositionsOf(n.def).Line(p.Parameters), p.Question, toldBy(e, p.Expert), because(p.Comment)), false
	case *events.PinpointSuperseded:
		if p.Parameters == nil {
			return fmt.Sprintf("%s now has no suggestion for %s%s%s", p.Expert, p.Question, toldBy(e, p.Expert), because(p.Reason)), false
		}
		return fmt.Sprintf("%s now wants (%s) measured (%s)%s%s", p.Expert, format.CompositionsOf(n.def).Line(p.Parameters), p.Question, toldBy(e, p.Expert), because(p.Reason)), false
	case *events.QuestionExpired:
		return fmt.Sprintf("nobody answered %s in time; the campaign goes on without", p.Question), false
	case *events.QuestionWithdrawn:
		return fmt.Sprintf("%s is no longer asked: %s", p.Question, p.Reason), false
	case *events.RegionRefused:
		return fmt.Sprintf("%s refuses %s (%s): %s", events.ActorName(e.Actor), n.region(p.Region), p.Refusal, p.Reason), false
	case *events.RegionAllowed:
		return fmt.Sprintf("%s takes the refusal %s back%s", events.ActorName(e.Actor), p.Refusal, because(p.Reason)), false
	case *events.ExperimentRequested:
		return fmt.Sprintf("%s is to measure (%s)", p.Experiment, format.CompositionsOf(n.def).Line(p.Parameters)), true
	case *events.ExperimentDispatched:
		return fmt.Sprintf("%s goes to %s", p.Experiment, p.Instrument), true
	case *events.ExperimentStarted:
		return fmt.Sprintf("%s has started", p.Experiment), true
	case *events.ExperimentMeasured:
		line := fmt.Sprintf("%s measured %s (%s)", p.Experiment, measuredInWords(&p.Measurement), format.CompositionsOf(n.def).Line(p.Actual))
		if n := len(p.Unread); n > 0 { // perhaps a slip of the instrument's, that somebody should mend
			var fields []string
			for _, u := range p.Unread[:min(n, 3)] {
				fields = append(fields, u.Field)
			}
			if n > len(fields) {
				fields = append(fields, fmt.Sprintf("%d more", n-len(fields)))
			}
			line += "; not used, and kept in the log: " + strings.Join(fields, ", ")
		}
		return line, false
	case *events.ExperimentFailed:
		return fmt.Sprintf("%s failed: %s", p.Experiment, p.Cause), false
	case *events.ExperimentInfeasible:
		return fmt.Sprintf("%s cannot be done: %s", p.Experiment, p.Cause), false
	case *events.ExperimentDeferred:
		return fmt.Sprintf("%s did not take place and is to be tried again: %s", p.Experiment, p.Cause), false
	case *events.MeasurementFlagged:
		if p.Verdict == events.VerdictElsewhere {
			return fmt.Sprintf("%s: %s", p.Experiment, p.Reason), false
		}
		return fmt.Sprintf("%s is %s: %s", p.Experiment, p.Verdict, p.Reason), false
	case *events.ExperimentCancelled:
		return fmt.Sprintf("%s was called off: %s", p.Experiment, p.Reason), false
	case *events.ExperimentUnresolved:
		return fmt.Sprintf("NOBODY KNOWS what became of %s: %s. Look at the instrument, then `campaignd resolve %s`", p.Experiment, p.Cause, p.Experiment), false
	case *events.ExperimentResolved:
		line := fmt.Sprintf("%s settled %s: %s", events.ActorName(e.Actor), p.Experiment, p.Resolution)
		if p.Measurement != nil {
			line += " " + measuredInWords(p.Measurement)
		}
		return line + because(p.Reason), false
	case *events.ExperimentCorrected:
		return n.outcomeCorrected(e, p), false
	case *events.MeasurementCorrected:
		if p.Excluded {
			return fmt.Sprintf("%s excluded %s (%s): %s", events.ActorName(e.Actor), p.Experiment, format.Quantity(p.Old.Value, p.Old.Unit), p.Reason), false
		}
		return n.measurementCorrected(e, p), false
	case *events.InstrumentStalled:
		return fmt.Sprintf("%s has been silent about %s for %s", p.Instrument, p.Experiment, time.Duration(p.Waited*float64(time.Second))), false
	case *events.ModelFitted:
		return fmt.Sprintf("%s was fitted", modelInWords(p.Model, p.Expert)), true
	case *events.ModelFitFailed:
		return fmt.Sprintf("%s could not be fitted: %s", modelInWords(p.Model, p.Expert), p.Cause), false
	case *events.TrustAdjusted:
		return fmt.Sprintf("weight λ of %s's belief: %s → %s", p.Expert, format.Short(p.From), format.Short(p.To)), true
	case *events.DecisionMade:
		return fmt.Sprintf("%s: %s", p.Decision, p.Reason), true
	}
	return string(e.Kind), true
}

// placed says what an expert did with a comparison: "prefers B (…) to A (…)".
func (n *narrator) placed(options []events.Point, order []int) string {
	switch {
	case len(order) == 0:
		return "cannot tell between " + n.options(options, nil, ", ", " and ")
	case len(order) == 1: // the others come after it in no order
		return "prefers " + n.options(options, order, "", "") + " to the others"
	case len(options) == 2:
		return "prefers " + n.options(options, order, "", " to ")
	}
	return "ranks " + n.options(options, order, ", then ", ", then ")
}

// options lists the options of a comparison by their letters and compositions, in
// the given order, nil being that in which they were shown.
func (n *narrator) options(points []events.Point, order []int, between, last string) string {
	if order == nil {
		for i := range points {
			order = append(order, i)
		}
	}
	var b strings.Builder
	var texts []string
	if n.def != nil {
		write := format.CompositionsOf(n.def).Apart(points...)
		for _, point := range points {
			texts = append(texts, write.Line(point))
		}
	}
	for k, i := range order {
		switch {
		case k == 0:
		case k == len(order)-1:
			b.WriteString(last)
		default:
			b.WriteString(between)
		}
		b.WriteString(humans.OptionName(i))
		if i < len(texts) {
			fmt.Fprintf(&b, " (%s)", texts[i])
		}
	}
	return b.String()
}

// region writes a box.
func (n *narrator) region(r events.Region) string {
	if n.def == nil {
		return format.Compositions{}.Region(r)
	}
	return format.CompositionsOf(n.def).Region(r)
}

func modelInWords(model, expert string) string {
	switch {
	case model == events.ModelPreference:
		return "the model of what " + expert + " prefers"
	case expert != "":
		return "the belief of " + expert
	}
	return "the model of the " + model
}

// changeInWords writes a change of a definition: "budget.experiments: 25 → 40".
// What stands in a list is called by its name: "parameters.ec.max: 0.45 → 0.4".
func changeInWords(def *events.Definition, c events.Change) string {
	steps := strings.Split(strings.TrimPrefix(c.Path, "/"), "/")
	if len(steps) > 1 {
		if i, err := strconv.Atoi(steps[1]); err == nil {
			if name := nameInList(def, steps[0], i); name != "" {
				steps[1] = name
			}
		}
	}
	path := strings.Join(steps, ".")
	switch {
	case c.From == "":
		return fmt.Sprintf("%s: %s (new)", path, c.To)
	case c.To == "":
		return fmt.Sprintf("%s: %s (removed)", path, c.From)
	}
	return fmt.Sprintf("%s: %s → %s", path, c.From, c.To)
}

// nameInList returns the name of an element of one of a definition's lists, "" where
// it has none.
func nameInList(def *events.Definition, list string, i int) string {
	if def == nil || i < 0 {
		return ""
	}
	switch {
	case list == "parameters" && i < len(def.Parameters):
		return def.Parameters[i].Name
	case list == "constraints" && i < len(def.Constraints):
		return def.Constraints[i].Name
	case list == "excluded" && i < len(def.Excluded):
		return def.Excluded[i].Name
	case list == "experts" && i < len(def.Experts):
		return def.Experts[i].Name
	}
	return ""
}

func sqrt(x float64) float64 { return math.Sqrt(max(x, 0)) }

// noiseOf says which noise a fit reckoned with.
func noiseOf(def *events.Definition, f *events.ObjectiveFit) string {
	if def.Objective.Noise != nil {
		return format.Quantity(*def.Objective.Noise, def.Objective.Unit) + " (given)"
	}
	if f.Noise == 0 {
		return "as the instrument says"
	}
	return format.Quantity(sqrt(f.Noise)*f.Scale, def.Objective.Unit) + " (inferred)"
}

// toldBy says who gave an expert's answer, where somebody else did.
func toldBy(e events.Event, expert string) string {
	if name := events.ActorName(e.Actor); name != expert {
		return ", told by " + name
	}
	return ""
}
