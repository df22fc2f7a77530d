package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// suggested is what `suggest --json` prints.
type suggested struct {
	Campaign string `json:"campaign"`
	// Experiment is the one to run next, null where there is none.
	Experiment *suggestedExperiment `json:"experiment"`
	// Further are the others that may be run at the same time, where the campaign
	// allows several under way.
	Further []suggestedExperiment `json:"further"`
	// Questions are open to people.
	Questions []campaign.Question `json:"questions"`
	// WaitingFor says why there is no experiment.
	WaitingFor string `json:"waiting_for,omitempty"`
	// Stopped says why the campaign ended; empty while it has not.
	Stopped string `json:"stopped"`
	Store   string `json:"store"`
}

type suggestedExperiment struct {
	ID         string             `json:"id"`
	Parameters events.Point       `json:"parameters"`
	Replicate  int                `json:"replicate"`
	Decision   string             `json:"decision,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	Prediction *events.Prediction `json:"prediction,omitempty"`
}

func (a *app) suggestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "suggest [FILE | STORE]",
		Short: "Say which experiment to run next, for people who run it themselves",
		Long: `Say which experiment to run next, for people whose own hands or script run it.
The store is made at first use. Run the experiment and tell the result with
` + "`campaignd tell`" + `; until then the same experiment is suggested. Nothing is handed to
an instrument. Questions to people wait until they are answered (campaignd tell),
unless the file sets answer_within.`,
		Example: `  campaignd suggest electrolyte.yaml
  campaignd tell electrolyte.campaign e1 12.3
  campaignd suggest --json | jq .experiment.parameters`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			return a.suggest(cmd.Context(), t)
		},
	}
}

func (a *app) suggest(ctx context.Context, t target) error {
	s, err := a.openOrDefine(ctx, t, nil)
	if err != nil {
		return err
	}
	defer s.close()
	if s.owner != nil {
		return badStore("the campaign is being run by process %d, whose instrument performs the experiments; end that run (Ctrl-C) to run them by hand", s.owner.Status().PID)
	}
	core, err := s.core(ctx)
	if err != nil {
		return err
	}
	reviewers, err := openSimulated(*core.State().Definition, t)
	if err != nil {
		return err
	}
	runner := &engine.Runner{Log: s.own, Campaign: s.name, Reviewers: reviewers, Build: thisBuild().Build}
	suggestion, err := runner.Suggest(ctx)
	if err != nil {
		return err
	}
	core = runner.Core()
	summary, err := core.Summarize()
	if err != nil {
		return err
	}
	answer := suggested{Campaign: s.name, Questions: suggestion.Questions, WaitingFor: suggestion.WaitingFor, Stopped: summary.Stopped, Store: t.store}
	if answer.Questions == nil {
		answer.Questions = []campaign.Question{}
	}
	answer.Further = []suggestedExperiment{}
	for _, x := range suggestion.Experiments {
		suggested := suggestedExperiment{ID: x.ID, Parameters: x.Parameters, Replicate: x.Replicate, Decision: x.Decision}
		if decision, err := findDecision(ctx, s, x.Decision); err != nil {
			return err
		} else if decision != nil {
			suggested.Reason = decision.Reason
			for _, c := range decision.Candidates {
				if c.Name == decision.Chosen {
					suggested.Prediction = c.Prediction
				}
			}
		}
		if answer.Experiment == nil {
			answer.Experiment = &suggested
		} else {
			answer.Further = append(answer.Further, suggested)
		}
	}
	if a.json {
		return a.printJSON(answer)
	}
	if suggestion.Ended {
		return a.summarize(core, t, "", nil)
	}
	a.printSuggestion(core.State().Definition, answer, t)
	return nil
}

// openSimulated returns the simulated experts of a definition.
func openSimulated(def events.Definition, t target) (map[string]humans.Reviewer, error) {
	only := def
	only.Experts = nil
	for _, e := range def.Experts {
		if e.Simulated != nil {
			only.Experts = append(only.Experts, e)
		}
	}
	return openReviewers(only, outside{base: t.base})
}

// findDecision returns a decision by its identifier, nil for an empty one.
func findDecision(ctx context.Context, s *session, id string) (*events.DecisionMade, error) {
	if id == "" {
		return nil, nil
	}
	for e, err := range events.ReadCampaign(ctx, s.log, s.name, 0) {
		if err != nil {
			return nil, err
		}
		if e.Kind != events.KindDecisionMade {
			continue
		}
		payload, err := events.Decode(e)
		if err != nil {
			return nil, err
		}
		if d := payload.(*events.DecisionMade); d.Decision == id {
			return d, nil
		}
	}
	return nil, nil
}

func (a *app) printSuggestion(def *events.Definition, s suggested, t target) {
	name := shellArg(t.store)
	for _, q := range s.Questions {
		title, body := shown(def, &q)
		a.printf("%s  %s\n", q.ID, title)
		for _, line := range body {
			a.printf("  %s\n", line)
		}
		a.printf("Answer%s: %s\n\n", expires(q.Expires), tellAnswer(def, &q, t))
	}
	x := s.Experiment
	if x == nil {
		a.printf("No experiment to suggest: waiting for %s.\n", s.WaitingFor)
		return
	}
	for i, x := range append([]suggestedExperiment{*x}, s.Further...) {
		measure := "Measure"
		if i > 0 {
			a.printf("\n")
			measure = "At the same time, measure"
		}
		a.printf("%s %s as %s:\n", measure, def.Objective.Name, x.ID)
		a.printParameters(def, x.Parameters)
		if x.Prediction != nil {
			a.printf("  predicted %s ± %s\n", format.Quantity(x.Prediction.Mean, x.Prediction.Unit), format.Short(x.Prediction.SD))
		}
		if x.Replicate > 1 {
			a.printf("  replicate %d of this composition\n", x.Replicate)
		}
		if x.Reason != "" {
			a.printf("  %s\n", x.Reason)
		}
	}
	if len(s.Further) > 0 {
		a.printf("\nThen tell each, in any order: campaignd tell %s EXPERIMENT VALUE\n", name)
		return
	}
	a.printf("\nThen tell: campaignd tell %s %s VALUE\n", name, x.ID)
}

func (a *app) printParameters(def *events.Definition, p events.Point) {
	width := 0
	for _, par := range def.Parameters {
		width = max(width, len(par.Name))
	}
	write := format.CompositionsToMake(def)
	for i, par := range def.Parameters {
		if value, ok := write.Value(i, p); ok {
			a.printf("  %-*s  %s\n", width, par.Name, format.WithUnit(value, par.Unit))
		}
	}
}

// shellArg quotes a path for a shell where it needs it.
func shellArg(path string) string {
	if strings.ContainsAny(path, " \t'\"\\$&;()<>|*?`!") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// rehearse returns the campaign of a file that has no store yet, in memory.
func rehearse(ctx context.Context, a *app, t target, def events.Definition) (*engine.Core, error) {
	log := memlog.New()
	defer log.Close()
	if err := engine.Define(ctx, log, events.CampaignDefined{Definition: def}, "person:"+a.as, time.Now(), ""); err != nil {
		return nil, err
	}
	return engine.Load(ctx, log, def.Name)
}
