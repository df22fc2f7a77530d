package server

import (
	"net/http"
	"time"

	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// Hurry shortens the patience with clients, before the server serves.
func (s *Server) Hurry(d time.Duration) {
	s.gate.Patience = gate.Patience{Headers: d, Body: d, Write: d, Idle: d, Stranger: d}
}

// HurryStrangers shortens the patience with connections on which nobody is known.
func (s *Server) HurryStrangers(d time.Duration) { s.gate.Patience.Stranger = d }

// Limited is what bounds requests, around another handler.
func (s *Server) Limited(next http.Handler) http.Handler { return s.gate.Limited(next) }

// Narrow sets how much is under way at once: see [gate.Bounds].
func (s *Server) Narrow(underWay, streams, tokenStreams, allStreams int) {
	s.gate.Bounds = gate.Bounds{
		UnderWay: underWay, Streams: streams, TokenStreams: tokenStreams, AllStreams: allStreams,
	}
}

// Patterns returns what the server and its pages are registered under. The
// operations of the API are in its own document.
func (s *Server) Patterns() (patterns []string) {
	for _, route := range append(s.routes(nil, nil), s.console.Pages()...) {
		patterns = append(patterns, route.Pattern)
	}
	return patterns
}
