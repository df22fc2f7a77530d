package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
)

// explained is what `explain --json` prints.
type explained struct {
	Decision *events.DecisionMade `json:"decision"`
	Position events.Position      `json:"position"`
	Time     time.Time            `json:"time"`
	// Trust is how it moved the expert's dual variable, if it did.
	Trust *events.TrustAdjusted `json:"trust,omitempty"`
	// Followed are the events about what it asked for, as CloudEvents.
	Followed []json.RawMessage `json:"followed"`
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [TARGET] DECISION",
		Short: "Lay out everything that is recorded about a decision",
		Long: `Lay out everything that is recorded about a decision: the candidates it weighed,
with what the models said of them, the tests it made with their numbers, the rule
that settled it, the trust in the expert, and what followed. Instead of a
decision (d12) an experiment (e7) or a question (q3) can be named: the decision
behind it is explained.`,
		Example: `  campaignd explain d12
  campaignd explain electrolyte.campaign e7`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			s, err := a.open(cmd.Context(), t, reading)
			if err != nil {
				return err
			}
			defer s.close()
			return a.explain(cmd.Context(), s, args[0])
		},
	}
}

func (a *app) explain(ctx context.Context, s *session, id string) error {
	core, err := s.core(ctx)
	if err != nil {
		return err
	}
	state := core.State()
	if err := known(state, id); err != nil {
		return err
	}
	if x := state.Experiment(id); x != nil {
		if x.Decision == "" {
			return fmt.Errorf("%wno decision is behind %s: its origin is %q", errNo, id, x.Origin)
		}
		id = x.Decision
	} else if q := state.Question(id); q != nil {
		if q.Decision == "" {
			return fmt.Errorf("%wno decision is behind %s: it is an initial label", errNo, id)
		}
		id = q.Decision
	}

	var ex explained
	about := make(map[string]bool) // experiments and questions that followed
	n := narrator{def: state.Definition}
	var story []string
	var lastDefinition *events.Definition
	for e, err := range events.ReadCampaign(ctx, s.log, s.name, 0) {
		if err != nil {
			return err
		}
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		if d, ok := payload.(*events.DecisionMade); ok && d.Decision == id {
			ex.Decision, ex.Position, ex.Time = d, e.Position, e.Time
			lastDefinition = n.def
			continue
		}
		line, _ := n.one(e, payload)
		follows := false
		switch p := payload.(type) {
		case *events.TrustAdjusted:
			if follows = p.Decision == id; follows {
				ex.Trust = p
			}
		case *events.ExperimentRequested:
			if follows = p.Decision == id; follows {
				about[p.Experiment] = true
			}
		case *events.LabelRequested:
			if follows = p.Decision == id; follows {
				about[p.Question] = true
			}
		case *events.CampaignCompleted:
			follows = ex.Decision != nil && ex.Decision.Action == events.ActionStop && e.Position <= ex.Position+2
		default:
			var named struct{ Experiment, Question, About string }
			follows = json.Unmarshal(e.Data, &named) == nil && (about[named.Experiment] || about[named.Question] || about[named.About] || named.About == id)
		}
		if follows {
			text, err := events.MarshalCloudEvent(e)
			if err != nil {
				return err
			}
			ex.Followed = append(ex.Followed, text)
			story = append(story, fmt.Sprintf("%s  %s", e.Time.Local().Format(time.TimeOnly), line))
		}
	}
	if a.json {
		return a.printJSON(ex)
	}
	return a.printExplanation(lastDefinition, ex, story)
}

func (a *app) printExplanation(def *events.Definition, ex explained, story []string) error {
	d := ex.Decision
	a.printf("Decision %s: %s\n", d.Decision, actionInWords(d))
	a.printf("%s\n\n", d.Reason)

	row := func(what, format string, args ...any) { a.printf("  %-10s %s\n", what, fmt.Sprintf(format, args...)) }
	row("made", "%s, at position %d, from the campaign's events 1 to %d", ex.Time.Local().Format(time.DateTime), ex.Position, d.At)
	row("policy", "next %s, trust %s, handover %s, version %d", d.Policy.Next, d.Policy.Trust, d.Policy.Handover, d.Policy.Version)
	row("rule", "%s", d.Rule)
	row("seed", "%d", d.Seed)
	row("build", "%s", build{d.Build})
	if d.Lambda != nil {
		row("trust", "λ %s%s", short(*d.Lambda), trustMove(ex.Trust))
	}
	if len(d.Candidates) > 0 {
		a.printf("\nCandidates\n")
		if err := a.printCandidates(def, d); err != nil {
			return err
		}
	}
	if len(d.Tests) > 0 {
		a.printf("\nTests\n")
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, test := range d.Tests {
			verdict := "holds"
			if !test.Holds {
				verdict = "does not hold"
			}
			fmt.Fprintf(w, "  %s\t%s %s %s\t%s\n", test.Name, short(test.Left), test.Relation, short(test.Right), verdict)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if d.Objective != nil || d.Belief != nil {
		a.printf("\nModels\n")
	}
	if f := d.Objective; f != nil {
		row("objective", "%s kernel on %s, log posterior %s", f.Kernel, plural(f.Observations, "measurement"), short(f.LogPosterior))
		row("", "lengthscales %s (in the unit cube), prior sd %s, noise sd %s", numbers(f.Lengthscales), quantity(sqrt(f.OutputScale)*f.Scale, def.Objective.Unit), noiseOf(def, f))
	}
	if f := d.Belief; f != nil {
		row("belief", "%s, norm bound %s, log likelihood %s, confidence %s", plural(f.Labels, "label"), short(f.NormBound), short(f.LogLikelihood), short(f.Confidence))
	}
	a.printf("\nWhat followed\n")
	if len(story) == 0 {
		a.printf("  nothing yet\n")
	}
	for _, line := range story {
		a.printf("  %s\n", line)
	}
	return nil
}

// actionInWords says what a decision decided.
func actionInWords(d *events.DecisionMade) string {
	switch d.Action {
	case events.ActionRun:
		return fmt.Sprintf("run an experiment at the %s candidate", d.Chosen)
	case events.ActionAsk:
		return fmt.Sprintf("ask %s about the %s candidate", d.Expert, d.Chosen)
	case events.ActionWait:
		return "wait"
	case events.ActionStop:
		return "complete the campaign"
	}
	return d.Action
}

func trustMove(t *events.TrustAdjusted) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf(" in %s after it (%s before; the lower belief bound was %s)", t.Expert, short(t.From), short(t.Violation))
}

// printCandidates writes the candidates side by side, the chosen one marked.
func (a *app) printCandidates(def *events.Definition, d *events.DecisionMade) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(what string, value func(events.Candidate) string) {
		any, cells := false, make([]string, len(d.Candidates))
		for i, c := range d.Candidates {
			cells[i] = value(c)
			any = any || cells[i] != ""
		}
		if any {
			fmt.Fprintf(w, "  %s\t%s\n", what, strings.Join(cells, "\t"))
		}
	}
	line("", func(c events.Candidate) string {
		if c.Name == d.Chosen {
			return c.Name + " *"
		}
		return c.Name
	})
	for _, par := range def.Parameters {
		line(strings.TrimSpace(par.Name+" "+bracket(par.Unit)), func(c events.Candidate) string {
			if v, ok := c.Parameters[par.Name]; ok {
				return parameterValue(def, par, v)
			}
			return ""
		})
	}
	unit := bracket(def.Objective.Unit)
	line("predicted "+def.Objective.Name+" "+unit, func(c events.Candidate) string {
		if c.Prediction == nil {
			return ""
		}
		return fmt.Sprintf("%s ± %s", short(c.Prediction.Mean), short(c.Prediction.SD))
	})
	optional := func(x *float64) string {
		if x == nil {
			return ""
		}
		return short(*x)
	}
	line("optimistic bound "+unit, func(c events.Candidate) string { return optional(c.Optimistic) })
	line("pessimistic bound "+unit, func(c events.Candidate) string { return optional(c.Pessimistic) })
	line("acquisition (smaller is better)", func(c events.Candidate) string { return optional(c.Acquisition) })
	line("belief: rejection score (logits)", func(c events.Candidate) string {
		if c.Belief == nil {
			return ""
		}
		return fmt.Sprintf("%s … %s", short(c.Belief.Lower), short(c.Belief.Upper))
	})
	return w.Flush()
}

func bracket(unit string) string {
	if unit == "" {
		return ""
	}
	return "[" + unit + "]"
}
