package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/console"
)

// openNotice is shown where everybody may do everything.
const openNotice = "There are no accounts: everybody who reaches this page may do everything here."

// visitor says who asks for a page.
func (s *Server) visitor(ctx context.Context) console.Visitor {
	who := identityOf(ctx)
	v := console.Visitor{
		Name:    strings.TrimPrefix(who.Actor(), "person:"),
		Account: who.Account,
		May: func(permission, campaign string) error {
			return who.May(accounts.Permission(permission), campaign)
		},
		AnswersAs: who.AnswersAs,
		Refused: func(permission, campaign string) {
			s.noteRefused(who, accounts.Permission(permission), campaign)
		},
		Confirmed: func(act string) error { return s.confirmed(ctx, act) },
		MayDefine: func(def, was *definition.Campaign) error { return s.api.mayDefine(ctx, def, was) },
		Now:       func() (console.Visitor, error) { return s.visitorNow(ctx) },
	}
	switch {
	case s.open():
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

// mountConsole mounts the pages beside the API.
func (s *Server) mountConsole() {
	s.console = console.New(console.Options{
		Lab: s.lab, Version: s.options.Version, Log: s.options.Log, Closing: s.closing,
		Signer: s.signer, WhatIf: s.whatIf,
	})
	handler := s.console.Handler()
	pages := func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(console.WithVisitor(r.Context(), s.visitor(r.Context()))))
	}
	s.mux.HandleFunc("GET /static/", pages) // how the page looks on which people log in
	s.mux.HandleFunc("/", s.known(pages))
	s.door()
}
