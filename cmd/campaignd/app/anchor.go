package app

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// anchorCommand is `campaignd anchor`.
//
// Whether the campaign's rules read anchors at all the engine says; here only
// the words of the command line are checked.
var anchorCommand = command{
	name: "anchor",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		// Not nil: an empty list with --instead takes back the anchors that were named before.
		r := engine.Anchors{Points: []definition.Point{}}
		var at []string
		flags.StringArrayVar(&at, "at", nil,
			"a `composition`: lipf6=1.1,ec=0.35,dmc=1; may be given several times")
		flags.BoolVar(&r.Instead, "instead", false,
			"instead of those named with this command before; without --at they are only taken back")
		flags.StringVar(&r.Reason, "reason", "", forTheRecord)
		flags.StringVar(&r.Expert, "expert", "", "whose judgment it is; not needed where there is one expert")
		return askingOf(0, func(s *campaign.State, _ []string) (engine.Request, error) {
			experts := s.Definition.Experts
			switch {
			case len(experts) == 0:
				return engine.Request{}, badInput("this campaign has no experts: an anchor belongs to one")
			case r.Expert == "" && len(experts) > 1:
				return engine.Request{}, badInput("the campaign has %s: say whose judgment it is, with --expert",
					format.Count(len(experts), "expert"))
			}
			r.Expert = cmp.Or(r.Expert, experts[0].Name)
			for _, text := range at {
				point, err := parsePoint(s.Definition, "--at", text, true)
				if err != nil {
					return engine.Request{}, err
				}
				r.Points = append(r.Points, point)
			}
			return engine.Request{Anchors: &r}, nil
		})
	},
}
