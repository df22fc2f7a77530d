package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/engine"
)

func (a *app) tellCommand() *cobra.Command {
	var parameters, actual, unit, failed, cannot, again, value, sd, comment string
	var further []string
	var anyway bool
	cmd := &cobra.Command{
		Use:   "tell [TARGET] EXPERIMENT VALUE | QUESTION ANSWER | --parameters … VALUE",
		Short: "Tell a result, of a suggested experiment or of your own, or answer a question",
		Long: `Tell the result of the experiment that ` + "`campaignd suggest`" + ` printed, or of one you
chose yourself, or answer a question.

The value is in the objective's unit; with --unit it is checked. A negative
value is written --value=-3.2.

An experiment of your own (--parameters) counts against the budget, one taken over
with ` + "`campaignd import`" + ` does not. What was told by mistake is corrected with
` + "`campaignd correct`" + `.

Whether a composition is worth the experiment is answered with accept, reject,
unsure or exclude, a reject that sticks, whose reason is the --comment. The
better of two is A or B, and several are put in order, the best first. A
composition of your own is given by name, or as values in order. A question that
nobody answered in time can still be answered: the campaign has gone on without,
and learns from the answer all the same. Only a composition of your own cannot
be named any more once something else was chosen in its place.`,
		Example: `  campaignd tell e4 12.3
  campaignd tell electrolyte.campaign e4 12.3 --unit mS/cm --actual lipf6=1.08
  campaignd tell e4 12.3 --sd 0.2 --further viscosity=3.1mPas
  campaignd tell e4 --failed "the cell leaked"
  campaignd tell e4 --cannot "the salt does not dissolve"
  campaignd tell e4 --again "the argon ran out"
  campaignd tell --parameters lipf6=1.1,ec=0.3,dmc=1 12.3
  campaignd tell q7 accept --comment "close to what we know works"
  campaignd tell q8 B
  campaignd tell q9 B A C
  campaignd tell q10 lipf6=1.2 ec=0.36 dmc=1`,
		Args: cobra.ArbitraryArgs, // an order or a composition may be many
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := subject(args); n >= 0 && strings.HasPrefix(args[n], "q") {
				if value+actual+unit+sd+failed+cannot+again != "" || further != nil {
					return badInput(
						"%s is a question: it is answered in words, and --comment is all that goes with it",
						args[n],
					)
				}
				if parameters != "" {
					args = append(args, parameters)
				}
				return a.answer(cmd.Context(), args, n, comment)
			}
			n := 0
			if parameters == "" {
				n++ // the experiment or question
			}
			without := failed + cannot + again // why there is no value
			if without == "" && value == "" {
				n++ // the value or answer
			}
			if len(args) < n || len(args) > n+1 {
				return badInput("%d arguments do not say what to tell; usage: %s", len(args), cmd.UseLine())
			}
			if i := subject(args); n == 2 && len(args) == 2 && i == 1 {
				return badInput(
					"what is the result of %s? Give its value, or one of --failed, --cannot and --again with the reason",
					args[1],
				)
			}
			t, args, err := a.targetAndArgs(args, n)
			if err != nil {
				return err
			}
			id := ""
			if parameters == "" {
				id, args = args[0], args[1:]
			}
			if len(args) == 1 {
				if _, err := readLabel(nil, nil, args[0]); err == nil {
					return badInput("%s is not a question: tell its value", id)
				}
			}
			tell := engine.Tell{Experiment: id, Unit: unit, Failed: failed, Infeasible: cannot, Again: again}
			if len(args) == 1 {
				value = args[0]
			}
			if without != "" && value != "" {
				return badInput("an experiment that failed has no value: give one of the two")
			}
			if without != "" && without != failed && without != cannot && without != again {
				return badInput("give one of --failed, --cannot and --again")
			}
			if without == "" {
				if tell.Value, err = number("the value", value); err != nil {
					return err
				}
			}
			if tell.SD, err = optionalNumber("--sd", sd); err != nil {
				return err
			}
			if tell.Further, err = parseFurther(further); err != nil {
				return err
			}
			tell.Anyway = anyway
			return a.requestWith(cmd.Context(), t, func(s *session) (engine.Request, error) {
				core, err := s.core(cmd.Context())
				if err != nil {
					return engine.Request{}, err
				}
				def := core.State().Definition
				if tell.Parameters, err = parsePoint(def, "--parameters", parameters, true); err != nil {
					return engine.Request{}, err
				}
				if tell.Actual, err = parsePoint(def, "--actual", actual, false); err != nil {
					return engine.Request{}, err
				}
				requested := tell.Parameters
				if id != "" {
					if err := known(core.State(), id); err != nil {
						return engine.Request{}, err
					}
					x := core.State().Experiment(id)
					if x == nil {
						return engine.Request{}, badInput("%s is not an experiment", id)
					}
					requested = x.Parameters
				}
				tell.Actual = fill(tell.Actual, requested)
				return engine.Request{Tell: &tell}, nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&parameters, "parameters", "",
		"the composition of your own experiment, which counts against the budget: `lipf6=1.1,ec=0.3,dmc=1`")
	flags.StringVar(&actual, "actual", "", "the composition that was really made, where it differs: `lipf6=1.08`")
	flags.StringVar(&value, "value", "", "the `value`, instead of as an argument")
	flags.StringVar(&unit, "unit", "", "the value's unit, to be checked against the campaign's")
	flags.StringVar(&sd, "sd", "", "the standard deviation of the value, where you know it")
	flags.StringArrayVar(&further, "further", nil, furtherHelp)
	flags.StringVar(&failed, "failed", "", "why there is no value")
	flags.StringVar(&cannot, "cannot", "",
		"can't: why the composition, and others like it, cannot be made or measured")
	flags.StringVar(&again, "again", "", "try again: why nothing took place; the same is asked for again")
	flags.StringVar(&comment, "comment", "", "a remark with an answer")
	flags.BoolVar(&anyway, "anyway", false, anywayHelp)
	return cmd
}
