package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/problem"
)

// A request that is answered at once is made by who it was when it came. A stream goes on: before
// it tells of anything, it is asked again who listens and what they may.

type stillKey struct{}

// withStill returns a context in which it can be asked who makes the request now.
func (s *Server) withStill(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, stillKey{}, func() (accounts.Identity, error) { return s.still(ctx, r) })
}

// still returns who makes a request now. It notes nothing, and keeps no session alive.
func (s *Server) still(ctx context.Context, r *http.Request) (accounts.Identity, error) {
	if s.open() {
		return accounts.OpenIdentity(s.options.User), nil
	}
	book := s.options.Accounts
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return book.StillToken(ctx, strings.TrimSpace(bearer))
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return accounts.Identity{}, problem.New(problem.Unauthenticated, "nobody is logged in here")
	}
	return book.Still(ctx, cookie.Value)
}

// listener returns who makes the request of a context now.
func listener(ctx context.Context) (accounts.Identity, error) {
	still, ok := ctx.Value(stillKey{}).(func() (accounts.Identity, error))
	if !ok {
		return identityOf(ctx), nil // it did not come through the gate
	}
	return still()
}

// mayListen says why who makes a request may not see a campaign any more.
func mayListen(ctx context.Context, campaign string) error {
	who, err := listener(ctx)
	if err != nil {
		return err
	}
	return who.May(accounts.See, campaign)
}

// visitorNow is who asks for a page, as they are now.
func (s *Server) visitorNow(ctx context.Context) (console.Visitor, error) {
	who, err := listener(ctx)
	if err != nil {
		return console.Visitor{}, err
	}
	return s.visitor(context.WithValue(ctx, identityKey{}, who)), nil
}
