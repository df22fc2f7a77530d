package whatif

import (
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/lab"
)

// InLab returns what makes the input of a campaign of a lab.
func InLab(l *lab.Lab, c *lab.Campaign) func() (Input, error) {
	return func() (Input, error) {
		log, err := c.Log()
		return Input{
			Registry: l.Registry(), Log: log, Campaign: c.Name(), Build: l.Build(),
			Environment: instruments.Environment{Folder: l.Folder(), Logf: func(string, ...any) {}},
		}, err
	}
}
