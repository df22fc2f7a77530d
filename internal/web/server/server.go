// Package server serves a lab over HTTP. It assembles the gate (internal/web/server/gate), behind it
// the pages (internal/web/console), the API under /api/v1 (internal/web/server/api), and the server's
// health under /livez, /readyz and /healthz.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/forward"
	"github.com/campaignd/campaignd/internal/lab/notify"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/web/console"
	"github.com/campaignd/campaignd/internal/web/server/api"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Options are the lab to serve and the rules of admission.
type Options struct {
	Lab *lab.Lab
	// Gate holds the rules of admission.
	Gate gate.Options
	// Drain is how long a stopping server reports that under /readyz and goes on serving, so that
	// load balancers can stop sending people to it.
	Drain time.Duration
	// Version is the version of the program.
	Version string
	// Log, if set, receives messages for the operator.
	Log func(format string, args ...any)
	// Signer, if set, returns the key that signs checkpoints; nil for none.
	Signer func() (note.Signer, error)
	// Reached, if set, returns how each person of the lab is reached, and their pending messages.
	Reached func() []notify.Status
	// Forwards, if set, returns the state of each system that events are forwarded to.
	Forwards func() []forward.Status
	// Confined refuses campaign files that name a program, a file or an
	// address.
	Confined bool
	// URL is the address at which people reach the server; empty if the lab's file does not say.
	URL string
	// Undo is how long an answer can be taken back on the pages; 0 means their default.
	Undo time.Duration
}

// Server serves a lab.
type Server struct {
	options Options
	lab     *lab.Lab
	gate    *gate.Gate
	mux     http.ServeMux
	api     *api.API
	console *console.Console
	whatIf  *whatif.Runs
	closing chan struct{}
	ending  atomic.Bool // it drains
}

// New returns the server of a lab.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	s := &Server{
		options: o, lab: o.Lab, gate: gate.New(o.Gate), whatIf: whatif.NewRuns(o.Lab.Board("whatif/", "w"), o.Log),
		closing: make(chan struct{}),
	}
	s.gate.Uploads = func(r *http.Request) bool { return api.Uploads(r) || console.Uploads(r) }
	s.api = api.New(api.Options{
		Lab: o.Lab, Gate: s.gate, Version: o.Version, Log: o.Log, Signer: o.Signer,
		Confined: o.Confined, Forwards: o.Forwards, WhatIf: s.whatIf, Closing: s.closing,
	})
	s.console = s.newConsole()
	for _, route := range s.routes(s.api.Handler().ServeHTTP, s.console.Handler().ServeHTTP) {
		s.mux.HandleFunc(route.Pattern, route.Handle)
	}
	return s
}

// routes lists everything served, including the API and the pages. The routes of accounts identify
// the caller themselves, since people log in by some of them.
func (s *Server) routes(operations, pages http.HandlerFunc) []console.Route {
	pages = s.visited(pages)
	routes := []console.Route{
		{Pattern: "GET /healthz", Handle: s.health},
		{Pattern: "GET /livez", Handle: live},
		{Pattern: "GET /readyz", Handle: s.ready},
		{Pattern: api.Base + "/", Handle: operations},
		{Pattern: "GET /static/", Handle: pages}, // how the page looks on which people log in
		{Pattern: "/", Handle: s.visited(s.gate.Known(pages, s.console.Fail))},
	}
	for _, route := range s.console.AccountRoutes() {
		routes = append(routes, console.Route{Pattern: route.Pattern, Handle: s.visited(route.Handle)})
	}
	return routes
}

// Handler returns everything that is served.
//
// The order matters. Panics anywhere are caught; the headers are set on every answer, refusals
// included; spare connections answer only health checks; the body is bounded before anything reads
// it; the caller is identified before concurrent requests are counted, by account or, for
// strangers, by address; and only a request that has its place waits for its body and has its form
// read.
func (s *Server) Handler() http.Handler {
	g := s.gate
	formed := g.Formed(s.current(), api.Base, s.unread)
	return s.recovered(g.Secured(g.Spared(g.Limited(g.Identified(g.Room(g.Arrived(formed)))), asksHealth)))
}

// asksHealth reports whether a request is a health check.
func asksHealth(r *http.Request) bool {
	return r.URL.Path == "/livez" || r.URL.Path == "/readyz" || r.URL.Path == "/healthz"
}

// current gives known callers the events recorded before their request, at whichever server of the
// lab.
func (s *Server) current() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gate.IdentityOf(r.Context()).Known() && !strings.HasPrefix(r.URL.Path, "/static/") {
			s.lab.Current(r.Context(), campaignOf(r.URL.Path))
		}
		s.mux.ServeHTTP(w, r)
	})
}

// campaignOf returns the name of the campaign in a path, or "".
func campaignOf(path string) string {
	for _, base := range []string{"/campaigns/", "/questions/", api.Base + "/campaigns/"} {
		if rest, ok := strings.CutPrefix(path, base); ok {
			name, _, _ := strings.Cut(rest, "/")
			return name
		}
	}
	return ""
}

// Serve serves on a listener until the context is done. Requests in progress finish.
//
// ctx only ends serving. Requests run under a context that outlives it, so that none is cut off
// between its decision and its answer; those that still run after five seconds are.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer s.whatIf.Close()
	defer s.console.Close()
	h := http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: s.gate.Patience.Headers,
		IdleTimeout:       s.gate.Patience.Idle,
		ConnContext:       s.gate.Connected,
		ConnState:         s.gate.State,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.ending.Store(true)
	if s.options.Drain > 0 {
		select {
		case err := <-ended:
			return err
		case <-time.After(s.options.Drain):
		}
	}
	close(s.closing) // the streams end
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := h.Shutdown(patience); err != nil {
		_ = h.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// health reports that the server accepts requests, and how many of its stores are unusable, or
// accept no events now: only the number, since strangers read it.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err := s.lab.Ready(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "trouble: %v\n", err)
		return
	}
	stores, troubled := s.lab.Health()
	if s.gate.Accounts() != nil && s.gate.Accounts().Err() != nil {
		stores, troubled = stores+1, troubled+1 // the accounts' store
	}
	if troubled > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "trouble: %d of %d stores cannot be used, or take nothing more; the server's log says why\n", troubled, stores)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// live reports that the process lives, and no more: a supervisor that ends silent processes must
// not end all of them because the database is away.
func live(w http.ResponseWriter, _ *http.Request) {
	answer(w, nil)
}

// ready reports whether people can be sent here.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	switch err := s.lab.Ready(); {
	case s.ending.Load():
		answer(w, errors.New("it is about to end"))
	case err == nil && s.gate.Accounts() != nil && s.gate.Accounts().Err() != nil:
		answer(w, errors.New("the accounts cannot be read or written"))
	default:
		answer(w, err)
	}
}

// answer answers a health check.
func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not ready: %v\n", err)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// Health answers under /livez and /readyz for a process that serves nothing else.
func Health(l *lab.Lab) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", live)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, l.Ready()) })
	return mux
}

// recovered answers a programmer's mistake as a problem, and logs its place for the operator.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault == http.ErrAbortHandler { //nolint:errorlint // the value that net/http defines
				panic(fault)
			}
			s.options.Log("internal error in %s %s: %v\n%s", r.Method, r.URL.Path, fault, debug.Stack())
			problems.Write(w, problems.New(http.StatusInternalServerError, problem.Internal,
				"Something went wrong here. What is recorded is safe. The server's log says where it was."))
		}()
		next.ServeHTTP(w, r)
	})
}
