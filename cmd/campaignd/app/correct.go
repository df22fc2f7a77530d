package app

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// correction holds the flags of correct, as they were typed. The flags are pointers, since Cobra
// fills them in after the command is made.
type correction struct {
	measuredFlags
	exclude, include bool
	leaveOut         []string
	reason           string
	// said holds for each outcome whether its flag was given.
	said map[events.Resolution]*bool
}

// correctCommand is `campaignd correct`.
//
// For an experiment it goes on to correct, for a question to answer. The flags of both are one set,
// and otherFlag refuses those of the other.
var correctCommand = command{
	name: "correct",
	args: cobra.MinimumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		f := correction{said: make(map[events.Resolution]*bool)}
		f.add(flags, "it was measured, and this is the right `value`, in the objective's unit",
			": `lipf6=1.08,ec=0.3`; the others stay")
		for outcome, help := range map[events.Resolution]string{
			events.ResolvedMeasured:     "it was measured after all, with the result that was taken back",
			events.ResolvedFailed:       "it gave no result; values that it gave before failing go with --quantity",
			events.ResolvedInfeasible:   "it showed that the composition cannot be made or measured",
			events.ResolvedNotPerformed: "it did not take place; its budget is free again",
		} {
			f.said[outcome] = flags.Bool(string(outcome), false, help)
		}
		flags.BoolVar(&f.exclude, "exclude", false, "leave the measurement, or the failure, out of the models")
		flags.StringArrayVar(&f.leaveOut, "leave-out", nil,
			"a declared `QUANTITY` whose value is left out of the models, where the others count; may be given several times")
		flags.BoolVar(&f.include, "include", false, "take in again what was excluded")
		flags.StringVar(&f.reason, "reason", "", "why; it is required")
		return func(c *call, args []string) error {
			if n := subject(args); n >= 0 && strings.HasPrefix(args[n], "q") {
				if other := otherFlag(c.cmd, "reason"); other != "" {
					return badInput("%s is a question: say what its answer is now; --%s is about an experiment",
						args[n], other)
				}
				return c.answer(args, n, f.reason)
			}
			if len(args) > 2 {
				return badInput("correct takes an experiment, or a question and its answer; usage: %s", c.cmd.UseLine())
			}
			t, args, err := c.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			r, err := f.read(args[0])
			if err != nil {
				return err
			}
			// What depends on the campaign is worked out from how it stands when the
			// request is made.
			return c.requestWith(c.ctx, t, func(s *campaign.State) (engine.Request, error) {
				return engine.Request{Correct: r}, f.place(s, r)
			})
		}
	},
}

// otherFlag returns the name of a flag that is given and is not the one that may be given; empty
// without one. A command that takes two kinds of subjects refuses the flags of the other kind with
// it: a flag that is ignored would look as if it had been heeded.
func otherFlag(cmd *cobra.Command, may string) string {
	other := ""
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != may {
			other = f.Name
		}
	})
	return other
}

// read reads the part of the request that does not depend on the campaign, so
// that a slip is found before a store is opened.
func (f correction) read(id string) (*engine.Correct, error) {
	if f.missing != nil {
		return nil, badInput("--missing: a value that is wrong is left out with --leave-out")
	}
	if f.exclude && (f.include || f.value != "" || f.quantities != nil) {
		return nil, badInput("--exclude takes the measurement out: it goes with neither --include nor a value")
	}
	c := &engine.Correct{Experiment: id, Reason: f.reason, LeaveOut: f.leaveOut, Anyway: f.anyway}
	if err := f.parse(&c.Value, &c.SD, &c.Quantities, &c.Further); err != nil {
		return nil, err
	}
	for _, outcome := range outcomes {
		if !*f.said[outcome] {
			continue
		}
		if c.Outcome != "" {
			return nil, badInput("--%s and --%s: an experiment ends in one way", c.Outcome, outcome)
		}
		c.Outcome = outcome
	}
	valued := c.Value != nil || c.Quantities != nil && c.Outcome != events.ResolvedFailed
	if valued && c.Outcome != "" && c.Outcome != events.ResolvedMeasured {
		return nil, badInput("an experiment that was %s has no value: give one of the two",
			view.Outcome(c.Outcome))
	}
	return c, nil
}

// place completes a correction from the campaign: unnamed values stay as they are. The request says
// in full what holds from now on, so the log does not need to be read together with the flags that
// were left out.
func (f correction) place(state *campaign.State, c *engine.Correct) error {
	if err := known(state, c.Experiment); err != nil {
		return err
	}
	x := state.Experiment(c.Experiment)
	// Several experiments: the engine says which corrections can be made of many at once.
	if x == nil && strings.HasPrefix(c.Experiment, "e") {
		if f.actual != "" {
			return badInput("--actual is of one experiment")
		}
		c.Exclude = f.exclude
		return nil
	}
	if x == nil {
		return badInput("%s is a decision: decisions are not corrected; correct what it was made from", c.Experiment)
	}
	// The composition that counts so far: of the measurement, of one that was taken back, or the
	// requested one.
	stands := x.Parameters
	switch {
	case x.Measurement != nil:
		stands = x.Measurement.Actual
	case x.Retracted != nil:
		stands = x.Retracted.Actual
	}
	var err error
	if c.Actual, err = f.made(state.Definition, stands); err != nil {
		return err
	}
	// What was left out of the models stays so, unless the correction is about
	// the outcome.
	stay := x.Excluded && !f.include && c.Value == nil && c.Quantities == nil && c.Outcome == ""
	c.Exclude = f.exclude || stay
	return nil
}
