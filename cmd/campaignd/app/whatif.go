package app

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab/whatif"
)

// whatIfCommand is `campaignd whatif`.
//
// It reads the log alone: its imagined course is recorded nowhere.
var whatIfCommand = command{
	name: "whatif",
	args: cobra.RangeArgs(1, 2),
	new: func(flags *pflag.FlagSet) runner {
		var asked whatIfFlags
		asked.register(flags)
		return func(c *call, args []string) error {
			if err := c.namesDecision(args); err != nil {
				return err
			}
			q, err := asked.question(c.registry)
			if err != nil {
				return err
			}
			return c.decided(args, func(t target, s *session, id string) error {
				return whatIf(c, t, s, id, q)
			})
		}
	},
}

// whatIf imagines the campaign from the decision behind an identifier on.
func whatIf(c *call, t target, s *session, id string, q whatif.Question) error {
	record, decision, why, err := behind(c.ctx, s, id)
	if err == nil && decision == "" {
		err = noDecision(id, why)
	}
	if err != nil {
		return err
	}
	q.Decision = decision
	answer, err := whatif.Work(c.ctx, whatif.Input{
		Registry: c.registry, Log: s.Log(), Campaign: s.name, Record: record,
		Build: thisBuild().Build,
		Environment: instruments.Environment{Folder: t.base,
			Logf: func(format string, args ...any) { c.remark(format, args...) }},
	}, q)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.printJSON(answer)
	}
	return answer.Write(c.stdout)
}

// whatIfFlags are the flags for the changes to imagine.
type whatIfFlags struct {
	asked                  whatif.Question
	without, worst, weight []string
	file                   string
}

func (f *whatIfFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.asked.Method, "policy", "",
		"the `method` from there on, as campaignd methods lists them")
	flags.StringArrayVar(&f.without, "without", nil,
		"the `expert` who is left out, with all they have said, or a constraint on outcomes as the campaign has it: \"viscosity <= 5\"")
	flags.StringArrayVar(&f.asked.Require, "require", nil,
		"a `constraint` on outcomes, \"viscosity <= 4\", in the place of those on the same side of the same quantity")
	flags.StringArrayVar(&f.worst, "worst", nil,
		"the worst value of interest of an objective of a trade-off, `quantity=value` in its unit")
	flags.StringArrayVar(&f.weight, "weight", nil, "the weight of a quantity in a desirability, `quantity=weight`")
	flags.StringVar(&f.asked.Maximize, "maximize", "", "a quantity or a `formula` that is sought in place of the objective")
	flags.StringVar(&f.asked.Minimize, "minimize", "", "the same for a quantity or a `formula` to be minimized")
	flags.StringVar(&f.file, "file", "",
		"a campaign `file` with the changes: whatever campaignd amend could change")
	flags.IntVar(&f.asked.Experiments, "experiments", 0, fmt.Sprintf(
		"for how many `experiments` to go on, at most %d (default as many as were really run since, at least %d)", whatif.Most, whatif.Least))
}

// question is the question of the flags, about no decision yet.
func (f *whatIfFlags) question(reg registry.Registry) (q whatif.Question, err error) {
	q = f.asked
	if err = leftOut(&q, f.without); err != nil {
		return q, err
	}
	if q.Worst, err = numbers("worst", f.worst); err != nil {
		return q, err
	}
	if q.Weight, err = numbers("weight", f.weight); err != nil {
		return q, err
	}
	if f.file != "" {
		if q.File, err = campaignfile.Read(reg, f.file); err != nil {
			return q, inputError{err}
		}
	}
	if q.Method == "" && q.Without == "" && q.Sought.IsZero() {
		return q, badInput("name a change: --policy METHOD (campaignd methods lists them), --without EXPERT, " +
			"--require \"viscosity <= 4\", --worst conductivity=8 or others; campaignd whatif --help")
	}
	return q, nil
}

// leftOut separates constraints from the expert among the names to leave out: the expert's name has
// neither <= nor >=.
func leftOut(q *whatif.Question, without []string) error {
	for _, what := range without {
		switch {
		case strings.Contains(what, "<=") || strings.Contains(what, ">="):
			q.WithoutConstraints = append(q.WithoutConstraints, what)
		case q.Without != "":
			return badInput("one expert can be left out, and these are %s and %s", q.Without, what)
		default:
			q.Without = what
		}
	}
	return nil
}

// numbers reads a flag of numbers by name, "conductivity=8".
func numbers(flag string, given []string) (map[string]float64, error) {
	values := make(map[string]float64)
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		x, err := format.ReadNumber(value)
		if !ok || err != nil {
			return nil, badInput("--%s %s: write quantity=number, as in --%s conductivity=8", flag, text, flag)
		}
		values[strings.TrimSpace(name)] = x
	}
	if len(values) == 0 {
		return nil, nil
	}
	return values, nil
}
