package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/campaignd/campaignd/internal/console"
)

// openNotice is shown where everybody may do everything.
const openNotice = "There are no accounts: everybody who reaches this page may do everything here."

// visitor says who asks for a page.
func visitor(ctx context.Context) console.Visitor {
	actor, account := actorOf(ctx)
	return console.Visitor{Name: strings.TrimPrefix(actor, "person:"), Account: account, Notice: openNotice}
}

// mountConsole mounts the pages beside the API.
func (s *Server) mountConsole() {
	s.console = console.New(console.Options{
		Lab: s.lab, Version: s.options.Version, Log: s.options.Log, Closing: s.closing,
	})
	handler := s.console.Handler()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(console.WithVisitor(r.Context(), visitor(r.Context()))))
	})
}
