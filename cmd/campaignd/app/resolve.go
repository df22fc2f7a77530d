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
	args: cobra.ArbitraryArgs,
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
			case from != "" && len(args) > 3:
				return badInput("with --from, one word is for all that the table leaves alone")
			case from == "" && len(args) < 2:
				return badInput("name the experiments and their fate, or --from TABLE.csv")
			case f.any() && len(args) > 3:
				return badInput("the values are of one experiment: give those of several in a table, --from TABLE.csv")
			}
			r.Anyway = f.anyway
			if from != "" {
				return resolveFrom(c, args, from, r)
			}
			t, args, err := c.targetAndArgs(args, len(args)/2*2)
			if err != nil {
				return err
			}
			if err := f.parse(&r.Value, &r.SD, &r.Quantities, &r.Further); err != nil {
				return err
			}
			if r.Missing, err = f.reasons(); err != nil {
				return err
			}
			rows, err := resolutionsOf(args, r)
			if err != nil {
				return err
			}
			return c.requestWith(c.ctx, t, func(s *campaign.State) (engine.Request, error) {
				for i, row := range rows {
					if err := knownSubject(s, row.Experiment); err != nil {
						return engine.Request{}, err
					}
					made, err := f.madeOf(s, row.Experiment)
					if err != nil {
						return engine.Request{}, err
					}
					rows[i].Actual = made
				}
				return engine.Request{Resolves: rows}, nil
			})
		}
	},
}

// resolutionsOf reads experiments, acts or batches, each with its fate. What else is said is said of all.
func resolutionsOf(args []string, r engine.Resolve) (rows []engine.Resolve, err error) {
	for named := range slices.Chunk(args, 2) {
		r.Experiment = named[0]
		if r.Resolution, err = resolutionOf(named[1]); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func resolutionOf(text string) (events.Resolution, error) {
	resolution := events.Resolution(text)
	if !slices.Contains(outcomes, resolution) && resolution != events.ResolvedDone {
		return "", badInput("%q is not a resolution: say measured, failed, infeasible or not-performed; of an act, done", text)
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
			if err := knownSubject(core.State(), rest.Experiment); err != nil {
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
