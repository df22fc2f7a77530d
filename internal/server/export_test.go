package server

import (
	"net/http"
	"time"
)

// Hurry shortens the patience with clients, before the server serves.
func (s *Server) Hurry(d time.Duration) {
	s.patience = patience{headers: d, body: d, write: d, idle: d, stranger: d}
}

// HurryStrangers shortens the patience with connections on which nobody is known.
func (s *Server) HurryStrangers(d time.Duration) { s.patience.stranger = d }

// Limited is what bounds requests, around another handler.
func (s *Server) Limited(next http.Handler) http.Handler { return s.limited(next) }

// Narrow sets how much is under way at once: see [bounds].
func (s *Server) Narrow(underWay, streams, tokenStreams, allStreams int) {
	s.bounds = bounds{underWay, streams, tokenStreams, allStreams}
}
