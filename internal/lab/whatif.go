package lab

import (
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/lab/whatif"
)

// WhatIf returns the campaign as it is imagined otherwise. It is made when its
// turn comes: the log goes on meanwhile.
func (c *Campaign) WhatIf() (whatif.Input, error) {
	log, err := c.Log()
	l := c.store.lab
	return whatif.Input{
		Registry: l.Registry(), Log: log, Campaign: c.name, Record: c.record, Build: l.Build(),
		Environment: instruments.Environment{Folder: l.Folder(), Logf: func(string, ...any) {}},
	}, err
}
