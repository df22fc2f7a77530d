package remote

import (
	"context"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Driver is the row of a driver with the settings S, whose instruments open returns.
func Driver[S any, P interface {
	*S
	definition.Settings
}](
	name string, open func(S, definition.Campaign, instruments.Environment) (*Instrument, error),
) instruments.Driver {
	return instruments.Driver{
		Name:     name,
		Settings: func() definition.Settings { return P(new(S)) },
		Open: func(
			_ context.Context, def definition.Campaign, env instruments.Environment,
		) (instruments.Instrument, error) {
			settings, err := definition.SettingsOf[S](def.Driver())
			if err != nil {
				return nil, err
			}
			return open(settings, def, env)
		},
	}
}
