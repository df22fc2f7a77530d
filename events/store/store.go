// Package store opens the stores of campaigns. It alone knows the media that keep them: everything
// above package events works with an [events.Store].
//
// # Addresses
//
// A store is at an address, which is a text that people write: a folder, or
//
//	postgres://USER@HOST/DATABASE/STORE
//
// for a store in a database of PostgreSQL. Without STORE it is the address of the database, with
// all the stores in it. The part behind a question mark says how to connect, as everywhere:
// events/pglog lists our own parameters.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/events/pglog"
)

// Options say how to open a store. The zero value opens it for reading and
// writing, or creates it.
type Options struct {
	// ReadOnly opens an existing store without a lock and without changing it,
	// also while another process writes to it; what would change it answers
	// [events.ErrReadOnly]. In a folder it stays as it is now; in a database it
	// goes on with what others append.
	ReadOnly bool
	// MustExist refuses, with an error that wraps [io/fs.ErrNotExist], to
	// create a store.
	MustExist bool
	// Shared opens a store in a database that others write to, too: an
	// append that expects a sequence that has passed is refused. A folder always
	// has one writer.
	Shared bool
	// Check, if set, is called before a store that exists is opened for
	// writing, with the store for reading; if it returns an error, the store is
	// refused with that, and is as it was. It neither closes the store nor
	// keeps it. Without it only the end of the log is checked.
	Check func(events.Store) error
	// Marked opens for writing a store that has been moved or is an unfinished
	// copy, too ([Marks]).
	Marked bool
}

// Open opens the store at an address. Close releases it.
//
// The error wraps [events.ErrInUse] where another process has the store open for writing,
// [events.ErrNewerFormat] or [events.ErrEarlierFormat] where another campaignd is needed, and
// [events.ErrDamaged] where events are missing or differ from the acknowledged ones; it is an
// [events.MovedError] or an [events.UnfinishedError] where the store is only to be read. A store
// that is refused is not changed.
func Open(address string, o Options) (events.Store, error) {
	if InDatabase(address) {
		return openInDatabase(address, o)
	}
	check := o.Check
	if !o.ReadOnly && !o.Marked {
		if err := refuseFolder(address); err != nil {
			return nil, err
		}
		check = func(s events.Store) error { // again, with the lock
			if err := refuseFolder(address); err != nil || o.Check == nil {
				return err
			}
			return o.Check(s)
		}
	}
	log, err := pebblelog.Open(address, pebblelog.Options{
		ReadOnly:  o.ReadOnly,
		MustExist: o.MustExist,
		Check:     check,
	})
	if err != nil {
		return nil, err // and no store: a nil *pebblelog.Log in the interface would be one
	}
	return withPauses(log), nil
}

// InDatabase reports whether an address is that of a database or of a store in
// one, and not a folder.
func InDatabase(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// Split returns the address of the database, and the name of the store in it,
// empty where the address names none.
func Split(address string) (database, name string, err error) {
	if without, password := Unlocked(address); password != "" || strings.Contains(address, "password=") {
		without, _, _ = strings.Cut(without, "?")
		return "", "", fmt.Errorf("store: the address %s holds a password: write that into the variable PGPASSWORD or the "+
			"file ~/.pgpass, since addresses are shown and kept", without)
	}
	scheme, rest, _ := strings.Cut(address, "://")
	rest, query, asked := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	base, name, _ := strings.Cut(strings.TrimSuffix(path, "/"), "/")
	if name, err = url.PathUnescape(name); err != nil || base == "" {
		return "", "", fmt.Errorf("store: %s: write it as postgres://USER@HOST/DATABASE/STORE", address)
	}
	database = scheme + "://" + host + "/" + base
	if asked {
		database += "?" + query
	}
	return database, name, nil
}

// In returns the address of a store in a database.
func In(database, name string) string {
	base, query, asked := strings.Cut(database, "?")
	address := base + "/" + url.PathEscape(name)
	if asked {
		address += "?" + query
	}
	return address
}

// Unlocked returns an address without the password in it, and the password. An
// address with one is refused everywhere else: addresses are shown, and kept.
func Unlocked(address string) (without, password string) {
	scheme, rest, _ := strings.Cut(address, "://")
	host, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if !InDatabase(address) || at < 0 {
		return address, ""
	}
	user, password, _ := strings.Cut(host[:at], ":")
	if plain, err := url.PathUnescape(password); err == nil {
		password = plain
	}
	return scheme + "://" + user + host[at:] + "/" + path, password
}

// Name returns the name of a store: the last part of its address, without the ending of a folder's
// name.
func Name(address string) string {
	if InDatabase(address) {
		_, name, _ := Split(address) // empty for an invalid address
		return name
	}
	return strings.TrimSuffix(filepath.Base(filepath.Clean(address)), Ending)
}

// Ending is the ending of the name of a store's folder.
const Ending = ".campaign"

// Exists reports whether there is a store at an address. An empty folder is not a store yet: a
// person may have made it, with the rights it should have.
func Exists(address string) (bool, error) {
	if !InDatabase(address) {
		entries, err := os.ReadDir(address)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return len(entries) > 0, err
	}
	log, err := Open(address, Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, log.Close()
}

// openInDatabase is Open of a store in a database. The connections are closed
// with the last store of the database that this process has open.
func openInDatabase(address string, o Options) (events.Store, error) {
	d, name, err := openDatabaseOf(address)
	if err != nil {
		return nil, err
	}
	log, err := d.Open(context.Background(), name, o)
	if err != nil {
		_ = d.Close() // it has no error
		return nil, err
	}
	return withPauses(&closing{log, d}), nil
}

// openDatabaseOf opens the database of a store, and returns the name of the
// store in it.
func openDatabaseOf(address string) (*Database, string, error) {
	database, name, err := Split(address)
	if err != nil {
		return nil, "", err
	}
	if name == "" {
		return nil, "", fmt.Errorf("store: %s is a database: name a store in it, %s",
			address, In(database, "STORE"))
	}
	d, err := OpenDatabase(database)
	return d, name, err
}

// closing is a store that has its database to itself.
type closing struct {
	*pglog.Log
	database *Database
}

// Close implements [events.Log].
func (c *closing) Close() error {
	err := c.Log.Close()
	_ = c.database.Close()
	return err
}
