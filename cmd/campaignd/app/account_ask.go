package app

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// askAccounts makes a request to the process that holds the accounts, or carries it out on the
// files themselves. In the second case it acts as the system's user: a user who may write the files
// may do everything. The accounts of a lab in a database are open to any number of processes, this
// one too.
//
// An error is the accounts' own, with its remedies; badStore is left for a holder that does not
// answer.
func askAccounts(ctx context.Context, dir string, r accounts.Request) (accounts.Reply, error) {
	shared := store.InDatabase(dir)
	none := problem.New(problem.NotFound, "there are no accounts in %s yet", dir).
		With(problem.Remedy{Text: "make the first one, an admin's,", Action: problem.AddAccount})
	// Only making the first account makes the folder's accounts.
	if !shared && !lablog.Exists(dir) && r.Add == nil {
		return accounts.Reply{}, cmp.Or(lablog.Unread(dir), error(none))
	}
	// Whether the files are free and whether their holder answers are two
	// questions, between which a holder may end or begin. So both are asked in
	// turn until one succeeds or the patience is used up.
	for began := time.Now(); ; {
		directory, err := accounts.Open(dir, accounts.Options{})
		if err == nil && shared && directory.Empty() && r.Add == nil {
			return accounts.Reply{}, errors.Join(none, directory.Close())
		}
		if err == nil {
			reply, err := directory.Do(ctx, accounts.SystemIdentity(control.OwnAccount()), r)
			return reply, errors.Join(err, directory.Close())
		}
		if !errors.Is(err, accounts.ErrInUse) {
			return accounts.Reply{}, err
		}
		client, err := control.Connect(dir)
		if err == nil {
			reply, err := accounts.Ask(ctx, client, r)
			// Unavailable: the holder is ending. The files will be free in a
			// moment.
			if err == nil || !errors.Is(err, problem.Unavailable) {
				return reply, err
			}
		} else if !errors.Is(err, control.ErrNobody) {
			return accounts.Reply{}, err
		}
		if time.Since(began) > accountsPatience {
			return accounts.Reply{}, badStore("the accounts in %s are held by another process, which does not answer; "+
				"wait for it to finish, or end it, and try again", dir)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return accounts.Reply{}, context.Cause(ctx)
		}
	}
}

// accountsPatience is how long a command waits for a process that holds the
// accounts and does not answer, because it is starting or ending. It is short:
// a person waits at the command line.
const accountsPatience = 2 * time.Second

// serveAccounts lets the account commands of other processes reach the accounts
// that this process holds, through a socket in their folder, until close is
// called. control.Peer says which user of the system is at the other end. The
// error is that of the socket; without it the accounts are changed on pages, or
// once the server has ended.
func serveAccounts(dir string, directory *accounts.Directory) (close func(), err error) {
	s, err := control.ServeHandler(dir, directory.Handler(control.Peer))
	if err != nil {
		return nil, err
	}
	return s.Close, nil
}
