// Package server serves a lab over HTTP: the pages of internal/console, the API
// under /api/v1, and whether the server is ready under /healthz.
//
// What a request asks for is done by internal/lab; here it is read, allowed or
// refused, and answered. Every answer that is no success is a problem of RFC
// 9457 with the code and the remedies of internal/problem.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/notify"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/whatif"
)

// Options say what is served, and to whom.
type Options struct {
	Lab *lab.Lab
	// Accounts say who may do what. Nil, or without an account, the server is
	// open to everybody on this machine, and to nobody else.
	Accounts *accounts.Directory
	// User is the name under which requests to an open server are recorded.
	// Default: the system's user.
	User string
	// Confirm holds the acts, of [ActStop], [ActResolve] and [ActOverride],
	// that people must have confirmed lately with their password.
	Confirm map[string]bool
	// Secure is set where browsers reach the server over TLS, its own or a
	// proxy's.
	Secure bool
	// Proxy, if set, is where a proxy that says from which address a request
	// comes may be.
	Proxy *net.IPNet
	// Version is the program's.
	Version string
	// Log, if set, takes what the operator should know.
	Log func(format string, args ...any)
	// Signer, if set, returns the key that signs checkpoints; nil for none.
	Signer func() (note.Signer, error)
	// Reached, if set, says how each person of the lab is reached, and what
	// they are due to be told.
	Reached func() []notify.Status
	// Confined refuses campaign files that name a program, a file or an
	// address.
	Confined bool
}

// Server serves a lab.
type Server struct {
	options Options
	lab     *lab.Lab
	mux     *console.Mux
	api     *api
	console *console.Console
	audits  audits
	whatIf  *whatif.Runs
	earlier earlierKeys
	busy    busy
	bounds  bounds
	closing chan struct{}
	// patience is how long clients are waited for.
	patience patience
}

// New returns the server of a lab.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.User == "" {
		o.User = systemUser()
	}
	s := &Server{
		options: o, lab: o.Lab, mux: new(console.Mux), whatIf: whatif.NewRuns(o.Log),
		closing: make(chan struct{}), patience: usualPatience, bounds: usualBounds,
	}
	s.earlier = openEarlierKeys(filepath.Join(o.Lab.Private(), "idempotency"), o.Log)
	s.mux.HandleFunc("GET /healthz", s.health)
	s.api = s.newAPI()
	s.mountConsole()
	return s
}

// Handler returns everything that is served.
func (s *Server) Handler() http.Handler {
	return s.recovered(s.secured(s.limited(s.gate(s.room(s.arrived(s.formed(s.mux)))))))
}

// Patterns returns what the server and its pages are registered under. The
// operations of the API are in its own document.
func (s *Server) Patterns() []string { return append(s.mux.Patterns(), s.console.Patterns()...) }

// Serve serves on a listener until the context is done. Requests under way
// finish.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer s.whatIf.Close()
	defer s.console.Close()
	h := http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: s.patience.headers,
		IdleTimeout:       s.patience.idle,
		ConnContext:       s.connected,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
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

// health says that the server can take requests, and how many of its stores
// cannot be used, or take no events now: by their number alone, since strangers
// read it.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	stores, troubled := s.lab.Health()
	if s.options.Accounts != nil && s.options.Accounts.Err() != nil {
		stores, troubled = stores+1, troubled+1 // those of the accounts
	}
	if troubled > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "trouble: %d of %d stores cannot be used, or take nothing more; the server's log says why\n", troubled, stores)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// secured sets the headers that every answer has.
func (s *Server) secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
				"font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if s.options.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// recovered answers a programmer's mistake as a problem, and tells whoever
// looks after the server where it was.
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
			writeProblem(w, newProblem(http.StatusInternalServerError, problem.Internal,
				"Something went wrong here. What is recorded is safe. The server's log says where it was."))
		}()
		next.ServeHTTP(w, r)
	})
}
