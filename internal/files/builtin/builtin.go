// Package builtin is the table of campaignd's own drivers, channels, methods and notifications. A new driver,
// channel or family of methods in this repository is its own package and a row here.
package builtin

import (
	humanprocess "github.com/campaignd/campaignd/adapters/humans/process"
	humansimulated "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/humans/web"
	"github.com/campaignd/campaignd/adapters/instruments/folder"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/rest"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/methods"
	methodprocess "github.com/campaignd/campaignd/adapters/methods/process"
	"github.com/campaignd/campaignd/adapters/notifications/shoutrrr"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/answers"
	"github.com/campaignd/campaignd/policies/bope"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/direct"
	"github.com/campaignd/campaignd/policies/duel"
	policyprocess "github.com/campaignd/campaignd/policies/process"
	"github.com/campaignd/campaignd/policies/unaided"
)

// Registry returns the table.
func Registry() registry.Registry {
	return registry.Registry{
		Instruments: []instruments.Driver{
			simulated.Driver,
			table.Driver,
			manual.Driver,
			process.Driver,
			rest.Driver,
			folder.Driver,
		},
		Experts: []humans.Channel{
			humansimulated.Channel,
			terminal.Channel,
			web.Channel,
			humanprocess.Channel,
		},
		Methods: policies.Registry{
			unaided.Family,
			answers.Family,
			cobol.Family,
			coexbo.Family,
			direct.Family,
			duel.Family,
			bope.Family,
			policyprocess.Family,
		},
		Notifications: shoutrrr.Channels,
		Programs: []methods.Driver{
			methodprocess.Driver(policyprocess.Name, func() methodprocess.Settings { return new(policyprocess.Settings) }),
		},
	}
}
