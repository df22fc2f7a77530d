package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/exchange"
	"github.com/campaignd/campaignd/projections/campaign"
)

// excludeCommand is `campaignd exclude`.
//
// A composition and a region reach the engine as they are typed here; the
// twentieth around a composition is the engine's rule. They are read against
// the campaign's own parameters, within the request, since names and categories
// are known only there; that an experiment exists is looked at as well, so that
// a slip in a number is not recorded as a remark about nothing.
func (a *app) excludeCommand() *cobra.Command {
	var at, where, reason string
	cmd := &cobra.Command{
		Use:   "exclude [TARGET] EXPERIMENT | QUESTION | --at COMPOSITION | --where REGION",
		Short: "Exclude a region: nothing in it is suggested any more",
		Long: `Exclude a composition or a whole region: nothing in it is suggested any more, and
what had been requested there is called off, until ` + "`campaignd allow`" + ` takes the
exclusion back. What an instrument is already doing goes on.

An experiment, a question or --at stands for everything within a twentieth of
each parameter's range around that composition. --where is a region: every
parameter that it names lies in the interval, its ends included, or has the
category.

  lipf6=1.5..        1.5 and more
  lipf6=..0.4        up to 0.4
  lipf6=0.4..0.6     from 0.4 to 0.6
  solvent=PC         a category, or one value of a number`,
		Example: `  campaignd exclude --at lipf6=1.1,ec=0.4,dmc=1 --reason "it clouds"
  campaignd exclude --where lipf6=1.8..,ec=0.45..0.52 --reason "too thick to pump"
  campaignd exclude electrolyte.campaign e7 --reason "it crystallized overnight"`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at != "" && where != "" {
				return badInput("--at names a composition and --where a region: give one of the two")
			}
			// With --at or --where an experiment or question is only a
			// reference.
			id := ""
			if last := len(args) - 1; last >= 0 && isSubject(args[last]) {
				id, args = args[last], args[:last]
			}
			switch {
			case len(args) > 1:
				return badInput("%q is neither an experiment nor a question; usage: %s", args[1],
					cmd.UseLine())
			case id == "" && at == "" && where == "":
				return badInput("say what you exclude: an experiment, a question, --at or --where")
			}
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			return a.requestWith(cmd.Context(), t, func(state *campaign.State) (engine.Request, error) {
				def := state.Definition
				r := &engine.Exclude{About: id, Reason: reason}
				var err error
				if id != "" {
					if err := known(state, id); err != nil {
						return engine.Request{}, err
					}
				}
				if r.Point, err = parsePoint(def, "--at", at, true); err != nil {
					return engine.Request{}, err
				}
				r.Region, err = parseRegion(def, where)
				return engine.Request{Exclude: r}, err
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "a `composition`: lipf6=1.1,ec=0.4,dmc=1")
	cmd.Flags().StringVar(&where, "where", "", "a `region`: lipf6=1.8..,ec=0.45..0.52")
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is required")
	return cmd
}

// allowCommand is `campaignd allow`, the reverse of exclude. It takes the
// exclusion's own name (n1): regions can overlap. A reason is not required: what
// was kept away is only possible again.
func (a *app) allowCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "allow [TARGET] EXCLUSION",
		Short:   "Take an exclusion back",
		Long:    "Take an exclusion back: what it kept away may be suggested again. `campaignd status`\nlists the exclusions that hold.",
		Example: `  campaignd allow n1 --reason "a stronger pump came"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			allow := &engine.Allow{Exclusion: args[0], Reason: reason}
			return a.request(cmd.Context(), t, engine.Request{Allow: allow})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

// isSubject reports whether a text has the form of an experiment (e7) or of a
// question (q3). Whether there is such a one is not looked at: see [known].
func isSubject(text string) bool {
	return events.ExperimentNumber(text) > 0 || events.QuestionNumber(text) > 0
}

// parseRegion reads a region: "lipf6=1.8..,ec=0.45..0.52,solvent=PC". Intervals
// include their ends; a missing end is open. A single value of a number is the
// interval from it to it. An empty text gives nil. Which end is the lower one
// is not looked at here. Whether the region makes sense is the engine's to
// judge, as for a page and a program.
func parseRegion(def *definition.Campaign, text string) (map[string]definition.RegionSide, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	region := make(map[string]definition.RegionSide)
	for _, part := range assignments(text) {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || value == "" || value == ".." {
			return nil, badInput(
				"--where: %q is not NAME=INTERVAL or NAME=CATEGORY; write it as in lipf6=1.8..,ec=0.45..0.52",
				part,
			)
		}
		if _, twice := region[name]; twice {
			return nil, badInput("--where: %s is there twice", name)
		}
		lower, upper, interval := strings.Cut(value, "..")
		if !interval {
			upper = lower
		}
		var side definition.RegionSide
		for _, end := range []struct {
			text string
			to   **float64
		}{{lower, &side.Min}, {upper, &side.Max}} {
			if strings.TrimSpace(end.text) == "" {
				continue
			}
			v, err := exchange.Value(def, name, end.text)
			if err != nil {
				return nil, badInput("--where: %w", err)
			}
			x, number := v.Float()
			if !number {
				side.Is = v.Name()
				continue
			}
			*end.to = &x
		}
		region[name] = side
	}
	return region, nil
}
