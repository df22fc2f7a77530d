package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/console"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// openNotice is shown where there are no accounts.
const openNotice = "There are no accounts: everybody who reaches this page may do everything here."

// visitor describes the caller to a page. Permissions are passed as functions, so that a page
// checks each act that it offers.
func (s *Server) visitor(ctx context.Context) console.Visitor {
	who := gate.IdentityOf(ctx)
	v := console.Visitor{
		Name:    strings.TrimPrefix(who.Actor(), "person:"),
		Account: who.Account,
		May: func(permission, campaign string) error {
			return who.May(accounts.Permission(permission), campaign)
		},
		AnswersAs: who.AnswersAs,
		Refused: func(permission, campaign string) {
			s.gate.NoteRefused(who, accounts.Permission(permission), campaign)
		},
		Confirmed: func(act string) error { return s.gate.Confirmed(ctx, act) },
		MayDefine: func(def, was *definition.Campaign) error { return s.api.MayDefine(ctx, def, was) },
		Now:       func() (console.Visitor, error) { return s.visitorNow(ctx) },
	}
	switch {
	case s.gate.Open():
		v.Notice = openNotice
	case !who.Known():
		v.Name = ""
	default:
		v.Logout = "/logout"
		v.Links = append(v.Links, console.Link{Text: "Account", Path: "/account"})
		if who.May(accounts.Administer, "") == nil {
			v.Links = append(v.Links, console.Link{Text: "People", Path: "/people"})
		}
		if who.May(accounts.Audit, "") == nil {
			v.Links = append(v.Links, console.Link{Text: "Trail", Path: "/trail"})
		}
	}
	return v
}

// visitorNow returns the caller of a page with present rights. A page that stays open calls it
// again, since rights can be withdrawn meanwhile.
func (s *Server) visitorNow(ctx context.Context) (console.Visitor, error) {
	who, err := gate.Listener(ctx)
	if err != nil {
		return console.Visitor{}, err
	}
	return s.visitor(gate.WithIdentity(ctx, who)), nil
}

// unsent lists the systems that do not accept the lab's events now, and why.
func (s *Server) unsent() (lines []string) {
	if s.options.Forwards == nil {
		return nil
	}
	for _, f := range s.options.Forwards() {
		if f.Error != "" {
			lines = append(lines, fmt.Sprintf("%s (%s), %s behind: %s", f.Name, f.Address,
				format.Count(int(f.Behind), "event"), f.Error))
		}
	}
	return lines
}

// newConsole returns the pages.
func (s *Server) newConsole() *console.Console {
	return console.New(console.Options{
		Lab: s.lab, Version: s.options.Version, Log: s.options.Log, Closing: s.closing,
		Signer: s.api.Signer, WhatIf: s.whatIf, Gate: s.gate, Reached: s.options.Reached,
		Unsent: s.unsent, URL: s.options.URL, Undo: s.options.Undo,
	})
}

// visited passes the caller to a page.
func (s *Server) visited(page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page(w, r.WithContext(console.WithVisitor(r.Context(), s.visitor(r.Context()))))
	}
}

// unread answers an incomplete form. The gate notices before any page is called, and answers as a
// page would.
func (s *Server) unread(w http.ResponseWriter, r *http.Request, p *problems.Problem) {
	s.visited(func(w http.ResponseWriter, r *http.Request) {
		s.console.Refuse(w, r, p.Status, problem.New(p.Code, "%s", p.Detail))
	})(w, r)
}
