package app

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/problem"
)

// asker makes a request about the accounts of the folder that the command line
// names.
type asker func(cmd *cobra.Command, r accounts.Request) (accounts.Reply, error)

// askAccounts makes a request of the process that holds the accounts, or of the
// files themselves.
func (a *app) askAccounts(ctx context.Context, dir string, r accounts.Request) (accounts.Reply, error) {
	if !accounts.Exists(dir) && r.Add == nil {
		return accounts.Reply{}, problem.New(problem.NotFound, "there are no accounts in %s yet", dir).
			With(problem.Remedy{Text: "make the first one, an admin's,", Action: problem.AddAccount})
	}
	// The holder may end between our look at the files and our question, or
	// begin.
	for began := time.Now(); ; {
		book, err := accounts.Open(dir, accounts.Options{Log: func(line string) { a.remark("%s", line) }})
		if err == nil {
			reply, err := book.Do(ctx, accounts.SystemIdentity(control.OwnAccount()), r)
			return reply, errors.Join(err, book.Close())
		}
		if !errors.Is(err, accounts.ErrInUse) {
			return accounts.Reply{}, err
		}
		client, err := control.Connect(dir)
		if err == nil {
			reply, err := accounts.Ask(ctx, client, r)
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
// accounts and does not answer: one that begins or ends.
const accountsPatience = 2 * time.Second

// serveAccounts lets the account commands of other processes reach the accounts
// that this process holds, until close.
func serveAccounts(dir string, book *accounts.Directory) (close func(), err error) {
	s, err := control.ServeHandler(dir, book.Handler(control.Peer))
	if err != nil {
		return nil, err
	}
	return s.Close, nil
}
