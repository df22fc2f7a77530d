package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// anchorCommand is `campaignd anchor`.
//
// Whether the campaign's rules read anchors at all the engine says; here only
// the words of the command line are checked.
func (a *app) anchorCommand() *cobra.Command {
	var expert, reason string
	var at []string
	var instead bool
	cmd := &cobra.Command{
		Use:   "anchor [TARGET] --at COMPOSITION",
		Short: "Name compositions at which an expert trusts their own judgment",
		Long: `Name compositions at which an expert trusts their own judgment. Comparisons near
them count for more, and risk-averse rules (raeubo, rahbo, anpei) prefer to ask
there. Anchors that are known beforehand belong in the campaign file. --instead
takes back what was named with this command before.`,
		Example: `  campaignd anchor --at lipf6=1.1,ec=0.35,dmc=1 --at lipf6=0.9,ec=0.4,dmc=0.8
  campaignd anchor taste.campaign --expert ada --at lipf6=1.1,ec=0.35,dmc=1`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.optionalTarget(args)
			if err != nil {
				return err
			}
			return a.requestWith(cmd.Context(), t, func(state *campaign.State) (engine.Request, error) {
				def := state.Definition
				switch {
				case len(def.Experts) == 0:
					return engine.Request{}, badInput(
						"this campaign has no experts: an anchor belongs to one",
					)
				case expert != "":
				case len(def.Experts) == 1:
					expert = def.Experts[0].Name
				default:
					return engine.Request{}, badInput(
						"the campaign has %s: say whose judgment it is, with --expert",
						format.Count(len(def.Experts), "expert"),
					)
				}
				// Not nil: an empty list with --instead takes back what was
				// named before.
				r := &engine.Anchors{
					Expert:  expert,
					Points:  []definition.Point{},
					Instead: instead,
					Reason:  reason,
				}
				for _, text := range at {
					point, err := parsePoint(def, "--at", text, true)
					if err != nil {
						return engine.Request{}, err
					}
					r.Points = append(r.Points, point)
				}
				return engine.Request{Anchors: r}, nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&at, "at", nil,
		"a `composition`: lipf6=1.1,ec=0.35,dmc=1; may be given several times")
	cmd.Flags().BoolVar(&instead, "instead", false,
		"instead of those named with this command before; without --at they are only taken back")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	cmd.Flags().StringVar(&expert, "expert", "", "whose judgment it is; not needed where there is one expert")
	return cmd
}
