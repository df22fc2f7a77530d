// Package store opens the stores of campaigns. It alone knows what they are
// kept in: everything above package events works with an [events.Store].
package store

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
)

// Options say how to open a store. The zero value opens it for reading and
// writing, or creates it.
type Options struct {
	// ReadOnly opens an existing store as it is now, without a lock and without
	// changing it, also while another process writes to it. It does not grow;
	// what would change it answers [events.ErrReadOnly].
	ReadOnly bool
	// MustExist refuses, with an error that wraps [io/fs.ErrNotExist], to
	// create a store.
	MustExist bool
	// Check, if set, is called before a store that exists is opened for
	// writing, with the store for reading; if it returns an error, the store is
	// refused with that, and is as it was. It neither closes the store nor
	// keeps it. Without it only the end of the log is checked.
	Check func(events.Store) error
}

// Open opens the store in a folder. Close releases it.
//
// The error wraps [events.ErrInUse] where another process has the store open
// for writing, [events.ErrNewerFormat] or [events.ErrEarlierFormat] where
// another campaignd is needed, and [events.ErrDamaged] where events are missing
// or not what was acknowledged. A store that is refused is not changed.
func Open(folder string, o Options) (events.Store, error) {
	log, err := pebblelog.Open(folder, pebblelog.Options{
		ReadOnly:  o.ReadOnly,
		MustExist: o.MustExist,
		Check:     o.Check,
	})
	if err != nil {
		return nil, err // and no store: a nil *pebblelog.Log in the interface would be one
	}
	return log, nil
}
