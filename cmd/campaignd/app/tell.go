package app

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// reportedResult holds the flags of tell about a result, as they were typed. Their meaning depends
// on the campaign, which is not open yet when the flags are read.
type reportedResult struct {
	measuredFlags
	unit, parameters, values string
	// failed, cannot and again say why the value is missing. At most one is given.
	failed, cannot, again string
	// later says that the experiment has ended, and gives all later.
	later   bool
	comment string
	// files are paths or URIs of files that belong to the experiment.
	files []string
}

// tellCommand is `campaignd tell`: results of experiments that people run, and answers to
// questions.
//
// The first argument that looks like an experiment or a question decides the subject; Cobra counts
// no arguments here, since only the subject decides how many there may be.
var tellCommand = command{
	name: "tell",
	args: cobra.ArbitraryArgs, // an order, a composition or numbers may be many
	new: func(flags *pflag.FlagSet) runner {
		var f reportedResult
		flags.StringVar(&f.parameters, "parameters", "",
			"the composition of your own experiment, which counts against the budget: `lipf6=1.1,ec=0.3,dmc=1`")
		f.add(flags, "the `value`, instead of as an argument", ", where it differs: `lipf6=1.08`")
		flags.StringVar(&f.values, "values", "",
			"what you expect of many compositions, in the order of their rows: `11.2,9,,7`")
		flags.StringVar(&f.unit, "unit", "", "the value's unit, to be checked against the campaign's")
		flags.StringVar(&f.failed, "failed", "",
			"why there is no result; values that it gave before failing go with --quantity")
		flags.StringVar(&f.cannot, "cannot", "",
			"can't: why the composition, and others like it, cannot be made or measured")
		flags.StringVar(&f.again, "again", "", "try again: why nothing took place; the same is asked for again")
		flags.BoolVar(&f.later, "later", false, "it has ended, and all that it gives arrives later")
		flags.StringArrayVar(&f.files, "file", nil,
			"a `file`, or URI, that belongs to the experiment, to be attached to it; may be repeated")
		flags.StringVar(&f.comment, "comment", "", "a remark, with an answer or on an experiment")
		return func(c *call, args []string) error {
			if n := subject(args); n >= 0 && strings.HasPrefix(args[n], "q") {
				return f.answer(c, args, n)
			}
			return f.tell(c, args)
		}
	},
}

// answer answers the question that the n-th argument names. Flags of a
// result are refused rather than ignored: a value that a person gave must not
// get lost.
func (f reportedResult) answer(c *call, args []string, n int) error {
	if f.value+f.actual+f.unit+f.sd+f.without() != "" || f.further != nil || f.quantities != nil || f.files != nil {
		return badInput("%s is a question: it is answered in words, and --comment is all that goes with it", args[n])
	}
	for _, text := range []string{f.parameters, f.values} { // a composition and numbers may be given either way
		if text != "" {
			args = append(args, text)
		}
	}
	return c.answer(args, n, f.comment)
}

// tell sends the result of an experiment. It is read in two parts: faults that show without the
// campaign are found before a store is opened or a server is asked.
func (f reportedResult) tell(c *call, args []string) error {
	if f.values != "" {
		return badInput("--values answers a question: name it, as in q1; an experiment has one --value")
	}
	t, id, err := f.readArguments(c, args)
	if err != nil {
		return err
	}
	tell, err := f.result(id)
	if err != nil {
		return err
	}
	files, err := filesAt(f.files)
	if err != nil {
		return err
	}
	build := func(s *session) (engine.Request, error) {
		core, err := s.core(c.ctx)
		if err == nil {
			err = f.place(core.State(), tell)
		}
		return engine.Request{Tell: tell}, err
	}
	send := func(ctx context.Context, s *session, r engine.Request) ([]events.Event, error) {
		stored, err := s.Submit(ctx, s.name, r)
		if len(stored) > 0 {
			id = events.CloudEventAttributes(stored[0])["subject"] // of one's own, it is known by now
		}
		return stored, err
	}
	steps := []step{{build, send}}
	for _, file := range files {
		steps = append(steps, file.step(c.ctx, &id))
	}
	return c.recordAll(c.ctx, t, steps...)
}

// without is the reason for a missing value, empty with a value. The concatenation stands for "any
// of them", and result finds out whether it is one.
func (f reportedResult) without() string { return f.failed + f.cannot + f.again }

// readArguments sorts the arguments into the target, the experiment (empty for one of the person's
// own) and the value. The number of arguments depends on the flags, and the target is optional: so
// they are counted from the end.
func (f *reportedResult) readArguments(c *call, args []string) (t target, id string, err error) {
	n := 0
	if f.parameters == "" {
		n++ // the experiment
	}
	// With quantities there need be no value: the last argument is one where it
	// is a number, as no experiment and no store is called.
	given := f.quantities == nil && f.missing == nil && !f.later || len(args) > 0 && quantityValue.MatchString(args[len(args)-1])
	if f.without() == "" && f.value == "" && given {
		n++ // the value
	}
	if len(args) < n || len(args) > n+1 {
		return t, "", badInput("%d arguments do not say what to tell; usage: %s",
			len(args), c.cmd.UseLine())
	}
	// `tell TARGET e7` and `tell e7 VALUE` look alike: the first lacks its
	// value.
	if n == 2 && len(args) == 2 && subject(args) == 1 {
		return t, "", badInput(
			"what is the result of %s? Give its value, or one of --failed, --cannot and --again with the reason", args[1])
	}
	if t, args, err = c.targetAndArgs(args, n); err != nil {
		return t, "", err
	}
	if f.parameters == "" {
		id, args = args[0], args[1:]
	}
	if len(args) == 1 {
		if view.IsLabel(args[0]) {
			return t, id, badInput("%s is not a question: tell its value", id)
		}
		f.value = args[0]
	}
	return t, id, nil
}

// result reads the part of the request that does not depend on the campaign, so
// that a slip is found before a store is opened.
func (f reportedResult) result(id string) (*engine.Tell, error) {
	tell := &engine.Tell{
		Experiment: id,
		Unit:       f.unit,
		Failed:     f.failed,
		Infeasible: f.cannot,
		Again:      f.again,
		Later:      f.later,
		Anyway:     f.anyway,
	}
	// Two of the three were given: then their concatenation equals none of the three.
	if why := f.without(); why != f.failed && why != f.cannot && why != f.again {
		return nil, badInput("give one of --failed, --cannot and --again")
	}
	if strings.TrimSpace(f.comment) != "" {
		tell.Notes = []string{f.comment}
	}
	if err := f.parse(&tell.Value, &tell.SD, &tell.Quantities, &tell.Further); err != nil {
		return nil, err
	}
	var err error
	if tell.Missing, err = f.reasons(); err != nil {
		return nil, err
	}
	return tell, tell.CheckOutcome()
}

// place reads the compositions, for which the campaign's parameters must be known. Without another
// one, the requested composition is the one that was made.
func (f reportedResult) place(state *campaign.State, tell *engine.Tell) error {
	var err error
	if tell.Parameters, err = parsePoint(state.Definition, "--parameters", f.parameters, true); err != nil {
		return err
	}
	requested := tell.Parameters
	if id := tell.Experiment; id != "" {
		if err := known(state, id); err != nil {
			return err
		}
		x := state.Experiment(id)
		if x == nil {
			return badInput("%s is not an experiment", id)
		}
		requested = x.Parameters
	}
	tell.Actual, err = f.made(state.Definition, requested)
	return err
}
