package app

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/equip"
	"github.com/campaignd/campaignd/internal/view"
)

// suggested is what `suggest --json` prints.
type suggested struct {
	*view.Suggestion
	Store string `json:"store"`
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
	if t.remote {
		return a.suggestRemote(ctx, t)
	}
	s, err := a.openOrDefine(ctx, t, nil)
	if err != nil {
		return err
	}
	defer s.close()
	if s.owner != nil {
		return badStore("the campaign is being run by process %d, whose instrument performs the experiments;"+
			" end that run (Ctrl-C) to run them by hand", s.owner.Status().PID)
	}
	core, err := s.core(ctx)
	if err != nil {
		return err
	}
	reviewers, err := a.openSimulated(ctx, *core.State().Definition, t)
	if err != nil {
		return err
	}
	runner := &engine.Runner{
		Registry: a.registry,
		Log:      s.own, Campaign: s.name,
		Reviewers: reviewers,
		Build:     thisBuild().Build,
	}
	suggestion, err := runner.Suggest(ctx)
	if err != nil {
		return err
	}
	core = runner.Core()
	answer, err := view.Suggest(ctx, core, s.log, suggestion)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(suggested{answer, t.store})
	case suggestion.Ended:
		return a.summarize(ctx, core, t, "", nil)
	}
	return answer.Write(a.stdout, a.showing(t))
}

// showing is how a suggestion is written about a target.
func (a *app) showing(t target) view.Showing {
	return view.Showing{
		Question: terminal.Show,
		Clause:   a.about.clause,
		How:      commandsOn(t),
		Now:      time.Now(),
	}
}

// openSimulated returns the simulated experts of a definition.
func (a *app) openSimulated(
	ctx context.Context,
	def definition.Campaign,
	t target,
) (map[string]humans.Reviewer, error) {
	only := def
	only.Experts = nil
	for _, e := range def.Experts {
		if !e.Person {
			only.Experts = append(only.Experts, e)
		}
	}
	return equip.OpenReviewers(ctx, a.registry, only, t.base, nil)
}

// rehearse returns the campaign of a file that has no store yet, in memory.
func (a *app) rehearse(ctx context.Context, def definition.Campaign) (*engine.Core, error) {
	log := memlog.New()
	defer log.Close()
	defined := events.CampaignDefined{Definition: def}
	if err := engine.Define(ctx, log, defined, "person:"+a.as, time.Now(), ""); err != nil {
		return nil, err
	}
	return engine.Load(ctx, a.registry, log, def.Name)
}
