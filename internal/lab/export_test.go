package lab

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
)

// Opening returns the options of a lab whose stores are opened by a function.
func (o Options) Opening(open func(folder string, o store.Options) (events.Store, error)) Options {
	o.open = open
	return o
}
