package app

import (
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// outcomes are all that can be said of how an experiment ended, in the order in
// which two that are given are reported.
var outcomes = []events.Resolution{
	events.ResolvedMeasured,
	events.ResolvedFailed,
	events.ResolvedInfeasible,
	events.ResolvedNotPerformed,
}

// measuredFlags are the flags for what was measured, as it was typed. Every
// command that takes a result has them. They stay texts until parse and made
// read them, which have the words for what is wrong.
type measuredFlags struct {
	value, sd, actual string
	further           []string
	anyway            bool
}

// add adds the flags to a command, with the help of those that differ.
func (f *measuredFlags) add(flags *pflag.FlagSet, value, actual string) {
	flags.StringVar(&f.value, "value", "", value)
	flags.StringVar(&f.sd, "sd", "", "the standard deviation of the value, where you know it")
	flags.StringVar(&f.actual, "actual", "", "the composition that was really made"+actual)
	flags.StringArrayVar(&f.further, "further", nil,
		"a further quantity, `viscosity=3.1mPas`; may be given several times")
	flags.BoolVar(&f.anyway, "anyway", false,
		"take a composition that the campaign could not ask for: outside its bounds, or with another sum")
}

// parse reads what does not depend on the campaign, so that a slip is found
// before a store is opened.
func (f *measuredFlags) parse(value, sd **float64, further *[]definition.Quantity) (err error) {
	if *value, err = optionalNumber("the value", f.value); err != nil {
		return err
	}
	if *sd, err = optionalNumber("--sd", f.sd); err != nil {
		return err
	}
	*further, err = parseFurther(f.further)
	return err
}

// made reads the composition that was made. What is not named stays as it
// stands in the one given; nil where nothing is named. A person names what
// differs from what was asked for, and not all of it.
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
