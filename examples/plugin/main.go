// Command lab is campaignd with an instrument, a channel to experts, a channel of notifications and
// a method of a laboratory's own, from a module of its own:
//
//	go run . validate campaign.yaml
//	go run . run campaign.yaml
//
// Each is a package and a row of the table. Everything else, from the campaign
// file's schema to the audit, knows them by that.
package main

import (
	"github.com/campaignd/campaignd/cmd/campaignd/app"

	"example.org/lab/hillclimb"
	"example.org/lab/hotfolder"
	"example.org/lab/spool"
	"example.org/lab/webhook"
)

func main() { app.Main(table()) }

// table is what campaignd brings along, and ours.
func table() app.Registry {
	table := app.Builtin()
	table.Instruments = append(table.Instruments, hotfolder.Driver)
	table.Experts = append(table.Experts, webhook.Channel)
	table.Notifications = append(table.Notifications, spool.Channel)
	table.Methods = append(table.Methods, hillclimb.Family)
	return table
}
