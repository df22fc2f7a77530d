package app

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/projections/campaign"
)

// resolveCommand is `campaignd resolve`: the fate of a command whose fate is unknown.
//
// A person reports to the log what a machine did (law 3): no default, and no guess, is offered. The
// composition that was made and the experiment's name are looked at only with the campaign at hand;
// the engine checks the rest.
var resolveCommand = command{
	name: "resolve",
	args: cobra.RangeArgs(0, 3),
	new: func(flags *pflag.FlagSet) runner {
		var f measuredFlags
		var r engine.Resolve
		var from string
		f.add(flags, "the measured `value`, in the objective's unit",
			", where it differs: `lipf6=1.08,ec=0.3`")
		flags.BoolVar(&r.Repeat, "repeat", false, "run the same composition again, as a new experiment")
		addVoided(flags, &r.Voided)
		flags.StringVar(&from, "from", "", "what became of each, from a CSV `file`, or - for standard input")
		flags.StringVar(&r.Reason, "reason", "", "how you know, for the record")
		return func(c *call, args []string) error {
			switch {
			case from != "" && f.any():
				return badInput("with --from, the table has the values: leave --value and the like out")
			case from == "" && len(args) < 2:
				return badInput("name the experiments and their fate, or --from TABLE.csv")
			}
			r.Anyway = f.anyway
			if from != "" {
				return resolveFrom(c, args, from, r)
			}
			t, args, err := c.targetAndArgs(args, 2)
			if err != nil {
				return err
			}
			r.Experiment = args[0]
			if r.Resolution, err = resolutionOf(args[1]); err != nil {
				return err
			}
			if err := f.parse(&r.Value, &r.SD, &r.Quantities, &r.Further); err != nil {
				return err
			}
			if r.Missing, err = f.reasons(); err != nil {
				return err
			}
			return c.requestWith(c.ctx, t, func(s *campaign.State) (engine.Request, error) {
				err := knownSubject(s, r.Experiment)
				if err == nil {
					r.Actual, err = f.madeOf(s, r.Experiment)
				}
				return engine.Request{Resolve: &r}, err
			})
		}
	},
}

func resolutionOf(text string) (events.Resolution, error) {
	resolution := events.Resolution(text)
	if !slices.Contains(outcomes, resolution) && resolution != events.ResolvedDone {
		return "", badInput("%q is not a resolution: say measured, failed, infeasible or not-performed", text)
	}
	return resolution, nil
}

// resolveFrom settles the fates in a table. args are those of the command: with a word for the
// experiments that the table leaves alone, or without.
//
// The table may be standard input: it is read once, also where the request has to be sent again.
func resolveFrom(c *call, args []string, path string, rest engine.Resolve) error {
	if len(args) >= 2 {
		named := args[len(args)-2:]
		resolution, err := resolutionOf(named[1])
		if err != nil {
			return err
		}
		rest.Experiment, rest.Resolution = named[0], resolution
		args = args[:len(args)-2]
	}
	t, err := c.optionalTarget(args)
	if err != nil {
		return err
	}
	actor, err := c.actor()
	if err != nil {
		return err
	}
	return c.record(c.ctx, t, func(s *session) (engine.Request, error) {
		core, err := s.core(c.ctx)
		if err != nil {
			return engine.Request{}, err
		}
		if rest.Experiment != "" {
			if err := known(core.State(), rest.Experiment); err != nil {
				return engine.Request{}, err
			}
		}
		name, in, err := c.openTable(path)
		if err != nil {
			return engine.Request{}, err
		}
		defer in.Close()
		table := exchange.Resolving{
			Core: core, Actor: actor, Rest: rest,
			Clause: c.clause,
		}
		rows, err := table.Read(name, in)
		return engine.Request{Resolves: rows}, err
	})
}
