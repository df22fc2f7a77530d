package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
)

// target is the subject of a command, as far as the arguments say: a store, its campaign, and the
// file where one was given. Nothing is opened yet, and the store need not exist.
//
// One is made per command, by app.target, and passed by value.
type target struct {
	// store is the store's address. Where remote is set it is the campaign's
	// identifier on the server, empty for the only one there.
	store  string
	remote bool
	// server is the server of the command line, empty without one or where the environment names
	// it. Commands that messages suggest repeat it.
	server string
	// campaign is the campaign's name; empty stands for the only one in the
	// store.
	campaign string
	// path and file are the campaign file, where one was given; a store alone
	// has none.
	path string
	file *campaignfile.File
	// base is the folder that relative paths of the definition start from: that
	// of the file, or the one that holds the store.
	base string
}

// target finds the subject of a command: arg is a campaign file, a store, or empty for the store of
// the current folder. From here on messages suggest commands about it.
func (a *app) target(arg string) (target, error) {
	t, err := a.findTarget(arg)
	if err == nil {
		a.about = a.commandsFor(t)
	}
	return t, err
}

// findTarget is target without remembering it.
//
// A file is read and checked here, so every command refuses a bad file in the
// same words, before it looks at the store.
func (a *app) findTarget(arg string) (target, error) {
	if a.server != "" {
		return a.remoteTarget(arg)
	}
	if arg == "" {
		found, err := a.defaultStore()
		if err != nil {
			return target{}, err
		}
		t := target{store: found, campaign: a.campaign, base: "."}
		if !store.InDatabase(found) {
			t.base = filepath.Dir(found)
		}
		return t, nil
	}
	if store.InDatabase(arg) {
		if a.store != "" && a.storeGiven && a.store != arg {
			return target{}, badInput("%s and --store %s are two stores: name one", arg, a.store)
		}
		return target{store: arg, campaign: a.campaign, base: "."}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The ending distinguishes a store from a file, so that the message can say how to make the
		// missing one.
		if strings.HasSuffix(strings.TrimRight(arg, "/"), store.Ending) {
			return target{}, badStore("there is no store %s; %s", arg, target{}.howToBegin())
		}
		return target{}, badInput("there is no %s: neither a campaign file nor a store", arg)
	case err != nil:
		return target{}, inputError{err}
	case info.IsDir():
		if a.storeGiven && !sameFile(a.store, arg) {
			return target{}, badInput("%s and --store %s are two stores: name one", arg, a.store)
		}
		base := filepath.Dir(filepath.Clean(arg))
		return target{store: arg, campaign: a.campaign, base: base}, nil
	}
	file, err := campaignfile.Read(a.registry, arg)
	if err != nil {
		return target{}, inputError{err}
	}
	t := target{
		path:     arg,
		file:     file,
		campaign: file.Definition.Name,
		base:     filepath.Dir(arg),
		store:    a.store,
	}
	switch {
	case t.store == "":
		t.store = filepath.Join(t.base, t.campaign+store.Ending)
	case store.InDatabase(t.store):
		if t.store, err = a.storeOf(t.campaign); err != nil {
			return target{}, err
		}
	}
	if a.campaign != "" && a.campaign != t.campaign {
		return target{}, badInput("%s describes the campaign %s, not %s",
			arg, t.campaign, a.campaign)
	}
	return t, nil
}

// defaultStore is --store, or the only store in the current folder. Several
// stores are no guess: a person has to name one.
func (a *app) defaultStore() (string, error) {
	if store.InDatabase(a.store) {
		return a.onlyStore()
	}
	if a.store != "" {
		return a.store, nil
	}
	found, err := filepath.Glob("*" + store.Ending)
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", badInput("there is no *%s in this folder: name a campaign file or a store",
			store.Ending)
	case 1:
		return found[0], nil
	}
	return "", badInput("there are several stores in this folder: name one of %s",
		strings.Join(found, ", "))
}

// storeOf is --store where that is in a database: the store that it names, or in
// the database that of a campaign, which has one of its own.
func (a *app) storeOf(campaign string) (string, error) {
	database, name, err := store.Split(a.store)
	if err != nil {
		return "", inputError{err}
	}
	if name == "" {
		return store.In(database, campaign), nil
	}
	return a.store, nil
}

// onlyStore is --store where that is in a database: the store that it names, or
// the only one in the database, or that of --campaign.
func (a *app) onlyStore() (string, error) {
	database, name, err := store.Split(a.store)
	switch {
	case err != nil:
		return "", inputError{err}
	case name != "":
		return a.store, nil
	case a.campaign != "":
		return store.In(database, a.campaign), nil
	}
	names, err := storesOf(context.Background(), database)
	if err != nil {
		return "", err
	}
	switch len(names) {
	case 0:
		return "", badInput("there is no store in %s: name a campaign file", database)
	case 1:
		return store.In(database, names[0]), nil
	}
	return "", badInput("there are several stores in %s: name one of %s, as %s", database,
		strings.Join(names, ", "), store.In(database, names[0]))
}

// storesOf are the names of the stores in a database, without those of the lab itself.
func storesOf(ctx context.Context, database string) (names []string, err error) {
	d, err := store.OpenDatabase(database)
	if err != nil {
		return nil, storeError{err}
	}
	defer d.Close()
	stores, err := d.Stores(ctx)
	if err != nil {
		return nil, storeError{err}
	}
	for _, s := range stores {
		if !strings.HasPrefix(s.Name, ".") {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// targetAndArgs splits the positional arguments of a command that takes n of its own after an
// optional target. Cobra has checked that their number is n or n+1.
func (a *app) targetAndArgs(args []string, n int) (target, []string, error) {
	if len(args) == n {
		t, err := a.target("")
		return t, args, err
	}
	t, err := a.target(args[0])
	return t, args[1:], err
}

// fileTarget is the target of a command that takes a campaign file, and no store; takes says so.
func (a *app) fileTarget(path, takes string) (target, error) {
	t, err := a.target(path)
	if err == nil && t.file == nil {
		err = badInput("%s is a store; %s", path, takes)
	}
	return t, err
}

// sameFile reports whether two paths are one file, links followed.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

func (t target) hasStore() (bool, error) {
	there, err := store.Exists(t.store)
	if err != nil {
		return false, badStore("the store cannot be looked at: %w", err)
	}
	return there, nil
}

// String writes the target as one word of a command line. It is the file where
// one was given: a command that is suggested then compares the file too.
func (t target) String() string {
	if t.path != "" {
		return shellArg(t.path)
	}
	return shellArg(t.store)
}

// howToBegin says by which command a campaign begins and its store is made: one that people
// measure by hand is not run.
func (t target) howToBegin() string {
	if t.file == nil {
		return "`campaignd run FILE` makes one, or `campaignd suggest FILE` where people measure"
	}
	command := "run"
	if t.file.Definition.ByHand() {
		command = "suggest"
	}
	return code("campaignd", command, shellArg(t.path)) + " makes one"
}
