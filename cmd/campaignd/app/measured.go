package app

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// outcomes are all possible fates of an experiment on the command line, in the order in which two
// that are given are reported.
var outcomes = []events.Resolution{
	events.ResolvedMeasured,
	events.ResolvedFailed,
	events.ResolvedInfeasible,
	events.ResolvedNotPerformed,
}

// measuredFlags are the flags for measurements, as they were typed. Every command that takes a
// result has them. They stay texts until parse and made read them, which have the words for their
// faults.
type measuredFlags struct {
	value, sd, actual   string
	quantities, missing []string
	further             []string
	anyway              bool
}

// add adds the flags to a command, with the help of those that differ.
func (f *measuredFlags) add(flags *pflag.FlagSet, value, actual string) {
	flags.StringVar(&f.value, "value", "", value)
	flags.StringVar(&f.sd, "sd", "", "the standard deviation of the value, where you know it")
	flags.StringVar(&f.actual, "actual", "", "the composition that was really made"+actual)
	flags.StringArrayVar(&f.quantities, "quantity", nil,
		"a quantity that the campaign declares, `viscosity=3.1`, in its unit; may be given several times")
	flags.StringArrayVar(&f.missing, "missing", nil,
		"a declared quantity without a value and why, `capacity=the cell leaked`")
	flags.StringArrayVar(&f.further, "further", nil,
		"a further quantity, `viscosity=3.1mPas`; may be given several times")
	flags.BoolVar(&f.anyway, "anyway", false,
		"take a composition that the campaign could not ask for: outside its bounds, or with another sum")
}

func (f *measuredFlags) any() bool {
	return f.value != "" || f.sd != "" || f.actual != "" || len(f.quantities)+len(f.missing)+len(f.further) > 0
}

// parse reads the flags that do not depend on the campaign, so that a slip is found before a store
// is opened.
func (f *measuredFlags) parse(
	value, sd **float64, quantities, further *[]definition.Quantity,
) (err error) {
	if *value, err = optionalNumber("the value", f.value); err != nil {
		return err
	}
	if *sd, err = optionalNumber("--sd", f.sd); err != nil {
		return err
	}
	if *quantities, err = parseQuantities("--quantity", f.quantities); err != nil {
		return err
	}
	*further, err = parseQuantities("--further", f.further)
	return err
}

// reasons reads the quantities that have no value.
func (f *measuredFlags) reasons() (missing []events.Missing, err error) {
	for _, text := range f.missing {
		name, why, ok := strings.Cut(text, "=")
		name, why = strings.TrimSpace(name), strings.TrimSpace(why)
		if !ok || name == "" || why == "" {
			return nil, badInput("--missing: %q is not NAME=WHY; write it as in capacity=\"the cell leaked\"", text)
		}
		missing = append(missing, events.Missing{Name: name, Reason: why})
	}
	return missing, nil
}

// madeOf is made for one experiment, or an act for one, from the composition that was asked for; nil
// for several experiments.
func (f *measuredFlags) madeOf(s *campaign.State, id string) (definition.Point, error) {
	if a := s.Act(id); a != nil && len(a.Experiments) == 1 {
		id = a.Experiments[0]
	}
	x := s.Experiment(id)
	switch {
	case x != nil:
		return f.made(s.Definition, x.Parameters)
	case f.actual != "":
		return nil, badInput("--actual is of one experiment")
	}
	return nil, nil
}

// made reads the composition that was made. Unnamed parameters keep their values in the given one;
// nil where none is named. A person names the differences from the requested composition, and not
// all of it.
func (f *measuredFlags) made(
	def *definition.Campaign, stands definition.Point,
) (definition.Point, error) {
	actual, err := parsePoint(def, "--actual", f.actual, false)
	if actual == nil || err != nil {
		return nil, err
	}
	for name, v := range stands {
		if _, ok := actual[name]; !ok {
			actual[name] = v
		}
	}
	return actual, nil
}
