package server

import (
	"net/http"
	"time"

	"github.com/campaignd/campaignd/internal/server/gate"
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
