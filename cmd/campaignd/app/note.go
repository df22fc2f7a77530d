package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

func (a *app) noteCommand() *cobra.Command {
	var about string
	cmd := &cobra.Command{
		Use:   "note [TARGET] TEXT",
		Short: "Add a remark to the record",
		Example: `  campaignd note "the thermostat was off overnight"
  campaignd note electrolyte.campaign "bubbles in the cell" --about e7`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			return a.requestWith(cmd.Context(), t, func(s *session) (engine.Request, error) {
				if about != "" {
					core, err := s.core(cmd.Context())
					if err != nil {
						return engine.Request{}, err
					}
					if err := known(core.State(), about); err != nil {
						return engine.Request{}, err
					}
				}
				return engine.Request{Note: &events.NoteAdded{Text: args[0], About: about}}, nil
			})
		},
	}
	cmd.Flags().StringVar(&about, "about", "", "an experiment, question or decision: `e7`")
	return cmd
}
