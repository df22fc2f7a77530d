package app

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/projections/campaign"
)

// excludeCommand is `campaignd exclude`.
//
// A composition and a region reach the engine as they are typed here; the
// twentieth around a composition is the engine's rule. They are read against
// the campaign's own parameters, within the request, since names and categories
// are known only there; that an experiment exists is looked at as well, so that
// a slip in a number is not recorded as a remark about nothing.
var excludeCommand = command{
	name: "exclude",
	args: cobra.MaximumNArgs(2),
	new: func(flags *pflag.FlagSet) runner {
		var at, where string
		var r engine.Exclude
		flags.StringVar(&at, "at", "", "a `composition`: lipf6=1.1,ec=0.4,dmc=1")
		flags.StringVar(&where, "where", "", "a `region`: lipf6=1.8..,ec=0.45..0.52")
		flags.StringVar(&r.Reason, "reason", "", "why; it is required")
		place := askingOf(0, func(s *campaign.State, _ []string) (_ engine.Request, err error) {
			if r.About != "" {
				err = known(s, r.About)
			}
			if err == nil {
				r.Point, err = parsePoint(s.Definition, "--at", at, true)
			}
			if err == nil {
				r.Region, err = parseRegion(s.Definition, where)
			}
			return engine.Request{Exclude: &r}, err
		})
		return func(c *call, args []string) error {
			if at != "" && where != "" {
				return badInput("--at names a composition and --where a region: give one of the two")
			}
			// With --at or --where an experiment or question is only a
			// reference.
			if last := len(args) - 1; last >= 0 && isSubject(args[last]) {
				r.About, args = args[last], args[:last]
			}
			switch {
			case len(args) > 1:
				return badInput("%q is neither an experiment nor a question; usage: %s", args[1], c.cmd.UseLine())
			case r.About == "" && at == "" && where == "":
				return badInput("say what you exclude: an experiment, a question, --at or --where")
			}
			return place(c, args)
		}
	},
}

// allowCommand is `campaignd allow`, the reverse of exclude. It takes the exclusion's own name
// (n1): regions can overlap. A reason is not required: the region becomes possible again, and no
// more.
var allowCommand = command{
	name: "allow",
	args: cobra.RangeArgs(1, 2),
	new: func(flags *pflag.FlagSet) runner {
		var r engine.Allow
		flags.StringVar(&r.Reason, "reason", "", forTheRecord)
		return asking(1, func(args []string) engine.Request {
			r.Exclusion = args[0]
			return engine.Request{Allow: &r}
		})
	},
}

// isSubject reports whether a text has the form of an experiment (e7) or of a question (q3). It
// does not look whether that exists: see [known].
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
			return nil, badInput("--where: %q is not NAME=INTERVAL or NAME=CATEGORY; "+
				"write it as in lipf6=1.8..,ec=0.45..0.52", part)
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
