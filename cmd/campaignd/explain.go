package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// explained is what `explain --json` prints.
type explained struct {
	Decision *events.DecisionMade `json:"decision"`
	Position events.Position      `json:"position"`
	Time     time.Time            `json:"time"`
	// Best is the best measured composition when it was made, with a plane only.
	Best *engine.Best `json:"best,omitempty"`
	// Trust is how it moved the expert's dual variable, if it did.
	Trust *events.TrustAdjusted `json:"trust,omitempty"`
	// Asked is the question it put, with the answer. Chose is the decision that
	// took up the answer, Review how that choice looked once it was measured
	// (Adachi et al. 2024, Eq. 101).
	Asked  *campaign.Question   `json:"asked,omitempty"`
	Chose  string               `json:"chose,omitempty"`
	Review *events.ChoiceReview `json:"review,omitempty"`
	// Answered is the question whose answer it took up, itself asked by a decision.
	Answered *campaign.Question `json:"answered,omitempty"`
	// Followed are the events about what it asked for, as CloudEvents.
	Followed []json.RawMessage `json:"followed"`

	def   *definition.Campaign // when it was made
	story []string             // Followed in words
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [TARGET] DECISION",
		Short: "Lay out everything that is recorded about a decision",
		Long: `Lay out everything that is recorded about a decision: the candidates it weighed,
with what the models said of them, the tests it made with their numbers, the rule
that settled it, the weight of the expert's belief, and what followed. Where an expert chose
between candidates: what each parameter does for either (Shapley values), the
plane of the two strongest parameters, the answer, and whether it was right.
Instead of a decision (d12) an experiment (e7) or a question (q3) can be named:
the decision behind it is explained.`,
		Example: `  campaignd explain d12
  campaignd explain electrolyte.campaign e7`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isTarget(args[0]) {
				return a.forgotDecision(cmd.Context(), args[0])
			}
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

// isTarget reports whether an argument names a campaign file or a store.
func isTarget(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil
}

// forgotDecision says which decisions there are, to somebody who named none.
func (a *app) forgotDecision(ctx context.Context, arg string) error {
	t, err := a.target(arg)
	if err != nil {
		return err
	}
	s, err := a.open(ctx, t, reading)
	if err != nil {
		return err
	}
	defer s.close()
	core, err := s.core(ctx)
	if err != nil {
		return err
	}
	switch n := core.State().Decisions; n {
	case 0:
		return fmt.Errorf("%w%s has no decision yet: there is nothing to explain", errNo, arg)
	case 1:
		return badInput("say which decision: campaignd explain %s d1 is the only one", shellArg(arg))
	default:
		return badInput("say which decision: campaignd explain %s d%d is the latest, and they go from d1 to d%d; an experiment (e7) or a question (q3) names the decision behind it",
			shellArg(arg), n, n)
	}
}

func (a *app) explain(ctx context.Context, s *session, id string) error {
	core, err := s.core(ctx)
	if err != nil {
		return err
	}
	if id, err = decisionBehind(core.State(), id); err != nil {
		return err
	}
	ex, err := gather(ctx, s, core.State(), id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(ex)
	}
	return a.printExplanation(ex)
}

// decisionBehind returns the decision that an identifier is about.
func decisionBehind(state *campaign.State, id string) (string, error) {
	if err := known(state, id); err != nil {
		return "", err
	}
	if x := state.Experiment(id); x != nil {
		if x.Decision == "" {
			why := map[events.Origin]string{
				events.OriginInitial: "it belongs to the initial design", events.OriginPerson: "a person chose it",
				events.OriginImport: "it was measured before the campaign",
			}[x.Origin]
			return "", fmt.Errorf("%wno decision is behind %s: %s", errNo, id, why)
		}
		return x.Decision, nil
	}
	if q := state.Question(id); q != nil {
		if q.Decision == "" {
			return "", fmt.Errorf("%wno decision is behind %s: it is an initial %s", errNo, id, formsInWords[q.Form].initial)
		}
		return q.Decision, nil
	}
	return id, nil
}

// gather reads what is recorded about a decision, and what followed from it.
func gather(ctx context.Context, s *session, state *campaign.State, id string) (*explained, error) {
	var ex explained
	about := make(map[string]bool) // experiments and questions that followed
	n := narrator{def: state.Definition}
	until := engine.NewCore(builtin.Registry()) // the campaign when the decision was made
	for e, err := range events.ReadCampaign(ctx, s.log, s.name, 0) {
		if err != nil {
			return nil, err
		}
		payload, err := events.Decode(e)
		if err != nil {
			return nil, err
		}
		d, decides := payload.(*events.DecisionMade)
		if decides && d.Decision == id {
			ex.Decision, ex.Position, ex.Time, ex.def = d, e.Position, e.Time, n.def
			continue
		}
		if ex.Decision == nil {
			if err := until.Apply(e); err != nil {
				return nil, err
			}
		}
		line, _ := n.one(e, payload)
		follows := false
		switch p := payload.(type) {
		case *events.TrustAdjusted:
			if follows = p.Decision == id; follows {
				ex.Trust = p
			}
		case *events.DecisionMade:
			follows = ex.follow(p, state)
			if p.Decision == ex.Chose {
				about[ex.Chose] = true
			}
		case *events.ExperimentRequested:
			if follows = p.Decision == id || ex.Chose != "" && p.Decision == ex.Chose; follows {
				about[p.Experiment] = true
			}
		case *events.QuestionAsked:
			if follows = p.Decision == id; follows {
				about[p.Question] = true
			}
		case *events.CampaignCompleted:
			follows = ex.Decision != nil && ex.Decision.Action == events.ActionStop && e.Position <= ex.Position+2
		case *events.RegionExcluded:
			follows = about[p.About]
		default:
			follows = about[payload.Subject()] || payload.Subject() == id
		}
		if !follows {
			continue
		}
		text, err := events.MarshalCloudEvent(e)
		if err != nil {
			return nil, err
		}
		ex.Followed = append(ex.Followed, text)
		ex.story = append(ex.story, fmt.Sprintf("%s  %s", e.Time.Local().Format(time.TimeOnly), line))
	}
	for i := range state.Questions {
		if q := &state.Questions[i]; q.Decision == id {
			ex.Asked = q
		}
	}
	if took := tookUp(until.State(), ex.Decision); took != nil {
		ex.Answered = state.Question(took.ID)
	}
	if at := ex.Decision.Attributions; at != nil && at.Plane != nil {
		summary, err := until.Summarize()
		if err != nil {
			return nil, err
		}
		ex.Best = summary.Best
	}
	return &ex, nil
}

// follow takes note of a later decision that took up the answer, or that looked
// back at it.
func (ex *explained) follow(d *events.DecisionMade, state *campaign.State) bool {
	if ex.Decision == nil || ex.Decision.Form != events.FormComparison && ex.Decision.Form != events.FormPinpoint {
		return false
	}
	if r := d.Review; r != nil && ex.Review == nil {
		if q := state.Question(r.Question); q != nil && q.Decision == ex.Decision.Decision {
			ex.Review = r
		}
	}
	if ex.Chose == "" && d.Action == events.ActionRun && d.At > ex.Decision.At {
		ex.Chose = d.Decision
		return true
	}
	return false
}

// tookUp returns the question whose answer a decision took up: the last one that
// a decision asked, where the decision says that it was answered.
func tookUp(before *campaign.State, d *events.DecisionMade) *campaign.Question {
	switch d.Rule {
	case policies.RuleChosen, policies.RulePinpointed, policies.RuleAccepted, policies.RuleNoAnswer:
	default:
		return nil
	}
	for i := len(before.Questions) - 1; i >= 0; i-- {
		if q := &before.Questions[i]; q.Decision != "" {
			return q
		}
	}
	return nil
}

func (a *app) printExplanation(ex *explained) error {
	d, def := ex.Decision, ex.def
	a.printf("Decision %s: %s\n", d.Decision, actionInWords(d))
	a.printf("%s\n\n", d.Reason)

	row := func(what, format string, args ...any) { a.printf("  %-10s %s\n", what, fmt.Sprintf(format, args...)) }
	row("made", "%s, at position %d, from the campaign's events 1 to %d", ex.Time.Local().Format(time.DateTime), ex.Position, d.At)
	if d.Policy.Duel != "" {
		row("policy", "duel %s, version %d", d.Policy.Duel, d.Policy.Version)
	} else {
		row("policy", "next %s, trust %s, handover %s, version %d", d.Policy.Next, d.Policy.Trust, d.Policy.Handover, d.Policy.Version)
	}
	row("rule", "%s", d.Rule)
	row("seed", "%d", d.Seed)
	row("build", "%s", build{d.Build})
	if d.Lambda != nil {
		row("weight λ", "%s", weightInWords(*d.Lambda, ex.Trust))
	}
	if q := ex.Answered; q != nil {
		row("answer", "%s; what was weighed then: campaignd explain %s", answerInWords(def, q), q.Decision)
	}
	if len(d.Candidates) > 0 {
		a.printf("\nCandidates\n")
		if err := a.printCandidates(ex); err != nil {
			return err
		}
	}
	a.printAttributions(ex)
	if len(d.Tests) > 0 {
		a.printf("\nTests\n")
		w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		for _, test := range d.Tests {
			verdict := "holds"
			if !test.Holds {
				verdict = "does not hold"
			}
			tabulate(w, "  %s\t%s %s %s\t%s\n", test.Name, format.Short(test.Left), test.Relation, format.Short(test.Right), verdict)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	a.printModels(def, d)
	if r := d.Review; r != nil {
		a.printf("\nLooking back\n  %s\n", reviewInWords(r))
	}
	a.printf("\nWhat followed\n")
	if len(ex.story) == 0 {
		a.printf("  nothing yet\n")
	}
	for _, line := range ex.story {
		a.printf("  %s\n", line)
	}
	if r := ex.Review; r != nil {
		a.printf("  %s\n", reviewInWords(r))
	}
	return nil
}

// printModels writes the fits that a decision used.
func (a *app) printModels(def *definition.Campaign, d *events.DecisionMade) {
	row := func(what, format string, args ...any) { a.printf("  %-10s %s\n", what, fmt.Sprintf(format, args...)) }
	if d.Objective != nil || d.Belief != nil || d.Preference != nil {
		a.printf("\nModels\n")
	}
	if f := d.Objective; f != nil {
		row("objective", "%s kernel on %s, log posterior %s", f.Kernel, format.Count(f.Observations, "measurement"), format.Short(f.LogPosterior))
		row("", "lengthscales %s (in the unit cube), prior sd %s, noise sd %s", format.Numbers(f.Lengthscales), format.Quantity(sqrt(f.OutputScale)*f.Scale, def.Objective.Unit), noiseOf(def, f))
	}
	if f := d.Belief; f != nil {
		noun := "label"
		if b := belief.SettingsOf(def.Policy.Trust); b != nil && b.Feedback != belief.FeedbackLabel {
			noun = "pair" // of compositions, one held better than the other
		}
		row("belief", "%s, norm bound %s, log likelihood %s, confidence %s", format.Count(f.Labels, noun), format.Short(f.NormBound), format.Short(f.LogLikelihood), format.Short(f.Confidence))
	}
	if f := d.Preference; f != nil {
		row("preference", "%s model, %s kernel on %s, log evidence %s", f.Form, f.Kernel, format.Count(f.Comparisons, "comparison"), format.Short(f.LogEvidence))
		row("", "lengthscales %s (in the unit cube), output scale %s", format.Numbers(f.Lengthscales), format.Short(f.OutputScale))
	}
}

// actionInWords says what a decision decided.
func actionInWords(d *events.DecisionMade) string {
	switch d.Action {
	case events.ActionRun:
		return fmt.Sprintf("run an experiment at the %s candidate", d.Chosen)
	case events.ActionAsk:
		return formsInWords[d.Form].decided(d)
	case events.ActionStop:
		return "complete the campaign"
	}
	return string(d.Action)
}

// answerInWords says what an expert answered: "ada prefers B (…) to A (…) in q7".
func answerInWords(def *definition.Campaign, q *campaign.Question) string {
	if q.Status != campaign.Answered {
		return fmt.Sprintf("%s to %s was %s", q.ID, q.Expert, q.Status)
	}
	n := narrator{def: def}
	return q.Expert + " " + formsInWords[q.Form].does(&n, q.ID, q.Points(), q.Answer)
}

func reviewInWords(r *events.ChoiceReview) string {
	return fmt.Sprintf("%s's choice in %s was right with probability %.2f, now that %s is measured", r.Expert, r.Question, r.Probability, r.Experiment)
}

// weightInWords says the weight of a belief after a decision, and how it moved.
func weightInWords(lambda float64, t *events.TrustAdjusted) string {
	if t == nil {
		return format.Short(lambda) + " of the expert's belief"
	}
	return fmt.Sprintf("%s of %s's belief after it (%s before; the lower belief bound was %s)", format.Short(lambda), t.Expert, format.Short(t.From), format.Short(t.Violation))
}

// letters maps candidates to the letters under which an expert saw them: nil
// where none was asked to compare them.
func letters(ex *explained) map[string]string {
	if ex.Asked == nil {
		return nil
	}
	names := make(map[string]string, len(ex.Asked.Options))
	for i, o := range ex.Asked.Options {
		names[o.Candidate] = humans.OptionName(i)
	}
	return names
}

// printCandidates writes the candidates side by side, the chosen one marked.
func (a *app) printCandidates(ex *explained) error {
	def, d, letter := ex.def, ex.Decision, letters(ex)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(what string, value func(events.Candidate) string) {
		any, cells := false, make([]string, len(d.Candidates))
		for i, c := range d.Candidates {
			cells[i] = value(c)
			any = any || cells[i] != ""
		}
		if any {
			for i := range cells {
				cells[i] = plaintext.Line(cells[i])
			}
			fmt.Fprintf(w, "  %s\t%s\n", plaintext.Line(what), strings.Join(cells, "\t"))
		}
	}
	line("", func(c events.Candidate) string {
		name := strings.TrimSpace(letter[c.Name] + " " + c.Name)
		if c.Name == d.Chosen || ex.Asked != nil && ex.Asked.Winner() != nil && ex.Asked.Winner().Candidate == c.Name {
			name += " *"
		}
		return name
	})
	points := make([]definition.Point, len(d.Candidates))
	for i, c := range d.Candidates {
		points[i] = c.Parameters
	}
	write := format.CompositionsOf(def).Apart(points...)
	for i, par := range def.Parameters {
		line(format.Heading(par.Name, par.Unit), func(c events.Candidate) string {
			text, _ := write.Value(i, c.Parameters)
			return text
		})
	}
	unit := def.Objective.Unit
	line(format.Heading("predicted "+def.Objective.Name, unit), func(c events.Candidate) string {
		if c.Prediction == nil {
			return ""
		}
		return fmt.Sprintf("%s ± %s", format.Short(c.Prediction.Mean), format.Short(c.Prediction.SD))
	})
	optional := func(x *float64) string {
		if x == nil {
			return ""
		}
		return format.Short(*x)
	}
	line(format.Heading("optimistic bound", unit), func(c events.Candidate) string { return optional(c.Optimistic) })
	line(format.Heading("pessimistic bound", unit), func(c events.Candidate) string { return optional(c.Pessimistic) })
	line("acquisition (smaller is better)", func(c events.Candidate) string { return optional(c.Acquisition) })
	line("belief: rejection score (logits)", func(c events.Candidate) string {
		if c.Belief == nil {
			return ""
		}
		return fmt.Sprintf("%s … %s", format.Short(c.Belief.Lower), format.Short(c.Belief.Upper))
	})
	line(scoreInWords(d), func(c events.Candidate) string {
		if c.Score == nil {
			return ""
		}
		return fmt.Sprintf("%s ± %s", format.Short(c.Score.Mean), format.Short(c.Score.SD))
	})
	if err := w.Flush(); err != nil {
		return err
	}
	if ex.Asked != nil && ex.Asked.Winner() != nil {
		a.printf("  * %s\n", answerInWords(def, ex.Asked))
	}
	return nil
}

// scoreInWords says what the score of a candidate is.
func scoreInWords(d *events.DecisionMade) string {
	if d.Preference != nil && d.Preference.Form == events.PreferenceChoice {
		return "chance to be preferred to a random one"
	}
	return "utility (differences count, not its level)"
}
